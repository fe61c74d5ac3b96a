//! SmoothNDCG, the NDCG with soft indicators of "document i is at rank j".
//!
//! The surrogate is `1/Z sum_ij D(j) h_ij G(y_i)`, where `h_ij` is the softmax over `i` of `-(s_i - s_d(j))^2 / sigma`
//! (smoothrank, equations 7 and 8). Here `d(j)` is the document at rank `j`, and `D(j) = 1 / log2(1 + j)` is 0 beyond
//! the cut-off `k`. The surrogate is computed as a sum over documents `d` at their ranks `r(d)`. The ranks are counted
//! by comparison, so no sort is needed. The surrogate tends to NDCG@k as `sigma` tends to 0. The error is
//! `O(exp(-mu / sigma))`, where `mu` is the smallest squared difference of two scores (section 5.1).
//!
//! Cost: O(n^2). The loss is not differentiable where scores tie; ties are broken by position. A query whose labels are
//! all equal has loss 0.

use burn::config::Config;

use super::measures::{Dcg, Ndcg};
use super::relaxation::Indicator;
use super::transform::Surrogate;
use crate::loss::declare::declare;
use crate::loss::error::LossError;
use crate::loss::temperature::Temperature;
use crate::measure::{Discount, Gain};

declare! {
    SmoothNdcgConfig,
    name: "smooth_ndcg",
    summary: "NDCG with soft indicators of the document at each rank",
    formula: "1 - 1/Z sum_ij G(y_i) D(j) h_ij, h_ij = softmax_i(-(s_i - s_d(j))^2 / sigma)",
    cost: "O(n^2); long lists in float32 on the CPU O(n log n)",
    paper: "Chapelle and Wu, Gradient descent optimization of smoothed information retrieval metrics, eq. (7), (8)",
    temperature: "sigma", sharper: Smaller, paper_value: 1.0, setter: with_sigma,
}

/// Configuration of [`SmoothNdcg`]. The default temperature suits training from scratch; [`paper`](Self::paper) uses
/// the paper's temperature.
#[doc = example!("SmoothNdcgConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct SmoothNdcgConfig {
    /// The smoothing `sigma`, above 0, measured in squared scores or in variances of a list's scores.
    #[config(default = "Temperature::spreads(0.02)")]
    pub temperature: Temperature,
    /// The number of top ranks that count; `None` counts all ranks.
    pub k: Option<usize>,
    /// The function that maps a label to its gain.
    #[config(default = "Gain::Exp2")]
    pub gain: Gain,
}

impl SmoothNdcgConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `sigma` is not a finite number above 0, `k` is 0, or the table of gains is invalid.
    pub fn init(&self) -> Result<SmoothNdcg, LossError> {
        let dcg = Dcg { gain: self.gain.clone(), discount: Discount::Log2, k: self.k };
        Surrogate::named(NAME, Ndcg { dcg }, Indicator { temperature: self.temperature })
    }
}

/// The SmoothNDCG loss, `1 - 1/Z sum_ij D(j) h_ij G(y_i)`.
#[doc(alias = "SmoothNDCG")]
#[doc(alias = "SmoothRank")]
pub type SmoothNdcg = Surrogate<Ndcg>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::value;

    #[test]
    fn two_documents_are_worked_by_hand() {
        // The relevant document is 1 below: h = e^-1/2 / (1 + e^-1/2) at rank 1 and 1 / (1 + e^-1/2) at rank 2.
        let far = (-0.5f64).exp() / (1.0 + (-0.5f64).exp());
        let expected = far + (1.0 - far) / 3f64.log2();
        let config = SmoothNdcgConfig::new().with_sigma(2.0);
        assert!((value(config.init(), &[0.0, 1.0], &[1.0, 0.0]) - expected).abs() < 1e-12);
        assert!((value(config.with_k(Some(1)).init(), &[0.0, 1.0], &[1.0, 0.0]) - far).abs() < 1e-12);
    }

    #[test]
    fn a_large_sigma_spreads_every_document_over_all_ranks() {
        // h = 1/n (section 5.3): the mean gain times the sum of discounts.
        let found = value(SmoothNdcgConfig::new().with_sigma(1e9).init(), &[0.3, -1.0, 2.0], &[2.0, 0.0, 1.0]);
        let discounts: f64 = 1.0 + 1.0 / 3f64.log2() + 0.5;
        let ideal = 3.0 + 1.0 / 3f64.log2();
        assert!((found - 4.0 / 3.0 * discounts / ideal).abs() < 1e-8);
    }
}
