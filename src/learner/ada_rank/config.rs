//! Configuration of AdaRank.

use serde::{Deserialize, Serialize};

use crate::learner::entry::{LearnerConfig, Parts};
use crate::learner::error::LearnerError;
use crate::learner::shared::checks;
use crate::loss::BuiltLoss;
use crate::measure::{Convention, Measure};
use crate::scorer::ScorerConfig;

pub(super) const NAME: &str = "ada_rank";

/// The orders in which a feature may rank documents: by descending values, by ascending values, or both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Directions {
    /// Either.
    #[default]
    Both,
    /// Largest value first.
    Descending,
    /// Smallest value first.
    Ascending,
}

/// How the boosting distribution `P_t` over queries enters the training of a weak scorer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Emphasis {
    /// The loss of each query is weighted by `P_t`.
    #[default]
    Weighted,
    /// The loss is computed on queries that are drawn with replacement according to `P_t`.
    Sampled,
}

/// The configuration of the weak scorers, and the loss that trains them.
#[derive(Debug, Clone, Serialize)]
pub(super) struct WeakScorer {
    /// The configuration of the scorer that each round trains.
    pub(super) scorer: ScorerConfig,
    /// The loss that trains the scorer.
    pub(super) loss: BuiltLoss,
}

/// Configuration of [`AdaRank`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdaRankConfig {
    /// The measure to boost, with values in `[0, 1]`. The default is the selection measure.
    pub measure: Option<Measure>,
    /// The convention of the boosted measure. The default is the convention of the selection measure.
    pub convention: Option<Convention>,
    /// The maximum number of rounds.
    pub rounds: usize,
    /// The orders in which a feature may rank documents: by descending values, by ascending values, or both.
    pub directions: Directions,
    /// Whether a feature may be chosen in more than one round.
    pub reuse: bool,
    /// The fit stops after this many rounds in which the objective `mean_q exp(-E(f_t, q))` does not decrease.
    pub patience: Option<usize>,
    /// A round counts as progress if it decreases the objective `mean_q exp(-E(f_t, q))` by more than this number.
    pub tolerance: f64,
    /// How the distribution `P_t` over queries enters the training of a scorer, if the weak rankers are scorers.
    pub emphasis: Emphasis,
    /// The number of passes over the training queries for each scorer.
    pub epochs: usize,
    /// The learning rate of the Adam optimizer that trains each scorer.
    pub learning_rate: f64,
}

impl Default for AdaRankConfig {
    fn default() -> Self {
        Self {
            measure: None,
            convention: None,
            rounds: 100,
            directions: Directions::Both,
            reuse: true,
            patience: None,
            tolerance: 0.0,
            emphasis: Emphasis::Weighted,
            epochs: 20,
            learning_rate: 0.05,
        }
    }
}

impl LearnerConfig for AdaRankConfig {
    type RankingLearner = AdaRank;

    fn check(&self, parts: &Parts) -> Result<AdaRank, LearnerError> {
        checks::at_least("rounds", self.rounds, 1)?;
        self.patience.map(|patience| checks::at_least("patience", patience, 1)).transpose()?;
        checks::not_negative("tolerance", self.tolerance)?;
        checks::at_least("epochs", self.epochs, 1)?;
        checks::positive("learning_rate", self.learning_rate)?;
        self.measure.map(|measure| checks::in_unit_interval(measure, &[])).transpose()?;
        self.convention.as_ref().map(Convention::check).transpose()?;
        let scorer = match (&parts.loss, parts.scorer) {
            (None, None) => None,
            _ => Some(WeakScorer { scorer: parts.scorer_or_default(), loss: parts.required_loss(self)? }),
        };
        scorer.as_ref().map(|weak| weak.scorer.check()).transpose()?;
        Ok(AdaRank { config: self.clone(), scorer })
    }
}

/// The learner AdaRank with checked parameters.
#[derive(Debug, Clone)]
pub struct AdaRank {
    pub(super) config: AdaRankConfig,
    pub(super) scorer: Option<WeakScorer>,
}
