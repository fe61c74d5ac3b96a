//! `LossEntry`: what the registry holds for each loss, and how one is built from parameters.

use crate::json::{Map, Value};
use burn::config::Config;

use super::error::LossError;
use super::ranking_loss::RankingLoss;
use super::smoothing::Smoothing;
use crate::text::nearest;

/// One registered loss.
#[derive(Debug)]
pub struct LossEntry {
    /// Name in configuration files and on the command line.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// The formula of one query.
    pub formula: &'static str,
    /// Time of one query of n documents.
    pub cost: &'static str,
    /// Source and equation.
    pub paper: &'static str,
    /// The temperature, if it has one.
    pub smoothing: Option<Smoothing>,
    /// Whether adding a constant to every score of a query changes nothing.
    pub shift_invariant: bool,
    /// Every parameter with its default.
    pub defaults: fn() -> Map,
    /// The loss with the given parameters over the defaults.
    pub build: Build,
}

impl LossEntry {
    /// Name of its Rust type in [`loss`](crate::loss); that of its configuration ends in `Config`.
    pub fn type_name(&self) -> String {
        let words = self.name.split('_');
        words.map(|word| word[..1].to_uppercase() + &word[1..]).collect()
    }
}

/// Builds a loss from the parameters that differ from the defaults.
pub type Build = fn(&Map) -> Result<Box<dyn RankingLoss>, LossError>;

/// The parameters of a config, as a map.
pub(super) fn parameters<C: Config>(config: &C) -> Map {
    match crate::json::to_value(config) {
        Ok(Value::Object(map)) => map,
        other => unreachable!("a config is a struct of plain values, not {other:?}"),
    }
}

/// `default` with the given parameters laid over it.
pub(super) fn configure<C: Config>(loss: &'static str, default: C, params: &Map) -> Result<C, LossError> {
    let mut merged = parameters(&default);
    let mut config = default;
    // One key at a time, so that an error can name the parameter.
    for (key, value) in params {
        let Some(slot) = merged.get_mut(key) else {
            let nearest = nearest(key, merged.keys().map(String::as_str));
            return Err(LossError::UnknownParameter { loss, found: key.clone(), nearest });
        };
        *slot = value.clone();
        config = crate::json::from_value(Value::Object(merged.clone()))
            .map_err(|error| LossError::parameter(loss, key, value, expectation(&error.to_string())))?;
    }
    Ok(config)
}

/// What serde says it expected, in the words of a configuration file.
fn expectation(message: &str) -> String {
    let expected = message.rsplit_once("expected ").map_or(message, |(_, expected)| expected);
    match expected {
        "f64" => "a number".into(),
        "usize" | "u64" => "a whole number, 0 or above".into(),
        other => other.into(),
    }
}
