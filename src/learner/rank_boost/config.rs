//! Configuration of RankBoost.

use serde::{Deserialize, Serialize};

use crate::learner::entry::{LearnerConfig, Parts};
use crate::learner::error::LearnerError;
use crate::learner::shared::checks;
use crate::learner::solver::bins::MAX_BINS;

pub(super) const NAME: &str = "rank_boost";

/// Configuration of [`RankBoost`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RankBoostConfig {
    /// The maximum number of rounds, each of which adds a tree with a single split.
    pub rounds: usize,
    /// The maximum number of thresholds per feature, from 1 to 255. If a feature has few distinct values, every
    /// possible threshold is tried.
    pub thresholds: usize,
    /// The fit stops after this many rounds without a better selection measure.
    pub patience: Option<usize>,
}

impl Default for RankBoostConfig {
    fn default() -> Self {
        Self { rounds: 300, thresholds: MAX_BINS - 1, patience: None }
    }
}

impl LearnerConfig for RankBoostConfig {
    type RankingLearner = RankBoost;

    fn check(&self, _: &Parts) -> Result<RankBoost, LearnerError> {
        checks::at_least("rounds", self.rounds, 1)?;
        if !(1..MAX_BINS).contains(&self.thresholds) {
            return Err(checks::parameter("thresholds", self.thresholds, format_args!("1 to {}", MAX_BINS - 1)));
        }
        self.patience.map(|patience| checks::at_least("patience", patience, 1)).transpose()?;
        Ok(RankBoost { config: self.clone() })
    }
}

/// The learner RankBoost with checked parameters.
#[derive(Debug, Clone)]
pub struct RankBoost {
    pub(super) config: RankBoostConfig,
}
