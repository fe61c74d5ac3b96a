//! ApproxAP: average precision at approximate positions.
//!
//! `1/|l| sum_i l_i / p_i (1 + sum_{j != i} l_j sigmoid(beta (p_i - p_j)))`,
//! `p_i = 1 + sum_{j != i} phi(alpha (s_j - s_i))` (approximation-framework, equation 22, whose second sigmoid is the
//! truncation function of section 4.3). Tends to AP as `alpha` and `beta` grow (Theorem 5).
//!
//! Cost: O(n^2). A query without relevant or without irrelevant document has loss 0.

use burn::config::Config;
use burn::module::Module;
use burn::tensor::{Bool, Tensor};

use super::lists::{one_in_place_of_zero, sum_documents};
use super::registry::{LossEntry, Sharper, Smoothing, configure, parameters};
use super::{Lists, LossError, Orientation, RankingLoss, error};
use crate::op::{Step, step_sum};

const NAME: &str = "approx_ap";

pub(super) const ENTRY: LossEntry = LossEntry {
    name: NAME,
    summary: "average precision at approximate positions",
    formula: "1 - 1/|l| sum_i l_i / p_i (1 + sum_{j != i} l_j sigmoid(beta (p_i - p_j))), p_i = 1 + sum_{j != i} phi(alpha (s_j - s_i))",
    cost: "O(n^2)",
    paper: "Qin, Liu and Li, A general approximation framework for direct optimization of IR measures, eq. (22)",
    smoothing: Some(Smoothing { parameter: "alpha", sharper: Sharper::Larger }),
    shift_invariant: true,
    defaults: || parameters(&ApproxApConfig::new()),
    build: |params| Ok(Box::new(configure(NAME, ApproxApConfig::new(), params)?.init()?)),
};

/// Configuration of [`ApproxAp`].
#[derive(Config, Debug)]
pub struct ApproxApConfig {
    /// Steepness of the positions, above 0.
    #[config(default = 10.0)]
    pub alpha: f64,
    /// Steepness of the truncation function, above 0.
    #[config(default = 10.0)]
    pub beta: f64,
    /// Smooth step of the positions.
    #[config(default = "Step::Logistic")]
    pub step: Step,
}

impl ApproxApConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// `alpha` or `beta` not finite or not above 0.
    pub fn init(&self) -> Result<ApproxAp, LossError> {
        Ok(ApproxAp {
            alpha: error::positive(NAME, "alpha", self.alpha)?,
            beta: error::positive(NAME, "beta", self.beta)?,
            step: self.step,
        })
    }
}

/// `1 - 1/|l| sum_i l_i / p_i (1 + sum_{j != i} l_j sigmoid(beta (p_i - p_j)))` at approximate positions `p_i`.
#[doc(alias = "MAP")]
#[doc(alias = "ApproxMAP")]
#[doc(alias = "mean average precision")]
#[derive(Module, Debug)]
pub struct ApproxAp {
    alpha: f64,
    beta: f64,
    #[module(skip)]
    step: Step,
}

impl RankingLoss for ApproxAp {
    fn name(&self) -> &'static str {
        NAME
    }

    fn orientation(&self) -> Orientation {
        Orientation::NormalisedMeasure
    }

    fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
        lists.has_both_relevances()
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        let positions = lists.approximate_positions(self.alpha, self.step);
        let relevance = lists.relevance();
        // The sum has the term j = i, l_i / 2.
        let ahead = step_sum(positions.clone().neg(), relevance.clone(), self.beta, Step::Logistic);
        let precision = (ahead - relevance.clone() * 0.5 + 1.0) / positions;
        let relevant = one_in_place_of_zero(sum_documents(relevance.clone()));
        (sum_documents(relevance * precision) / relevant).neg() + 1.0
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType;

    use super::*;
    use crate::loss::explain;

    fn value(config: ApproxApConfig, scores: &[f64], labels: &[f64]) -> f64 {
        explain(&config.init().unwrap(), scores, labels, DType::F64).unwrap().value
    }

    #[test]
    fn equal_scores_are_worked_by_hand() {
        // Positions 2, 2, 2; each relevant document has half of the other ahead: (1 + 1/2) / 2.
        let found = value(ApproxApConfig::new(), &[0.0; 3], &[1.0, 1.0, 0.0]);
        assert!((found - 0.75).abs() < 1e-12, "{found}");
    }

    #[test]
    fn steep_steps_give_average_precision() {
        // Relevant documents at ranks 1 and 3: (1 + 2/3) / 2.
        let config = ApproxApConfig::new().with_alpha(300.0).with_beta(300.0);
        let found = value(config, &[3.0, 2.0, 1.0], &[1.0, 0.0, 2.0]);
        assert!((found - 5.0 / 6.0).abs() < 1e-9, "{found}");
    }
}
