//! Models for the joint distribution of the comparisons between one document and all others.

use serde::{Deserialize, Serialize};

use crate::op::{Comparison, ScoreNoise};

/// The distribution of ranks that is assumed when scores are noisy. The probability that one document beats another is
/// the same in both models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankModel {
    /// SoftRank's model: the other documents beat a given document independently. The model ignores that the noise on
    /// the given document's score affects all of these comparisons. It underestimates the probability that no tied
    /// document beats a given document. With `R` tied relevant documents at the top, the expected reciprocal rank is
    /// `R 2^(1 - R)` instead of 1.
    #[default]
    Independent,
    /// The exact distribution of ranks: the other documents beat a given document independently only when the noise on
    /// its score is fixed. Expectations are averaged over this noise. In float32, the fused CPU kernels use the same
    /// values of this noise for all documents. These kernels take O(n log n) time for `n` documents. Their error is
    /// below 2e-7 for up to a million documents. In float64 and on other devices, each document needs
    /// `29 sqrt(1 + ln n)` values of its own noise. The evaluation then takes O(n^2 log n) time. Its error is below
    /// 1e-6 for up to 5000 documents.
    Exact,
}

impl RankModel {
    /// Returns the model of comparisons for scores whose noise has the standard deviation `sigma`.
    pub(super) fn noise(self, sigma: f64) -> ScoreNoise {
        match self {
            Self::Independent => ScoreNoise::one(Comparison::independent(sigma)),
            Self::Exact => ScoreNoise::Exact { sigma },
        }
    }
}
