//! RankSVM: the support vector machine over all ordered pairs of documents (Herbrich et al., 2000; Joachims, 2002),
//! solved to a stated duality gap.
//!
//! ```text
//! min over w    1/2 ||w||^2 + C sum_q omega_q sum over pairs (i, j) of q, y_i > y_j    l(w . x_i - w . x_j)
//! ```
//!
//! with `l(t) = max(0, 1 - t)` (`hinge`) or its square (`squared_hinge`), and `omega_q = 1` (`weighting = "pair"`:
//! every pair counts the same, so long queries dominate) or `omega_q = 1 / (m |P_q|)` for `m` queries with pairs and
//! `|P_q|` pairs in query q (`weighting = "query"`: `C` multiplies the mean over queries of the mean over pairs).
//!
//! Pairs are never formed: value and gradient take O(n log n) per query (see `pairs`). The hinge is minimized by
//! cutting planes, whose quadratic programs bound the minimum from below. The squared hinge is minimized by truncated
//! Newton steps (Chapelle and Keerthi, 2010), where the dual point `alpha = 2 C omega max(0, 1 - t)` leaves a gap of
//! exactly `||gradient||^2 / 2`.
//!
//! Every `C` of the grid is one round, which starts from the solution of the previous one; the selection measure
//! chooses among them. A query whose labels are all equal has no pairs and takes no part.

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
