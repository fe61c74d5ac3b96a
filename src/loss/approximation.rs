//! How a loss is evaluated when it does not follow its formula exactly.

use serde::{Deserialize, Serialize};

/// How to compute an expectation over the rank of a document. All applicable methods agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankExpectationMethod {
    /// Chooses the cheapest applicable method. `Auto` means `cutoff` if fewer ranks count than there are documents,
    /// else `exponentials` for a completely monotone discount, else `recursion`.
    #[default]
    Auto,
    /// Computes the whole rank distribution.
    Recursion,
    /// Computes only the first `k` entries of the rank distribution.
    Cutoff,
    /// Writes the discount as a sum of exponentials.
    Exponentials,
}

/// How a loss is evaluated on lists up to a given length, if it does not follow its formula exactly.
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
    /// The largest absolute error of the discount when it is accumulated in float32, as in a float32 loss.
    pub error_f32: f64,
}
