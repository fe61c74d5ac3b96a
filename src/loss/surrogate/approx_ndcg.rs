//! ApproxNDCG, the NDCG at approximate positions.
//!
//! The surrogate is `sum_i G(y_i) / log2(1 + p_i) / Z`, where `p_i = 1 + sum_{j != i} phi(alpha (s_j - s_i))`. With a
//! cut-off `k`, each term is multiplied by `sigmoid(beta (k + 1/2 - p_i))`, and `Z` is the ideal DCG at `k`
//! (approximation-framework, equations 20 and 21). The cut-off follows equation 16, smoothed as in section 4.3. The
//! surrogate tends to NDCG@k as `alpha` and `beta` grow, at the rate of Theorems 3 and 6.
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

/// Configuration of [`ApproxNdcg`]. The default temperature suits training from scratch; [`paper`](Self::paper) uses
/// the paper's temperature.
#[doc = example!("ApproxNdcgConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct ApproxNdcgConfig {
    /// The steepness `alpha` of the approximate positions; must be above 0.
    #[config(default = "Temperature::spreads(20.0)")]
    pub temperature: Temperature,
    /// The steepness of the smooth cut-off, above 0; ignored unless `k` is set.
    #[config(default = 10.0)]
    pub beta: f64,
    /// The number of top ranks that count; `None` counts all ranks.
    pub k: Option<usize>,
    /// The function that maps a label to its gain.
    #[config(default = "Gain::Exp2")]
    pub gain: Gain,
    /// The smooth step function `phi` of the approximate positions.
    #[config(default = "Step::Logistic")]
    pub step: Step,
}

impl ApproxNdcgConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `alpha` or `beta` is not a finite number above 0, `k` is 0, or the table of gains is
    /// invalid.
    pub fn init(&self) -> Result<ApproxNdcg, LossError> {
        let positions = Approximate { temperature: self.temperature, beta: self.beta, step: self.step };
        let dcg = Dcg { gain: self.gain.clone(), discount: Discount::Log2, k: self.k };
        Surrogate::named(NAME, Ndcg { dcg }, positions)
    }
}

/// The ApproxNDCG loss, `1 - 1/Z sum_i G(y_i) / log2(1 + p_i)`, at approximate positions `p_i`.
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
