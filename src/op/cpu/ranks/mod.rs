//! SoftRank's expectations over the ranks of documents with noisy scores. Each other document is a trial, which
//! succeeds with the probability that its noisy score is larger ([`beats`], [`trial`]). The rank of a document is the
//! number of successful trials. The distribution of the rank results from one trial after another ([`recurrence`]). The
//! expectation of a sum of exponentials of the rank needs only a product. Separate kernels compute exact noise and
//! [long lists](super::long).

#[cfg(test)]
pub mod above_cases;
pub mod above_expectation;
pub mod above_recursion;
pub mod beats;
pub mod rank_recursion;
pub mod recurrence;
mod trial;
pub mod trials;
