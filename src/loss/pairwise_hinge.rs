//! Hinge loss over the pairs that the labels order: RankSVM's loss.
//!
//! `sum_{y_i > y_j} max(0, margin - (s_i - s_j))` (direct-optimization, section 2; Herbrich et al., Large margin
//! rank boundaries).
//!
//! Cost: O(n^2). A query with one label only has loss 0.

use burn::config::Config;
use burn::module::Module;
use burn::tensor::Tensor;

use super::pairs::sum_over_pairs;
use super::registry::{LossEntry, configure, parameters};
use super::{Lists, LossError, Orientation, RankingLoss, error};
use crate::op::PairLoss;

const NAME: &str = "pairwise_hinge";

pub(super) const ENTRY: LossEntry = LossEntry {
    name: NAME,
    summary: "hinge loss over ordered pairs (RankSVM)",
    formula: "sum_{y_i > y_j} max(0, margin - (s_i - s_j))",
    cost: "O(n^2)",
    paper: "Herbrich, Graepel and Obermayer, Large margin rank boundaries for ordinal regression",
    smoothing: None,
    shift_invariant: true,
    defaults: || parameters(&PairwiseHingeConfig::new()),
    build: |params| Ok(Box::new(configure(NAME, PairwiseHingeConfig::new(), params)?.init()?)),
};

/// Configuration of [`PairwiseHinge`].
#[derive(Config, Debug)]
pub struct PairwiseHingeConfig {
    /// Score difference that is enough, 0 or above.
    #[config(default = 1.0)]
    pub margin: f64,
    /// Divide by the number of pairs.
    #[config(default = false)]
    pub mean_over_pairs: bool,
}

impl PairwiseHingeConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// `margin` not finite or below 0.
    pub fn init(&self) -> Result<PairwiseHinge, LossError> {
        Ok(PairwiseHinge {
            margin: error::not_negative(NAME, "margin", self.margin)?,
            mean_over_pairs: self.mean_over_pairs,
        })
    }
}

/// `sum_{y_i > y_j} max(0, margin - (s_i - s_j))`
#[doc(alias = "RankSVM")]
#[doc(alias = "Ranking SVM")]
#[derive(Module, Debug)]
pub struct PairwiseHinge {
    margin: f64,
    mean_over_pairs: bool,
}

impl RankingLoss for PairwiseHinge {
    fn name(&self) -> &'static str {
        NAME
    }

    fn orientation(&self) -> Orientation {
        Orientation::Loss
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        sum_over_pairs(lists, lists.scores.clone(), PairLoss::Hinge { margin: self.margin }, self.mean_over_pairs)
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType;

    use super::*;
    use crate::loss::explain;

    fn value(config: PairwiseHingeConfig, scores: &[f64], labels: &[f64]) -> f64 {
        explain(&config.init().unwrap(), scores, labels, DType::F64).unwrap().value
    }

    #[test]
    fn three_documents_are_worked_by_hand() {
        // Two pairs, with differences 2 and -1: 0 + 2, then with margin 3: 1 + 4.
        let (scores, labels) = ([1.0, -1.0, 2.0], [1.0, 0.0, 0.0]);
        assert_eq!(value(PairwiseHingeConfig::new(), &scores, &labels), 2.0);
        assert_eq!(value(PairwiseHingeConfig::new().with_margin(3.0), &scores, &labels), 5.0);
        assert_eq!(value(PairwiseHingeConfig::new().with_mean_over_pairs(true), &scores, &labels), 1.0);
    }
}
