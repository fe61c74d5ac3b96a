//! The registry: every loss once, with its documentation, defaults and constructor. The command line, configuration
//! files, the property suite, the benchmarks and the documentation read it.

use crate::json::{Map, Value};
use burn::config::Config;
use serde::{Deserialize, Serialize};

use super::{LossError, RankingLoss};
use crate::text::nearest;

/// Every registered loss, by name.
pub static LOSSES: &[LossEntry] = &[
    super::approx_ap::ENTRY,
    super::approx_dcg::ENTRY,
    super::approx_kendall_tau::ENTRY,
    super::approx_ndcg::ENTRY,
    super::approx_precision::ENTRY,
    super::approx_rr::ENTRY,
    super::fidelity::ENTRY,
    super::lambda_loss::ENTRY,
    super::lambda_ndcg::ENTRY,
    super::list_mle::ENTRY,
    super::list_net::ENTRY,
    super::mse_gain::ENTRY,
    super::neural_ndcg::ENTRY,
    super::pairwise_exponential::ENTRY,
    super::pairwise_hinge::ENTRY,
    super::pairwise_squared_hinge::ENTRY,
    super::rank_net::ENTRY,
    super::smooth_ap_indicator::ENTRY,
    super::smooth_ap_rank::ENTRY,
    super::smooth_dcg::ENTRY,
    super::smooth_ndcg::ENTRY,
    super::smooth_precision::ENTRY,
    super::smooth_rr::ENTRY,
    super::soft_dcg::ENTRY,
    super::soft_ndcg::ENTRY,
    super::soft_precision::ENTRY,
    super::softmax_cross_entropy::ENTRY,
];

/// Which way a temperature goes when the surrogate sharpens towards its measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharper {
    /// The surrogate tends to the measure as the parameter grows (`alpha`).
    Larger,
    /// The surrogate tends to the measure as the parameter tends to 0 (`sigma`).
    Smaller,
}

/// The temperature of a surrogate: what a schedule anneals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Smoothing {
    /// Name of the parameter.
    pub parameter: &'static str,
    /// The direction that sharpens.
    pub sharper: Sharper,
}

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

/// Builds a loss from the parameters that differ from the defaults.
pub type Build = fn(&Map) -> Result<Box<dyn RankingLoss>, LossError>;

/// The entry of a name.
///
/// # Errors
/// [`LossError::UnknownLoss`], with the most similar name.
pub fn find(name: &str) -> Result<&'static LossEntry, LossError> {
    LOSSES.iter().find(|entry| entry.name == name).ok_or_else(|| LossError::UnknownLoss {
        found: name.into(),
        nearest: nearest(name, LOSSES.iter().map(|entry| entry.name)),
    })
}

/// Builds a registered loss from its name and the parameters that differ from the defaults.
///
/// # Errors
/// An unknown loss or parameter, a value of the wrong type or out of its range.
///
/// ```
/// let params = serde_json::from_str(r#"{"alpha": 10.0, "k": 5}"#).unwrap();
/// let loss = burn_rank::loss::registry::build("approx_ndcg", &params).unwrap();
/// assert_eq!(loss.name(), "approx_ndcg");
/// ```
pub fn build(name: &str, params: &Map) -> Result<Box<dyn RankingLoss>, LossError> {
    (find(name)?.build)(params)
}

/// A loss as configuration files state it: `{ name = "approx_ndcg", alpha = 10 }`.
///
/// # Annealing
/// A loss is cheap to build, so a schedule builds a new one per epoch or plateau:
///
/// ```
/// use burn_rank::loss::LossSpec;
///
/// let spec = LossSpec::new("approx_ndcg");
/// let smoothing = spec.smoothing().unwrap().expect("it has a temperature");
/// for epoch in 0..4 {
///     let loss = spec.with(smoothing.parameter, 10.0 * 2f64.powi(epoch)).build().unwrap();
///     // one epoch with `loss`
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LossSpec {
    /// Registered name.
    pub name: String,
    /// The parameters that differ from the defaults.
    #[serde(flatten)]
    pub params: Map,
}

