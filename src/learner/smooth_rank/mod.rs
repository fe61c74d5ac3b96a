//! SmoothRank: a surrogate of an information retrieval measure, minimised less and less smoothed (smoothrank,
//! Algorithm 1).
//!
//! ```text
//! w = w_0, the ridge regression on the loss's gains
//! for sigma = 64, 32, ..., 1/64:    w = argmin, from w, of    lambda ||w - w_0||^2 + sum_q loss_q(w; sigma)
//! ```
//!
//! The gains are the loss's own, `2^y - 1` for a loss without. `loss_q = 1 - A_q` for the smooth measure `A_q`, so that
//! the objective is equation (13) plus a constant. Any registered surrogate with a temperature will do: SmoothNDCG (the
//! default, cut off at 50 as in section 7), both SmoothAPs, and those of the other papers, whose `alpha` is taken as
//! `1 / sigma`. Each sigma is minimised by conjugate gradients; `lambda` is chosen on validation data at the last sigma
//! (choosing sigma too was found too unstable, section 5.2). No lambda starts from another one's solution.
//!
//! A round is one sigma of one lambda. Its cost is that of some tens of evaluations of the surrogate, O(n^2) a query.
//! A query without two labels adds nothing.

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

use super::entry::{self, LearnerEntry};

pub(super) const ENTRY: LearnerEntry = LearnerEntry {
    name: NAME,
    summary: "conjugate gradients on a surrogate that is annealed from smooth to sharp, from ridge regression",
    paper: "Chapelle and Wu, Gradient descent optimization of smoothed information retrieval metrics, Algorithm 1",
    takes_loss: true,
    takes_scorer: true,
    round_name: "round",
    defaults: entry::defaults::<SmoothRankConfig>,
    build: entry::build::<SmoothRankConfig>,
};
