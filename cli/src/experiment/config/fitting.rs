//! Defaults that depend on the scorer, the loss and the data. Some of these defaults follow from the configuration.
//! Others are known only after the queries have been read. A run writes the configuration with all defaults filled in
//! as `config.toml`.

use std::path::{Path, PathBuf};

use burn_rank::data::RankingDataset;
use burn_rank::json::{Map, Value};
use burn_rank::learner::LearnerError;
use burn_rank::loss::{LossError, LossSpec};
use burn_rank::scorer::ScorerConfig;
use burn_rank::workbench::json::json;
use burn_rank::workbench::learner::{Fitting, FittingData, fitting};
use burn_rank::workbench::registry::{self, LearnerEntry};
use burn_rank::workbench::{QUERY_GRADIENTS, QueryGradients};

use super::document::{ConfigError, Document};
use super::experiment::{Experiment, ExperimentConfig};
use super::grid::SECTIONS;
use crate::experiment::split::Split;

impl Experiment {
    /// Returns the configuration with the defaults for one split filled in. The normalizer `auto` is not yet resolved.
    pub(in crate::experiment) fn fitted_to(&self, split: &Split) -> Result<Self, LearnerError> {
        // A given round was found by a fit with validation queries and as many epochs.
        let has_validation = split.validation.is_some() || self.measure.round.is_some();
        let data = FittingData { train: &split.train, has_validation };
        let mut config = self.config.clone();
        add_lacking(&mut config.learner, self.fitting(Some(data)).learner);
        if config.learner == self.config.learner { Ok(self.clone()) } else { Self::build(config, self.written.clone()) }
    }
}

impl ExperimentConfig {
    fn fitting(&self, data: Option<FittingData>) -> Fitting {
        let Some(entry) = self.learner_entry() else { return Fitting::default() };
        let mut params = self.learner.clone();
        params.swap_remove("kind");
        fitting(entry, &params, &self.parts(), data)
    }

    /// Fills in the keys that the document leaves out. The defaults suit the learner, the scorer and the loss.
    pub(super) fn complete(&mut self, document: &Document) {
        let fitting = self.fitting(None);
        if !document.has("normalizer") {
            self.normalizer = fitting.normalizer;
        }
        if let (Some(ScorerConfig::Mlp(scorer)), Some(dropout)) = (&mut self.scorer, fitting.dropout)
            && !document.has("scorer.dropout")
        {
            scorer.dropout = dropout;
        }
        if let Some(mut loss) = self.loss.take() {
            if fitting.query_gradients != QueryGradients::Raw {
                loss.params.entry(QUERY_GRADIENTS.to_string()).or_insert(json!(fitting.query_gradients));
            }
            // A loss that cannot be built is refused with its learner.
            let completed = self.with_temperature(&loss, fitting.relative_temperature);
            self.loss = Some(completed.unwrap_or(loss));
        }
        add_lacking(&mut self.learner, fitting.learner);
    }

    /// If the loss has no temperature, adds the one that the learner chooses. A temperature that a grid or a search
    /// varies is given in units of the score.
    fn with_temperature(&self, loss: &LossSpec, relative: Option<f64>) -> Result<LossSpec, LossError> {
        let key = loss.smoothing()?.map(|smoothing| format!("loss.{}", smoothing.parameter));
        let varies = self.tried().any(|(tried, _)| Some(tried) == key.as_ref());
        loss.with_default_temperature(relative.filter(|_| !varies))
    }

