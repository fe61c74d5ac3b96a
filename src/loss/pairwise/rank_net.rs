//! RankNet, the logistic loss over document pairs with different labels.
//!
//! The loss is `sum_{y_i > y_j} log(1 + exp(-sigma (s_i - s_j)))`. It is the cross entropy of
//! `P(i above j) = sigmoid(sigma (s_i - s_j))` with a target probability of 1 (Burges et al., Learning to rank using
//! gradient descent, equation 3).
//!
//! Cost: O(n^2). A query whose labels are all equal has loss 0.

use super::pair_sum::PairSum;
use crate::loss::prelude::*;
use crate::op::PairLoss;

declare! {
    RankNetConfig,
    name: "rank_net",
    summary: "logistic loss over ordered pairs",
    formula: "sum_{y_i > y_j} log(1 + exp(-sigma (s_i - s_j)))",
    cost: "O(n^2); long lists in float32 on the CPU O(n log n)",
    paper: "Burges et al., Learning to rank using gradient descent, eq. (3)",
}

/// Configuration of [`RankNet`].
#[doc = example!("RankNetConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct RankNetConfig {
    /// The factor by which score differences are multiplied; must be above 0.
    #[config(default = 1.0)]
    pub sigma: f64,
    /// Whether to divide the loss by the number of pairs.
    #[config(default = false)]
    pub mean_over_pairs: bool,
}

impl RankNetConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `sigma` is not a finite number above 0.
    pub fn init(&self) -> Result<RankNet, LossError> {
        Ok(PairSum {
            name: NAME,
            loss: PairLoss::Logistic,
            scale: Some(error::positive(NAME, "sigma", self.sigma)?),
            mean: self.mean_over_pairs,
        })
    }
}

/// The RankNet loss, `sum_{y_i > y_j} log(1 + exp(-sigma (s_i - s_j)))`.
#[doc(alias = "pairwise logistic")]
pub type RankNet = PairSum;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::value;

    #[test]
    fn three_documents_are_worked_by_hand() {
        // Two pairs, with differences 2 and -1.
        let logistic = |t: f64| (1.0 + (-t).exp()).ln();
        let (scores, labels) = ([1.0, -1.0, 2.0], [1.0, 0.0, 0.0]);
        let sum = value(RankNetConfig::new().init(), &scores, &labels);
        assert!((sum - (logistic(2.0) + logistic(-1.0))).abs() < 1e-12, "{sum}");
        let scaled = value(RankNetConfig::new().with_sigma(0.5).with_mean_over_pairs(true).init(), &scores, &labels);
        assert!((scaled - (logistic(1.0) + logistic(-0.5)) / 2.0).abs() < 1e-12, "{scaled}");
    }
}
