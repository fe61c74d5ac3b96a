//! Cross-validation over folds, over grid points or trials, and over seeds. For every fold, a grid point or a trial is
//! selected by its results on the fold's validation queries. Results on test queries are never used for the selection.

mod halving;
mod jobs;
mod keeping;
mod options;
mod part;
mod parts;
mod summary;

pub use options::{CrossValidationOptions, JobDone, JobProgress};
pub use part::Part;
pub use parts::{PartDone, cross_validate_part, merge_parts, merge_parts_and_choose};

use std::cell::Cell;

use burn_rank::refusal::Refusal;
use burn_rank::workbench::check_query;

use super::cautions::EmptyQueries;
use super::config::candidates::Candidate;
use super::config::{Document, Experiment, ExperimentConfig};
use super::error::ExperimentError;
use super::fit::check_measures;
use super::record::CrossValidationReport;
use super::refit::Chosen;
use super::split::Split;
use super::splits::SplitContents;
use jobs::Jobs;
use keeping::keep;
use summary::summarize;

/// Runs the cross-validation that a configuration defines, and keeps the files that the options ask for.
///
/// # Errors
/// If jobs failed, returns the [`ExperimentError`] of the one that comes first in the order of the jobs. Returns
/// [`ExperimentError::Interrupted`] if a stop was requested before all jobs were done. Finished jobs stay in the output
/// folder.
pub fn cross_validate(
    document: &Document,
    config: &Experiment,
    options: &CrossValidationOptions,
) -> Result<CrossValidationReport, ExperimentError> {
    cross_validate_and_choose(document, config, options).map(|(report, _)| report)
}

/// Runs a cross-validation in the same way as [`cross_validate`], and also returns the best setting. That is the
/// setting with the best selection measure, averaged over folds and seeds.
///
/// # Errors
/// As [`cross_validate`].
pub fn cross_validate_and_choose(
    document: &Document,
    config: &Experiment,
    options: &CrossValidationOptions,
) -> Result<(CrossValidationReport, Chosen), ExperimentError> {
    with_jobs(document, config, options, |jobs| {
        let mut results = if jobs.rungs.is_empty() { jobs.run_all(options)? } else { jobs.run_rungs(options)? };
        keep(config, jobs, &mut results, options)?;
        Ok((summarize(config, jobs, &results)?, jobs.best_of_all(&results)))
    })
}

/// Reads the data, lists all fits, and passes the list to `then`.
fn with_jobs<T>(
    document: &Document,
    config: &Experiment,
    options: &CrossValidationOptions,
    then: impl FnOnce(&Jobs) -> Result<T, ExperimentError>,
) -> Result<T, ExperimentError> {
    config.check_folds()?;
    let grid = match config.search {
        None => config.grid_candidates(document)?,
        Some(_) => Vec::new(),
    };
    let seeds = if config.cv.seeds.is_empty() { vec![config.seed] } else { config.cv.seeds.clone() };
    let splits = config.data.splits(&config.cv, config.seed)?;
    // All data are read and measured before the first fit, so that no error about them comes after hours.
    let empty = Cell::new(EmptyQueries::default());
    let check = |split: &Split| {
        let in_fold = |source| ExperimentError::Job { label: format!("fold {}", split.fold), source: Box::new(source) };
        if let Some(test) = &split.test {
            empty.set(empty.get().and(EmptyQueries::of(test, &config.measure.convention)));
        }
        check_measures(config, split).map_err(in_fold)
    };
    let contents = (0..splits.count()).map(|at| splits.contents(at, check)).collect::<Result<Vec<_>, _>>()?;
    splits.tell(|fold, warning| options.progress.warn(fold, warning));
    let chosen = config.warning_without_validation("; use cv.split");
    let chosen = chosen.filter(|_| contents.iter().any(|of| of.data.validation.is_none()));
    let empty = empty.get().caution("test", &config.measure.convention);
    chosen.iter().chain(&empty).for_each(|warning| options.progress.warn("all folds", warning));
    if options.keep.runs {
        contents.iter().flat_map(|of| &of.test_queries).try_for_each(|query| check_query(query))?;
    }
    if let Some(folder) = options.output {
        folder.check_data(contents.iter().map(|of| (of.fold, &of.data)))?;
    }
    let trials = match &config.search {
        None => Vec::new(),
        Some(search) => {
            contents.iter().map(|of| config.trials(document, search, of.fold)).collect::<Result<Vec<_>, _>>()?
        }
    };
    let candidates: Vec<&[Candidate]> = match &config.search {
        None => contents.iter().map(|_| grid.as_slice()).collect(),
        Some(_) => trials.iter().map(Vec::as_slice).collect(),
    };
    check_validation(&contents, &candidates, config)?;
    let rungs = candidates.first().and_then(|of| of.first()).map(|trial| trial.config.rungs()).unwrap_or_default();
    then(&Jobs { splits: &splits, contents: &contents, candidates: &candidates, rungs: &rungs, seeds: &seeds })
}

/// Rejects a configuration that has more than one candidate if there are no validation queries for choosing among them.
fn check_validation(
    contents: &[&SplitContents],
    candidates: &[&[Candidate]],
    config: &ExperimentConfig,
) -> Result<(), Refusal> {
    let count = candidates.first().map_or(0, |candidates| candidates.len());
    if count <= 1 || contents.iter().all(|of| of.data.validation.is_some()) {
        return Ok(());
    }
    let (key, what) = if config.search.is_some() { ("search", "trials") } else { ("grid", "points") };
    Err(Refusal::new(key, format!("{count} {what}"), "a validation set to select on"))
}
