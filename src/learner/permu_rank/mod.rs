//! PermuRank minimizes a type two bound of one minus a measure, over growing working sets of permutations
//! (direct-optimization, section 5.2 and Figure 7).
//!
//! ```text
//! repeat    w = argmin  1/2 ||w||^2 + C / m sum_q 1 / |B_q| sum over p in B_q, r in R_q
//!                           (E(p) - E(r)) max(0, 1 - (F(p) - F(r)))
//!           B_q gains the perfect permutation with the lowest F, R_q the imperfect one with the highest F, at w
//! until     no set changes
//! F(p) = 1 / (n (n - 1)) sum_{k < l} z_kl (s_k - s_l),    z_kl = 1 if p has k ahead of l, else -1
//! ```
//!
//! The bound sums over the `m` queries with an imperfect permutation. `E` is any measure in [0, 1] in any convention. A
//! permutation is perfect if no other permutation has a higher measure. The first working sets are found at `w = 0`.
//! For a linear scorer, each round is a convex problem, which cutting planes over a quadratic program solve. Any other
//! scorer takes gradient steps on the same bound.
//!
//! The default bound is equation 7, averaged as in section 5.2. The default bound does not converge if the labels
//! cannot be separated. `F` of the order by score is at least `F` of any perfect order. Every new term of a sum
//! therefore pushes the weights away from the point where it was found. With `aggregation = "max"`, the largest term of
//! a query replaces the sum, as in equation 6 and in SVMmap. The key `bound` selects another function of section 4.2.
//! With `pairs = "different"`, `F` sums only over pairs that the measure distinguishes (the second definition of
//! section 3). With all pairs, a perfect order by ascending score within each label pulls the scores of equal labels
//! towards each other.
//!
//! A round costs O(n log n) per query for the searches, and O(|B| |R|) for each evaluation of the bound. If `C` is a
//! grid, the fit restarts for each value, and the selection measure chooses among all rounds.

mod bounds;
mod config;
mod fit;
mod linear;
mod network;
mod objective;
mod search;
#[cfg(test)]
mod tests;
mod working_sets;

pub use bounds::{PairAggregation, TypeTwoBound};
pub use config::{Pairs, PermuRank, PermuRankConfig};

use config::NAME;

use super::entry::LearnerEntry;

pub(super) const ENTRY: LearnerEntry = LearnerEntry {
    summary: "support vectors over the most violated perfect and imperfect permutations, for any measure in [0, 1]",
    paper: "Xu, Li, Liu, Peng, Lu and Ma, Direct optimization of evaluation measures in learning to rank, Figure 7",
    takes_scorer: true,
    shares_work: false,
    ..LearnerEntry::of::<PermuRankConfig>(NAME)
};
