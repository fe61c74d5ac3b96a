//! AdaRank: boosting on a measure itself, through the type one bound `sum_q exp(-E(f, q))`.
//!
//! direct-optimization, section 5.1 and Figure 6. With `E(f, q)` in `[0, 1]` the value of the measure on query `q`:
//!
//! ```text
//! P_1(q) = 1/m
//! round t:  h_t     = weak ranker for P_t              phi_t = sum_q P_t(q) E(h_t, q)
//!           alpha_t = 1/2 ln((1 + phi_t) / (1 - phi_t))
//!           f_t     = f_(t-1) + alpha_t h_t            P_(t+1)(q) ~ exp(-E(f_t, q))
//! ```
//!
//! Theorem 4 bounds the mean measure on the training data from below,
//! `mean_q E(f_T, q) >= 1 - prod_t exp(-delta_t) sqrt(1 - phi_t^2)`, with
//! `delta_t = min_q (E(f_t, q) - E(f_(t-1), q) - alpha_t E(h_t, q))` and `E(f_0, q) = 0`; the right side is the figure
//! `bound` of every round. Weak rankers are single features, or burn scorers trained by any surrogate ([`WeakScorer`]).
//!
//! What the paper leaves open is fixed so:
//! - equal weak rankers: the lowest feature, descending before ascending;
//! - `reuse = false` lets a feature be chosen once; the fit ends when none is left;
//! - a weak ranker with `phi = 1` would have an infinite weight: `phi` is capped just below, and the fit ends;
//! - queries that the convention leaves out have no weight.
//!
//! Cost: `E(feature, query)` once, in parallel; then O(queries x features) a round to choose, and one evaluation of
//! `f_t`. Taken literally the algorithm settles on one or two features, since `exp(-E)` hardly moves `P`: that is not
//! a defect of this implementation.

mod feature;
mod scorer;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use scorer::{Emphasis, WeakScorer};

use self::feature::FeatureRankers;
use self::scorer::ScorerRankers;
use crate::data::Dataset;
use crate::learner::entry::{self, Learner, LearnerEntry};
use crate::learner::error::LearnerError;
use crate::learner::shared::checks;
use crate::learner::shared::context::{FitContext, Fitted, Round, Selection, StopReason};
use crate::learner::shared::judge::Judge;
use crate::learner::shared::rounds::Rounds;
use crate::measure::{Convention, Measure};
use crate::ranker::Model;

const NAME: &str = "ada_rank";

pub(super) const ENTRY: LearnerEntry = LearnerEntry {
    name: NAME,
    summary: "boosting of any measure in [0, 1]; weak rankers are single features, or scorers trained by a loss",
    paper: "Xu, Li, Liu, Peng, Lu and Ma, Direct optimization of evaluation measures in learning to rank, section 5.1 \
            and Figure 6",
    takes_loss: true,
    takes_scorer: true,
    defaults: || entry::parameters(&AdaRankConfig::default()),
    build: |parts| {
        let config: AdaRankConfig = entry::decode(parts)?;
        let scorer = match (parts.loss, parts.scorer) {
            (None, None) => None,
            _ => Some(WeakScorer {
                scorer: parts.scorer.cloned().unwrap_or_default(),
                loss: entry::loss(parts)?.clone(),
            }),
        };
        Ok(Box::new(config.check(scorer)?))
    },
};

/// Largest `phi` that `alpha` is computed of: keeps it finite.
const LARGEST_PHI: f64 = 1.0 - 1e-12;

/// Directions in which a feature may rank.
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

/// The figure of a round that holds Theorem 4's lower bound of the boosted measure on the training queries.
pub const BOUND: &str = "bound";

/// Configuration of [`AdaRank`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdaRankConfig {
    /// Measure to boost, with values in `[0, 1]`; the selection measure when absent.
    pub measure: Option<Measure>,
    /// Convention of the measure; that of the selection when absent.
    pub convention: Option<Convention>,
    /// Most rounds.
    pub rounds: usize,
    /// Directions of a feature.
    pub directions: Directions,
    /// Let a feature be chosen in more than one round.
    pub reuse: bool,
    /// Stop after so many rounds in which `mean_q exp(-E(f_t, q))` did not sink.
    pub patience: Option<usize>,
    /// How far it must sink to count as progress.
    pub tolerance: f64,
    /// How `P_t` enters the training of a scorer, where scorers are the weak rankers.
    pub emphasis: Emphasis,
    /// Passes over the queries in its training.
    pub epochs: usize,
    /// Step size of Adam in its training.
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

