//! The traits of learners and their configurations, and what the registry says of a learner.

use std::fmt::Debug;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::LearnerError;
use super::shared::context::{Fitted, Job};
use crate::data::{NormalizerKind, RankingDataset};
use crate::json::{Map, Value};
use crate::loss::unit_gradients::QueryGradients;
use crate::loss::{BuiltLoss, TrainingLoss};
use crate::ranker::Model;
use crate::refusal::Refusal;
use crate::scorer::ScorerConfig;

/// Fits a model to queries.
///
/// The caller normalizes the data and keeps the normalizer with the fitted model. A learner reads only its arguments,
/// which include the seed and the device. On the CPU, repeated fits with the same arguments give bit-identical models.
pub trait RankingLearner: Debug + Send + Sync {
    /// Returns the registered name, which is the value of `learner.kind` in configuration files.
    fn name(&self) -> &'static str;

    /// Returns the learner whose fits start from an existing model. The scores of this model become the initial scores,
    /// and the fitted model contains it. The data must be normalized in the same way as for the existing model.
    ///
    /// # Errors
    /// [`LearnerError::Refused`] if this learner cannot start from any existing model, or does not accept a model of
    /// this kind.
    fn starting_from(&self, _model: &Model) -> Result<Arc<dyn RankingLearner>, LearnerError> {
        let expected =
            format!("nothing: the learner `{}` does not start from a ranker; `boosted_trees` does", self.name());
        Err(Refusal::new("start", "a ranker", expected).into())
    }

    /// Fits a model to the training data and selects the best round on the validation data, or on the training data if
    /// there are none.
    ///
    /// An interruption is not an error: the fit returns the best model so far, with
    /// [`StopReason::Interrupted`](crate::learner::StopReason::Interrupted).
    ///
    /// # Errors
    /// [`LearnerError`] if the data or the labels are unsuitable, the state cannot be written or read, or the solver
    /// fails.
    fn fit(&self, job: Job) -> Result<Fitted, LearnerError>;
}

/// The sections of a configuration that a learner may read in addition to `[learner]`.
#[derive(Debug, Clone, Default)]
pub struct Parts<'a> {
    /// The loss from the section `[loss]`, or your own loss.
    pub loss: Option<TrainingLoss>,
    /// The scorer from the section `[scorer]`.
    pub scorer: Option<&'a ScorerConfig>,
}

impl<'a> Parts<'a> {
    /// Adds a loss, either the [`LossSpec`](crate::loss::LossSpec) of a section `[loss]` or any
    /// [`RankingLoss`](crate::loss::RankingLoss).
    pub fn with_loss(self, loss: impl Into<TrainingLoss>) -> Self {
        Self { loss: Some(loss.into()), ..self }
    }

    /// Adds a section `[scorer]`.
    pub fn with_scorer(self, scorer: &'a ScorerConfig) -> Self {
        Self { scorer: Some(scorer), ..self }
    }

    /// Builds the loss, or returns an error if there is none. If the section `[loss]` sets no temperature, the loss
    /// gets the default temperature of this learner.
    pub(crate) fn required_loss(&self, learner: &impl LearnerConfig) -> Result<BuiltLoss, LearnerError> {
        let missing = || Refusal::fault("learner.kind", "needs a section [loss] with a name");
        let loss = self.loss.as_ref().ok_or_else(missing)?;
        Ok(loss.with_default_temperature(learner.relative_temperature())?.built()?)
    }

    /// Returns the scorer, or the default scorer if none is given.
    pub(crate) fn scorer_or_default(&self) -> ScorerConfig {
        self.scorer.cloned().unwrap_or_default()
    }
}

/// The unchecked configuration of a learner, with the keys of `[learner]` except `kind`. Every key has a default.
pub(crate) trait LearnerConfig: Default + Serialize + DeserializeOwned {
    /// The learner that [`check`](Self::check) builds.
    type RankingLearner: RankingLearner + 'static;

    /// Checks every parameter and the sections that the learner reads, and builds the learner.
    ///
    /// # Errors
    /// [`LearnerError`] that names the key of the first invalid value, or the section `[loss]` or `[scorer]` that is
    /// missing or invalid. The documentation of each learner lists the sections that the learner needs.
    fn check(&self, parts: &Parts) -> Result<Self::RankingLearner, LearnerError>;

    /// Returns the default temperature of a loss with this learner, in standard deviations of a query's scores. `None`,
    /// the default, selects the temperature from the paper on the loss, as in
    /// [`LossSpec::with_default_temperature`](crate::loss::LossSpec::with_default_temperature). A learner that anneals
    /// the temperature returns `None`.
    fn relative_temperature(&self) -> Option<f64> {
        None
    }

    /// Returns the defaults that suit the given scorer, loss and data. Unless a learner overrides this method, the
    /// defaults depend only on the learner.
    fn fitting(&self, _parts: &Parts, _data: Option<FittingData>) -> Fitting {
        Fitting::default()
    }
}

/// The properties of the training and validation queries on which some defaults depend.
#[derive(Debug, Clone, Copy)]
pub struct FittingData<'a> {
    /// The training queries.
    pub train: &'a RankingDataset,
    /// Whether the fit has validation queries.
    pub has_validation: bool,
}

