//! Precision at a cut-off, computed from approximate positions.
//!
//! The surrogate is `1/k sum_i l_i sigmoid(beta (k + 1/2 - p_i))`, where
//! `p_i = 1 + sum_{j != i} phi(alpha (s_j - s_i))` (approximation-framework, equation 13). Equation 20 defines the
//! positions, and the sigmoid is the truncation function from section 4.3.
//!
//! Cost: O(n^2). A query whose documents are all relevant or all irrelevant has loss 0.

use burn::config::Config;

use super::relaxation::Approximate;
use super::relevance_measures::PrecisionAt;
use super::transform::Surrogate;
use crate::loss::declare::declare;
use crate::loss::error::LossError;
use crate::loss::temperature::Temperature;
use crate::op::Step;

declare! {
    ApproxPrecisionConfig,
    name: "approx_precision",
    summary: "precision at k at approximate positions",
    formula: "1 - 1/k sum_i l_i sigmoid(beta (k + 1/2 - p_i)), p_i = 1 + sum_{j != i} phi(alpha (s_j - s_i))",
    cost: "O(n^2); long lists in float32 on the CPU O(n log n)",
    paper: "Qin, Liu and Li, A general approximation framework for direct optimization of IR measures, eq. (13), (20)",
    temperature: "alpha", sharper: Larger, paper_value: 10.0, setter: with_alpha,
}

/// Configuration of [`ApproxPrecision`]. The default temperature suits training from scratch; [`paper`](Self::paper)
/// uses the paper's temperature.
#[doc = example!("ApproxPrecisionConfig", ".with_k(1)")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct ApproxPrecisionConfig {
    /// The steepness `alpha` of the approximate positions; must be above 0.
    #[config(default = "Temperature::spreads(20.0)")]
    pub temperature: Temperature,
    /// The steepness of the smooth cut-off; must be above 0.
    #[config(default = 10.0)]
    pub beta: f64,
    /// The number of top ranks that count, 1 or more.
    #[config(default = 5)]
    pub k: usize,
    /// The smooth step function `phi` of the approximate positions.
    #[config(default = "Step::Logistic")]
    pub step: Step,
}

impl ApproxPrecisionConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `alpha` or `beta` is not a finite number above 0, or if `k` is 0.
    pub fn init(&self) -> Result<ApproxPrecision, LossError> {
        let positions = Approximate { temperature: self.temperature, beta: self.beta, step: self.step };
        Surrogate::named(NAME, PrecisionAt { k: self.k }, positions)
    }
}

/// The loss `1 - 1/k sum_i l_i sigmoid(beta (k + 1/2 - p_i))` at approximate positions `p_i`.
#[doc(alias = "P@k")]
pub type ApproxPrecision = Surrogate<PrecisionAt>;

#[cfg(test)]
mod tests {
    use burn::tensor::DType;

    use super::*;
    use crate::loss::{LossSpec, explain};
    use crate::testing::value;

    #[test]
    fn equal_scores_are_worked_by_hand() {
        // Positions 2, 2, 2, cut-off 1: sigmoid(10 (1.5 - 2)) for the relevant document.
        let found = value(ApproxPrecisionConfig::paper().with_k(1).init(), &[0.0; 3], &[1.0, 0.0, 0.0]);
        assert!((found - 1.0 / (1.0 + 5f64.exp())).abs() < 1e-12, "{found}");
    }

    #[test]
    fn a_cutoff_beyond_the_list_divides_by_the_cutoff() {
        let config = ApproxPrecisionConfig::new().with_alpha(100.0).with_beta(100.0).with_k(4);
        let found = value(config.init(), &[3.0, 2.0, 1.0], &[1.0, 0.0, 1.0]);
        assert!((found - 0.5).abs() < 1e-9, "{found}");
    }
    /// Each of seven documents at position 4 counts as within a cut-off of 5, except for a shortfall of `sigmoid(-15)`,
    /// about 3e-7. The spacing of float32 numbers just below 1 is a fifth of 3e-7.
    #[test]
    fn defect_20_a_saturated_cutoff_keeps_the_gradient_of_float32() {
        let labels = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
        let cells = ["precision", "recall", "success", "r_precision", "ndcg", "ap", "rr", "err"];
        for measure in cells {
            for relaxation in ["approximate_positions", "projected_ranks"] {
                let mut spec = LossSpec::parse(&format!("{measure}:{relaxation}"));
                if measure != "r_precision" {
                    spec = spec.with("k", 5);
                }
                let loss = spec.build().unwrap();
                let of = |dtype| explain(loss.as_ref(), &[0.25; 7], &labels, dtype).unwrap().grad;
                let (single, double) = (of(DType::F32), of(DType::F64));
                for (found, expected) in single.iter().zip(&double) {
                    assert!((found / expected - 1.0).abs() < 1e-5, "{spec}: {single:?} {double:?}");
                }
            }
        }
    }
}