impl AdaRankConfig {
    /// Checks every parameter. With a `scorer` such scorers are the weak rankers, else single features are.
    ///
    /// # Errors
    /// [`LearnerError`] names the first parameter out of its range.
    pub fn check(&self, scorer: Option<WeakScorer>) -> Result<AdaRank, LearnerError> {
        checks::at_least("rounds", self.rounds, 1)?;
        self.patience.map(|patience| checks::at_least("patience", patience, 1)).transpose()?;
        checks::not_negative("tolerance", self.tolerance)?;
        checks::at_least("epochs", self.epochs, 1)?;
        checks::positive("learning_rate", self.learning_rate)?;
        self.measure.map(|measure| in_unit_interval(measure, &[])).transpose()?;
        self.convention.as_ref().map(Convention::check).transpose()?;
        if let Some(weak) = &scorer {
            weak.scorer.check()?;
            weak.loss.build()?;
        }
        Ok(AdaRank { config: self.clone(), scorer })
    }
}

/// AdaRank, its parameters checked.
#[derive(Debug, Clone)]
pub struct AdaRank {
    config: AdaRankConfig,
    scorer: Option<WeakScorer>,
}

/// A family of weak rankers.
trait WeakRankers {
    /// One of them, as it is saved.
    type Ranker: Serialize + DeserializeOwned;

    /// The weak ranker of a round for the distribution over queries; `None` when none is left.
    fn choose(
        &self,
        distribution: &[f64],
        round: usize,
        members: &[Member<Self::Ranker>],
    ) -> Result<Option<Self::Ranker>, LearnerError>;

    /// Its scores of all documents.
    fn scores(&self, ranker: &Self::Ranker, data: &Dataset) -> Result<Vec<f64>, LearnerError>;

    /// Its `E` on every query that counts.
    fn values(&self, ranker: &Self::Ranker, judge: &Judge, train: &Dataset) -> Result<Vec<f64>, LearnerError> {
        measured(judge, train, &self.scores(ranker, train)?)
    }

    /// What to report of it, by name.
    fn figures(&self, ranker: &Self::Ranker) -> Vec<(String, f64)>;

    /// The model `sum_t alpha_t h_t`.
    fn model(&self, members: Vec<Member<Self::Ranker>>) -> Result<Model, LearnerError>;
}

/// A weak ranker with its weight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Member<R> {
    alpha: f64,
    ranker: R,
}

/// What has to be known between rounds.
#[derive(Serialize, Deserialize)]
struct State<R> {
    members: Vec<Member<R>>,
    /// `prod_t exp(-delta_t) sqrt(1 - phi_t^2)`
    bound_gap: f64,
}

/// `f_t` on one dataset.
struct Combined<'a> {
    data: &'a Dataset,
    scores: Vec<f64>,
}

impl<'a> Combined<'a> {
    fn new(data: &'a Dataset) -> Self {
        Self { data, scores: vec![0.0; data.documents()] }
    }

    fn add<W: WeakRankers>(&mut self, weak: &W, member: &Member<W::Ranker>) -> Result<(), LearnerError> {
        let added = weak.scores(&member.ranker, self.data)?;
        self.scores.iter_mut().zip(added).for_each(|(score, h)| *score += member.alpha * h);
        Ok(())
    }
}

/// Refuses a measure whose values leave `[0, 1]`: on any data, or on the data at hand.
fn in_unit_interval(measure: Measure, values: &[f64]) -> Result<(), LearnerError> {
    let outside = values.iter().find(|value| !(0.0..=1.0 + 1e-9).contains(*value));
    if outside.is_some() || checks::leaves_unit_interval(measure) {
        let seen = outside.map(|value| format!(" (a query has {value})")).unwrap_or_default();
        let expected = format!("a measure with values in [0, 1], such as ndcg@10 or map{seen}");
        return Err(checks::parameter("measure", measure, expected));
    }
    Ok(())
}

/// `E` on every query that counts.
fn measured(judge: &Judge, data: &Dataset, scores: &[f64]) -> Result<Vec<f64>, LearnerError> {
    let values = judge.counted(data, scores)?;
    in_unit_interval(judge.measure(), &values)?;
    Ok(values)
}

