//! The registry's description of a learner: the trait, an entry, and the parts of a configuration that the learner
//! reads.

use crate::json::{Map, Value};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::LearnerError;
use super::shared::context::{FitContext, Fitted};
use crate::data::{NormalizerKind, RankingDataset};
use crate::loss::{QueryGradients, TrainingLoss};
use crate::ranker::Model;
use crate::refusal::Refusal;
use crate::scorer::ScorerConfig;

/// Fits a model to queries.
///
/// The data arrive normalized; the caller keeps the normalizer with the fitted model. A learner reads its data, the
/// seed and the device from its arguments only, so the same arguments give the same bytes on the CPU.
pub trait RankingLearner: Send + Sync {
    /// Registered name, as `learner.kind` in configuration files.
    fn name(&self) -> &'static str;

    /// Whether it draws a terminal dashboard if [`FitContext::dashboard`] asks for one. Other learners report only to
    /// [`FitContext::progress`].
    fn draws_dashboard(&self) -> bool {
        false
    }

    /// Starts the fit from a model: the scores begin at its scores, and the result contains it. The data must be
    /// normalized as for that model.
    ///
    /// # Errors
    /// [`LearnerError::Refused`] for a learner that cannot, or a model that it cannot start from.
    fn start_from(&mut self, _model: &Model) -> Result<(), LearnerError> {
        let expected = format!("nothing: the learner `{}` starts from no ranker; `boosted_trees` does", self.name());
        Err(Refusal::new("start", "a ranker", expected).into())
    }

    /// Fits a model to `train`; selects among rounds on `validation` where there is one, else on `train`.
    ///
    /// An interruption is not an error: the best model so far comes back with [`StopReason::Interrupted`](crate::learner::StopReason::Interrupted).
    ///
    /// # Errors
    /// [`LearnerError`] for data that the learner cannot learn from, for labels that the loss or the measure rejects,
    /// for state that cannot be written or read back, and for a solver that failed.
    fn fit(
        &self,
        train: &RankingDataset,
        validation: Option<&RankingDataset>,
        context: &FitContext,
    ) -> Result<Fitted, LearnerError>;
}

/// The sections of a configuration that a learner may read besides `[learner]`.
#[derive(Debug, Clone, Default)]
pub struct Parts<'a> {
    /// The loss from the section `[loss]`, or your own loss.
    pub loss: Option<TrainingLoss>,
    /// `[scorer]`
    pub scorer: Option<&'a ScorerConfig>,
}

impl<'a> Parts<'a> {
    /// With a loss: a [`LossSpec`](crate::loss::LossSpec), as a section `[loss]` gives it, or any
    /// [`RankingLoss`](crate::loss::RankingLoss).
    pub fn with_loss(self, loss: impl Into<TrainingLoss>) -> Self {
        Self { loss: Some(loss.into()), ..self }
    }

    /// With a section `[scorer]`.
    pub fn with_scorer(self, scorer: &'a ScorerConfig) -> Self {
        Self { scorer: Some(scorer), ..self }
    }

    /// The loss, if the learner needs one, with the learner's temperature if it names none.
    pub(crate) fn required_loss(&self, learner: &impl LearnerConfig) -> Result<TrainingLoss, LearnerError> {
        let missing = || Refusal::fault("learner.kind", "needs a section [loss] with a name");
        let loss = self.loss.as_ref().ok_or_else(missing)?;
        Ok(loss.with_default_temperature(learner.relative_temperature())?)
    }

    /// The scorer, or the default one.
    pub(crate) fn scorer_or_default(&self) -> ScorerConfig {
        self.scorer.cloned().unwrap_or_default()
    }
}

/// The configuration of a learner, unchecked: the keys of `[learner]` except `kind`. Every key has a default.
pub trait LearnerConfig: Default + Serialize + DeserializeOwned {
    /// The learner, checked.
    type RankingLearner: RankingLearner + 'static;

    /// Checks every parameter, with the sections that the learner reads.
    ///
    /// # Errors
    /// [`LearnerError`] for the first value out of its range, by its key; for a loss or scorer that the learner needs
    /// and does not get, or that is out of range itself. The learner's module says what it needs.
    fn check(&self, parts: &Parts) -> Result<Self::RankingLearner, LearnerError>;

    /// Returns the temperature, in spreads of scores, of a loss that names none. `None`, the default, means the paper's
    /// temperature: [`LossSpec::with_default_temperature`](crate::loss::LossSpec::with_default_temperature). A learner
    /// that moves the temperature has none.
    fn relative_temperature(&self) -> Option<f64> {
        None
    }

    /// Returns the defaults that fit the scorer, the loss and the data, once these are known. By default only the
    /// values of [`Default`] apply.
    fn fitting(&self, _parts: &Parts, _data: Option<FittingData>) -> Fitting {
        Fitting::default()
    }
}

/// What defaults depend on about the queries of a fit.
#[derive(Debug, Clone, Copy)]
pub struct FittingData<'a> {
    /// Queries to train on.
    pub train: &'a RankingDataset,
    /// Whether there are queries to select on.
    pub has_validation: bool,
}

