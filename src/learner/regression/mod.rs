//! Ridge regression on gains, in closed form.
//!
//! ```text
//! minimize  sum_d c_d (w . x_d + b - G(y_d))^2 + lambda ||w||^2,   sum_d c_d = 1
//! ```
//!
//! Balanced weights `c` give relevant documents (label 1 or more) and irrelevant ones the same total weight
//! (smoothrank, section 7). Without balancing, every document has the same weight. The intercept `b` is not penalized.
//! The intercept never changes a ranking, but it changes the fitted weights. The solution of the regression is also the
//! starting point of SmoothRank (section 4.4.1).
//!
//! The fit costs O(documents x features^2) once, and O(features^3) for the Cholesky factorization of each lambda. With
//! an intercept, a constant feature has the weight 0. Without an intercept, a constant feature acts as a penalized
//! intercept. Each lambda is a round. Validation data choose the best round, and the earliest one among equals.

mod config;
mod fit;
#[cfg(test)]
mod tests;

pub use config::{Regression, RegressionConfig};

use config::NAME;

use super::entry::LearnerEntry;

pub(super) const ENTRY: LearnerEntry = LearnerEntry {
    summary: "ridge regression on gains, in closed form, lambda chosen on validation data",
    paper: "Chapelle and Wu, Gradient descent optimization of smoothed information retrieval metrics, sections 4.4.1 \
            and 7",
    ..LearnerEntry::of::<RegressionConfig>(NAME)
};
