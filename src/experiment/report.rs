//! What a run leaves beside its ranker: `report.json`, the same bytes for the same configuration and seed on the CPU, and
//! `run.json`, which holds what may differ between machines and moments.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::fit::{Evaluations, Fit, linear_weights};
use super::splits::Split;
use super::{ConfigError, Document, ExperimentConfig};
use crate::data::Dataset;
use crate::learner::{Round, StopReason};
use crate::loss::Approximation;
use crate::ranker::Versions;

/// One set of queries.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DataReport {
    /// Queries, documents, empty queries, label and list-length histograms.
    pub statistics: Value,
    /// SHA-256 of the content.
    pub hash: String,
}

impl DataReport {
    fn of(data: &Dataset) -> Self {
        let statistics = serde_json::to_value(data.statistics()).unwrap_or(Value::Null);
        Self { statistics, hash: data.data_hash() }
    }
}

/// The deterministic part of a run's record.
#[derive(Debug, Clone, Serialize)]
pub struct TrainReport {
    /// Name of the experiment.
    pub name: String,
    /// The resolved configuration.
    pub config: ExperimentConfig,
    /// The fold, from 1.
    pub fold: usize,
    /// Each set of queries.
    pub data: Map<String, Value>,
    /// Rounds done.
    pub rounds: usize,
    /// The round selected, from 1.
    pub best_round: usize,
    /// Why the fit ended.
    pub stop: StopReason,
    /// How the loss is evaluated in the longest list, where that is not its formula to the letter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approximation: Option<Approximation>,
    /// Measures of the selected model on each set.
    pub measures: Evaluations,
    /// Weight of each feature of a linear ranker, on normalised features.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<Vec<f32>>,
    /// Every round.
    pub history: Vec<Round>,
    /// Versions.
    pub versions: Versions,
}

impl TrainReport {
    /// The report of one fit.
    pub fn new(config: &ExperimentConfig, split: &Split, fit: &Fit) -> Self {
        let sets =
            [("train", Some(&split.train)), ("validation", split.validation.as_ref()), ("test", split.test.as_ref())];
        let data = sets.into_iter().filter_map(|(name, set)| Some((name.to_string(), json!(DataReport::of(set?)))));
        Self {
            name: config.name.clone(),
            config: config.clone(),
            fold: split.fold,
            data: data.collect(),
            rounds: fit.history.len(),
            best_round: fit.best_round,
            stop: fit.stop,
            approximation: fit.approximation.clone(),
            measures: fit.evaluations.clone(),
            weights: linear_weights(&fit.ranker),
            history: fit.history.clone(),
            versions: Versions::current(),
        }
    }
}

/// The part of a run's record that may differ between machines and moments.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunRecord {
    /// Device name.
    pub device: String,
    /// Threads of the processor pool.
    pub threads: usize,
    /// Seconds of the fit, as far as this process did it.
    pub fit_seconds: f64,
    /// Seconds in all, reading and reporting included.
    pub total_seconds: f64,
    /// Largest resident memory of the process in MiB, where the system tells.
    pub peak_memory_mib: Option<f64>,
    /// Seconds since 1970, at the end.
    pub finished: u64,
}

impl RunRecord {
    /// The record of a run that ends now.
    pub fn new(device: &str, fit: Duration, total: Duration) -> Self {
        Self {
            device: device.to_string(),
            threads: rayon::current_num_threads(),
            fit_seconds: fit.as_secs_f64(),
            total_seconds: total.as_secs_f64(),
            peak_memory_mib: peak_memory_mib(),
            finished: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        }
    }
}

/// Largest resident memory of this process in MiB; `None` where `/proc` is absent.
pub fn peak_memory_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib / 1024.0)
}

/// The resolved configuration as TOML.
///
/// # Errors
/// [`ConfigError`] when a value has no TOML form.
pub fn resolved_toml(config: &ExperimentConfig, document: &Document) -> Result<String, ConfigError> {
    toml::to_string_pretty(config).map_err(|error| document.refuse("", &error.to_string()))
}
