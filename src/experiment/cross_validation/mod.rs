//! Cross-validation: folds x grid x seeds. Every fold selects its grid point on its own validation queries; test
//! queries are only measured.

mod jobs;
mod keeping;
mod options;
mod summary;

pub use options::{CrossValidationOptions, JobDone, JobProgress};

use super::config::grid::{self, Point};
use super::config::{ConfigError, Document, ExperimentConfig};
use super::error::ExperimentError;
use super::record::{CrossValidationReport, Sets};
use crate::refusal::Refusal;
use jobs::Jobs;
use keeping::keep;
use summary::summarize;

/// Runs the cross-validation of a configuration, and keeps of the selected fits what the options ask for.
///
/// # Errors
/// The first [`ExperimentError`] of a job, in the order of the jobs; [`ExperimentError::Interrupted`] when a stop was
/// asked for before all were done. Finished jobs are in the output folder.
pub fn cross_validate(
    document: &Document,
    config: &ExperimentConfig,
    options: &CrossValidationOptions,
) -> Result<CrossValidationReport, ExperimentError> {
    config.check_start_of_folds()?;
    let points = grid::points(&config.grid).map_err(|refusal| document.place(&refusal))?;
    let configs = points.iter().map(|point| at_point(document, point)).collect::<Result<Vec<_>, _>>()?;
    let seeds = if config.cv.seeds.is_empty() { vec![config.seed] } else { config.cv.seeds.clone() };
    let splits = config.data.splits(&config.cv, config.seed)?;
    if points.len() > 1 && splits.iter().any(|split| split.validation.is_none()) {
        let found = format!("{} points", points.len());
        return Err(Refusal::new("grid", found, "a validation set to select on").into());
    }
    let data: Vec<_> = splits.iter().map(Sets::from_split).collect();
    let jobs = Jobs { splits: &splits, data: &data, points: &points, configs: &configs, seeds: &seeds };
    let mut results = jobs.run(options)?;
    keep(config, &jobs, &mut results, options)?;
    summarize(config, &jobs, &results)
}

/// The configuration at a point of the grid.
fn at_point(document: &Document, point: &Point) -> Result<ExperimentConfig, ConfigError> {
    let document = document.at_point(point)?;
    ExperimentConfig::from_document(&document)
        .map_err(|error| document.refuse("grid", &format!("{}: {}", grid::label(point), error.message)))
}
