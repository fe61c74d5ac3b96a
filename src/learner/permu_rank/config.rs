//! Configuration of PermuRank.

use serde::{Deserialize, Serialize};

use super::bounds::{PairAggregation, TypeTwoBound, TypeTwoLoss};
use crate::learner::entry::{LearnerConfig, Parts};
use crate::learner::error::LearnerError;
use crate::learner::shared::candidates::Candidates;
use crate::learner::shared::checks;
use crate::measure::{Convention, Measure};
use crate::scorer::ScorerConfig;

pub(super) const NAME: &str = "permu_rank";

/// The pairs of documents over which the function `F` sums. Section 3 of the paper gives both definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pairs {
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
pub struct PermuRankConfig {
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
    pub(super) fn loss(&self) -> TypeTwoLoss {
        TypeTwoLoss { bound: self.bound, aggregation: self.aggregation }
    }
}

impl LearnerConfig for PermuRankConfig {
    type RankingLearner = PermuRank;

    fn check(&self, parts: &Parts) -> Result<PermuRank, LearnerError> {
        let costs = self.c.positive("c")?;
        checks::at_least("rounds", self.rounds, 1)?;
        checks::positive("tolerance", self.tolerance)?;
        checks::at_least("max_steps", self.max_steps, 1)?;
        checks::at_least("gradient_steps", self.gradient_steps, 1)?;
        checks::positive("learning_rate", self.learning_rate)?;
        let scorer = parts.scorer_or_default();
        scorer.check()?;
        Ok(PermuRank { costs, scorer, config: self.clone() })
    }
}

/// The learner PermuRank with checked parameters.
#[derive(Debug, Clone)]
pub struct PermuRank {
    pub(super) costs: Vec<f64>,
    pub(super) scorer: ScorerConfig,
    pub(super) config: PermuRankConfig,
}
