//! SmoothRank minimizes a surrogate of a ranking measure with less and less smoothing (smoothrank, Algorithm 1).
//!
//! ```text
//! w = w_0, the ridge regression on the loss's gains
//! for sigma = 64, 32, ..., 1/64:    w = argmin, from w, of    lambda ||w - w_0||^2 + sum_q loss_q(w; sigma)
//! ```
//!
//! The ridge regression predicts the gains of the loss, or `2^y - 1` for a loss without gains. Since `loss_q = 1 - A_q`
//! for the smooth measure `A_q`, the objective is equation (13) plus a constant. Any registered surrogate with a
//! temperature can be used. The default is SmoothNDCG, cut off at 50 as in section 7. For surrogates with a temperature
//! `alpha`, `alpha` is `1 / sigma`. Conjugate gradients minimize the objective at each sigma. Validation data choose
//! `lambda` at the last sigma. Section 5.2 of the paper found it too unstable to choose sigma as well. Every lambda
//! starts from the ridge regression, not from the solution of another lambda.
//!
//! Each round minimizes the objective for one sigma and one lambda. A round evaluates the surrogate some tens of times,
//! at a cost of O(n^2) per query. A query whose labels are all equal does not contribute.

mod config;
mod descent;
mod fit;
mod kernel;
mod linear;
mod network;
mod objective;
#[cfg(test)]
mod tests;

pub use config::{Optimizer, SmoothRank, SmoothRankConfig, default_loss};

use config::NAME;

use super::entry::LearnerEntry;

pub(super) const ENTRY: LearnerEntry = LearnerEntry {
    summary: "conjugate gradients on a surrogate that is annealed from smooth to sharp, from ridge regression",
    paper: "Chapelle and Wu, Gradient descent optimization of smoothed information retrieval metrics, Algorithm 1",
    takes_loss: true,
    takes_scorer: true,
    ..LearnerEntry::of::<SmoothRankConfig>(NAME)
};
