//! The configuration of an experiment: what a `.toml` file says. Unknown keys are refused everywhere.

use std::path::{Component, Path, PathBuf};

use crate::json::{Map, Value, json};
use serde::{Deserialize, Serialize};

use super::{ConfigError, Document, grid};
use crate::data::letor::ReadOptions;
use crate::data::{DataError, NormaliserKind, SynthConfig};
use crate::learner::{LearnerError, Parts, RankingLearner, Selection, registry};
use crate::loss::{LossError, LossSpec};
use crate::measure::{Convention, Measure};
use crate::op::Instructions;
use crate::scorer::{ScorerConfig, ScorerError};

/// One experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExperimentConfig {
    /// Name in tables and reports; the file's stem when absent.
    #[serde(default)]
    pub name: String,
    /// What the experiment is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The one seed.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Device name, as for `--device`.
    #[serde(default = "default_device")]
    pub device: String,
    /// Instructions of the fused kernels of the CPU, as for `--instructions`; the best of the processor when absent. As
    /// with the device, who runs the experiment enters them ([`Execution`](crate::op::Execution)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<Instructions>,
    /// Where the queries come from.
    pub data: DataConfig,
    /// What is done to features; fitted on training data.
    #[serde(default)]
    pub normaliser: NormaliserKind,
    /// What turns features into scores, for learners that take a scorer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scorer: Option<ScorerConfig>,
    /// What is minimised, for learners that take a loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossSpec>,
    /// `kind` and the parameters of that learner.
    pub learner: Map,
    /// What is measured, in which convention.
    #[serde(default)]
    pub measure: MeasureConfig,
    /// Cross-validation: folds and seeds.
    #[serde(default)]
    pub cv: CrossValidationConfig,
    /// Dotted key to the list of values that cross-validation tries; selected on validation data, fold by fold.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub grid: Map,
}

fn default_seed() -> u64 {
    1
}

fn default_device() -> String {
    "flex".to_string()
}

/// Where the queries come from: `folds`, or `train`, or `synthetic`. Relative paths start at the configuration file,
/// those of `--set` at the current folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DataConfig {
    /// Folder of `FoldN` folders, or of parts `S1`, `S2`, ... that are rotated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folds: Option<PathBuf>,
    /// The fold that `train` uses, from 1.
    pub fold: usize,
    /// Files to train on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub train: Vec<PathBuf>,
    /// Files to select on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub validation: Vec<PathBuf>,
    /// Files to test on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub test: Vec<PathBuf>,
    /// Generated queries instead of files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synthetic: Option<SyntheticConfig>,
    /// How files are read.
    pub read: ReadOptions,
}

impl Default for DataConfig {
    fn default() -> Self {
        Self {
            folds: None,
            fold: 1,
            train: vec![],
            validation: vec![],
            test: vec![],
            synthetic: None,
            read: ReadOptions::default(),
        }
    }
}

/// Generated queries: one hidden scorer, three sets of queries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SyntheticConfig {
    /// Queries to train on.
    pub train_queries: usize,
    /// Queries to select on.
    pub validation_queries: usize,
    /// Queries to test on.
    pub test_queries: usize,
    /// Features of a document.
    pub features: usize,
    /// Seed of the hidden scorer and the queries.
    pub seed: u64,
}

impl Default for SyntheticConfig {
    fn default() -> Self {
        let generator = SynthConfig::default();
        Self {
            train_queries: 200,
            validation_queries: 50,
            test_queries: 50,
            features: generator.features,
            seed: generator.seed,
        }
    }
}

/// What is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MeasureConfig {
    /// The convention of every measure.
    pub convention: Convention,
    /// What selects rounds and grid points on validation data.
    pub select: Measure,
    /// What is reported.
    pub report: Vec<Measure>,
}

impl Default for MeasureConfig {
    fn default() -> Self {
        let report = [Measure::Ndcg(Some(1)), Measure::Ndcg(Some(5)), Measure::Ndcg(Some(10)), Measure::Ap(None)];
        Self { convention: Convention::default(), select: Measure::Ndcg(Some(10)), report: report.to_vec() }
    }
}

/// Cross-validation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CrossValidationConfig {
    /// Folds to run; all when empty.
    pub folds: Vec<usize>,
    /// Seeds to average over; the experiment's seed when empty.
    pub seeds: Vec<u64>,
    /// Folds to split the training files into, by query, when the data have no folds of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<usize>,
}

