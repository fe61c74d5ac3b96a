//! `LossEntry`: what the registry holds for each loss, and how one is built from parameters.

use crate::json::{Map, Value};
use burn::config::Config;
use burn::module::Module;
use serde::de::DeserializeOwned;

use super::error::LossError;
use super::ranking_loss::RankingLoss;
use super::smoothing::Smoothing;
use super::unit_gradients::{QUERY_GRADIENTS, QueryGradients};
use crate::refusal::{Found, Refusal};

/// One registered loss.
#[derive(Debug)]
#[non_exhaustive]
pub struct LossEntry {
    /// Name in configuration files and on the command line.
    pub name: &'static str,
    /// The loss in one line.
    pub summary: &'static str,
    /// The formula of one query.
    pub formula: &'static str,
    /// Time of one query of n documents.
    pub cost: &'static str,
    /// Source and equation.
    pub paper: &'static str,
    /// The temperature, if it has one.
    pub smoothing: Option<Smoothing>,
    pub(in crate::loss) defaults: fn(&Map) -> Map,
    pub(in crate::loss) forms: Option<fn() -> Vec<Map>>,
    pub(in crate::loss) build: fn(&Map) -> Result<Box<dyn RankingLoss>, LossError>,
}

impl LossEntry {
    /// Returns every parameter with its default, for the given parameters. A temperature that is given has another
    /// unit, and the parts of a joined loss add their own parameters.
    pub fn defaults(&self, given: &Map) -> Map {
        (self.defaults)(given)
    }

    /// The loss with the given parameters over the defaults.
    ///
    /// # Errors
    /// An unknown parameter, a value of the wrong type or out of its range.
    pub fn build(&self, params: &Map) -> Result<Box<dyn RankingLoss>, LossError> {
        (self.build)(params)
    }

    /// Whether it is joined of parts, a measure and a relaxation.
    pub fn is_joined(&self) -> bool {
        self.forms.is_some()
    }

    /// The parameters of every form of the loss, for tests: only the defaults, unless it is joined of parts.
    pub fn forms(&self) -> Vec<Map> {
        self.forms.map_or_else(|| vec![Map::new()], |forms| forms())
    }

    /// Every parameter with its default, and the keys that every loss has.
    pub fn parameters(&self) -> Map {
        let mut all = self.defaults(&Map::new());
        all.insert(QUERY_GRADIENTS.to_string(), crate::json::json!(QueryGradients::Raw));
        all
    }

    /// The given parameters, and the defaults of those that are not given.
    pub fn complete(&self, params: &Map) -> Map {
        let mut all = self.defaults(params);
        all.extend(params.clone());
        all
    }

    /// Returns the name of its Rust type in [`loss`](crate::loss). The name of its configuration adds `Config`.
    pub fn type_name(&self) -> String {
        let words = self.name.split('_');
        words.map(|word| word[..1].to_uppercase() + &word[1..]).collect()
    }
}

/// A registered loss is a module of burn too.
pub(super) fn boxed(loss: impl RankingLoss + Module + 'static) -> Box<dyn RankingLoss> {
    Box::new(loss)
}

/// The parameters of a config, as a map.
pub(super) fn parameters<C: Config>(config: &C) -> Map {
    match crate::json::to_value(config) {
        Ok(Value::Object(map)) => map,
        other => unreachable!("a config is a struct of plain values, not {other:?}"),
    }
}

/// `default` with the given parameters laid over it.
pub(super) fn configure<C: Config>(loss: &'static str, default: C, params: &Map) -> Result<C, LossError> {
    if params.is_empty() {
        return Ok(default);
    }
    read(loss, merged(loss, parameters(&default), params)?, params)
}

/// The defaults with the given parameters laid over them.
pub(super) fn merged(loss: &'static str, mut defaults: Map, params: &Map) -> Result<Map, LossError> {
    for (key, value) in params {
        let Some(slot) = defaults.get_mut(key) else {
            let refusal = Refusal::unknown(key, "parameter", key, defaults.keys(), "").of(loss);
            return Err(LossError::Parameter { loss, refusal });
        };
        *slot = value.clone();
    }
    Ok(defaults)
}

/// The configuration with all these parameters. `given` are the ones that the user set.
pub(super) fn read<C: Config>(loss: &'static str, all: Map, given: &Map) -> Result<C, LossError> {
    crate::json::from_value(Value::Object(all))
        .map_err(|refusal| LossError::Parameter { loss, refusal: with_value(refusal, given) })
}

/// The value at a key, as the type that it has to be.
pub(super) fn value_of<T: DeserializeOwned>(loss: &'static str, key: &str, value: &Value) -> Result<T, LossError> {
    crate::json::from_value(value.clone()).map_err(|refusal| LossError::Parameter { loss, refusal: refusal.under(key) })
}

/// Returns a refusal that shows the parameter as it was given, if the type of the whole parameter is wrong.
pub(super) fn with_value(refusal: Refusal, params: &Map) -> Refusal {
    match params.get(&refusal.key) {
        Some(value) => Refusal { found: Found::Value(value.to_string()), ..refusal },
        None => refusal,
    }
}
