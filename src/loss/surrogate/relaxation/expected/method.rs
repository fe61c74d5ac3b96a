//! The models of the distribution of ranks, and the methods that compute expectations under them.

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

/// How to compute the expectation of a discount over the random rank of a document. All methods that are applicable to
/// a discount compute the same expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankExpectationMethod {
    /// Chooses the cheapest applicable method. `Auto` selects `cutoff` if the cut-off is smaller than the list,
    /// `exponentials` for a completely monotone discount, and `recursion` otherwise.
    #[default]
    Auto,
    /// Computes the probability of every rank of each document.
    Recursion,
    /// Computes only the probabilities of the first `k` ranks of each document.
    Cutoff,
    /// Approximates the discount by a sum of exponentials, whose expectations are cheap.
    Exponentials,
}

/// How a loss is approximated for lists of up to a given length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Approximation {
    /// The number of documents in the longest list.
    pub documents: usize,
    /// The method that evaluates the loss at this length.
    pub evaluation: RankExpectationMethod,
    /// The number of exponentials that approximate the discount, or 0 if the discount itself is used.
    pub terms: usize,
    /// The largest absolute error of the approximated discount over all ranks, in float64.
    pub error_f64: f64,
    /// The largest absolute error of the approximated discount if a loss adds up its terms in float32.
    pub error_f32: f64,
}
