//! The registry, which lists every loss with its documentation, defaults and constructor. The command line,
//! configuration files, property suite, benchmarks and documentation all use the registry.

use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::about::Smoothing;
use super::distillation::DistillationConfig;
use super::entry::{LossEntry, configure, parameters, value_of};
use super::error::LossError;
use super::ranking_loss::RankingLoss;
use super::surrogate::relaxed_measure::{self, default_temperature};
use super::temperature::{TEMPERATURE_UNIT, TemperatureUnit};
use super::unit_gradients::{QUERY_GRADIENTS, QueryGradients, UnitGradients};
use super::{listwise, pairwise, pointwise, surrogate};
use crate::every_loss;
use crate::foreign_names::ours;
use crate::json::{Map, Value, from_value, json};
use crate::refusal::Refusal;
use crate::text::nearest;

macro_rules! entries {
    ($($folder:ident $file:ident $loss:ident $config:ident;)+) => {
        /// All registered losses, ordered by name.
        pub static LOSSES: &[LossEntry] = &[$($folder::$file::ENTRY),+];
    };
}

every_loss!(entries);

/// Returns the registry entry of the loss with this name.
///
/// # Errors
/// Returns [`LossError::UnknownLoss`] with the most similar name.
pub fn find(name: &str) -> Result<&'static LossEntry, LossError> {
    let unknown = || LossError::UnknownLoss { found: name.into(), nearest: nearest(name, LossSpec::names()) };
    LOSSES.iter().find(|entry| entry.name == name).ok_or_else(unknown)
}

/// Creates a registered loss from its name and from the parameters that differ from their defaults. Every loss also
/// accepts the parameters `query_gradients` and `teacher`, a table with the name, the parameters and the `weight`,
/// `scale` and `factor` of a teacher's loss (see [`Distillation`](super::Distillation)).
pub(super) fn build(name: &str, params: &Map) -> Result<Box<dyn RankingLoss>, LossError> {
    let entry = find(name)?;
    let mut own = params.clone();
    let gradients = own.shift_remove(QUERY_GRADIENTS);
    let teacher = own.shift_remove(TEACHER);
    let loss = entry.build(&own)?;
    let kind = gradients.as_ref().map(|gradients| value_of(entry.name, QUERY_GRADIENTS, gradients)).transpose()?;
    let loss = match kind {
        None | Some(QueryGradients::Raw) => loss,
        Some(QueryGradients::Unit) => Box::new(UnitGradients::from(loss)),
    };
    match teacher {
        Some(teacher) => with_teacher(loss, &teacher, gradients.as_ref()),
        None => Ok(loss),
    }
}

/// The key of a teacher's loss, which every registered loss accepts.
pub(crate) const TEACHER: &str = "teacher";

/// Joins a loss of labels with the teacher's loss that a table `[loss.teacher]` describes: `weight`, `scale`, `factor`,
/// and the name and parameters of a loss, which takes `query_gradients` from `[loss]` unless it has its own.
fn with_teacher(
    labels: Box<dyn RankingLoss>,
    table: &Value,
    gradients: Option<&Value>,
) -> Result<Box<dyn RankingLoss>, LossError> {
    let loss = labels.about().name;
    let refused = |refusal: Refusal| LossError::Parameter { loss, refusal: refusal.under(TEACHER) };
    let Value::Object(table) = table else {
        return Err(refused(Refusal::new("", table, "a table with the `name` of a loss")));
    };
    let defaults = parameters(&DistillationConfig::new());
    let (own, mut params): (Map, Map) = table.clone().into_iter().partition(|(key, _)| defaults.contains_key(key));
    if let Some(gradients) = gradients.filter(|_| !params.contains_key(QUERY_GRADIENTS)) {
        params.insert(QUERY_GRADIENTS.to_string(), gradients.clone());
    }
    let of_teacher = |error| match error {
        LossError::Parameter { refusal, .. } => refused(refusal),
        LossError::UnknownLoss { found, .. } => {
            let expected = "one that `burn-rank models --losses` lists";
            refused(Refusal::unknown("name", "loss", found, LOSSES.iter().map(|entry| entry.name), expected))
        }
        other => other,
    };
    let config = configure(loss, DistillationConfig::new(), &own).map_err(of_teacher)?;
    let spec: LossSpec = from_value(Value::Object(params)).map_err(refused)?;
    let teacher = spec.build().map_err(of_teacher)?;
    Ok(Box::new(config.join(labels.into(), teacher.into())?))
}

