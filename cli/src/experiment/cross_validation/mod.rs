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
pub use parts::PartDone;

use std::cell::Cell;

use burn_rank::refusal::Refusal;
use burn_rank::workbench::check_query;

use super::cautions::EmptyQueries;
use super::config::candidates::Candidate;
use super::config::{Document, Experiment, ExperimentConfig};
use super::error::ExperimentError;
use super::fit::check_measures;
use super::keep::Keep;
use super::record::CrossValidationReport;
use super::refit::Chosen;
use super::split::Split;
use super::splits::{SplitContents, Splits};
use jobs::Jobs;
use keeping::keep;
use summary::summarize;

/// Runs the cross-validation that a configuration defines, and keeps the files that the options ask for.
///
/// # Errors
/// As [`PlannedFits::read`] and [`PlannedFits::run`].
pub fn cross_validate(
    document: &Document,
    config: &Experiment,
    options: &CrossValidationOptions,
) -> Result<CrossValidationReport, ExperimentError> {
    PlannedFits::read(document, config, options.keep, options.progress)?.run(options).map(|(report, _)| report)
}

/// A cross-validation whose data are read and whose fits are listed.
pub struct PlannedFits<'a> {
    config: &'a Experiment,
    splits: Splits,
    contents: Vec<SplitContents>,
    /// The settings to try in each split: either the grid points or the split's own trials.
    candidates: Vec<Vec<Candidate>>,
    seeds: Vec<u64>,
}

impl<'a> PlannedFits<'a> {
    /// Reads and measures all data, so that no error about them comes after hours, and lists the fits.
    ///
    /// # Errors
    /// Returns an [`ExperimentError`] if the data or the settings cannot be used.
    pub fn read(
        document: &Document,
        config: &'a Experiment,
        keep: Keep,
        progress: &dyn JobProgress,
    ) -> Result<Self, ExperimentError> {
        config.check_folds()?;
        let grid = match config.search {
            None => config.grid_candidates(document)?,
            Some(_) => Vec::new(),
        };
        let seeds = if config.cv.seeds.is_empty() { vec![config.seed] } else { config.cv.seeds.clone() };
        let splits = config.data.splits(&config.cv, config.seed)?;
        let empty = Cell::new(EmptyQueries::default());
        let check = |split: &Split| {
            let label = format!("fold {}", split.fold);
            if let Some(test) = &split.test {
                empty.set(empty.get().and(EmptyQueries::of(test, &config.measure.convention)));
            }
            check_measures(config, split).map_err(|source| ExperimentError::Job { label, source: Box::new(source) })
        };
        let contents = (0..splits.count()).map(|at| splits.contents(at, check)).collect::<Result<Vec<_>, _>>()?;
        splits.tell(|fold, warning| progress.warn(fold, warning));
        let chosen = config.warning_without_validation("; use cv.split");
        let chosen = chosen.filter(|_| contents.iter().any(|of| of.data.validation.is_none()));
        let empty = empty.get().caution("test", &config.measure.convention);
        chosen.iter().chain(&empty).for_each(|warning| progress.warn("all folds", warning));
        if keep.runs {
            contents.iter().flat_map(|of| &of.test_queries).try_for_each(|query| check_query(query))?;
        }
        let candidates = match &config.search {
            None => contents.iter().map(|_| grid.clone()).collect(),
            Some(search) => {
                contents.iter().map(|of| config.trials(document, search, of.fold)).collect::<Result<Vec<_>, _>>()?
            }
        };
        check_validation(&contents, &candidates, config)?;
        let contents = contents.into_iter().cloned().collect();
        Ok(Self { config, splits, contents, candidates, seeds })
    }

    /// Returns the fold and the hashes of the data of each split.
    pub fn data(&self) -> Vec<String> {
        let of = |of: &SplitContents| [vec![of.fold.to_string()], of.data.hashes()].concat();
        self.contents.iter().flat_map(of).collect()
    }

    /// Runs all fits. Also returns the best setting, which has the best selection measure over folds and seeds.
    ///
    /// # Errors
    /// If jobs failed, returns the [`ExperimentError`] of the one that comes first in the order of the jobs. Returns
    /// [`ExperimentError::Interrupted`] if a stop was requested before all jobs were done. Finished jobs stay in the
    /// output folder.
    pub fn run(&self, options: &CrossValidationOptions) -> Result<(CrossValidationReport, Chosen), ExperimentError> {
        self.with_jobs(|jobs| {
            let mut results = if jobs.rungs.is_empty() { jobs.run_all(options)? } else { jobs.run_rungs(options)? };
            keep(self.config, jobs, &mut results, options)?;
            Ok((summarize(self.config, jobs, &results)?, jobs.best_of_all(&results)))
        })
    }

    /// Passes the list of fits to `then`.
    fn with_jobs<T>(&self, then: impl FnOnce(&Jobs) -> Result<T, ExperimentError>) -> Result<T, ExperimentError> {
        let contents: Vec<&SplitContents> = self.contents.iter().collect();
        let candidates: Vec<&[Candidate]> = self.candidates.iter().map(Vec::as_slice).collect();
        let rungs = candidates.first().and_then(|of| of.first()).map(|trial| trial.config.rungs()).unwrap_or_default();
        let Self { splits, seeds, .. } = self;
        then(&Jobs { splits, contents: &contents, candidates: &candidates, rungs: &rungs, seeds })
    }
}

/// Rejects a configuration that has more than one candidate if there are no validation queries for choosing among them.
fn check_validation(
    contents: &[&SplitContents],
    candidates: &[Vec<Candidate>],
    config: &ExperimentConfig,
) -> Result<(), Refusal> {
    let count = candidates.first().map_or(0, |candidates| candidates.len());
    if count <= 1 || contents.iter().all(|of| of.data.validation.is_some()) {
        return Ok(());
    }
    let (key, what) = if config.search.is_some() { ("search", "trials") } else { ("grid", "points") };
    Err(Refusal::new(key, format!("{count} {what}"), "a validation set to select on"))
}
