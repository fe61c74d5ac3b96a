//! The exponential loss of RankBoost over document pairs with different labels.
//!
//! The loss is `sum_{y_i > y_j} exp(-(s_i - s_j))` (Freund et al., An efficient boosting algorithm for combining
//! preferences, section 3). Where `s_j - s_i` exceeds 60 in float32 or 680 in float64, the exponential is replaced by
//! its tangent, so the value and gradient stay finite. In float32, the tangent is `e^60 (s_j - s_i - 59)`.
//!
//! Cost: O(n^2). A query whose labels are all equal has loss 0.

use super::pair_sum::PairSum;
use crate::loss::prelude::*;
use crate::op::PairLoss;

declare! {
    PairwiseExponentialConfig,
    name: "pairwise_exponential",
    summary: "exponential loss over ordered pairs (RankBoost)",
    formula: "sum_{y_i > y_j} exp(-(s_i - s_j)); beyond s_j - s_i = 60 its tangent, in float64 beyond 680",
    cost: "O(n^2); long lists in float32 on the CPU O(n log n)",
    paper: "Freund et al., An efficient boosting algorithm for combining preferences, section 3",
}

/// Configuration of [`PairwiseExponential`].
#[doc = example!("PairwiseExponentialConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct PairwiseExponentialConfig {
    /// Whether to divide the loss by the number of pairs.
    #[config(default = false)]
    pub mean_over_pairs: bool,
}

impl PairwiseExponentialConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Currently returns no error, because every value is valid.
    pub fn init(&self) -> Result<PairwiseExponential, LossError> {
        Ok(PairSum { name: NAME, loss: PairLoss::Exponential, scale: None, mean: self.mean_over_pairs })
    }
}

/// The exponential loss, `sum_{y_i > y_j} exp(-(s_i - s_j))`, which becomes linear where `s_j - s_i` exceeds 60 in
/// float32 or 680 in float64.
#[doc(alias = "RankBoost")]
pub type PairwiseExponential = PairSum;

#[cfg(test)]
mod tests {
    use burn::tensor::DType;

    use super::*;
    use crate::execution::with_tensor_path;
    use crate::loss::{Explained, explain};

    fn explained(scores: &[f64], labels: &[f64], dtype: DType) -> Explained {
        explain(&PairwiseExponentialConfig::new().init().unwrap(), scores, labels, dtype).unwrap()
    }

    #[test]
    fn three_documents_are_worked_by_hand() {
        // Two pairs, with differences 2 and -1.
        let found = explained(&[1.0, -1.0, 2.0], &[1.0, 0.0, 0.0], DType::F64).value;
        assert!((found - ((-2f64).exp() + 1f64.exp())).abs() < 1e-12, "{found}");
    }
    /// Compares the kernel and the tensor definition with the formula, for a pair whose scores are in the wrong order
    /// and differ by `difference`.
    fn assert_pair(difference: f64, dtype: DType, value: f64, slope: f64) {
        let pair = || explained(&[0.0, difference], &[1.0, 0.0], dtype);
        for found in [pair(), with_tensor_path(pair)] {
            let tolerance = if dtype == DType::F64 { 1e-13 } else { 1e-5 };
            let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < tolerance;
            assert!(near(found.value, value) && near(found.grad[1], slope), "{difference}, {dtype:?}: {found:?}");
            assert_eq!(found.grad[0], -found.grad[1]);
        }
    }

    #[test]
    fn defect_6_the_exponential_is_exact_in_float64() {
        for difference in [59.0, 61.0, 100.0, 679.0] {
            assert_pair(difference, DType::F64, f64::exp(difference), f64::exp(difference));
        }
        assert!((f64::exp(100.0) / 2.688_117_141_816_135_6e43 - 1.0).abs() < 1e-13);
        assert_pair(700.0, DType::F64, f64::exp(680.0) * 21.0, f64::exp(680.0));
    }

    #[test]
    fn defect_6_the_tangent_of_float32_is_the_documented_one() {
        assert_pair(59.0, DType::F32, f64::exp(59.0), f64::exp(59.0));
        for difference in [61.0, 100.0, 2e4] {
            assert_pair(difference, DType::F32, f64::exp(60.0) * (difference - 59.0), f64::exp(60.0));
        }
        assert!(ENTRY.formula.ends_with("beyond s_j - s_i = 60 its tangent, in float64 beyond 680"));
        let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/explanation/formulas.md"));
        assert!(page.contains("e^{60} (s_j - s_i - 59)"));
    }
}
