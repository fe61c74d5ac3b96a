//! SmoothAP from indicators, the average precision with soft indicators of "document i is at rank j".
//!
//! Let `P_j = sum_i l_i h_ij` be the soft relevance of rank `j`. The surrogate `1/|l| sum_j P_j 1/j sum_{t <= j} P_t`
//! combines the two approximations from smoothrank, section 4.2. The surrogate tends to average precision as `sigma`
//! tends to 0.
//!
//! Cost: O(n^2). The loss is not differentiable where scores tie; ties are broken by position. A query whose documents
//! are all relevant or all irrelevant has loss 0.

use burn::config::Config;

use super::measures::AveragePrecision;
use super::relaxation::Indicator;
use super::transform::Surrogate;
use crate::loss::declare::declare;
use crate::loss::error::LossError;
use crate::loss::temperature::Temperature;

declare! {
    SmoothApIndicatorConfig,
    name: "smooth_ap_indicator",
    summary: "average precision with soft indicators of the document at each rank",
    formula: "1 - 1/|l| sum_j P_j 1/j sum_{t <= j} P_t, P_j = sum_i l_i h_ij",
    cost: "O(n^2); long lists in float32 on the CPU O(n log n)",
    paper: "Chapelle and Wu, Gradient descent optimization of smoothed information retrieval metrics, section 4.2",
    temperature: "sigma", sharper: Smaller, paper_value: 1.0, setter: with_sigma,
}

/// Configuration of [`SmoothApIndicator`]. The default temperature suits training from scratch; [`paper`](Self::paper)
/// uses the paper's temperature.
#[doc = example!("SmoothApIndicatorConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct SmoothApIndicatorConfig {
    /// The smoothing `sigma`, above 0, measured in squared scores or in variances of a list's scores.
    #[config(default = "Temperature::spreads(0.02)")]
    pub temperature: Temperature,
}

impl SmoothApIndicatorConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `sigma` is not a finite number above 0.
    pub fn init(&self) -> Result<SmoothApIndicator, LossError> {
        Surrogate::named(NAME, AveragePrecision::new(), Indicator { temperature: self.temperature })
    }
}

/// The SmoothAP loss from indicators, `1 - 1/|l| sum_j P_j 1/j sum_{t <= j} P_t`.
#[doc(alias = "MAP")]
#[doc(alias = "SmoothAP")]
pub type SmoothApIndicator = Surrogate<AveragePrecision>;

#[cfg(test)]
mod tests {
    use burn::tensor::DType;

    use super::*;
    use crate::loss::explain;

    #[test]
    fn two_documents_are_worked_by_hand() {
        // P_1 = a, P_2 = 1 - a: a a + (1 - a) / 2.
        let a = (-0.5f64).exp() / (1.0 + (-0.5f64).exp());
        let loss = SmoothApIndicatorConfig::new().with_sigma(2.0).init().unwrap();
        let found = explain(&loss, &[0.0, 1.0], &[1.0, 0.0], DType::F64).unwrap().value;
        assert!((found - (a * a + (1.0 - a) / 2.0)).abs() < 1e-12);
    }
}
