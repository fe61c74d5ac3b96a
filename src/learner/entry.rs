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
    /// `[loss]`, or a loss of one's own.
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

/// One registered learner.
#[derive(Debug)]
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
    /// [`LearnerConfig::relative_temperature`] of the learner with these parameters.
    pub relative_temperature: fn(&Map) -> Option<f64>,
    /// [`LearnerConfig::fitting`] of the learner with these parameters.
    pub fitting: fn(&Map, &Parts, Option<FittingData>) -> Fitting,
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
    /// The parameters that are recorded for a run that names none: those with a default, with their defaults.
    pub defaults: fn() -> Map,
    /// Every parameter with its default; null for one that is not set.
    pub parameters: fn() -> Map,
    /// The learner with these parameters, checked. Parameters that are not given have their defaults.
    pub build: Build,
}

/// Builds a learner from the parameters that differ from the defaults, and the sections that it reads.
pub type Build = fn(&Map, &Parts) -> Result<Box<dyn RankingLearner>, LearnerError>;

/// Returns the parameters of a configuration that have a default, with their defaults.
pub(super) fn defaults<C: LearnerConfig>() -> Map {
    match crate::json::to_value(C::default()) {
        Ok(Value::Object(map)) => map,
        other => unreachable!("a configuration is a struct of plain values, not {other:?}"),
    }
}

/// Every parameter of a configuration with its default; null for one that is not set.
pub(super) fn parameters<C: LearnerConfig>() -> Map {
    let mut parameters = defaults::<C>();
    for name in crate::json::fields::<C>() {
        parameters.entry(name.to_string()).or_insert(Value::Null);
    }
    parameters
}

/// Returns the temperature, in spreads, of a loss that names none, for a learner with `params`; none if they are
/// invalid.
pub(super) fn relative_temperature<C: LearnerConfig>(params: &Map) -> Option<f64> {
    decoded::<C>(params).ok()?.relative_temperature()
}

/// Returns the defaults that fit scorer, loss and data, for a learner with `params`; the usual defaults if they are
/// invalid.
pub(super) fn fitting<C: LearnerConfig>(params: &Map, parts: &Parts, data: Option<FittingData>) -> Fitting {
    decoded::<C>(params).map(|config| config.fitting(parts, data)).unwrap_or_default()
}

fn decoded<C: LearnerConfig>(params: &Map) -> Result<C, Refusal> {
    crate::json::from_value(Value::Object(params.clone()))
}

/// The learner of a configuration's parameters.
pub(super) fn build<C: LearnerConfig>(params: &Map, parts: &Parts) -> Result<Box<dyn RankingLearner>, LearnerError> {
    let config = decoded::<C>(params).map_err(|refusal| refusal.under("learner"))?;
    Ok(Box::new(config.check(parts)?))
}
