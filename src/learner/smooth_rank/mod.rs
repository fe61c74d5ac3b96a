//! SmoothRank minimizes a surrogate of a ranking measure again and again, each time with less smoothing (smoothrank,
//! Algorithm 1).
//!
//! ```text
//! w = w_0, the ridge regression on the loss's gains
//! for sigma = 64, 32, ..., 1/64:    w = argmin, from w, of    lambda ||w - w_0||^2 + sum_q loss_q(w; sigma)
//! ```
//!
//! The ridge regression predicts the gains of the documents. The gains are given by the gain function of the loss, or
//! are `2^y - 1` if the loss has none. Since `loss_q` is `1 - A_q`, where `A_q` is the smoothed measure, the objective
//! equals equation (13) plus a constant. Any registered surrogate with a temperature can be used. The default is
//! SmoothNDCG with a cut-off at rank 50, as in section 7. If the temperature of a surrogate is called `alpha`, then
//! `alpha = 1 / sigma`. The objective for each sigma is minimized by conjugate gradients. Only `lambda` is chosen on
//! validation data, by comparing the models for the last sigma. According to section 5.2 of the paper, choosing sigma
//! in the same way is too unstable. For every lambda, the first sigma starts from the ridge regression, not from the
//! solution for another lambda.
//!
//! Each round minimizes the objective for one sigma and one lambda. A round computes the surrogate a few dozen times,
//! and each computation costs O(n^2) per query. A query whose labels are all equal does not contribute.

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