impl ExperimentConfig {
    /// Decodes and checks a document, at every point of its grid.
    ///
    /// # Errors
    /// [`ConfigError`] with the place of the key that cannot be used.
    pub fn from_document(document: &Document) -> Result<Self, ConfigError> {
        let config = Self::read(document)?;
        for document in document.with_nulls() {
            match Self::read(&document?) {
                Err(error) if error.message.contains("unknown") => return Err(error),
                _ => {}
            }
        }
        // A document at a point still has the grid that the point is of.
        if !document.is_at_point() {
            config.check_grid(document)?;
        }
        Ok(config)
    }

    fn read(document: &Document) -> Result<Self, ConfigError> {
        let mut config: Self = document.decode().map_err(name_scorers)?;
        if config.name.is_empty() {
            config.name = document.stem();
        }
        // A folder of this name is made below `runs`.
        if Path::new(&config.name).components().any(|part| !matches!(part, Component::Normal(_))) {
            return Err(document.refuse("name", &format!("found {:?}, expected a name, not a path", config.name)));
        }
        for (key, path) in config.data.paths_mut() {
            // Who types a path means the folder that they stand in.
            if !document.is_set_by_hand(key) {
                *path = document.folder().join(&path);
            }
        }
        config.check_data(document)?;
        config.check_cross_validation(document)?;
        config.learner().map_err(|error| config.place(document, error))?;
        Ok(config)
    }

    fn check_data(&self, document: &Document) -> Result<(), ConfigError> {
        let data = &self.data;
        let sources = [data.folds.is_some(), !data.train.is_empty(), data.synthetic.is_some()];
        if sources.iter().filter(|given| **given).count() != 1 {
            return Err(document.refuse("data", "expected exactly one of `folds`, `train` and `synthetic`"));
        }
        for (key, files) in [("data.validation", &data.validation), ("data.test", &data.test)] {
            if data.train.is_empty() && !files.is_empty() {
                return Err(document.refuse(key, "expected only beside `data.train`"));
            }
        }
        let refuse = |table: &str, error| match error {
            DataError::Option { option, found, expected } => {
                document.refuse(&format!("{table}{option}"), &format!("found {found}, expected {expected}"))
            }
            error => document.refuse("data", &error.to_string()),
        };
        if let Some(synthetic) = &data.synthetic {
            synthetic.check().map_err(|error| refuse("", error))?;
        }
        data.read.check().map_err(|error| refuse("data.read.", error))?;
        match data.fold {
            0 => Err(document.refuse("data.fold", "found 0, expected at least 1")),
            fold if fold > 1 && data.folds.is_none() => {
                Err(document.refuse("data.fold", &format!("found {fold}, expected `data.folds` to choose it from")))
            }
            _ => Ok(()),
        }
    }

    fn check_cross_validation(&self, document: &Document) -> Result<(), ConfigError> {
        let CrossValidationConfig { folds, seeds, split } = &self.cv;
        if let Some(parts) = split.filter(|parts| *parts < 3) {
            return Err(document.refuse("cv.split", &format!("found {parts}, expected at least 3")));
        }
        if let Some(parts) = split.filter(|_| self.data.folds.is_some()) {
            let message = format!("found {parts}, expected none beside `data.folds`, which are split already");
            return Err(document.refuse("cv.split", &message));
        }
        if let Some(at) = folds.iter().position(|fold| *fold == 0) {
            return Err(document.refuse(&format!("cv.folds[{at}]"), "found 0, expected at least 1"));
        }
        match (0..seeds.len()).find(|&at| seeds[..at].contains(&seeds[at])) {
            Some(at) => {
                let message = format!("found {} again, expected each seed once", seeds[at]);
                Err(document.refuse(&format!("cv.seeds[{at}]"), &message))
            }
            None => Ok(()),
        }
    }

    fn check_grid(&self, document: &Document) -> Result<(), ConfigError> {
        let refuse = |error: grid::GridError| document.refuse(&error.key, &error.message);
        grid::check_keys(&self.grid).map_err(refuse)?;
        for point in grid::points(&self.grid).map_err(refuse)? {
            let at_point = document.at_point(&point)?;
            if at_point.is_at_point()
                && let Err(ConfigError { place, message }) = Self::read(&at_point)
            {
                let message = format!("grid, at {}: {message}", grid::label(&point));
                return Err(ConfigError { place, message });
            }
        }
        Ok(())
    }