impl LossSpec {
    /// A loss with its default parameters.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), params: Map::new() }
    }

    /// The same loss with one parameter changed.
    pub fn with(&self, parameter: &str, value: impl Into<Value>) -> Self {
        let mut spec = self.clone();
        spec.params.insert(parameter.into(), value.into());
        spec
    }

    /// Builds the loss.
    ///
    /// # Errors
    /// As [`build`].
    pub fn build(&self) -> Result<Box<dyn RankingLoss>, LossError> {
        build(&self.name, &self.params)
    }

    /// The temperature of the loss, if it has one.
    ///
    /// # Errors
    /// An unknown loss.
    pub fn smoothing(&self) -> Result<Option<Smoothing>, LossError> {
        Ok(find(&self.name)?.smoothing)
    }

    /// Every parameter, defaults included.
    ///
    /// # Errors
    /// As [`build`].
    pub fn resolved(&self) -> Result<Map, LossError> {
        self.build()?;
        let mut params = (find(&self.name)?.defaults)();
        params.extend(self.params.clone());
        Ok(params)
    }
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use crate::json::json;

    use super::*;

    fn params(value: Value) -> Map {
        value.as_object().expect("an object").clone()
    }

    fn message(name: &str, value: Value) -> String {
        build(name, &params(value)).unwrap_err().to_string()
    }

    #[test]
    fn every_loss_file_is_registered_under_its_name() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/loss");
        let files: BTreeSet<String> = std::fs::read_dir(folder)
            .expect("the sources are here")
            .map(|entry| entry.expect("readable").path())
            .filter(|path| std::fs::read_to_string(path).is_ok_and(|text| text.contains("\nimpl RankingLoss for ")))
            .map(|path| path.file_stem().expect("a file name").to_string_lossy().into_owned())
            .collect();
        let registered: BTreeSet<String> = LOSSES.iter().map(|entry| entry.name.to_string()).collect();
        assert_eq!(files, registered, "files of src/loss (left) and registry::LOSSES (right)");
        assert_eq!(registered.len(), LOSSES.len(), "a name is registered twice");
    }

    #[test]
    fn every_entry_builds_and_documents_itself() {
        for entry in LOSSES {
            let loss = (entry.build)(&Map::new()).expect("defaults are valid");
            assert_eq!(loss.name(), entry.name);
            for text in [entry.summary, entry.formula, entry.cost, entry.paper] {
                assert!(!text.is_empty(), "{}", entry.name);
            }
            let defaults = (entry.defaults)();
            assert!(build(entry.name, &defaults).is_ok(), "{}: its own defaults", entry.name);
            if let Some(smoothing) = entry.smoothing {
                let spec = LossSpec::new(entry.name);
                assert!(defaults.contains_key(smoothing.parameter), "{}", entry.name);
                assert!(spec.with(smoothing.parameter, 0.0).build().is_err(), "{}: temperature 0", entry.name);
                assert!(spec.with(smoothing.parameter, 3.0).build().is_ok(), "{}", entry.name);
            }
        }
    }

    #[test]
    fn errors_name_the_parameter_and_the_nearest_name() {
        assert_eq!(message("aprox_ndcg", json!({})), "unknown loss `aprox_ndcg`; did you mean `approx_ndcg`?");
        assert_eq!(message("qqq", json!({})), "unknown loss `qqq`");
        assert_eq!(
            message("approx_ndcg", json!({"alhpa": 1.0})),
            "approx_ndcg: unknown parameter `alhpa`; did you mean `alpha`?"
        );
        assert_eq!(message("approx_ndcg", json!({"alpha": "1"})), "approx_ndcg.alpha = \"1\": expected a number");
        assert_eq!(
            message("approx_ndcg", json!({"k": 2.5})),
            "approx_ndcg.k = 2.5: expected a whole number, 0 or above"
        );
        assert_eq!(
            message("approx_ndcg", json!({"step": "logit"})),
            "approx_ndcg.step = \"logit\": expected one of `logistic`, `tanh`, `erf`, `arctan`"
        );
        assert_eq!(
            message("approx_ndcg", json!({"alpha": 0})),
            "approx_ndcg.alpha = 0: expected a finite number above 0"
        );
    }

    #[test]
    fn a_spec_reads_flat_and_resolves_its_defaults() {
        let spec: LossSpec = crate::json::from_value(json!({"name": "approx_ndcg", "alpha": 3.0})).unwrap();
        assert_eq!(spec, LossSpec::new("approx_ndcg").with("alpha", 3.0));
        let resolved = spec.resolved().unwrap();
        assert_eq!(resolved["alpha"], json!(3.0));
        assert_eq!(resolved["k"], Value::Null);
        assert!(spec.with("alpha", -1.0).build().is_err());
    }
}
