//! The fidelity loss of FRank over document pairs with different labels.
//!
//! The loss is `sum_{y_i > y_j} 1 - sqrt(sigmoid(s_i - s_j))` (Tsai et al., FRank: a ranking method with fidelity loss,
//! equation 8, with a target probability of 1). A single pair adds at most 1 to the loss.
//!
//! Cost: O(n^2). A query whose labels are all equal has loss 0.

use super::pair_sum::PairSum;
use crate::loss::prelude::*;
use crate::op::PairLoss;

declare! {
    FidelityConfig,
    name: "fidelity",
    summary: "fidelity loss over ordered pairs (FRank)",
    formula: "sum_{y_i > y_j} 1 - sqrt(sigmoid(s_i - s_j))",
    cost: "O(n^2); long lists in float32 on the CPU O(n log n)",
    paper: "Tsai et al., FRank: a ranking method with fidelity loss, eq. (8)",
}

/// Configuration of [`Fidelity`].
#[doc = example!("FidelityConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct FidelityConfig {
    /// Whether to divide the loss by the number of pairs.
    #[config(default = false)]
    pub mean_over_pairs: bool,
}

impl FidelityConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Currently returns no error, because every value is valid.
    pub fn init(&self) -> Result<Fidelity, LossError> {
        Ok(PairSum { name: NAME, loss: PairLoss::Fidelity, scale: None, mean: self.mean_over_pairs })
    }
}

/// The fidelity loss, `sum_{y_i > y_j} 1 - sqrt(sigmoid(s_i - s_j))`.
#[doc(alias = "FRank")]
pub type Fidelity = PairSum;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::value;

    #[test]
    fn three_documents_are_worked_by_hand() {
        // Two pairs, with differences 2 and 0.
        let found = value(FidelityConfig::new().init(), &[1.0, -1.0, 1.0], &[1.0, 0.0, 0.0]);
        let expected = 2.0 - (1.0 / (1.0 + (-2f64).exp())).sqrt() - 0.5f64.sqrt();
        assert!((found - expected).abs() < 1e-12, "{found}");
    }
}