/// Defaults of an experiment that depend on its scorer, its loss and its data.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Fitting {
    /// `normalizer`
    pub normalizer: NormalizerKind,
    /// `scorer.dropout`; none for the scorer's default.
    pub dropout: Option<f64>,
    /// `loss.query_gradients`
    pub query_gradients: QueryGradients,
    /// Keys of `[learner]` with their values, as far as they are known; null for one that is not set.
    pub learner: Map,
    /// Keys of `[learner]` whose values depend on the data.
    pub of_data: &'static [&'static str],
}

type Build = fn(&Map, &Parts) -> Result<Box<dyn RankingLearner>, LearnerError>;

/// One registered learner.
#[derive(Debug)]
#[non_exhaustive]
pub struct LearnerEntry {
    /// `learner.kind` in configuration files.
    pub name: &'static str,
    /// The learner in one line.
    pub summary: &'static str,
    /// Source.
    pub paper: &'static str,
    /// Whether it minimizes `[loss]`.
    pub takes_loss: bool,
    /// Whether it fits `[scorer]`.
    pub takes_scorer: bool,
    /// Whether it takes [weights of queries](crate::data::RankingDataset::query_weights); the others refuse them.
    pub takes_query_weights: bool,
    /// Whether it takes [weights of documents](crate::data::RankingDataset::document_weights), with a loss that does;
    /// the others refuse them.
    pub takes_document_weights: bool,
    /// Whether it takes missing values (NaN); the others refuse them.
    pub takes_missing: bool,
    /// Whether it streams data that are larger than memory; the others need them in memory.
    pub streams: bool,
    /// Whether [several processes](crate::distributed) share its work; the others are refused.
    pub shares_work: bool,
    /// The name of a round: `epoch`, `round`.
    pub round_name: &'static str,
    /// The key of its number of rounds, if all rounds build one model, so that a fit may pause after some of them.
    /// Successive halving shares out these rounds.
    pub rounds_key: Option<&'static str>,
    pub(in crate::learner) relative_temperature: fn(&Map) -> Option<f64>,
    pub(in crate::learner) fitting: fn(&Map, &Parts, Option<FittingData>) -> Fitting,
    pub(in crate::learner) defaults: fn() -> Map,
    pub(in crate::learner) parameters: fn() -> Map,
    pub(in crate::learner) build: Build,
}

impl LearnerEntry {
    /// The entry of a configuration's learner that takes nothing beyond data and labels, and shares its work.
    pub(super) const fn of<C: LearnerConfig>(name: &'static str) -> Self {
        Self {
            name,
            summary: "",
            paper: "",
            takes_loss: false,
            takes_scorer: false,
            takes_query_weights: false,
            takes_document_weights: false,
            takes_missing: false,
            streams: false,
            shares_work: true,
            round_name: "round",
            rounds_key: None,
            relative_temperature: |params| decoded::<C>(params).ok()?.relative_temperature(),
            fitting: |params, parts, data| {
                decoded::<C>(params).map(|config| config.fitting(parts, data)).unwrap_or_default()
            },
            defaults: defaults::<C>,
            parameters: || {
                let mut parameters = defaults::<C>();
                for name in crate::json::fields::<C>() {
                    parameters.entry(name.to_string()).or_insert(Value::Null);
                }
                parameters
            },
            build: |params, parts| {
                let config = decoded::<C>(params).map_err(|refusal| refusal.under("learner"))?;
                Ok(Box::new(config.check(parts)?))
            },
        }
    }

    /// Returns [`LearnerConfig::relative_temperature`] of the learner with these parameters; none if they are invalid.
    pub fn relative_temperature(&self, params: &Map) -> Option<f64> {
        (self.relative_temperature)(params)
    }

    /// Returns [`LearnerConfig::fitting`] of the learner with these parameters; the usual defaults if they are invalid.
    pub fn fitting(&self, params: &Map, parts: &Parts, data: Option<FittingData>) -> Fitting {
        (self.fitting)(params, parts, data)
    }

    /// Returns the parameters that are recorded for a run that names none: those with a default, with their defaults.
    pub fn defaults(&self) -> Map {
        (self.defaults)()
    }

    /// Returns every parameter with its default; null for one that is not set.
    pub fn parameters(&self) -> Map {
        (self.parameters)()
    }

    /// Builds the learner from the parameters that differ from the defaults, and the sections that it reads.
    ///
    /// # Errors
    /// [`LearnerError`] for an unknown parameter, a value out of its range, or a missing section.
    pub fn build(&self, params: &Map, parts: &Parts) -> Result<Box<dyn RankingLearner>, LearnerError> {
        (self.build)(params, parts)
    }
}

/// Returns the parameters of a configuration that have a default, with their defaults.
fn defaults<C: LearnerConfig>() -> Map {
    match crate::json::to_value(C::default()) {
        Ok(Value::Object(map)) => map,
        other => unreachable!("a configuration is a struct of plain values, not {other:?}"),
    }
}

fn decoded<C: LearnerConfig>(params: &Map) -> Result<C, Refusal> {
    crate::json::from_value(Value::Object(params.clone()))
}
