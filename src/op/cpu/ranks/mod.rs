//! SoftRank's expectations over the ranks of documents with noisy scores. For a given document, every other document is
//! a trial. The trial succeeds with the probability that the other document's noisy score is higher ([`trial`]). The
//! rank of the document is the number of trials that succeed. The distribution of the rank is computed by adding one
//! trial after another. If the function of the rank is a sum of exponentials, a product over the trials replaces the
//! distribution. Exact noise and [long lists](super::long) have separate kernels.

#[cfg(test)]
pub mod above_cases;
pub mod above_expectation;
pub mod above_recursion;
pub mod rank_recursion;
pub mod trial;
pub mod trials;
