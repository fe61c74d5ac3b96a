//! SmoothPrecision, the precision at `k` with soft indicators of "document i is at rank j".
//!
//! The surrogate is `1/k sum_{j <= k} sum_i l_i h_ij`, where `h_ij` is the softmax over `i` of
//! `-(s_i - s_d(j))^2 / sigma` (smoothrank, section 4.2). The surrogate tends to precision at `k` as `sigma`
//! tends to 0.
//!
//! Cost: O(n^2). The loss is not differentiable where scores tie; ties are broken by position. A query whose documents
//! are all relevant or all irrelevant has loss 0.

use burn::config::Config;

use super::relaxation::Indicator;
use super::relevance_measures::PrecisionAt;
use super::transform::Surrogate;
use crate::loss::declare::declare;
use crate::loss::error::LossError;
use crate::loss::temperature::Temperature;

declare! {
    SmoothPrecisionConfig,
    name: "smooth_precision",
    summary: "precision at k with soft indicators of the document at each rank",
    formula: "1 - 1/k sum_{j <= k} sum_i l_i h_ij, h_ij = softmax_i(-(s_i - s_d(j))^2 / sigma)",
    cost: "O(n^2); long lists in float32 on the CPU O(n log n)",
    paper: "Chapelle and Wu, Gradient descent optimization of smoothed information retrieval metrics, section 4.2",
    temperature: "sigma", sharper: Smaller, paper_value: 1.0, setter: with_sigma,
}

/// Configuration of [`SmoothPrecision`]. The default temperature suits training from scratch; [`paper`](Self::paper)
/// uses the paper's temperature.
#[doc = example!("SmoothPrecisionConfig", ".with_k(1)")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct SmoothPrecisionConfig {
    /// The smoothing `sigma`, above 0, measured in squared scores or in variances of a list's scores.
    #[config(default = "Temperature::spreads(0.02)")]
    pub temperature: Temperature,
    /// The number of top ranks that count, 1 or more.
    #[config(default = 5)]
    pub k: usize,
}

impl SmoothPrecisionConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `sigma` is not a finite number above 0, or if `k` is 0.
    pub fn init(&self) -> Result<SmoothPrecision, LossError> {
        Surrogate::named(NAME, PrecisionAt { k: self.k }, Indicator { temperature: self.temperature })
    }
}

/// The SmoothPrecision loss, `1 - 1/k sum_{j <= k} sum_i l_i h_ij`.
#[doc(alias = "P@k")]
pub type SmoothPrecision = Surrogate<PrecisionAt>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn value(k: usize) -> f64 {
        testing::value(SmoothPrecisionConfig::new().with_sigma(2.0).with_k(k).init(), &[0.0, 1.0], &[1.0, 0.0])
    }

    #[test]
    fn two_documents_are_worked_by_hand() {
        let far = (-0.5f64).exp() / (1.0 + (-0.5f64).exp());
        assert!((value(1) - far).abs() < 1e-12);
        assert!((value(2) - 0.5).abs() < 1e-12, "one of two is relevant");
        assert!((value(4) - 0.25).abs() < 1e-12, "ranks beyond the list hold nothing");
    }
}
