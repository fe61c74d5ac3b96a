//! The table of a cross-validation, as `cv --json` prints it.

use burn_rank::json::Map;
use burn_rank::learner::StopReason;
use burn_rank::measure::Convention;
use serde::{Deserialize, Serialize};

use super::measures::Measures;
use crate::experiment::config::Rung;

/// The record of how trials were drawn and fitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchReport {
    /// `random` or `successive_halving`.
    pub kind: String,
    /// Trials of each fold.
    pub trials: usize,
    /// The rungs of successive halving.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rungs: Vec<Rung>,
}

/// One trial of a search in one fold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The number of the trial, from 1.
    pub trial: usize,
    /// The value drawn for each key.
    pub values: Map,
    /// The selection measure on validation queries at its best round, averaged over seeds.
    pub validation: Option<f64>,
    /// Rounds of the trial; the maximum over its seeds.
    pub rounds: usize,
    /// The selection measure at the end of every rung of successive halving that the trial took part in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rungs: Vec<Option<f64>>,
}

/// The selected result of one fold, averaged over seeds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoldResult {
    /// Number of the fold, from 1.
    pub fold: usize,
    /// The grid point or the trial with the best validation measure.
    pub selected: String,
    /// The selection measure on validation queries; on training queries if there are none
    /// ([`selected_on`](CrossValidation::selected_on)).
    pub validation: f64,
    /// Test measures.
    pub measures: Measures,
    /// Standard error of each, over the test queries of the fold.
    pub standard_errors: Measures,
    /// The reason that each of its fits ended, one per seed; absent in older results.
    #[serde(default)]
    pub stops: Vec<StopReason>,
    /// Every trial of a search.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<Trial>,
}

/// The result of a cross-validation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CrossValidation {
    /// Name of the experiment.
    pub name: String,
    /// The convention of every measure.
    pub convention: Convention,
    /// Test queries of all folds.
    pub queries: usize,
    /// Number of queries without a relevant document.
    pub empty_queries: usize,
    /// Mean over the folds of the test measures, as published tables have it.
    pub measures: Measures,
    /// Standard error of each mean: deviation over all test queries / sqrt(queries).
    pub standard_errors: Measures,
    /// Seeds averaged over.
    pub seeds: Vec<u64>,
    /// Each fold.
    pub folds: Vec<FoldResult>,
    /// The queries that select: `validation`, or `training` where the data have no validation queries.
    #[serde(default = "validation")]
    pub selected_on: String,
    /// The record of a search: how trials were drawn and fitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchReport>,
}

impl FoldResult {
    /// The trials, with the selected one first. Trials that were dropped later come before trials that were dropped
    /// earlier, then better before worse, then in their order.
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
