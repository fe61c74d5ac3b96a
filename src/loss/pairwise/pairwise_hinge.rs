//! The hinge loss of RankSVM over document pairs with different labels.
//!
//! The loss is `sum_{y_i > y_j} max(0, margin - (s_i - s_j))` (direct-optimization, section 2; Herbrich et al., Large
//! margin rank boundaries).
//!
//! Cost: O(n^2). A query whose labels are all equal has loss 0.

use super::pair_sum::PairSum;
use crate::loss::prelude::*;
use crate::op::PairLoss;

declare! {
    PairwiseHingeConfig,
    name: "pairwise_hinge",
    summary: "hinge loss over ordered pairs (RankSVM)",
    formula: "sum_{y_i > y_j} max(0, margin - (s_i - s_j))",
    cost: "O(n^2); long lists in float32 on the CPU O(n log n)",
    paper: "Herbrich, Graepel and Obermayer, Large margin rank boundaries for ordinal regression",
}

/// Configuration of [`PairwiseHinge`].
#[doc = example!("PairwiseHingeConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct PairwiseHingeConfig {
    /// The score difference at which the loss of a pair becomes 0; must be 0 or above.
    #[config(default = 1.0)]
    pub margin: f64,
    /// Whether to divide the loss by the number of pairs.
    #[config(default = false)]
    pub mean_over_pairs: bool,
}

impl PairwiseHingeConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `margin` is negative or not finite.
    pub fn init(&self) -> Result<PairwiseHinge, LossError> {
        Ok(PairSum {
            name: NAME,
            loss: PairLoss::Hinge { margin: error::not_negative(NAME, "margin", self.margin)? },
            scale: None,
            mean: self.mean_over_pairs,
        })
    }
}

/// The hinge loss, `sum_{y_i > y_j} max(0, margin - (s_i - s_j))`.
#[doc(alias = "RankSVM")]
#[doc(alias = "Ranking SVM")]
pub type PairwiseHinge = PairSum;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::value;

    #[test]
    fn three_documents_are_worked_by_hand() {
        // Two pairs, with differences 2 and -1: 0 + 2, then with margin 3: 1 + 4.
        let (scores, labels) = ([1.0, -1.0, 2.0], [1.0, 0.0, 0.0]);
        assert_eq!(value(PairwiseHingeConfig::new().init(), &scores, &labels), 2.0);
        assert_eq!(value(PairwiseHingeConfig::new().with_margin(3.0).init(), &scores, &labels), 5.0);
        assert_eq!(value(PairwiseHingeConfig::new().with_mean_over_pairs(true).init(), &scores, &labels), 1.0);
    }
}
