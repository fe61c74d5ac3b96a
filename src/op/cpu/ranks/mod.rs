//! SoftRank: expectations over the ranks of documents whose scores are noisy. Each other document is a trial: it is
//! above with the chance that its noisy score is larger ([`beats`], [`trial`]). The number of successes is the rank,
//! and its distribution follows from one trial after another ([`recurrence`]); a sum of exponentials of the rank needs
//! only a product. Exact noise and long lists go [elsewhere](super::long).

#[cfg(test)]
pub mod above_cases;
pub mod above_expectation;
pub mod above_recursion;
pub mod beats;
pub mod rank_recursion;
pub mod recurrence;
mod trial;
pub mod trials;