/// Returns the table of a teacher's loss with the defaults of every parameter that it leaves out.
///
/// # Errors
/// Returns the same errors as building the loss.
pub(crate) fn completed_teacher(table: &Value) -> Result<Value, LossError> {
    let mut all = parameters(&DistillationConfig::new());
    let mut params = table.as_object().cloned().unwrap_or_default();
    for (key, default) in &mut all {
        *default = params.shift_remove(key).unwrap_or_else(|| default.clone());
    }
    if let Ok(spec) = from_value::<LossSpec>(Value::Object(params)) {
        all.insert("name".into(), json!(spec.name));
        all.extend(spec.resolved()?);
    }
    Ok(Value::Object(all))
}

/// The specification of a loss, such as the table `{ name = "approx_ndcg", alpha = 10 }` of a configuration file.
///
/// # Annealing
/// Building a loss is cheap, so a schedule can build a new loss for each epoch or plateau:
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
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LossSpec {
    /// The registered name of the loss. Configuration files may also name a measure and a relaxation, as
    /// [`parse`](Self::parse) reads them, or omit the name if they give a `measure` or a `relaxation`; the loss is then
    /// a [`RelaxedMeasure`](super::RelaxedMeasure).
    pub name: String,
    /// The parameters that differ from the defaults. A given temperature (`alpha`, `sigma`) is measured in scores, as
    /// in the papers, unless `temperature_unit` says otherwise. A default temperature is measured in spreads: one
    /// spread is the standard deviation of a list's scores.
    #[serde(flatten)]
    pub params: Map,
}

impl<'de> Deserialize<'de> for LossSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(SpecVisitor)
    }
}

/// Reads a loss from a table that contains a `name` and parameters.
struct SpecVisitor;

impl<'de> Visitor<'de> for SpecVisitor {
    type Value = LossSpec;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a table with the name of a loss, or with a measure and a relaxation")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<LossSpec, A::Error> {
        let (mut name, mut params): (Option<String>, _) = (None, Map::new());
        while let Some(key) = fields.next_key::<String>()? {
            if key == "name" {
                name = Some(fields.next_value()?);
            } else {
                params.insert(key, fields.next_value()?);
            }
        }
        let joined = ["measure", "relaxation"].iter().any(|part| params.contains_key(*part));
        match name.as_deref().map(LossSpec::parse) {
            Some(mut spec) => {
                if let Some(twice) = params.keys().find(|key| spec.params.contains_key(*key)) {
                    return Err(A::Error::custom(format!("the loss `{spec}` already has its `{twice}` in its name")));
                }
                spec.params.extend(params);
                Ok(spec)
            }
            None if joined => Ok(LossSpec::joined(params)),
            None => Err(A::Error::missing_field("name")),
        }
    }
}

impl LossSpec {
    /// Parses the text that names a loss on the command line, and keeps the default parameters. The text is a
    /// registered name, or a measure and a relaxation such as `ap:rank_indicators` or `ndcg@10:expected_ranks`.
    ///
    /// ```
    /// use burn_rank::loss::LossSpec;
    ///
    /// let spec = LossSpec::parse("ndcg@10:expected_ranks");
    /// assert_eq!(spec.params["k"], 10);
    /// assert_eq!(spec.to_string(), "ndcg@10:expected_ranks");
    /// assert!(spec.build().is_ok());
    /// ```
    pub fn parse(text: &str) -> Self {
        // Such as XGBoost's `rank:ndcg`, which is refused with our name.
        let is_foreign = ours(text).next().is_some();
        let Some((measure, relaxation)) = text.split_once(':').filter(|_| !is_foreign) else { return Self::new(text) };
        let (measure, k) = measure.split_once('@').map_or((measure, None), |(measure, k)| (measure, Some(k)));
        let spec = Self::joined(Map::new()).with("measure", measure).with("relaxation", relaxation);
        match k {
            // A cut-off that is not a number is refused when the loss is built.
            Some(k) => spec.with("k", k.parse::<u64>().map_or_else(|_| Value::from(k), Value::from)),
            None => spec,
        }
    }

