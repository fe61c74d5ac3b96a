//! SmoothDCG, the DCG at sigmoid ranks.
//!
//! The surrogate is `sum_i G(y_i) / log2(1 + r_i)`, where `r_i = 1 + sum_{j != i} sigmoid((s_j - s_i) / sigma)`
//! (smoothrank, equation 5). The surrogate tends to DCG as `sigma` tends to 0.
//!
//! Cost: O(n^2). A query whose labels are all equal has loss 0.

use burn::config::Config;

use super::measures::Dcg;
use super::relaxation::SigmoidRanks;
use super::transform::Surrogate;
use crate::loss::declare::declare;
use crate::loss::error::LossError;
use crate::loss::temperature::Temperature;
use crate::measure::Gain;

declare! {
    SmoothDcgConfig,
    name: "smooth_dcg",
    summary: "DCG at sigmoid ranks",
    formula: "- sum_i G(y_i) / log2(1 + r_i), r_i = 1 + sum_{j != i} sigmoid((s_j - s_i) / sigma)",
    cost: "O(n^2); long lists in float32 on the CPU O(n log n)",
    paper: "Chapelle and Wu, Gradient descent optimization of smoothed information retrieval metrics, eq. (5)",
    temperature: "sigma", sharper: Smaller, paper_value: 1.0, setter: with_sigma,
}

/// Configuration of [`SmoothDcg`]. The default temperature suits training from scratch; [`paper`](Self::paper) uses the
/// paper's temperature.
#[doc = example!("SmoothDcgConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct SmoothDcgConfig {
    /// The smoothing `sigma`, above 0.
    #[config(default = "Temperature::spreads(0.05)")]
    pub temperature: Temperature,
    /// The function that maps a label to its gain.
    #[config(default = "Gain::Exp2")]
    pub gain: Gain,
}

impl SmoothDcgConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `sigma` is not a finite number above 0, or if the table of gains is invalid.
    pub fn init(&self) -> Result<SmoothDcg, LossError> {
        let dcg = Dcg { gain: self.gain.clone(), ..Dcg::default() };
        Surrogate::named(NAME, dcg, SigmoidRanks::new(self.temperature))
    }
}

/// The SmoothDCG loss, `- sum_i G(y_i) / log2(1 + r_i)`, at sigmoid ranks `r_i`.
#[doc(alias = "SmoothDCG")]
pub type SmoothDcg = Surrogate<Dcg>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::explained;

    #[test]
    fn two_documents_are_worked_by_hand() {
        let found = explained(SmoothDcgConfig::new().with_sigma(0.5).init(), &[0.0, 1.0], &[2.0, 1.0]);
        let below = 1.0 / (1.0 + (-2f64).exp());
        let expected = 3.0 / (2.0 + below).log2() + 1.0 / (3.0 - below).log2();
        assert!((found.value - expected).abs() < 1e-12);
        assert_eq!(found.loss, -found.value);
    }
}
