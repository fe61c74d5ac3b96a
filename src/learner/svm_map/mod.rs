//! SVMmap (Yue et al., 2007) is a support vector machine whose risk is an upper bound on one minus average precision
//! (direct-optimization, section 5.3).
//!
//! ```text
//! min over w    1/2 ||w||^2 + C / m sum_q max over rankings pi of q  [ (1 - AP(pi)) - w . (Psi*_q - Psi_q(pi)) ]
//! Psi_q(pi) = 1 / (|R_q| |I_q|)  sum over relevant k, irrelevant l    (+1 if pi has k ahead of l, else -1) (x_k - x_l)
//! ```
//!
//! The risk is a sum over the `m` queries that have both relevant documents (label 1 or above) and irrelevant
//! documents. The objective is minimized by one-slack cutting planes. Each plane combines the most violated rankings of
//! all queries. Each ranking is found exactly, in O(n log n) (see `most_violated`). The solver stops when the duality
//! gap is at most `tolerance` times the objective.
//!
//! Each `C` in the list is one round, which starts from the solution for the previous `C`. The selection measure
//! chooses the best round.

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