    /// Returns the keys of `[learner]` whose defaults depend on the data.
    pub(super) fn open_keys(&self) -> impl Iterator<Item = &'static str> {
        self.fitting(None).of_data.iter().copied().filter(|key| !self.learner.contains_key(*key))
    }

    /// Returns a warning for data without validation queries, unless the configuration gives the round. `advice` says
    /// what the training queries' choice means, and begins the list of what to do.
    pub(in crate::experiment) fn warning_without_validation(&self, advice: &str) -> Option<String> {
        let has_rounds = !self.members.is_empty() && self.members.iter().all(|member| member.round.is_some());
        if self.measure.round.is_some() || has_rounds {
            return None;
        }
        let data = FittingData { train: &RankingDataset::default(), has_validation: false };
        let epochs = self.open_keys().find(|key| *key == "epochs").map(|key| {
            format!("; the fit has {} epochs, a number chosen on other data", self.fitting(Some(data)).learner[key])
        });
        Some(format!(
            "no validation queries: the round is chosen on the training queries{advice}, data.split = {{}}, or files in \
             data.validation{}",
            epochs.unwrap_or_default()
        ))
    }

    /// Returns the configuration as a JSON object, with the defaults of the learner and the loss filled in. Parameters
    /// are sorted by name, so equal configurations have equal text. Keys whose values depend on the data are left out.
    pub fn resolved(&self) -> Value {
        let mut value = json!(self);
        let mut defaults = self.learner_entry().map(LearnerEntry::defaults).unwrap_or_default();
        self.open_keys().for_each(|key| drop(defaults.shift_remove(key)));
        fill(&mut value["learner"], defaults);
        if let Some(loss) = &self.loss {
            let entry = registry::find(&loss.name);
            fill(&mut value["loss"], entry.map(|entry| entry.complete(&loss.params)).unwrap_or_default());
        }
        self.resolve_members(value)
    }

    /// Returns the configuration of a cross-validation. With a grid or a search, sections that a point may change are
    /// as they are written, because each point completes them with its own defaults.
    pub(crate) fn resolved_for_points(&self, document: &Document) -> Value {
        let mut value = self.resolved();
        if self.tried().next().is_none() {
            return value;
        }
        for section in SECTIONS {
            value[section] = without_nulls(document.value(section).clone());
            value[section].as_object_mut().into_iter().for_each(sort_by_key);
        }
        without_nulls(value)
    }

    /// Returns the resolved configuration as TOML, with absolute paths, so that the file works from any folder.
    ///
    /// # Errors
    /// Returns a `ConfigError` if TOML cannot represent a value.
    pub fn resolved_toml(&self, document: &Document) -> Result<String, ConfigError> {
        in_toml(self.with_absolute_paths().resolved(), document)
    }

    /// Returns [`resolved_for_points`](Self::resolved_for_points) as TOML, with absolute paths.
    ///
    /// # Errors
    /// As [`resolved_toml`](Self::resolved_toml).
    pub(crate) fn toml_for_points(&self, document: &Document) -> Result<String, ConfigError> {
        in_toml(self.with_absolute_paths().resolved_for_points(document), document)
    }

    /// Returns the configuration with absolute paths, which are the same from whatever folder a command is run.
    pub(in crate::experiment) fn with_absolute_paths(&self) -> Self {
        let mut config = self.clone();
        config.paths_mut().for_each(|(_, path)| *path = absolute_path(path));
        config
    }
}

/// Returns the absolute form of a path, the same for all its spellings.
pub fn absolute_path(path: &Path) -> PathBuf {
    // What `..` names has many spellings. A link keeps its name, to which other files may belong.
    let up = path.ancestors().find(|up| up.ends_with(".."));
    let whole = up.and_then(|up| Some(up.canonicalize().ok()?.join(path.strip_prefix(up).ok()?)));
    whole.or_else(|| std::path::absolute(path).ok()).unwrap_or_else(|| path.to_path_buf())
}

fn in_toml(value: Value, document: &Document) -> Result<String, ConfigError> {
    toml::to_string_pretty(&without_nulls(value)).map_err(|error| document.refuse("", &error.to_string()))
}

/// Adds the keys that a table lacks, and sorts it.
fn fill(table: &mut Value, defaults: Map) {
    let Some(table) = table.as_object_mut() else { return };
    add_lacking(table, defaults);
    sort_by_key(table);
}

/// Adds the keys that a table lacks.
fn add_lacking(table: &mut Map, defaults: Map) {
    for (key, value) in defaults {
        table.entry(key).or_insert(value);
    }
}

fn sort_by_key(table: &mut Map) {
    table.sort_keys();
    table.values_mut().filter_map(Value::as_object_mut).for_each(sort_by_key);
}

