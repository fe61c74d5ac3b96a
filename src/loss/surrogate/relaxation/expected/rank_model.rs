//! Models of the dependence between the trials of a document, and the comparisons of documents that follow.

use serde::{Deserialize, Serialize};

use crate::op::{Comparison, ScoreNoise};

/// The assumed distribution of ranks when scores are noisy. The chance that one document beats another is the same in
/// both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankModel {
    /// SoftRank's model: other documents beat a document independently of each other, although all are compared with
    /// the same noise of that document. The trials of tied documents then fail together too seldom. With `R` tied
    /// relevant documents at the top, the expected reciprocal rank is `R 2^(1 - R)`, not 1.
    #[default]
    Independent,
    /// The distribution of the noisy scores: only given the noise of a document do others beat it independently.
    /// Expectations are averaged over that noise. In float32 the fused kernels of the CPU share the values of the noise
    /// among all documents. They take O(n log n) time for `n` documents, with an error below 2e-7 up to a million
    /// documents. In float64 and elsewhere it takes `29 sqrt(1 + ln n)` values of the noise of each document, O(n^2 log
    /// n) time, and an error below 1e-6 up to 5000.
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
