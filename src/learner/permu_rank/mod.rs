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
mod fit;
mod linear;
mod network;
mod search;
#[cfg(test)]
mod tests;
mod working_sets;

use crate::learner::prelude::*;
use crate::measure::{Convention, Measure};
use bounds::{PairAggregation, TypeTwoBound, TypeTwoLoss};

const NAME: &str = "permu_rank";

pub(super) const ENTRY: LearnerEntry = LearnerEntry {
    summary: "support vectors over the most violated perfect and imperfect permutations, for any measure in [0, 1]",
    paper: "Xu, Li, Liu, Peng, Lu and Ma, Direct optimization of evaluation measures in learning to rank, Figure 7",
    takes_scorer: true,
    shares_work: false,
    ..LearnerEntry::of::<PermuRankConfig>(NAME)
};

/// The pairs of documents over which the function `F` sums. Section 3 of the paper gives both definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Pairs {
    /// Every pair.
    #[default]
    All,
    /// Only pairs of documents that the measure distinguishes, such as a relevant and an irrelevant document for
    /// average precision.
    Different,
}

/// Configuration of [`PermuRank`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PermuRankConfig {
    /// The measure `E` whose bound is minimized, with values in `[0, 1]`. The default is the selection measure.
    pub measure: Option<Measure>,
    /// The convention of the measure `E`. The default is the convention of the selection measure.
    pub convention: Option<Convention>,
    /// The pairs of documents over which the function `F` sums.
    pub pairs: Pairs,
    /// The bound for a perfect and an imperfect permutation.
    pub bound: TypeTwoBound,
    /// How the loss of a query combines the bounds for its pairs of a perfect and an imperfect permutation.
    pub aggregation: PairAggregation,
    /// The cost `C`: one value above 0, or a list from which the best value is chosen on validation data.
    pub c: Candidates,
    /// The maximum number of rounds for each `C`, at least 1.
    pub rounds: usize,
    /// The solver of a round stops when the duality gap, relative to the objective, is at most this number. The number
    /// must be above 0.
    pub tolerance: f64,
    /// For a linear scorer, the maximum number of cutting-plane rounds per round of PermuRank, at least 1.
    pub max_steps: usize,
    /// For any other scorer, the number of Adam steps per round of PermuRank, at least 1.
    pub gradient_steps: usize,
    /// The learning rate of the Adam steps; must be above 0.
    pub learning_rate: f64,
}

impl Default for PermuRankConfig {
    fn default() -> Self {
        Self {
            measure: None,
            convention: None,
            pairs: Pairs::default(),
            bound: TypeTwoBound::default(),
            aggregation: PairAggregation::default(),
            c: Candidates::powers_of_ten(1, 3),
            rounds: 50,
            tolerance: 1e-3,
            max_steps: 500,
            gradient_steps: 20,
            learning_rate: 0.01,
        }
    }
}

impl PermuRankConfig {
    fn loss(&self) -> TypeTwoLoss {
        TypeTwoLoss { bound: self.bound, aggregation: self.aggregation }
    }
}

impl LearnerConfig for PermuRankConfig {
    type RankingLearner = PermuRank;

    fn check(&self, parts: &Parts) -> Result<PermuRank> {
        self.c.check("c")?;
        checks::at_least("rounds", self.rounds, 1)?;
        checks::positive("tolerance", self.tolerance)?;
        checks::at_least("max_steps", self.max_steps, 1)?;
        checks::at_least("gradient_steps", self.gradient_steps, 1)?;
        checks::positive("learning_rate", self.learning_rate)?;
        let scorer = parts.scorer_or_default();
        scorer.check()?;
        checks::without_batch_norm(&scorer, checks::NO_STATISTICS)?;
        Ok(PermuRank { scorer, config: self.clone() })
    }
}

/// The learner PermuRank with checked parameters.
#[derive(Debug, Clone)]
pub(crate) struct PermuRank {
    scorer: ScorerConfig,
    config: PermuRankConfig,
}