    fn place(&self, document: &Document, error: LearnerError) -> ConfigError {
        let refuse = |key: String, found: &str, expected: &str| {
            document.refuse(&key, &format!("found {found}, expected {expected}"))
        };
        match &error {
            LearnerError::Config { key, message } => {
                let message_without = |without: &Document| match without.decode::<Self>().ok()?.learner() {
                    Err(LearnerError::Config { message, .. }) => Some(message),
                    _ => None,
                };
                let key = document.narrow(&format!("learner.{key}"), message, message_without);
                document.refuse(&key, message)
            }
            LearnerError::Parameter { parameter, found, expected } => {
                refuse(format!("learner.{parameter}"), found, expected)
            }
            LearnerError::Scorer(ScorerError { parameter, found, expected }) => {
                refuse(format!("scorer.{parameter}"), found, expected)
            }
            LearnerError::Loss(LossError::UnknownParameter { found, .. }) => {
                document.refuse(&format!("loss.{found}"), &error.to_string())
            }
            LearnerError::Loss(LossError::Parameter { parameter, found, expected, .. }) => {
                refuse(format!("loss.{parameter}"), found, expected)
            }
            LearnerError::Loss(_) => document.refuse("loss.name", &error.to_string()),
            _ => document.refuse("learner", &error.to_string()),
        }
    }

    /// The learner, checked.
    ///
    /// # Errors
    /// [`LearnerError`] naming the parameter.
    pub fn learner(&self) -> Result<Box<dyn RankingLearner>, LearnerError> {
        let parts = Parts { loss: self.loss.as_ref().map(Into::into), scorer: self.scorer.as_ref() };
        registry::build(&self.learner, &parts)
    }

    /// The configuration as a value, with the defaults of learner and loss filled in and their parameters by name, so that
    /// the same configuration has the same text.
    pub fn resolved(&self) -> Value {
        let fill = |given: &mut Value, defaults: Map| {
            let Some(given) = given.as_object_mut() else { return };
            for (key, value) in defaults {
                given.entry(key).or_insert(value);
            }
        };
        let mut value = json!(self);
        if let Some(entry) =
            registry::LEARNERS.iter().find(|entry| self.learner.get("kind") == Some(&json!(entry.name)))
        {
            fill(&mut value["learner"], (entry.defaults)());
        }
        if let Some(entry) = self.loss.as_ref().and_then(|loss| crate::loss::registry::find(&loss.name).ok()) {
            fill(&mut value["loss"], (entry.defaults)());
        }
        for part in ["learner", "loss"] {
            value.get_mut(part).and_then(Value::as_object_mut).map(sort_by_key);
        }
        value
    }

    /// What selects rounds and grid points.
    pub fn selection(&self) -> Selection {
        Selection { measure: self.measure.select, convention: self.measure.convention.clone() }
    }

    /// The measures to report, the selecting one first, each once.
    pub fn measures(&self) -> Vec<Measure> {
        let mut measures = vec![self.measure.select];
        for measure in &self.measure.report {
            if !measures.contains(measure) {
                measures.push(*measure);
            }
        }
        measures
    }
}

/// Adds to an error about an unknown key of a scorer which kinds have the key.
fn name_scorers(error: ConfigError) -> ConfigError {
    let scorers = [
        ScorerConfig::Linear(Default::default()),
        ScorerConfig::Mlp(Default::default()),
        ScorerConfig::Attention(Default::default()),
    ];
    let unknown = error.message.strip_prefix("scorer.").and_then(|rest| rest.split_once(": unknown field"));
    let Some((key, _)) = unknown else { return error };
    let with_key = scorers.iter().map(|scorer| json!(scorer)).filter(|scorer| scorer.get(key).is_some());
    let kinds: Vec<String> = with_key.map(|scorer| format!("kind = {}", scorer["kind"])).collect();
    if kinds.is_empty() {
        return error;
    }
    ConfigError { message: format!("{}; a scorer of {} has it", error.message, kinds.join(" or ")), ..error }
}

fn sort_by_key(table: &mut Map) {
    table.sort_keys();
    table.values_mut().filter_map(Value::as_object_mut).for_each(sort_by_key);
}

