//! The configuration of an experiment: what a `.toml` file says. Unknown keys are refused everywhere.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{ConfigError, Document, grid};
use crate::data::letor::ReadOptions;
use crate::data::{NormaliserKind, SynthConfig};
use crate::learner::{Learner, LearnerError, Selection, registry};
use crate::loss::{LossError, LossSpec};
use crate::measure::{Convention, Measure};
use crate::scorer::ScorerConfig;

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
    pub learner: Map<String, Value>,
    /// What is measured, in which convention.
    #[serde(default)]
    pub measure: MeasureConfig,
    /// Cross-validation: folds and seeds.
    #[serde(default)]
    pub cv: CrossValidationConfig,
    /// Dotted key to the list of values that cross-validation tries; selected on validation data, fold by fold.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub grid: Map<String, Value>,
}

fn default_seed() -> u64 {
    1
}

fn default_device() -> String {
    "flex".to_string()
}

/// Where the queries come from: `folds`, or `train`, or `synthetic`. Relative paths start at the configuration file.
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
    /// Preset of the convention.
    pub convention: String,
    /// What selects rounds and grid points on validation data.
    pub select: Measure,
    /// What is reported.
    pub report: Vec<Measure>,
}

impl Default for MeasureConfig {
    fn default() -> Self {
        let report = [Measure::Ndcg(Some(1)), Measure::Ndcg(Some(5)), Measure::Ndcg(Some(10)), Measure::Ap(None)];
        Self { convention: "standard".to_string(), select: Measure::Ndcg(Some(10)), report: report.to_vec() }
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
    /// Decodes and checks a document.
    ///
    /// # Errors
    /// [`ConfigError`] with the place of the key that cannot be used.
    pub fn from_document(document: &Document) -> Result<Self, ConfigError> {
        let mut config: Self = document.decode()?;
        if config.name.is_empty() {
            config.name = document.stem();
        }
        let sources = [config.data.folds.is_some(), !config.data.train.is_empty(), config.data.synthetic.is_some()];
        if sources.iter().filter(|given| **given).count() != 1 {
            return Err(document.refuse("data", "expected exactly one of `folds`, `train` and `synthetic`"));
        }
        for path in config.data.paths_mut() {
            *path = document.folder().join(&path);
        }
        config.data.read.check().map_err(|error| document.refuse("data.read", &error.to_string()))?;
        config.convention().map_err(|error| document.refuse("measure.convention", &error))?;
        grid::points(&config.grid).map_err(|error| document.refuse(&error.key, &error.message))?;
        config.learner().map_err(|error| config.place(document, error))?;
        Ok(config)
    }

    fn place(&self, document: &Document, error: LearnerError) -> ConfigError {
        match &error {
            LearnerError::Config { key, message } => document.refuse(&format!("learner.{key}"), message),
            LearnerError::Parameter { parameter, found, expected } => {
                document.refuse(&format!("learner.{parameter}"), &format!("found {found}, expected {expected}"))
            }
            LearnerError::Loss(LossError::UnknownParameter { found, .. }) => {
                document.refuse(&format!("loss.{found}"), &error.to_string())
            }
            LearnerError::Loss(LossError::Parameter { parameter, .. }) => {
                document.refuse(&format!("loss.{parameter}"), &error.to_string())
            }
            LearnerError::Loss(_) => document.refuse("loss.name", &error.to_string()),
            _ => document.refuse("learner", &error.to_string()),
        }
    }

    /// The learner, checked.
    ///
    /// # Errors
    /// [`LearnerError`] naming the parameter.
    pub fn learner(&self) -> Result<Box<dyn Learner>, LearnerError> {
        registry::build(&self.learner, self.loss.as_ref(), self.scorer.as_ref())
    }

    /// The configuration as a value, with the defaults of learner and loss filled in.
    pub fn resolved(&self) -> Value {
        let fill = |given: &mut Value, defaults: Map<String, Value>| {
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
        value
    }

    /// The convention.
    ///
    /// # Errors
    /// A message with the nearest preset.
    pub fn convention(&self) -> Result<Convention, String> {
        Convention::preset(&self.measure.convention).map_err(|error| error.to_string())
    }

    /// What selects rounds and grid points.
    ///
    /// # Errors
    /// As [`convention`](Self::convention).
    pub fn selection(&self) -> Result<Selection, String> {
        Ok(Selection { measure: self.measure.select, convention: self.convention()? })
    }

    /// The measures to report, the selecting one first.
    pub fn measures(&self) -> Vec<Measure> {
        let select = self.measure.select;
        [select].into_iter().chain(self.measure.report.iter().copied().filter(|measure| *measure != select)).collect()
    }
}

impl DataConfig {
    pub(super) fn paths_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        self.folds.iter_mut().chain(&mut self.train).chain(&mut self.validation).chain(&mut self.test)
    }
}
