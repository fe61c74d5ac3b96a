//! The results of a cross-validation, as `cv --json` prints them.

use burn_rank::json::Map;
use burn_rank::learner::StopReason;
use burn_rank::measure::Convention;
use serde::{Deserialize, Serialize};

use crate::experiment::config::Rung;

/// The value of each measure, in the order of the configuration; `null` if a measure has no value.
pub type Measures = Map;

/// How a search drew and fitted its trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchReport {
    /// `random` or `successive_halving`.
    pub kind: String,
    /// The number of trials per fold.
    pub trials: usize,
    /// The rungs of successive halving.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rungs: Vec<Rung>,
}

/// One trial of a search in one fold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The number of the trial, counted from 1.
    pub trial: usize,
    /// The value that the trial drew for each key.
    pub values: Map,
    /// The selection measure on validation queries at the trial's best round, averaged over seeds.
    pub validation: Option<f64>,
    /// The maximum, over the trial's seeds, of the number of rounds completed.
    pub rounds: usize,
    /// With successive halving, the selection measure at the end of every rung that the trial reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rungs: Vec<Option<f64>>,
}

/// The result of the grid point or trial that a fold selected, averaged over seeds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoldResult {
    /// The number of the fold, counted from 1.
    pub fold: usize,
    /// The grid point or the trial with the best validation measure.
    pub selected: String,
    /// The selection measure on validation queries. If there are none, the measure on training queries is used (see
    /// [`selected_on`](CrossValidation::selected_on)).
    pub validation: f64,
    /// The measures on test queries.
    pub measures: Measures,
    /// The standard error of each measure over the fold's test queries.
    pub standard_errors: Measures,
    /// The reason why each fit ended, one per seed; absent in older results.
    #[serde(default)]
    pub stops: Vec<StopReason>,
    /// Every trial of a search.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<Trial>,
}

/// The table of results from a cross-validation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CrossValidation {
    /// Name of the experiment.
    pub name: String,
    /// The convention by which all measures are computed.
    pub convention: Convention,
    /// The number of test queries in all folds.
    pub queries: usize,
    /// The number of test queries without a relevant document.
    pub empty_queries: usize,
    /// The mean of each test measure over the folds, as in published tables.
    pub measures: Measures,
    /// The standard error of each mean: the standard deviation over all test queries, divided by the square root of
    /// their number.
    pub standard_errors: Measures,
    /// The seeds over which results are averaged.
    pub seeds: Vec<u64>,
    /// The result of each fold.
    pub folds: Vec<FoldResult>,
    /// The queries on which settings and rounds are selected: `validation`, or `training` if there are no validation
    /// queries.
    #[serde(default = "validation")]
    pub selected_on: String,
    /// How a search drew and fitted its trials; `None` without a search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchReport>,
}

impl FoldResult {
    /// Returns the trials, beginning with the selected one. The others are sorted by the rung at which they were
    /// dropped, with the latest rung first. Within a rung, they are sorted by quality, then by number.
    pub fn ranked_trials(&self) -> Vec<&Trial> {
        let merit = |trial: &Trial| trial.validation.unwrap_or(f64::NEG_INFINITY);
        let mut trials: Vec<&Trial> = self.trials.iter().collect();
        trials.sort_by(|a, b| b.rungs.len().cmp(&a.rungs.len()).then(merit(b).total_cmp(&merit(a))));
        trials
    }
}

fn validation() -> String {
    "validation".to_string()
}
