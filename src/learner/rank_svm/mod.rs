//! RankSVM (Herbrich et al., 2000; Joachims, 2002) fits a support vector machine to all ordered pairs of documents. The
//! solver stops at a given duality gap.
//!
//! ```text
//! min over w    1/2 ||w||^2 + C sum_q omega_q sum over pairs (i, j) of q, y_i > y_j    l(w . x_i - w . x_j)
//! ```
//!
//! The loss of a pair is `l(t) = max(0, 1 - t)` (`hinge`) or its square (`squared_hinge`). With `weighting = "pair"`,
//! `omega_q = 1`, so every pair counts the same and long queries dominate. With `weighting = "query"`,
//! `omega_q = 1 / (m |P_q|)` for `m` queries with pairs and `|P_q|` pairs in query q. With this weighting, `C`
//! multiplies the mean over queries of the mean over pairs.
//!
//! Pairs are never formed, and the value and the gradient cost O(n log n) per query (see `pairs`). Cutting planes
//! minimize the hinge, and their quadratic programs bound the minimum from below. Truncated Newton steps (Chapelle and
//! Keerthi, 2010) minimize the squared hinge. For the squared hinge, the dual point `alpha = 2 C omega max(0, 1 - t)`
//! leaves a duality gap of exactly `||gradient||^2 / 2`.
//!
//! Every `C` of the grid is one round, which starts from the solution of the previous round. The selection measure
//! chooses among the rounds. A query whose labels are all equal has no pairs and is ignored.

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
