//! SmoothAP from ranks, the average precision at sigmoid ranks.
//!
//! The surrogate is `1/|l| sum_ij l_i l_j T_ij / r_i`, where `T_ij = sigmoid((s_j - s_i) / sigma)` and
//! `r_i = 1 + sum_{j != i} T_ij` (smoothrank, equations 4, 5 and 9). The paper prints `T_ii = 1/2`, although the
//! indicator `1(r(i) <= r(i))` that it approximates is 1. With `T_ii = 1/2`, the surrogate does not tend to average
//! precision as `sigma` tends to 0. The default here is `diagonal = 1`; `diagonal = 0.5` gives the form printed in the
//! paper.
//!
//! With `diagonal = 1`, the surrogate is Smooth-AP (Brown et al., Smooth-AP: smoothing the path towards large-scale
//! image retrieval). In Smooth-AP, a document's rank is one plus a sum of sigmoids over the other documents. Its rank
//! among the relevant documents is defined in the same way. Smooth-AP calls `sigma` the temperature.
//!
//! Cost: O(n^2). A query whose documents are all relevant or all irrelevant has loss 0.

use burn::config::Config;

use super::measures::AveragePrecision;
use super::relaxation::SigmoidRanks;
use super::transform::Surrogate;
use crate::loss::declare::declare;
use crate::loss::error::LossError;
use crate::loss::temperature::Temperature;

declare! {
    SmoothApRankConfig,
    name: "smooth_ap_rank",
    summary: "average precision at sigmoid ranks",
    formula: "1 - 1/|l| sum_ij l_i l_j T_ij / r_i, T_ij = sigmoid((s_j - s_i) / sigma), T_ii = diagonal, r_i = 1 + sum_{j != i} T_ij",
    cost: "O(n^2); long lists in float32 on the CPU O(n log n)",
    paper: "Chapelle and Wu, Gradient descent optimization of smoothed information retrieval metrics, eq. (9)",
    temperature: "sigma", sharper: Smaller, paper_value: 1.0, setter: with_sigma,
}

/// Configuration of [`SmoothApRank`]. The default temperature suits training from scratch; [`paper`](Self::paper) uses
/// the paper's temperature.
#[doc = example!("SmoothApRankConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct SmoothApRankConfig {
    /// The smoothing `sigma`, above 0.
    #[config(default = "Temperature::spreads(0.05)")]
    pub temperature: Temperature,
    /// A document's own term `T_ii`, from 0 to 1. With 1, the indicator is exact; 0.5 is the value in the paper.
    #[config(default = 1.0)]
    pub diagonal: f64,
}

impl SmoothApRankConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `sigma` is not a finite number above 0, or if `diagonal` is outside [0, 1].
    pub fn init(&self) -> Result<SmoothApRank, LossError> {
        let ranks = SigmoidRanks { temperature: self.temperature, diagonal: self.diagonal };
        Surrogate::named(NAME, AveragePrecision::new(), ranks)
    }
}

/// The SmoothAP loss from ranks, `1 - 1/|l| sum_ij l_i l_j T_ij / r_i`.
#[doc(alias = "MAP")]
#[doc(alias = "SmoothAP")]
pub type SmoothApRank = Surrogate<AveragePrecision>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn value(sigma: f64, diagonal: f64, scores: &[f64], labels: &[f64]) -> f64 {
        testing::value(SmoothApRankConfig::new().with_sigma(sigma).with_diagonal(diagonal).init(), scores, labels)
    }

    #[test]
    fn two_documents_are_worked_by_hand() {
        // One relevant document, 1 below: T_ii / (1 + sigmoid(2)).
        let rank = 1.0 + 1.0 / (1.0 + (-2f64).exp());
        assert!((value(0.5, 1.0, &[0.0, 1.0], &[1.0, 0.0]) - 1.0 / rank).abs() < 1e-12);
        assert!((value(0.5, 0.5, &[0.0, 1.0], &[1.0, 0.0]) - 0.5 / rank).abs() < 1e-12);
    }

    #[test]
    fn only_the_full_diagonal_tends_to_average_precision() {
        // Relevant at ranks 1 and 3: AP = (1 + 2/3) / 2; a diagonal of 1/2 takes 1/2 from each count.
        let (scores, labels) = ([3.0, 2.0, 1.0], [1.0, 0.0, 1.0]);
        assert!((value(1e-3, 1.0, &scores, &labels) - (1.0 + 2.0 / 3.0) / 2.0).abs() < 1e-12);
        assert!((value(1e-3, 0.5, &scores, &labels) - (0.5 + 1.5 / 3.0) / 2.0).abs() < 1e-12);
    }

    #[test]
    fn a_diagonal_outside_the_unit_interval_is_refused() {
        for diagonal in [-0.1, 1.5, f64::NAN] {
            assert!(SmoothApRankConfig::paper().with_diagonal(diagonal).init().is_err());
        }
    }
}
