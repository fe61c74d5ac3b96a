//! AdaRank boosts a measure directly: it minimizes `sum_q exp(-E(f, q))`, an upper bound on `sum_q (1 - E(f, q))`.
//!
//! Section 5.1 and Figure 6 of [direct-optimization](crate::loss#papers) describe the algorithm. `E(f, q)` in `[0, 1]`
//! is the value of the measure on query `q`:
//!
//! ```text
//! P_1(q) = 1/m
//! round t:  h_t     = weak ranker for P_t              phi_t = sum_q P_t(q) E(h_t, q)
//!           alpha_t = 1/2 ln((1 + phi_t) / (1 - phi_t))
//!           f_t     = f_(t-1) + alpha_t h_t            P_(t+1)(q) ~ exp(-E(f_t, q))
//! ```
//!
//! Theorem 4 bounds the mean measure on the training data from below:
//! `mean_q E(f_T, q) >= 1 - prod_t exp(-delta_t) sqrt(1 - phi_t^2)`. In this bound,
//! `delta_t = min_q (E(f_t, q) - E(f_(t-1), q) - alpha_t E(h_t, q))` and `E(f_0, q) = 0`. Every round reports the right
//! side of this inequality under the name `bound`. Weak rankers are single features. With a section `[loss]` or
//! `[scorer]`, weak rankers are burn scorers, trained with any surrogate loss.
//!
//! The paper leaves some details open, which this implementation settles as follows:
//! - Among equally good weak rankers, the first feature is chosen, and its descending order is preferred to its
//!   ascending order.
//! - With `reuse = false`, a feature can be chosen only once, and the fit ends when no feature is left.
//! - A weak ranker with `phi = 1` would have an infinite weight. Therefore, `phi` is capped just below 1, and the fit
//!   ends.
//! - Queries that the convention leaves out have no weight.
//!
//! `E(feature, query)` is computed once, in parallel. Each round then costs O(queries x features) to choose a feature,
//! and one evaluation of the measure for `f_t`. AdaRank as published settles on one or two features, because `exp(-E)`
//! hardly changes `P`. This implementation does the same.

mod feature;
mod fit;
mod scorer;
#[cfg(test)]
mod tests;

pub use fit::BOUND;

use serde::de::DeserializeOwned;

use crate::learner::prelude::*;
use crate::learner::shared::judge::{Judge, counted};
use crate::measure::{Convention, Measure};

const NAME: &str = "ada_rank";

pub(super) const ENTRY: LearnerEntry = LearnerEntry {
    summary: "boosting of any measure in [0, 1]; weak rankers are single features, or scorers trained by a loss",
    paper: "Xu, Li, Liu, Peng, Lu and Ma, Direct optimization of evaluation measures in learning to rank, section 5.1 \
            and Figure 6",
    takes_loss: true,
    takes_scorer: true,
    rounds_key: Some("rounds"),
    ..LearnerEntry::of::<AdaRankConfig>(NAME)
};

/// The orders in which a feature may rank documents: by descending values, by ascending values, or both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Directions {
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
pub(crate) enum Emphasis {
    /// The loss of each query is weighted by `P_t`.
    #[default]
    Weighted,
    /// The loss is computed on queries that are drawn with replacement according to `P_t`.
    Sampled,
}

/// The configuration of the weak scorers, and the loss that trains them.
#[derive(Debug, Clone, Serialize)]
struct WeakScorer {
    /// The configuration of the scorer that each round trains.
    scorer: ScorerConfig,
    /// The loss that trains the scorer.
    loss: BuiltLoss,
}

/// Configuration of [`AdaRank`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AdaRankConfig {
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

    fn check(&self, parts: &Parts) -> Result<AdaRank> {
        checks::at_least("rounds", self.rounds, 1)?;
        checks::at_least("patience", self.patience, 1)?;
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
pub(crate) struct AdaRank {
    config: AdaRankConfig,
    scorer: Option<WeakScorer>,
}

/// A kind of weak ranker, such as single features.
trait WeakRankers {
    /// The type of one weak ranker, which is saved with the state of the fit.
    type Ranker: Serialize + DeserializeOwned;

    /// Chooses the weak ranker of a round, given the weight of each query, or returns `None` if no ranker is left.
    fn choose(
        &self,
        distribution: &[f64],
        round: usize,
        members: &[Member<Self::Ranker>],
    ) -> Result<Option<Self::Ranker>>;

    /// Returns the score that a weak ranker gives to each document.
    fn scores(&self, ranker: &Self::Ranker, data: &RankingDataset) -> Result<Vec<f64>>;

    /// Returns the measure `E` of a weak ranker on every query that the convention counts.
    fn values(&self, ranker: &Self::Ranker, judge: &Judge, train: &RankingDataset) -> Result<Vec<f64>> {
        measured(judge, train, &self.scores(ranker, train)?)
    }

    /// Returns the names and values that a round reports about its weak ranker.
    fn figures(&self, ranker: &Self::Ranker) -> Vec<(String, f64)>;

    /// Returns the model `sum_t alpha_t h_t`.
    fn model(&self, members: &[Member<Self::Ranker>]) -> Result<Model>;
}

/// A weak ranker `h_t` with its weight `alpha_t`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Member<R> {
    alpha: f64,
    ranker: R,
}

/// Returns the measure `E` of the scores on every query that the convention counts. Each process of the data's group
/// evaluates some of the queries.
fn measured(judge: &Judge, data: &RankingDataset, scores: &[f64]) -> Result<Vec<f64>> {
    checked(judge, &judge.shared_values(data, scores)?)
}

/// Returns the values of the queries that the convention counts, which must lie in `[0, 1]`.
fn checked(judge: &Judge, values: &[Option<f64>]) -> Result<Vec<f64>> {
    let values = counted(values);
    checks::in_unit_interval(judge.measure, &values)?;
    Ok(values)
}
