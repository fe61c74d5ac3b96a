//! Ridge regression on gains, in closed form.
//!
//! ```text
//! minimize  sum_d c_d (w . x_d + b - G(y_d))^2 + lambda ||w||^2,   sum_d c_d = 1
//! ```
//!
//! Balanced weights `c` give the relevant documents (label 1 or above) the same total weight as the irrelevant
//! documents (smoothrank, section 7). Without balanced weights, all documents have the same weight. The intercept `b`
//! is not penalized. An intercept shifts all scores equally, so it does not affect rankings, but fitting it changes the
//! weights. SmoothRank starts from the solution of this regression (section 4.4.1).
//!
//! The sums over documents cost O(documents x features^2), and each lambda costs O(features^3) for a Cholesky
//! factorization. With an intercept, a constant feature has the weight 0. Without an intercept, a constant feature acts
//! as a penalized intercept. Each lambda is a round. The round with the best selection measure is chosen. If several
//! rounds are equally good, the earliest of them is chosen.

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
