//! SoftPrecision, the expected precision at `k` of noisy scores.
//!
//! The surrogate is `1/k sum_j l_j P(R_j < k)`. The rank `R_j`, counted from 0, is a sum of independent trials "i beats
//! j" (as in softrank-directness, section III, for NDCG). The surrogate tends to precision at `k` as `sigma` tends to
//! 0.
//!
//! Cost: O(k n^2). With `model = "exact"`, the trials are independent only when the noise on the document's own score
//! is fixed. The cost is then O(k n log n) (see [`RankModel`]).
//!
//! A query whose documents are all relevant or all irrelevant has loss 0.

use burn::config::Config;

use super::relaxation::{Expected, RankModel};
use super::relevance_measures::PrecisionAt;
use super::transform::Surrogate;
use crate::loss::approximation::RankExpectationMethod;
use crate::loss::declare::declare;
use crate::loss::error::LossError;
use crate::loss::temperature::Temperature;

declare! {
    SoftPrecisionConfig,
    name: "soft_precision",
    summary: "expectation of precision at k under Gaussian scores (SoftRank)",
    formula: "1 - 1/k sum_j l_j P(R_j < k), R_j = sum of Bernoulli((1 + erf((s_k - s_j) / (2 sigma))) / 2) over k != j",
    cost: "O(k n^2)",
    paper: "He and Liu, Are algorithms directly optimizing IR measures really direct?, section III",
    temperature: "sigma", sharper: Smaller, paper_value: 1.0, setter: with_sigma,
}

/// Configuration of [`SoftPrecision`]. The default temperature suits training from scratch; [`paper`](Self::paper) uses
/// the paper's temperature.
#[doc = example!("SoftPrecisionConfig", ".with_k(1)")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct SoftPrecisionConfig {
    /// The standard deviation `sigma` of a noisy score; must be above 0.
    #[config(default = "Temperature::spreads(0.1)")]
    pub temperature: Temperature,
    /// The number of top ranks that count, 1 or more.
    #[config(default = 5)]
    pub k: usize,
    /// The model for the distribution of ranks.
    #[config(default = "RankModel::Independent")]
    pub model: RankModel,
}

impl SoftPrecisionConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `sigma` is not a finite number above 0, or if `k` is 0.
    pub fn init(&self) -> Result<SoftPrecision, LossError> {
        let expected =
            Expected { temperature: self.temperature, evaluation: RankExpectationMethod::Cutoff, model: self.model };
        Surrogate::named(NAME, PrecisionAt { k: self.k }, expected)
    }
}

/// The SoftPrecision loss, `1 - 1/k sum_j l_j P(R_j < k)`.
#[doc(alias = "SoftRank")]
#[doc(alias = "P@k")]
pub type SoftPrecision = Surrogate<PrecisionAt>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn value(k: usize, scores: &[f64]) -> f64 {
        testing::value(SoftPrecisionConfig::paper().with_k(k).init(), scores, &[1.0, 0.0, 0.0])
    }

    #[test]
    fn equal_scores_are_worked_by_hand() {
        // Binomial ranks: P(R = 0) = 1/4, P(R < 2) = 3/4.
        assert!((value(1, &[0.0; 3]) - 0.25).abs() < 1e-15);
        assert!((value(2, &[0.0; 3]) - 0.375).abs() < 1e-15);
        assert!((value(6, &[0.3, 2.0, -1.0]) - 1.0 / 6.0).abs() < 1e-12, "ranks beyond the list hold nothing");
    }
}
