//! SmoothRank: minimizes a surrogate of an information retrieval measure with less and less smoothing (smoothrank,
//! Algorithm 1).
//!
//! ```text
//! w = w_0, the ridge regression on the loss's gains
//! for sigma = 64, 32, ..., 1/64:    w = argmin, from w, of    lambda ||w - w_0||^2 + sum_q loss_q(w; sigma)
//! ```
//!
//! The gains are the loss's own, or `2^y - 1` for a loss without gains. `loss_q = 1 - A_q` for the smooth measure
//! `A_q`, so the objective is equation (13) plus a constant. Any registered surrogate with a temperature can be used.
//! SmoothNDCG is the default, cut off at 50 as in section 7. For surrogates of the other papers, `alpha` is taken as
//! `1 / sigma`. At each sigma the objective is minimized by conjugate gradients. `lambda` is chosen on validation data
//! at the last sigma (choosing sigma as well was found too unstable, section 5.2). No lambda starts from the solution
//! of another.
//!
//! A round is one sigma of one lambda. It costs some tens of evaluations of the surrogate, O(n^2) per query. A query
//! whose labels are all equal adds nothing.

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