impl DataConfig {
    /// Every path, with its key.
    pub(super) fn paths_mut(&mut self) -> impl Iterator<Item = (&'static str, &mut PathBuf)> {
        let folds = self.folds.iter_mut().map(|path| ("data.folds", path));
        let files =
            [("data.train", &mut self.train), ("data.validation", &mut self.validation), ("data.test", &mut self.test)];
        folds.chain(files.into_iter().flat_map(|(key, paths)| paths.iter_mut().map(move |path| (key, path))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "[data]\ntrain = [\"a\"]\n[learner]\nkind = \"gradient\"\n[loss]\nname = \"approx_ndcg\"\n";

    fn read(text: &str, overrides: &[&str]) -> Result<ExperimentConfig, String> {
        let overrides: Vec<String> = overrides.iter().map(|set| set.to_string()).collect();
        let document = Document::parse(Path::new("a.toml"), format!("{BASE}{text}"), &overrides);
        document.and_then(|document| ExperimentConfig::from_document(&document)).map_err(|error| error.to_string())
    }

    #[test]
    fn errors_name_the_key_and_its_place() {
        for (text, expected) in [
            (
                "[scorer]\nkind = \"mlp\"\nhidden = [0]",
                "a.toml:9:1: scorer.hidden[0]: found 0, expected at least 1 neuron",
            ),
            (
                "[scorer]\nkind = \"linear\"\nhidden = [3]",
                "a.toml:9:1: scorer.hidden: unknown field `hidden`, expected `bias`; a scorer of kind = \"mlp\" has it",
            ),
            ("[measure]\nselect = \"map\"\nreport = [\"mpa\"]", "a.toml:9:1: measure.report[0]: unknown measure `mpa`"),
            ("[cv]\nsplit = 1", "a.toml:8:1: cv.split: found 1, expected at least 3"),
            ("[cv]\nseeds = [1, 2, 1]", "a.toml:8:1: cv.seeds[2]: found 1 again, expected each seed once"),
            ("[data.read]\nmax_cells = 0", "a.toml:8:1: data.read.max_cells: found 0, expected at least 1"),
            ("[grid]\n\"data.fold\" = [1, 2]", "a.toml:8:1: grid.data.fold: expected a key that begins with"),
            (
                "[grid]\n\"loss.alpha\" = [1.0]\n\"learner.epochs\" = [1, 0]",
                "a.toml:9:1: grid, at learner.epochs=0 loss.alpha=1.0: learner.epochs: found 0, expected at least 1",
            ),
            (
                "[grid]\n\"learner.epoch\" = [1]",
                "a.toml:8:1: grid, at learner.epoch=1: learner.epoch: unknown field `epoch`",
            ),
        ] {
            let error = read(text, &[]).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
        for (set, expected) in [
            ("data.fold=9", "data.fold: found 9, expected `data.folds` to choose it from"),
            ("scorer={kind=\"mlp\",hiden=[3]}", "scorer.hiden: unknown field `hiden`"),
            ("loss.alpha=-1", "loss.alpha: found -1, expected a finite number above 0"),
            ("learner.optimizer=\"sgd\"", "learner.optimizer: found \"sgd\", expected a table with a kind, as in"),
            (
                "learner.optimizer={kind=\"sgd\",momentum=\"a\"}",
                "learner.optimizer.momentum: found \"a\", expected a number",
            ),
            ("learner.schedule={kind=\"constant\",floor=0.1}", "learner.schedule.floor: unknown field `floor`"),
            ("data={folds=\"d\",test=[\"b\"]}", "data.test: expected only beside `data.train`"),
            ("learner.epochs=1\nseed=5", "learner.epochs: found \"1\\nseed=5\", expected a whole number"),
            ("learner.patiense=null", "learner.patiense: unknown field `patiense`"),
            ("loss.alhpa=", "loss.alhpa: approx_ndcg: unknown parameter `alhpa`; did you mean `alpha`?"),
        ] {
            let error = read("", &[set]).unwrap_err();
            assert!(error.starts_with(&format!("--set {set}: {expected}")), "{error}");
        }
    }

    #[test]
    fn folds_are_not_split_again() {
        let error = read("[cv]\nsplit = 3", &["data={folds=\"d\"}"]).unwrap_err();
        assert_eq!(error, "a.toml:8:1: cv.split: found 3, expected none beside `data.folds`, which are split already");
    }

    #[test]
    fn optional_keys_are_removed_by_hand() {
        let config = read("[learner.clip]\nnorm = 1.0\n", &["learner.clip=", "learner.patience=null"]).unwrap();
        assert_eq!(config.learner, *json!({"kind": "gradient"}).as_object().unwrap());
    }

    #[test]
    fn a_measure_is_reported_once() {
        let config = read("[measure]\nselect = \"map\"\nreport = [\"p@1\", \"map\", \"p@1\"]\n", &[]).unwrap();
        assert_eq!(config.measures(), [Measure::Ap(None), Measure::Precision(Some(1))]);
    }

    #[test]
    fn generated_queries_are_checked_before_they_are_made() {
        let synthetic = |key: &str, value: u64| {
            let set = format!("data={{synthetic={{{key}={value}}}}}");
            read("", &[&set]).unwrap_err().split_once(": ").unwrap().1.to_string()
        };
        assert_eq!(synthetic("features", 0), "data.synthetic.features: found 0, expected from 1 to 100000");
        assert_eq!(synthetic("train_queries", 0), "data.synthetic.train_queries: found 0, expected at least 1");
        let most = "data.synthetic.test_queries: found 1000000000000, expected at most 10000000";
        assert_eq!(synthetic("test_queries", 1_000_000_000_000), most);
    }
}
