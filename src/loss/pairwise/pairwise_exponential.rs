//! Exponential loss over the pairs that the labels order: RankBoost's loss.
//!
//! `sum_{y_i > y_j} exp(-(s_i - s_j))` (Freund et al., An efficient boosting algorithm for combining preferences,
//! section 3). Below a difference of -60 the exponential is continued by its tangent, so that value and gradient stay
//! finite in float32.
//!
//! Cost: O(n^2). A query whose labels are all equal has loss 0.

use burn::config::Config;

use super::pair_sum::PairSum;
use crate::loss::entry::{LossEntry, configure, parameters};
use crate::loss::error::LossError;
use crate::op::PairLoss;

const NAME: &str = "pairwise_exponential";

pub(in crate::loss) const ENTRY: LossEntry = LossEntry {
    name: NAME,
    summary: "exponential loss over ordered pairs (RankBoost)",
    formula: "sum_{y_i > y_j} exp(-(s_i - s_j))",
    cost: "O(n^2); long lists in float32 on the CPU O(n log n)",
    paper: "Freund et al., An efficient boosting algorithm for combining preferences, section 3",
    smoothing: None,
    shift_invariant: true,
    defaults: || parameters(&PairwiseExponentialConfig::new()),
    forms: None,
    build: |params| Ok(Box::new(configure(NAME, PairwiseExponentialConfig::new(), params)?.init()?)),
};

/// Configuration of [`PairwiseExponential`].
#[derive(Config, Debug)]
pub struct PairwiseExponentialConfig {
    /// Divide by the number of pairs.
    #[config(default = false)]
    pub mean_over_pairs: bool,
}

impl PairwiseExponentialConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// None at present: every value is valid.
    pub fn init(&self) -> Result<PairwiseExponential, LossError> {
        Ok(PairSum { name: NAME, loss: PairLoss::Exponential, scale: None, mean: self.mean_over_pairs })
    }
}

/// `sum_{y_i > y_j} exp(-(s_i - s_j))`
#[doc(alias = "RankBoost")]
pub type PairwiseExponential = PairSum;

#[cfg(test)]
mod tests {
    use burn::tensor::DType;

    use super::*;
    use crate::loss::explain;

    fn value(config: PairwiseExponentialConfig, scores: &[f64], labels: &[f64]) -> f64 {
        explain(&config.init().unwrap(), scores, labels, DType::F64).unwrap().value
    }

    #[test]
    fn three_documents_are_worked_by_hand() {
        // Two pairs, with differences 2 and -1.
        let found = value(PairwiseExponentialConfig::new(), &[1.0, -1.0, 2.0], &[1.0, 0.0, 0.0]);
        assert!((found - ((-2f64).exp() + 1f64.exp())).abs() < 1e-12, "{found}");
    }
}
