//! What the registry knows of a learner: the trait, an entry, and what a configuration gives it.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::error::LearnerError;
use super::shared::context::{FitContext, Fitted};
use crate::data::Dataset;
use crate::loss::LossSpec;
use crate::scorer::ScorerConfig;
use crate::text::with_nearest;

/// Fits a model to queries.
///
/// The data arrive normalised; the caller keeps the normaliser beside the fitted model. A learner reads its data, the
/// seed and the device from its arguments only, so that the same arguments give the same bytes on the CPU.
pub trait Learner: Send + Sync {
    /// Registered name, as `learner.kind` in configuration files.
    fn name(&self) -> &'static str;

    /// Whether it draws a terminal dashboard where [`FitContext::dashboard`] asks for one; others report to
    /// [`FitContext::progress`] alone.
    fn draws_dashboard(&self) -> bool {
        false
    }

    /// Fits a model to `train`; selects among rounds on `validation` where there is one, else on `train`.
    ///
    /// An interruption is not an error: the best model so far comes back with [`StopReason::Interrupted`].
    ///
    /// # Errors
    /// [`LearnerError`] for data that the learner cannot learn from, labels that the loss or the measure refuses, state
    /// that cannot be written or read back, and a solver that broke down.
    fn fit(&self, train: &Dataset, validation: Option<&Dataset>, context: &FitContext) -> Result<Fitted, LearnerError>;
}

/// What a configuration gives a learner.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    /// The parameters of `[learner]`, without `kind`.
    pub params: &'a Map<String, Value>,
    /// `[loss]`
    pub loss: Option<&'a LossSpec>,
    /// `[scorer]`
    pub scorer: Option<&'a ScorerConfig>,
}

/// One registered learner.
#[derive(Debug)]
pub struct LearnerEntry {
    /// `learner.kind` in configuration files.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Source.
    pub paper: &'static str,
    /// Whether it minimises `[loss]`.
    pub takes_loss: bool,
    /// Whether it fits `[scorer]`.
    pub takes_scorer: bool,
    /// What a round of it is called: `epoch`, `round`.
    pub round_name: &'static str,
    /// Every parameter with its default.
    pub defaults: fn() -> Map<String, Value>,
    /// The learner, checked.
    pub build: fn(Parts<'_>) -> Result<Box<dyn Learner>, LearnerError>,
}

/// A learner's configuration from its parameters; what is not given has its default.
pub(crate) fn decode<C: DeserializeOwned>(parts: Parts<'_>) -> Result<C, LearnerError> {
    serde_path_to_error::deserialize(Value::Object(parts.params.clone())).map_err(|error| LearnerError::Config {
        key: error.path().to_string(),
        message: with_nearest(&error.inner().to_string()),
    })
}

/// The loss, where the learner cannot do without.
pub(crate) fn loss<'a>(parts: Parts<'a>) -> Result<&'a LossSpec, LearnerError> {
    parts.loss.ok_or_else(|| LearnerError::Config {
        key: "kind".to_string(),
        message: "needs a section [loss] with a name".to_string(),
    })
}

/// The parameters of a configuration, as a map.
pub(crate) fn parameters<C: Serialize>(config: &C) -> Map<String, Value> {
    match serde_json::to_value(config) {
        Ok(Value::Object(map)) => map,
        other => unreachable!("a configuration is a struct of plain values, not {other:?}"),
    }
}
