//! `LossEntry`, which describes a registered loss and builds it from parameters.

use crate::json::{Map, Value};
use burn::config::Config;
use burn::module::Module;
use serde::de::DeserializeOwned;

use super::about::Smoothing;
use super::error::LossError;
use super::ranking_loss::RankingLoss;
use super::unit_gradients::{QUERY_GRADIENTS, QueryGradients};
use crate::refusal::{Found, Refusal};

/// A registered loss.
#[derive(Debug)]
#[non_exhaustive]
pub struct LossEntry {
    /// The name used in configuration files and on the command line.
    pub name: &'static str,
    /// A summary of the loss in one line.
    pub summary: &'static str,
    /// The formula for the loss of one query.
    pub formula: &'static str,
    /// The asymptotic time to compute the loss for one query with n documents.
    pub cost: &'static str,
    /// The paper that defines the loss, with the number of the equation if needed.
    pub paper: &'static str,
    /// The temperature of the loss, if it has one.
    pub smoothing: Option<Smoothing>,
    pub(in crate::loss) defaults: fn(&Map) -> Map,
    pub(in crate::loss) forms: Option<fn() -> Vec<Map>>,
    pub(in crate::loss) build: fn(&Map) -> Result<Box<dyn RankingLoss>, LossError>,
}

impl LossEntry {
    /// Returns the default of every parameter, given the parameters that the user set. The defaults depend on these
    /// parameters: a given temperature changes the default unit, and each measure or relaxation adds its own
    /// parameters.
    pub fn defaults(&self, given: &Map) -> Map {
        (self.defaults)(given)
    }

    /// Builds the loss with the given parameters; all others keep their defaults.
    ///
    /// # Errors
    /// Returns an error if a parameter is unknown, or if its value has the wrong type or is out of range.
    pub fn build(&self, params: &Map) -> Result<Box<dyn RankingLoss>, LossError> {
        (self.build)(params)
    }

    /// Returns whether the loss combines a measure and a relaxation.
    pub fn is_joined(&self) -> bool {
        self.forms.is_some()
    }

    /// Returns one set of parameters for each form of the loss, for tests. A loss that does not combine a measure and a
    /// relaxation has only its default form.
    pub fn forms(&self) -> Vec<Map> {
        self.forms.map_or_else(|| vec![Map::new()], |forms| forms())
    }

    /// Returns every parameter with its default, including the keys that all losses share.
    pub fn parameters(&self) -> Map {
        let mut all = self.defaults(&Map::new());
        all.insert(QUERY_GRADIENTS.to_string(), crate::json::json!(QueryGradients::Raw));
        all
    }

    /// Fills in the defaults of the parameters that `params` leaves out.
    pub fn complete(&self, params: &Map) -> Map {
        let mut all = self.defaults(params);
        all.extend(params.clone());
        all
    }

    /// Returns the name of the loss's Rust type in [`loss`](crate::loss). The type of its configuration has the same
    /// name with `Config` appended.
    pub fn type_name(&self) -> String {
        let words = self.name.split('_');
        words.map(|word| word[..1].to_uppercase() + &word[1..]).collect()
    }
}

/// Boxes a registered loss; the bound `Module` ensures that every registered loss is also a burn module.
pub(super) fn boxed(loss: impl RankingLoss + Module + 'static) -> Box<dyn RankingLoss> {
    Box::new(loss)
}

/// Returns the parameters of a configuration as a map.
pub(super) fn parameters<C: Config>(config: &C) -> Map {
    match crate::json::to_value(config) {
        Ok(Value::Object(map)) => map,
        other => unreachable!("a config is a struct of plain values, not {other:?}"),
    }
}

/// Returns the configuration `default`, in which the values in `params` replace the original values.
pub(super) fn configure<C: Config>(loss: &'static str, default: C, params: &Map) -> Result<C, LossError> {
    if params.is_empty() {
        return Ok(default);
    }
    read(loss, merged(loss, parameters(&default), params)?, params)
}

/// Replaces the values in `defaults` with the given parameters, and rejects unknown parameters.
pub(super) fn merged(loss: &'static str, mut defaults: Map, params: &Map) -> Result<Map, LossError> {
    for (key, value) in params {
        let Some(slot) = defaults.get_mut(key) else {
            return Err(unknown_parameter(loss, key, &defaults));
        };
        *slot = value.clone();
    }
    Ok(defaults)
}

/// Returns the error about a parameter that the loss does not have.
pub(super) fn unknown_parameter(loss: &'static str, key: &str, defaults: &Map) -> LossError {
    let known = defaults.keys().map(String::as_str).chain([QUERY_GRADIENTS]);
    LossError::Parameter { loss, refusal: Refusal::unknown(key, "parameter", key, known, "").of(loss) }
}

/// Creates a configuration from a map that contains every parameter. `given` contains only the parameters that the user
/// set, which error messages quote.
pub(super) fn read<C: Config>(loss: &'static str, all: Map, given: &Map) -> Result<C, LossError> {
    crate::json::from_value(Value::Object(all))
        .map_err(|refusal| LossError::Parameter { loss, refusal: with_value(refusal, given) })
}

/// Reads the value of the parameter `key` as the type `T`.
pub(super) fn value_of<T: DeserializeOwned>(loss: &'static str, key: &str, value: &Value) -> Result<T, LossError> {
    crate::json::from_value(value.clone()).map_err(|refusal| LossError::Parameter { loss, refusal: refusal.under(key) })
}

/// If the error is about the type of a whole parameter, the message also quotes the value given by the user.
pub(super) fn with_value(refusal: Refusal, params: &Map) -> Refusal {
    match params.get(&refusal.key) {
        Some(value) => Refusal { found: Found::Value(value.to_string()), ..refusal },
        None => refusal,
    }
}
