//! RankSVM (Herbrich et al., 2000; Joachims, 2002) is a support vector machine on all ordered pairs of documents. The
//! solver stops when its duality gap is small enough.
//!
//! ```text
//! min over w    1/2 ||w||^2 + C sum_q omega_q sum over pairs (i, j) of q, y_i > y_j    l(w . x_i - w . x_j)
//! ```
//!
//! The loss of a pair is `l(t) = max(0, 1 - t)` (`hinge`) or its square (`squared_hinge`). With `weighting = "pair"`,
//! `omega_q = 1`, so every pair counts the same, and long queries dominate the objective. With `weighting = "query"`,
//! `omega_q = 1 / (m |P_q|)`. Here `m` is the number of queries with pairs, and `|P_q|` is the number of pairs of query
//! q. In this case, `C` multiplies the average over these queries of their mean loss per pair.
//!
//! Pairs are never enumerated: the objective and its gradient cost O(n log n) per query (see `pairs`). The hinge is
//! minimized by cutting planes, whose quadratic programs give lower bounds on the minimum. The squared hinge is
//! minimized by truncated Newton steps (Chapelle and Keerthi, 2010). For the squared hinge, the dual point
//! `alpha = 2 C omega max(0, 1 - t)` leaves a duality gap of exactly `||gradient||^2 / 2`.
//!
//! Each `C` in the list is one round, which starts from the solution for the previous `C`. The selection measure
//! chooses the best round. A query whose labels are all equal has no pairs and is ignored.

mod config;
mod fit;
mod newton;
mod pairs;
mod risk;
#[cfg(test)]
mod tests;

pub use config::{PairWeighting, RankSvm, RankSvmConfig, RankSvmLoss};

use config::NAME;

use super::entry::LearnerEntry;

pub(super) const ENTRY: LearnerEntry = LearnerEntry {
    summary: "support vector machine over all pairs of documents, to a duality gap",
    paper: "Joachims, Optimizing search engines using clickthrough data",
    ..LearnerEntry::of::<RankSvmConfig>(NAME)
};
