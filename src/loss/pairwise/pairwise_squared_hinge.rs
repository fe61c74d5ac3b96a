//! The squared hinge loss over document pairs with different labels.
//!
//! The loss is `sum_{y_i > y_j} max(0, margin - (s_i - s_j))^2`, the quadratic penalization of GBRank (smoothrank,
//! section 1).
//!
//! Cost: O(n^2). A query whose labels are all equal has loss 0.

use super::pair_sum::PairSum;
use crate::loss::prelude::*;
use crate::op::PairLoss;

declare! {
    PairwiseSquaredHingeConfig,
    name: "pairwise_squared_hinge",
    summary: "squared hinge loss over ordered pairs",
    formula: "sum_{y_i > y_j} max(0, margin - (s_i - s_j))^2",
    cost: "O(n^2); long lists in float32 on the CPU O(n log n)",
    paper: "Chapelle and Wu, Gradient descent optimization of smoothed information retrieval metrics, section 1",
}

/// Configuration of [`PairwiseSquaredHinge`].
#[doc = example!("PairwiseSquaredHingeConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct PairwiseSquaredHingeConfig {
    /// The score difference at which the loss of a pair becomes 0; must be 0 or above.
    #[config(default = 1.0)]
    pub margin: f64,
    /// Whether to divide the loss by the number of pairs.
    #[config(default = false)]
    pub mean_over_pairs: bool,
}

impl PairwiseSquaredHingeConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `margin` is negative or not finite.
    pub fn init(&self) -> Result<PairwiseSquaredHinge, LossError> {
        Ok(PairSum {
            name: NAME,
            loss: PairLoss::SquaredHinge { margin: error::not_negative(NAME, "margin", self.margin)? },
            scale: None,
            mean: self.mean_over_pairs,
        })
    }
}

/// The squared hinge loss, `sum_{y_i > y_j} max(0, margin - (s_i - s_j))^2`.
#[doc(alias = "L2-loss RankSVM")]
pub type PairwiseSquaredHinge = PairSum;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::value;

    #[test]
    fn three_documents_are_worked_by_hand() {
        // Two pairs, with differences 2 and -1: 0 + 2^2, then with margin 3: 1 + 4^2.
        let (scores, labels) = ([1.0, -1.0, 2.0], [1.0, 0.0, 0.0]);
        assert_eq!(value(PairwiseSquaredHingeConfig::new().init(), &scores, &labels), 4.0);
        assert_eq!(value(PairwiseSquaredHingeConfig::new().with_margin(3.0).init(), &scores, &labels), 17.0);
    }
}
