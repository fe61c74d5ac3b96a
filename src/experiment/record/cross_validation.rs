//! The table of a cross-validation, as `cv --json` prints it.

use serde::{Deserialize, Serialize};

use super::measures::Measures;
use crate::learner::StopReason;
use crate::measure::Convention;

/// The selected result of one fold, averaged over seeds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoldResult {
    /// Number of the fold, from 1.
    pub fold: usize,
    /// The grid point with the best validation measure.
    pub selected: String,
    /// Its selection measure on validation queries; on training queries where there are none
    /// ([`selected_on`](CrossValidation::selected_on)).
    pub validation: f64,
    /// Test measures.
    pub measures: Measures,
    /// Standard error of each, over the test queries of the fold.
    pub standard_errors: Measures,
    /// Why each of its fits ended, one a seed; absent in older results.
    #[serde(default)]
    pub stops: Vec<StopReason>,
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
    /// Those without a relevant document.
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
}

fn validation() -> String {
    "validation".to_string()
}
