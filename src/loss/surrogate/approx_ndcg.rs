//! ApproxNDCG: NDCG at approximate positions.
//!
//! `sum_i G(y_i) / log2(1 + p_i) / Z`, `p_i = 1 + sum_{j != i} phi(alpha (s_j - s_i))`. With a cut-off `k` each term is
//! multiplied by `sigmoid(beta (k + 1/2 - p_i))`, and `Z` is the ideal DCG at `k` (approximation-framework, equations
//! 20 and 21; the cut-off is equation 16's, smoothed as in section 4.3). It tends to NDCG@k as `alpha` and `beta` grow,
//! at the rate of Theorems 3 and 6.
//!
//! Cost: O(n^2). A query whose labels are all equal has loss 0.

use burn::config::Config;

use super::measures::{Dcg, Ndcg};
use super::relaxation::Approximate;
use super::transform::Surrogate;
use crate::loss::declare::declare;
use crate::loss::error::LossError;
use crate::loss::temperature::Temperature;
use crate::measure::{Discount, Gain};
use crate::op::Step;

declare! {
    ApproxNdcgConfig,
    name: "approx_ndcg",
    summary: "NDCG at approximate positions",
    formula: "1 - 1/Z sum_i G(y_i) / log2(1 + p_i) [sigmoid(beta (k + 1/2 - p_i))], p_i = 1 + sum_{j != i} phi(alpha (s_j - s_i))",
    cost: "O(n^2); long lists in float32 on the CPU O(n log n)",
    paper: "Qin, Liu and Li, A general approximation framework for direct optimization of IR measures, eq. (20), (21), (16)",
    temperature: "alpha", sharper: Larger, paper_value: 10.0, setter: with_alpha,
}

/// Configuration of [`ApproxNdcg`]. Its temperature trains scorers from scratch; [`paper`](Self::paper) has the paper's
/// temperature.
#[doc = example!("ApproxNdcgConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct ApproxNdcgConfig {
    /// `alpha`, the steepness of the positions, above 0.
    #[config(default = "Temperature::spreads(20.0)")]
    pub temperature: Temperature,
    /// Steepness of the cut-off, above 0; without effect unless `k` is set.
    #[config(default = 10.0)]
    pub beta: f64,
    /// Cut-off; none for the whole list.
    pub k: Option<usize>,
    /// Gain of a label.
    #[config(default = "Gain::Exp2")]
    pub gain: Gain,
    /// Smooth step of the positions.
    #[config(default = "Step::Logistic")]
    pub step: Step,
}

impl ApproxNdcgConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// `alpha` or `beta` not finite or not above 0, `k = 0`, a bad table of gains.
    pub fn init(&self) -> Result<ApproxNdcg, LossError> {
        let positions = Approximate { temperature: self.temperature, beta: self.beta, step: self.step };
        let dcg = Dcg { gain: self.gain.clone(), discount: Discount::Log2, k: self.k };
        Surrogate::named(NAME, Ndcg { dcg }, positions)
    }
}

/// `1 - 1/Z sum_i G(y_i) / log2(1 + p_i)` at approximate positions `p_i`.
#[doc(alias = "ApproxNDCG")]
pub type ApproxNdcg = Surrogate<Ndcg>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::value;

    #[test]
    fn equal_scores_are_worked_by_hand() {
        // Both documents at 1 + 1/2: NDCG = 1 / log2(2.5), for any step.
        for step in [Step::Logistic, Step::Tanh, Step::Erf, Step::Arctan, Step::Laplace] {
            let found = value(ApproxNdcgConfig::paper().with_step(step).init(), &[0.0, 0.0], &[1.0, 0.0]);
            assert!((found - 1.0 / 2.5f64.log2()).abs() < 1e-12, "{step:?}: {found}");
        }
    }

    #[test]
    fn two_documents_are_worked_by_hand() {
        // The relevant document is 1 below: p = 1 + sigmoid(2).
        let position = 1.0 + 1.0 / (1.0 + (-2.0f64).exp());
        let expected = 1.0 / (1.0 + position).log2();
        assert!(
            (value(ApproxNdcgConfig::new().with_alpha(2.0).init(), &[0.0, 1.0], &[1.0, 0.0]) - expected).abs() < 1e-12
        );
        let kept = 1.0 / (1.0 + (3.0 * (position - 1.5)).exp());
        let cut = ApproxNdcgConfig::new().with_alpha(2.0).with_beta(3.0).with_k(Some(1));
        assert!((value(cut.init(), &[0.0, 1.0], &[1.0, 0.0]) - expected * kept).abs() < 1e-12);
    }
}
