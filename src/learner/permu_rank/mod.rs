//! PermuRank minimizes an upper bound on one minus a measure. The bound is computed from working sets of permutations,
//! which grow in every round. Section 5.2 and Figure 7 of [direct-optimization](crate::loss#papers) describe PermuRank.
//!
//! ```text
//! repeat    w = argmin  1/2 ||w||^2 + C / m sum_q 1 / |B_q| sum over p in B_q, r in R_q
//!                           (E(p) - E(r)) max(0, 1 - (F(p) - F(r)))
//!           B_q gains the perfect permutation with the lowest F, R_q the imperfect one with the highest F, at w
//! until     no set changes
//! F(p) = 1 / (n (n - 1)) sum_{k < l} z_kl (s_k - s_l),    z_kl = 1 if p has k ahead of l, else -1
//! ```
//!
//! The sum over queries includes only the `m` queries for which an imperfect permutation exists. `E` is any measure in
//! [0, 1] under any convention. A permutation is perfect if no other permutation has a higher measure. The first
//! permutations are found at `w = 0`, where all scores are equal. For a linear scorer, the problem of each round is
//! convex and is solved by cutting planes. Any other scorer is trained by gradient steps on the same bound.
//!
//! By default, the loss of a query is the sum of equation 7. As in section 5.2, this sum is divided by the number of
//! perfect permutations. With this loss, the rounds do not converge unless a scorer can separate the labels. Sorting by
//! score gives the permutation with the largest `F`, so a new term is positive at the current weights. Each new term in
//! the sum therefore moves the weights away from their current values. With `aggregation = "max"`, the loss of a query
//! is its largest term instead, as in equation 6 and in SVMmap. The key `bound` selects another of the bounds in
//! section 4.2. With `pairs = "different"`, `F` sums only over the pairs of documents that the measure distinguishes
//! (the second definition in section 3). By default `F` sums over all pairs. The perfect permutation with the lowest
//! `F` then reverses the order within each label, which pulls the scores of equal labels together.
//!
//! In each round, the searches cost O(n log n) per query, and an evaluation of the bound costs O(|B| |R|). If `C` is a
//! list, the fit starts anew for each value. The selection measure then chooses among the rounds of all values.

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
