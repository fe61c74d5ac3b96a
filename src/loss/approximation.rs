//! How a loss is approximated where it does not use its exact formula.

use serde::{Deserialize, Serialize};

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