/// Removes keys that are null, because TOML has no null.
pub(crate) fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(table) => {
            let given = table.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(given.map(|(key, value)| (key, without_nulls(value))).collect())
        }
        Value::Array(values) => values.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use burn_rank::data::SynthConfig;
    use burn_rank::json::Value;

    use super::*;

    const PERCEPTRON: &str = "[data]\ntrain = [\"a\"]\n[scorer]\nkind = \"mlp\"\n[learner]\nkind = \"gradient\"\n";

    fn read(sets: &[&str]) -> Experiment {
        let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
        let document = Document::parse(Path::new("a.toml"), PERCEPTRON.to_string(), &sets).unwrap();
        Experiment::from_document(&document).unwrap()
    }

    /// Returns the normalizer, dropout, query gradients and learning rate of a configuration with the overrides `sets`.
    fn fitting(sets: &[&str]) -> [Value; 4] {
        let value = read(sets).resolved();
        let at = |section: &str, key: &str| value[section].get(key).cloned().unwrap_or(Value::Null);
        [
            value["normalizer"].clone(),
            at("scorer", "dropout"),
            at("loss", QUERY_GRADIENTS),
            at("learner", "learning_rate"),
        ]
    }

    #[test]
    fn defaults_fit_a_perceptron_and_its_loss() {
        let auto = json!("auto");
        let bound = [auto.clone(), json!(0.3), Value::Null, json!(0.001)];
        let direct = [auto.clone(), json!(0.3), json!("unit"), json!(0.003)];
        for (loss, expected) in [
            ("list_net", &bound),
            ("lambda_ndcg", &bound),
            ("softmax_cross_entropy", &bound),
            ("approx_ndcg", &direct),
            ("soft_ap", &direct),
            ("neural_ndcg", &direct),
        ] {
            assert_eq!(fitting(&[&format!("loss.name={loss}")]), *expected, "{loss}");
        }
        assert_eq!(fitting(&["loss={measure=\"rbp\", relaxation=\"soft_sort\"}"]), direct);
        let adamw = "learner.optimizer={kind=\"adamw\"}";
        assert_eq!(fitting(&["loss.name=approx_ndcg", adamw]), direct);
        let sgd = [auto.clone(), json!(0.3), json!("unit"), json!(0.01)];
        assert_eq!(fitting(&["loss.name=approx_ndcg", "learner.optimizer={kind=\"sgd\"}"]), sgd);
        let all_at_once = [auto, json!(0.0), Value::Null, json!(0.01)];
        assert_eq!(fitting(&["loss.name=approx_ndcg", "learner.optimizer={kind=\"lbfgs\"}"]), all_at_once);
    }

    #[test]
    fn a_round_that_is_given_is_one_of_as_many_as_with_validation_queries() {
        let (given, other) = (read(&["loss.name=list_net", "measure.round=7"]), read(&["loss.name=list_net"]));
        let epochs = |config: &Experiment, validates| {
            config.fitted_to(&split(20, 5.0, validates)).unwrap().learner["epochs"].clone()
        };
        assert_eq!(epochs(&given, false), epochs(&other, true));
        assert_ne!(epochs(&other, false), epochs(&other, true));
        assert_eq!(given.warning_without_validation(""), None);
    }

    #[test]
    fn what_is_written_stays() {
        let sets = [
            "loss.name=approx_ndcg",
            "normalizer=none",
            "scorer.dropout=0.0",
            "loss.query_gradients=raw",
            "learner.learning_rate=0.01",
        ];
        assert_eq!(fitting(&sets), [json!("none"), json!(0.0), json!("raw"), json!(0.01)]);
        let more = ["learner.epochs=7", "learner.batch_queries=5", "learner.patience=7"];
        let config = read(&[&sets[..], &more].concat());
        let fitted = config.fitted_to(&split(20, 5.0, true)).unwrap();
        assert_eq!(fitted.config, config.config);
        assert!(std::sync::Arc::ptr_eq(&fitted.built, &config.built), "the learner is handed on");
        assert!(!config.warning_without_validation("").unwrap().contains("epochs"));
    }

    #[test]
    fn what_each_point_completes_for_itself_is_in_no_configuration_of_all_points() {
        let grid = "grid={\"loss.name\" = [\"list_net\", \"approx_ndcg\"]}";
        let parse = |text: &str, sets: &[&str]| {
            let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
            Document::parse(Path::new("a.toml"), text.to_string(), &sets).unwrap()
        };
        let toml = |sets: &[&str]| {
            let document = parse(PERCEPTRON, sets);
            Experiment::from_document(&document).unwrap().toml_for_points(&document).unwrap()
        };
        let points = |document: &Document| {
            let points = Experiment::from_document(document).unwrap().grid_candidates(document).unwrap();
            points.into_iter().map(|point| point.config.config).collect::<Vec<_>>()
        };
        let (open, given) = (toml(&["loss.name=list_net", grid]), "learner.learning_rate=0.001");
        assert_ne!(open, toml(&["loss.name=list_net", grid, given]), "the second point learns at another rate");
        let (written, again) = (parse(PERCEPTRON, &["loss.name=list_net", grid]), parse(&open, &[]));
        let rates = points(&again).iter().map(|point| point.learner["learning_rate"].clone()).collect::<Vec<_>>();
        assert_eq!(rates, [json!(0.001), json!(0.003)]);
        let fitted = |points: Vec<ExperimentConfig>| {
            points.into_iter().map(|of| (of.normalizer, of.scorer, of.loss, of.learner)).collect::<Vec<_>>()
        };
        assert_eq!(fitted(points(&again)), fitted(points(&written)));
        let experiment = Experiment::from_document(&again).unwrap();
        let at = |label: &str| experiment.at_label(&again, 1, label).unwrap();
        assert_eq!(at("loss.name=\"approx_ndcg\"").unwrap().loss.as_ref().unwrap().name, "approx_ndcg");
        assert!(at("loss.name=\"soft_ndcg\"").is_none());
        assert!(toml(&["loss.name=list_net"]).contains("learning_rate = 0.001"), "without a grid, defaults are there");
        let units = "grid={\"loss.temperature_unit\" = [\"score\", \"spread\"]}";
        let points = points(&parse(PERCEPTRON, &["loss.name=soft_ndcg", units]));
        let sigmas = points.iter().map(|point| point.loss.as_ref().unwrap().params.get("sigma").cloned());
        assert_eq!(sigmas.collect::<Vec<_>>(), [None, Some(json!(0.1))], "the paper's, and the learner's");
    }

    #[test]
    fn other_scorers_and_learners_keep_their_defaults() {
        for (scorer, dropout) in [("linear", Value::Null), ("attention", json!(0.1)), ("latent_cross", json!(0.1))] {
            let scorer = format!("scorer={{kind=\"{scorer}\"}}");
            for (loss, query_gradients) in [("list_net", Value::Null), ("approx_ndcg", json!("unit"))] {
                let expected = [json!("auto"), dropout.clone(), query_gradients, json!(0.01)];
                assert_eq!(fitting(&[&format!("loss.name={loss}"), &scorer]), expected, "{scorer}, {loss}");
            }
        }
        let smooth_rank = [json!("none"), json!(0.0), Value::Null, Value::Null];
        assert_eq!(fitting(&["loss.name=smooth_ndcg", "learner={kind=\"smooth_rank\"}"]), smooth_rank);
        let linear = read(&["loss.name=list_net", "scorer={kind=\"linear\"}"]);
        assert_eq!(linear.fitted_to(&split(20, 5.0, false)).unwrap().config, linear.config);
        assert_eq!(linear.resolved()["learner"]["batch_queries"], json!(32));
    }

    fn split(queries: usize, median_length: f64, has_validation: bool) -> Split {
        let config = SynthConfig { queries, features: 1, median_length, ..SynthConfig::default() };
        let train = config.generate().unwrap();
        Split { fold: 1, validation: has_validation.then(|| train.clone()), test: None, train }
    }

    #[test]
    fn the_queries_decide_steps_and_epochs() {
        let config = read(&["loss.name=list_net"]);
        let keys = ["batch_queries", "epochs", "patience"];
        let open = config.resolved();
        assert!(keys.iter().all(|key| open["learner"].get(key).is_none()), "{open}");
        let alone = json!(25);
        for (split, expected) in [
            (split(1000, 3.0, true), [json!(16), json!(100), json!(20)]),
            (split(1001, 3.0, true), [json!(32), json!(100), json!(20)]),
            (split(10, 900.0, true), [json!(8), json!(100), json!(20)]),
            (split(10, 3.0, false), [json!(16), alone.clone(), Value::Null]),
        ] {
            let fitted = config.fitted_to(&split).unwrap().resolved();
            assert_eq!(keys.map(|key| fitted["learner"][key].clone()), expected);
            assert_eq!(fitted["learner"]["learning_rate"], json!(0.001));
        }
        assert!(config.warning_without_validation("").unwrap().contains(&format!("has {alone} epochs")));
        // All epochs count where something moves with them.
        for moving in ["learner.schedule={kind=\"cosine\"}", "learner.anneal={kind=\"linear\", from=1.0, to=0.1}"] {
            let fitted = read(&["loss.name=soft_ndcg", moving]).fitted_to(&split(10, 3.0, true)).unwrap().resolved();
            assert_eq!(
                keys.map(|key| fitted["learner"][key].clone()),
                [json!(16), json!(100), Value::Null],
                "{moving}"
            );
        }
    }
}