/// Default values that depend on the scorer, the loss or the data of an experiment.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Fitting {
    /// `normalizer`
    pub normalizer: NormalizerKind,
    /// The value of `scorer.dropout`, or `None` for the scorer's own default.
    pub dropout: Option<f64>,
    /// `loss.query_gradients`
    pub query_gradients: QueryGradients,
    /// Keys of `[learner]` with their default values, where null stands for a key that is not set.
    pub learner: Map,
    /// The keys of `learner` whose default values depend on the data.
    pub of_data: &'static [&'static str],
    /// The default temperature of the loss, in standard deviations of a query's scores. `None` selects the temperature
    /// from the paper on the loss.
    pub relative_temperature: Option<f64>,
}

/// One registered learner.
#[derive(Debug)]
#[non_exhaustive]
pub struct LearnerEntry {
    /// The name of the learner, which is the value of `learner.kind` in configuration files.
    pub name: &'static str,
    /// A one-line description of the learner.
    pub summary: &'static str,
    /// The paper that describes the learner.
    pub paper: &'static str,
    /// Whether the learner reads the section `[loss]`.
    pub takes_loss: bool,
    /// Whether the learner reads the section `[scorer]`.
    pub takes_scorer: bool,
    /// Whether the learner accepts [weights of queries](crate::data::RankingDataset::query_weights); otherwise it
    /// rejects them.
    pub takes_query_weights: bool,
    /// Whether the learner accepts [weights of documents](crate::data::RankingDataset::document_weights); otherwise it
    /// rejects them. The loss must accept weights of documents, too.
    pub takes_document_weights: bool,
    /// Whether the learner learns from a [teacher](crate::data::RankingDataset::teacher); otherwise it rejects one.
    pub takes_teacher: bool,
    /// Whether the learner uses [positions](crate::data::RankingDataset::positions); otherwise it rejects them.
    pub takes_positions: bool,
    /// Whether the learner accepts missing values (NaN); otherwise it rejects them.
    pub takes_missing: bool,
    /// Whether the learner can fit data that do not fit into memory, by streaming the features from a file.
    pub streams: bool,
    /// Whether several processes can share the work of one fit.
    pub shares_work: bool,
    /// The learner's word for a round: `epoch` or `round`.
    pub round_name: &'static str,
    /// The key that sets the number of rounds, if a fit can stop after any round and continue later. In such a fit,
    /// every round improves the same model. Successive halving uses this key to give its trials more and more rounds.
    pub rounds_key: Option<&'static str>,
    pub(super) fitting: fn(&Map, &Parts, Option<FittingData>) -> Fitting,
    pub(super) defaults: fn() -> Map,
    pub(super) keys: fn() -> &'static [&'static str],
    pub(super) build: Build,
}

/// Builds a learner from its section.
type Build = fn(&Map, &Parts) -> Result<Box<dyn RankingLearner>, LearnerError>;

impl LearnerEntry {
    /// Creates the entry of a learner that reads no other section, and rejects weights and missing values. Several
    /// processes can share its work.
    pub(super) const fn of<C: LearnerConfig>(name: &'static str) -> Self {
        Self {
            name,
            summary: "",
            paper: "",
            takes_loss: false,
            takes_scorer: false,
            takes_query_weights: false,
            takes_document_weights: false,
            takes_teacher: false,
            takes_positions: false,
            takes_missing: false,
            streams: false,
            shares_work: true,
            round_name: "round",
            rounds_key: None,
            fitting: |params, parts, data| {
                let of = |config: C| {
                    let relative_temperature = config.relative_temperature();
                    Fitting { relative_temperature, ..config.fitting(parts, data) }
                };
                decoded(params).map(of).unwrap_or_default()
            },
            defaults: || match crate::json::to_value(C::default()) {
                Ok(Value::Object(map)) => map,
                other => unreachable!("a configuration is a struct of plain values, not {other:?}"),
            },
            keys: crate::json::keys_of::<C>,
            build: |params, parts| {
                let config = decoded::<C>(params).map_err(|refusal| refusal.under("learner"))?;
                Ok(Box::new(config.check(parts)?))
            },
        }
    }

    /// Returns the keys of `[learner]` that have default values, with these values.
    pub fn defaults(&self) -> Map {
        (self.defaults)()
    }

    /// Returns all keys of `[learner]` with their default values, or null for a key without default.
    pub fn parameters(&self) -> Map {
        let mut parameters = self.defaults();
        for key in (self.keys)() {
            parameters.entry(*key).or_insert(Value::Null);
        }
        parameters
    }

    /// Builds the learner from the values of `[learner]` and from the other sections that it reads. Keys that are left
    /// out take their default values.
    ///
    /// # Errors
    /// [`LearnerError`] for an unknown parameter, a value out of its range, or a missing section.
    pub fn build(&self, params: &Map, parts: &Parts) -> Result<Box<dyn RankingLearner>, LearnerError> {
        (self.build)(params, parts)
    }
}

/// Returns the defaults that suit the scorer, the loss and the data, with the learner's temperature. For invalid
/// parameters, returns the usual defaults.
pub fn fitting(entry: &LearnerEntry, params: &Map, parts: &Parts, data: Option<FittingData>) -> Fitting {
    (entry.fitting)(params, parts, data)
}

fn decoded<C: LearnerConfig>(params: &Map) -> Result<C, Refusal> {
    crate::json::from_value(Value::Object(params.clone()))
}
