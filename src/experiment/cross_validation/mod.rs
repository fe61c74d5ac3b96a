//! Cross-validation: folds x grid x seeds. Every fold selects its grid point on its own validation queries; test
//! queries are only measured.

mod jobs;
mod summary;

use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use super::fit::ExperimentError;
use super::grid::{self, Point};
use super::output::OutputFolder;
use super::report::{CrossValidationReport, Measures, Sets};
use super::{ConfigError, Document, ExperimentConfig};
use crate::data::DataError;
use crate::learner::{Interrupt, StopReason};
use jobs::Jobs;
use summary::summarise;

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
    pub convention: crate::measure::Convention,
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

/// Receives the progress of a cross-validation, from several threads at once.
pub trait JobProgress: Sync {
    /// The job `label` has ended: `finished` of `all` are done.
    fn done(&self, finished: usize, all: usize, label: &str);
    /// The fit of the job `label` has something to say.
    fn warn(&self, label: &str, message: &str);
}

/// What a cross-validation runs on.
pub struct CrossValidationOptions<'a> {
    /// Device of tensor work.
    pub device: &'a Device,
    /// Folder of the jobs; nothing is kept without.
    pub output: Option<&'a OutputFolder>,
    /// Keep the finished jobs in the folder, and continue the others.
    pub resume: bool,
    /// Fits at once; as many as memory and `threads` allow when absent.
    pub jobs: Option<usize>,
    /// Threads that fits may take.
    pub threads: usize,
    /// Receives what the jobs do.
    pub progress: &'a dyn JobProgress,
    /// Asks for an early stop.
    pub interrupt: Interrupt,
}

/// Runs the cross-validation of a configuration.
///
/// # Errors
/// The first [`ExperimentError`] of a job, in the order of the jobs; [`ExperimentError::Interrupted`] when a stop was
/// asked for before all were done. Finished jobs are in the output folder.
pub fn cross_validate(
    document: &Document,
    config: &ExperimentConfig,
    options: &CrossValidationOptions,
) -> Result<CrossValidationReport, ExperimentError> {
    let points = grid::points(&config.grid).map_err(|error| document.refuse(&error.key, &error.message))?;
    let configs = points.iter().map(|point| at_point(document, point)).collect::<Result<Vec<_>, _>>()?;
    let seeds = if config.cv.seeds.is_empty() { vec![config.seed] } else { config.cv.seeds.clone() };
    let splits = config.data.splits(&config.cv, config.seed)?;
    if points.len() > 1 && splits.iter().any(|split| split.validation.is_none()) {
        return Err(ExperimentError::Data(DataError::Option {
            option: "grid",
            found: format!("{} points", points.len()),
            expected: "a validation set to select on".to_string(),
        }));
    }
    let data: Vec<_> = splits.iter().map(Sets::of).collect();
    let jobs = Jobs { splits: &splits, data: &data, points: &points, configs: &configs, seeds: &seeds };
    let results = jobs.run(options)?;
    let (finished, all) = (results.len(), jobs.count());
    if finished < all {
        return Err(ExperimentError::Interrupted { finished, all });
    }
    summarise(config, &jobs, &results)
}

/// The configuration at a point of the grid.
fn at_point(document: &Document, point: &Point) -> Result<ExperimentConfig, ConfigError> {
    let document = document.at_point(point)?;
    ExperimentConfig::from_document(&document)
        .map_err(|error| document.refuse("grid", &format!("{}: {}", grid::label(point), error.message)))
}
