//! SoftRank's expectations over the ranks of documents with noisy scores. Each other document is a trial, which
//! succeeds with the probability that its noisy score is larger ([`beats`], [`trial`]). The rank is the number of
//! successes. Its distribution results from one trial after another ([`recurrence`]), while a sum of exponentials of
//! the rank needs only a product. Exact noise and long lists have [kernels of their own](super::long).

#[cfg(test)]
pub mod above_cases;
pub mod above_expectation;
pub mod above_recursion;
pub mod beats;
pub mod rank_recursion;
pub mod recurrence;
mod trial;
pub mod trials;
