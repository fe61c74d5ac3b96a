//! Models of how the comparisons of a document with all others depend on each other.

use serde::{Deserialize, Serialize};

use crate::op::{Comparison, ScoreNoise};

/// The assumed distribution of ranks when scores are noisy. The probability that one document beats another is the same
/// in both models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankModel {
    /// SoftRank's model, in which other documents beat a document independently, although all are compared with the
    /// same noise of that document. In this model, the probability that none of the tied documents beats a given one is
    /// too small. With `R` tied relevant documents at the top, the expected reciprocal rank is `R 2^(1 - R)` instead
    /// of 1.
    #[default]
    Independent,
    /// The exact distribution of ranks, in which others beat a document independently only once its noise is fixed.
    /// Expectations are averaged over the noise of the document. In float32, the fused kernels of the CPU share the
    /// values of the noise among all documents. These kernels take O(n log n) time for `n` documents, with an error
    /// below 2e-7 up to a million documents. In float64 and on other devices, each document needs `29 sqrt(1 + ln n)`
    /// values of its noise. The evaluation then takes O(n^2 log n) time, with an error below 1e-6 up to 5000 documents.
    Exact,
}

impl RankModel {
    /// Returns the distribution of comparisons with noise of standard deviation `sigma`.
    pub(super) fn noise(self, sigma: f64) -> ScoreNoise {
        match self {
            Self::Independent => ScoreNoise::one(Comparison::independent(sigma)),
            Self::Exact => ScoreNoise::Exact { sigma },
        }
    }
}