    /// Creates the specification of a loss with its default parameters.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), params: Map::new() }
    }

    /// Creates the specification of a measure under a relaxation from its parameters.
    pub(crate) fn joined(params: Map) -> Self {
        Self { name: relaxed_measure::NAME.to_string(), params }
    }

    /// Returns the specification with one parameter changed.
    pub fn with(&self, parameter: &str, value: impl Into<Value>) -> Self {
        let mut spec = self.clone();
        spec.params.insert(parameter.into(), value.into());
        spec
    }

    /// Returns the names of all registered losses.
    pub fn names() -> impl Iterator<Item = &'static str> {
        LOSSES.iter().map(|entry| entry.name)
    }

    /// Builds the loss. Every loss also accepts the parameters `query_gradients`, of which `unit` gives every query the
    /// same influence as [`UnitGradients`] does, and `teacher`, a table with the name, the parameters and the `weight`,
    /// `scale` and `factor` of a teacher's loss (see [`Distillation`](super::Distillation)).
    ///
    /// # Errors
    /// Returns an error if the loss or a parameter is unknown, or if a value has the wrong type or is out of range.
    ///
    /// ```
    /// let spec = burn_rank::loss::LossSpec::new("approx_ndcg").with("alpha", 10.0).with("k", 5);
    /// assert_eq!(spec.build()?.about().name, "approx_ndcg");
    /// # Ok::<(), burn_rank::loss::LossError>(())
    /// ```
    pub fn build(&self) -> Result<Box<dyn RankingLoss>, LossError> {
        build(&self.name, &self.params)
    }

    /// Returns the temperature of the loss, if it has one.
    ///
    /// # Errors
    /// Returns the same errors as [`LossSpec::build`].
    pub fn smoothing(&self) -> Result<Option<Smoothing>, LossError> {
        Ok(self.build()?.about().smoothing)
    }

    /// Sets the temperature to a learner's default. Changes nothing if the loss has no temperature, if the
    /// specification sets the temperature, or if the specification says that its unit is scores. The default, in
    /// spreads, is the best temperature for training a scorer from scratch, changed by the factor `times` to make the
    /// surrogate smoother. Without `times`, the default is the paper's temperature, unless the specification says
    /// that its unit is spreads. The paper's temperature is also kept for a loss without a known good temperature in
    /// spreads.
    ///
    /// ```
    /// use burn_rank::loss::LossSpec;
    ///
    /// let spec = LossSpec::new("soft_ndcg");
    /// assert_eq!(spec.with_default_temperature(Some(5.0))?.params["sigma"], 0.5);
    /// assert_eq!(spec.with_default_temperature(None)?.resolved()?["sigma"], 1.0);
    /// // A temperature that is named alone is in scores, as in the papers.
    /// let absolute = spec.with("sigma", 0.5);
    /// assert_eq!(absolute.with_default_temperature(Some(5.0))?, absolute);
    /// # Ok::<(), burn_rank::loss::LossError>(())
    /// ```
    ///
    /// # Errors
    /// Returns the same errors as [`LossSpec::build`].
    pub fn with_default_temperature(&self, times: Option<f64>) -> Result<Self, LossError> {
        let Some(Smoothing { parameter, .. }) = self.smoothing()? else { return Ok(self.clone()) };
        let (in_scores, in_spreads) = (json!(TemperatureUnit::Score), json!(TemperatureUnit::Spread));
        if self.params.contains_key(parameter) || self.params.get(TEMPERATURE_UNIT) == Some(&in_scores) {
            return Ok(self.clone());
        }
        Ok(match times.and_then(|times| default_temperature(&self.name, &self.params, times)) {
            Some(temperature) => self.with(parameter, temperature).with(TEMPERATURE_UNIT, in_spreads),
            None if self.params.get(TEMPERATURE_UNIT) == Some(&in_spreads) => self.clone(),
            None => self.with(parameter, self.with(TEMPERATURE_UNIT, in_scores).resolved()?[parameter].clone()),
        })
    }

    /// Returns every parameter of the loss, including the defaults.
    ///
    /// # Errors
    /// Returns the same errors as [`LossSpec::build`].
    pub fn resolved(&self) -> Result<Map, LossError> {
        self.build()?;
        let mut all = find(&self.name)?.complete(&self.params);
        if let Some(teacher) = all.get_mut(TEACHER) {
            *teacher = completed_teacher(teacher)?;
        }
        Ok(all)
    }

    /// Returns the loss of the labels, without the loss of a teacher.
    #[cfg(feature = "learners")]
    pub(super) fn of_labels(&self) -> Self {
        let params = self.params.iter().filter(|(key, _)| *key != TEACHER);
        Self { name: self.name.clone(), params: params.map(|(key, value)| (key.clone(), value.clone())).collect() }
    }
}

