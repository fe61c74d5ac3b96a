//! SmoothRR, the reciprocal rank with soft indicators of "document i is at rank j".
//!
//! Let `P_j = sum_i l_i h_ij` be the soft relevance of rank `j`. The surrogate is
//! `sum_j P_j / j prod_{t < j} (1 - P_t)`. With `linear = true`, the surrogate is `sum_j P_j / j`, as in the paper
//! (smoothrank, section 4.1, equation 7). It is the reciprocal rank only for queries with one relevant document. The
//! general form tends to the reciprocal rank of the first relevant document as `sigma` tends to 0.
//!
//! The cost is O(n^2), without an n x n tensor. The loss is not differentiable where scores tie; ties are broken by
//! position. A query whose documents are all relevant or all irrelevant has loss 0.

use burn::config::Config;

use super::measures::ReciprocalRank;
use super::relaxation::Indicator;
use super::transform::Surrogate;
use crate::loss::declare::declare;
use crate::loss::error::LossError;
use crate::loss::temperature::Temperature;

declare! {
    SmoothRrConfig,
    name: "smooth_rr",
    summary: "reciprocal rank with soft indicators of the document at each rank",
    formula: "1 - sum_j P_j / j prod_{t < j} (1 - P_t), P_j = sum_i l_i h_ij; linear: 1 - sum_j P_j / j",
    cost: "O(n^2); long lists in float32 on the CPU O(n log n)",
    paper: "Chapelle and Wu, Gradient descent optimization of smoothed information retrieval metrics, section 4.1",
    temperature: "sigma", sharper: Smaller, paper_value: 1.0, setter: with_sigma,
}

/// Configuration of [`SmoothRr`]. The default temperature suits training from scratch; [`paper`](Self::paper) uses the
/// paper's temperature.
#[doc = example!("SmoothRrConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct SmoothRrConfig {
    /// The smoothing `sigma`, above 0, measured in squared scores or in variances of a list's scores.
    #[config(default = "Temperature::spreads(0.02)")]
    pub temperature: Temperature,
    /// Whether to use the paper's form, which is exact only for queries with one relevant document.
    #[config(default = false)]
    pub linear: bool,
}

impl SmoothRrConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `sigma` is not a finite number above 0.
    pub fn init(&self) -> Result<SmoothRr, LossError> {
        let measure = ReciprocalRank { linear: self.linear, k: None };
        Surrogate::named(NAME, measure, Indicator { temperature: self.temperature })
    }
}

/// The SmoothRR loss, `1 - sum_j P_j / j prod_{t < j} (1 - P_t)`; with `linear`, the product is left out.
#[doc(alias = "MRR")]
#[doc(alias = "SmoothMRR")]
#[doc(alias = "reciprocal rank")]
pub type SmoothRr = Surrogate<ReciprocalRank>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn value(linear: bool, scores: &[f64], labels: &[f64]) -> f64 {
        testing::value(SmoothRrConfig::new().with_sigma(2.0).with_linear(linear).init(), scores, labels)
    }

    #[test]
    fn two_documents_are_worked_by_hand() {
        // P_1 = a and P_2 = 1 - a.
        let a = (-0.5f64).exp() / (1.0 + (-0.5f64).exp());
        let general = a + (1.0 - a) * (1.0 - a) / 2.0;
        assert!((value(false, &[0.0, 1.0], &[1.0, 0.0]) - general).abs() < 1e-12);
        assert!((value(true, &[0.0, 1.0], &[1.0, 0.0]) - (a + (1.0 - a) / 2.0)).abs() < 1e-12);
    }

    #[test]
    fn the_linear_form_counts_every_relevant_document() {
        // Ranks 1 and 2 are relevant and far apart: 1 against 1 + 1/2.
        let (scores, labels) = ([60.0, 30.0, 0.0], [1.0, 1.0, 0.0]);
        assert!((value(false, &scores, &labels) - 1.0).abs() < 1e-12);
        assert!((value(true, &scores, &labels) - 1.5).abs() < 1e-12);
    }
}
