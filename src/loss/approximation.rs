//! The evaluation of a loss that does not follow its formula to the letter.

use serde::{Deserialize, Serialize};

/// Method of computing an expectation over the rank of a document. All methods that apply agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankExpectationMethod {
    /// The cheapest that applies: `cutoff` when fewer ranks count than there are documents, else `exponentials` for a
    /// completely monotone discount, else `recursion`.
    #[default]
    Auto,
    /// The whole rank distribution.
    Recursion,
    /// The first `k` entries of the rank distribution.
    Cutoff,
    /// The discount as a sum of exponentials.
    Exponentials,
}

/// Evaluation of a loss in lists up to some length where it does not follow its formula to the letter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Approximation {
    /// Number of documents of the longest list.
    pub documents: usize,
    /// The evaluation used at that length.
    pub evaluation: RankExpectationMethod,
    /// Number of exponentials that stand for the discount; 0 if the discount itself is used.
    pub terms: usize,
    /// Largest absolute error of the discount over the ranks of such a list, in float64.
    pub error_f64: f64,
    /// The same error when the discount is accumulated in float32, as a float32 loss does.
    pub error_f32: f64,
}