/// Writes the loss in the form that [`LossSpec::parse`] reads: a name, or a measure with its cut-off and a relaxation.
/// Other parameters are omitted.
impl fmt::Display for LossSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let text = |key: &str| self.params.get(key).and_then(Value::as_str);
        let [measure, relaxation] = ["measure", "relaxation"].map(text);
        let (Some(measure), Some(relaxation)) = (measure, relaxation) else { return formatter.write_str(&self.name) };
        let cutoff = self.params.get("k").map(|k| format!("@{k}")).unwrap_or_default();
        write!(formatter, "{measure}{cutoff}:{relaxation}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(value: Value) -> Map {
        value.as_object().expect("an object").clone()
    }

    fn message(name: &str, value: Value) -> String {
        build(name, &params(value)).unwrap_err().to_string()
    }

    macro_rules! named {
        ($($folder:ident $file:ident $loss:ident $config:ident;)+) => {
            [$((stringify!($file), stringify!($loss), stringify!($config))),+]
        };
    }

    #[test]
    fn a_loss_has_the_name_of_its_file_and_its_type() {
        let named = every_loss!(named);
        for ((file, loss, config), entry) in named.into_iter().zip(LOSSES) {
            let name = entry.type_name();
            assert_eq!((file, loss, config), (entry.name, name.as_str(), format!("{name}Config").as_str()));
        }
        assert!(named.is_sorted(), "by name, each once");
    }

    #[test]
    fn every_entry_builds_and_documents_itself() {
        for entry in LOSSES {
            let loss = entry.build(&Map::new()).expect("defaults are valid");
            assert_eq!(loss.about().name, entry.name);
            for text in [entry.summary, entry.formula, entry.cost, entry.paper] {
                assert!(!text.is_empty(), "{}", entry.name);
            }
            let defaults = entry.defaults(&Map::new());
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
        assert_eq!(
            message("aprox_ndcg", json!({})),
            "unknown loss `aprox_ndcg`, expected one that `burn-rank models --losses` lists; did you mean `approx_ndcg`?"
        );
        assert_eq!(
            message("qqq", json!({})),
            "unknown loss `qqq`, expected one that `burn-rank models --losses` lists"
        );
        assert_eq!(
            message("list_mle", json!({"qqq": 1})),
            "list_mle: unknown parameter `qqq`, expected one of `k`, `discount`, `exponent`, `shuffle_ties`, `seed`, \
             `query_gradients`"
        );
        assert_eq!(
            message("approx_ndcg", json!({"alhpa": 1.0})),
            "approx_ndcg: unknown parameter `alhpa`, expected one of `alpha`, `k`, `beta`, `gain`, `step`, \
             `temperature_unit`, `query_gradients`; did you mean `alpha`?"
        );
        assert_eq!(message("approx_ndcg", json!({"alpha": "1"})), "approx_ndcg.alpha = \"1\": expected a number");
        assert_eq!(
            message("approx_ndcg", json!({"k": 2.5})),
            "approx_ndcg.k = 2.5: expected a whole number, 0 or above"
        );
        assert_eq!(
            message("approx_ndcg", json!({"step": "logit"})),
            "approx_ndcg.step = \"logit\": expected one of `logistic`, `tanh`, `erf`, `arctan`, `laplace`"
        );
        assert_eq!(
            message("approx_ndcg", json!({"alpha": 0})),
            "approx_ndcg.alpha = 0: expected a finite number above 0"
        );
        for (loss, key, found, least) in [
            ("softmax_cross_entropy", "gumbel_samples", 1_000_000_000, 0),
            ("stochastic_rank", "samples", 0, 1),
            ("yeti_loss", "samples", 10_001, 1),
        ] {
            let expected = format!("{loss}.{key} = {found}: expected from {least} to 10000");
            assert_eq!(message(loss, json!({key: found})), expected);
        }
    }

    #[test]
    fn a_cell_is_named_by_its_parts() {
        let spec = LossSpec::parse("map@3:sigmoid_ranks");
        assert_eq!(spec.to_string(), "map@3:sigmoid_ranks");
        assert_eq!(spec.resolved().unwrap()["k"], json!(3));
        assert_eq!(LossSpec::parse("approx_ndcg"), LossSpec::new("approx_ndcg"));
        let refused = |text: &str| LossSpec::parse(text).build().unwrap_err().to_string();
        assert_eq!(refused("ap@x:rank_indicators"), "relaxed_measure.k = \"x\": expected a whole number, 0 or above");
        assert!(refused("ap:rank_indicator").ends_with("did you mean `rank_indicators`?"));
    }

    #[test]
    fn a_spec_reads_flat_and_resolves_its_defaults() {
        let spec: LossSpec = crate::json::from_value(json!({"name": "approx_ndcg", "alpha": 3.0})).unwrap();
        assert_eq!(spec, LossSpec::new("approx_ndcg").with("alpha", 3.0));
        let resolved = spec.resolved().unwrap();
        assert_eq!(resolved["alpha"], json!(3.0));
        assert_eq!(resolved["k"], Value::Null);
        assert!(spec.with("alpha", -1.0).build().is_err());
        let cell: LossSpec =
            crate::json::from_value(json!({"measure": "ap", "sigma": 2, "relaxation": "rank_indicators"})).unwrap();
        assert_eq!((cell.name.as_str(), cell.to_string().as_str()), ("relaxed_measure", "ap:rank_indicators"));
        assert_eq!(cell.build().unwrap().about().smoothing.unwrap().parameter, "sigma");
        let written = crate::json::to_value(&cell).unwrap();
        assert_eq!(crate::json::from_value::<LossSpec>(written).unwrap(), cell);
        let named: LossSpec = crate::json::from_value(json!({"name": "ap:rank_indicators", "sigma": 2})).unwrap();
        assert_eq!(named, cell);
        let twice = json!({"name": "ndcg@10:soft_sort", "k": 5});
        let refused = crate::json::from_value::<LossSpec>(twice).unwrap_err();
        assert_eq!(refused.with_key(), "the loss `ndcg@10:soft_sort` already has its `k` in its name");
        let none = crate::json::from_value::<LossSpec>(json!({"alpha": 1.0})).unwrap_err();
        assert_eq!(none.with_key(), "missing field `name`");
        let wrong = crate::json::from_value::<LossSpec>(json!({"name": 3})).unwrap_err();
        assert_eq!(wrong.with_key(), "name: found 3, expected a string");
    }
}