/// `exp(-E)`, normalised.
fn distribution(values: &[f64]) -> Vec<f64> {
    let weights: Vec<f64> = values.iter().map(|value| (-value).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / total).collect()
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

impl AdaRank {
    fn boost<W: WeakRankers>(
        &self,
        weak: &W,
        judge: &Judge,
        train: &Dataset,
        validation: Option<&Dataset>,
        context: &FitContext,
    ) -> Result<Fitted, LearnerError> {
        let selection = Judge::of_selection(context)?;
        let start = || State { members: Vec::new(), bound_gap: 1.0 };
        let limit = Some(self.config.rounds);
        let mut rounds = Rounds::start(NAME, &(&self.config, &self.scorer), train, validation, limit, context, start)?;
        let mut on_train = Combined::new(train);
        let mut on_validation = validation.map(Combined::new);
        for member in &rounds.state.members {
            on_train.add(weak, member)?;
            on_validation.as_mut().map(|combined| combined.add(weak, member)).transpose()?;
        }
        let mut values = measured(judge, train, &on_train.scores)?;
        if rounds.state.members.is_empty() {
            values.fill(0.0);
        }
        let stop = loop {
            if let Some(stop) = rounds.stop() {
                break stop;
            }
            if self.without_progress(rounds.history()) {
                break StopReason::Converged;
            }
            let weights = distribution(&values);
            let Some(ranker) = weak.choose(&weights, rounds.next(), &rounds.state.members)? else {
                break StopReason::Converged;
            };
            let weak_values = weak.values(&ranker, judge, train)?;
            let phi: f64 = weights.iter().zip(&weak_values).map(|(weight, value)| weight * value).sum();
            if phi <= 0.0 {
                let reason = format!(
                    "the best weak ranker of round {} has {} 0 on every query: choose another learner.measure",
                    rounds.next(),
                    judge.measure()
                );
                return Err(LearnerError::Data { learner: NAME, reason });
            }
            let capped = phi.min(LARGEST_PHI);
            let member = Member { alpha: capped.atanh(), ranker };
            on_train.add(weak, &member)?;
            on_validation.as_mut().map(|combined| combined.add(weak, &member)).transpose()?;

            let before = std::mem::replace(&mut values, measured(judge, train, &on_train.scores)?);
            let delta = (0..values.len())
                .map(|q| values[q] - before[q] - member.alpha * weak_values[q])
                .fold(f64::INFINITY, f64::min);
            let gap = rounds.state.bound_gap * (-delta).exp() * (1.0 - capped * capped).sqrt();
            // A bound that says nothing may outgrow f64 in many rounds.
            rounds.state.bound_gap = gap.min(f64::MAX);
            let mut figures = weak.figures(&member.ranker);
            figures.push(("alpha".into(), member.alpha));
            figures.push(("phi".into(), phi));
            figures.push((judge.measure().to_string(), mean(values.iter().copied())));
            figures.push((BOUND.into(), 1.0 - rounds.state.bound_gap));
            rounds.state.members.push(member);
            rounds.record(Round {
                round: rounds.next(),
                objective: mean(values.iter().map(|value| (-value).exp())),
                train: selection.mean(train, &on_train.scores)?,
                validation: on_validation
                    .as_ref()
                    .map(|combined| selection.mean(combined.data, &combined.scores))
                    .transpose()?
                    .flatten(),
                figures,
            });
            rounds.save_when_due()?;
            if phi >= LARGEST_PHI {
                break StopReason::Converged;
            }
        };
        rounds.finish(stop, |mut state, best_round| {
            state.members.truncate(best_round);
            weak.model(state.members)
        })
    }

    /// Whether the objective did not sink in the last `patience` rounds.
    fn without_progress(&self, history: &[Round]) -> bool {
        let Some(last) = self.config.patience.and_then(|patience| history.len().checked_sub(patience)) else {
            return false;
        };
        let lowest = |rounds: &[Round]| rounds.iter().map(|round| round.objective).fold(f64::INFINITY, f64::min);
        last > 0 && lowest(&history[last..]) >= lowest(&history[..last]) - self.config.tolerance
    }
}

impl Learner for AdaRank {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, train: &Dataset, validation: Option<&Dataset>, context: &FitContext) -> Result<Fitted, LearnerError> {
        checks::trainable(NAME, train, validation, context)?;
        if self.config.measure.is_none() {
            checks::bounded_selection(NAME, context.selection.measure)?;
        }
        let boosted = Selection {
            measure: self.config.measure.unwrap_or(context.selection.measure),
            convention: self.config.convention.as_ref().unwrap_or(&context.selection.convention).clone(),
        };
        let judge = Judge::new(&boosted)?;
        match &self.scorer {
            None => {
                let weak = FeatureRankers::new(&self.config, &judge, train, &context.device)?;
                self.boost(&weak, &judge, train, validation, context)
            }
            Some(scorer) => {
                let weak = ScorerRankers::new(&self.config, scorer, &judge, train, context)?;
                self.boost(&weak, &judge, train, validation, context)
            }
        }
    }
}

#[cfg(test)]
mod tests;
