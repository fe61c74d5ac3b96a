//! SVMmap (Yue et al., 2007) fits a support vector machine whose risk bounds one minus average precision
//! (direct-optimization, section 5.3).
//!
//! ```text
//! min over w    1/2 ||w||^2 + C / m sum_q max over rankings pi of q  [ (1 - AP(pi)) - w . (Psi*_q - Psi_q(pi)) ]
//! Psi_q(pi) = 1 / (|R_q| |I_q|)  sum over relevant k, irrelevant l    (+1 if pi has k ahead of l, else -1) (x_k - x_l)
//! ```
//!
//! The risk sums over the `m` queries with both relevant (label of at least 1) and irrelevant documents. One-slack
//! cutting planes solve the problem. Each plane combines the most violated rankings of all queries, found exactly in
//! O(n log n) per query (see `most_violated`). The solver stops at a duality gap of `tolerance` times the objective.
//!
//! Every `C` of the grid is one round, which starts from the solution of the previous round. The selection measure
//! chooses among the rounds.

mod config;
mod fit;
mod most_violated;
mod risk;
#[cfg(test)]
mod tests;

pub use config::{SvmMap, SvmMapConfig};

use config::NAME;

use super::entry::LearnerEntry;

pub(super) const ENTRY: LearnerEntry = LearnerEntry {
    summary: "support vector machine whose risk bounds one minus average precision, to a duality gap",
    paper: "Yue, Finley, Radlinski and Joachims, A support vector method for optimizing average precision",
    ..LearnerEntry::of::<SvmMapConfig>(NAME)
};
