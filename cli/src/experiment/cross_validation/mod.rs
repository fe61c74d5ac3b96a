//! Cross-validation over folds, over grid points or trials, and over seeds. For every fold, a grid point or a trial is
//! selected by its results on the fold's validation queries. Results on test queries are never used for the selection.

mod jobs;
mod kept;
mod parts;
mod summary;

pub use kept::KeptRun;
pub(crate) use kept::format_of;
pub use parts::Part;

use std::path::Path;
use std::str::FromStr;

use burn::tensor::Device;
use burn_rank::json::Value;
use burn_rank::learner::Interrupt;
use burn_rank::refusal::Refusal;
use burn_rank::workbench::check_query;
use burn_rank::workbench::text::{did_you_mean, nearest};

use super::cautions::EmptyQueries;
use super::config::candidates::Candidate;
use super::config::{Document, Experiment, Rung};
use super::error::ExperimentError;
use super::fit::check_measures;
use super::folder::OutputFolder;
use super::record::CrossValidationReport;
use super::refit::Chosen;
use super::splits::{SplitContents, Splits};
use super::teacher::Rows;

/// The events of a cross-validation, which come from several threads at once.
#[derive(Debug, Clone, Copy)]
pub enum JobEvent<'a> {
    /// The job with this label begins.
    Begun(&'a str),
    /// A job has ended.
    Done {
        /// The number of finished jobs, including this one.
        finished: usize,
        /// The number of jobs of the cross-validation. With successive halving, each rung in which a fit takes part
        /// counts as one job.
        all: usize,
        /// A label such as `fold 1, seed 2`, which names the grid point or trial if there are several.
        label: &'a str,
        /// The selection measure of the fit, on validation queries if there are any; none if the fit failed.
        selection: Option<f64>,
        /// The surrogate loss at the selected round, if the learner minimizes one.
        surrogate: Option<f64>,
    },
    /// There is a warning about the fit in the job with this label.
    Warning(&'a str, &'a str),
}

/// The folder of the kept files, inside the folder of the run.
pub const KEPT: &str = "kept";

/// Which files to keep for each fold's selected fit, for every seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Keep {
    /// Whether to keep the rankers.
    pub rankers: bool,
    /// Whether to keep the scores of the test documents, one per line.
    pub scores: bool,
    /// Whether to keep the ranked test queries as a TREC run.
    pub runs: bool,
    /// The format of the file of all test scores, for which each fit saves its ranker. It is no kept file itself.
    pub fold_scores: Option<&'static str>,
}

/// The endings of the names of kept files.
const RANKERS: &str = ".safetensors";
const SCORES: &str = ".scores.txt";
/// All endings, in the order of the fields of [`Keep`].
const ENDINGS: [&str; 3] = [RANKERS, SCORES, ".run.txt"];

impl Keep {
    /// The words for the fields, in the order of the struct. [`from_str`](Self::from_str) reads the same words.
    pub const NAMES: [&str; 3] = ["rankers", "scores", "runs"];

    /// Returns whether any files are kept.
    pub fn any(self) -> bool {
        self.rankers || self.scores || self.runs
    }

    /// Returns whether each fit saves its ranker.
    pub fn needs_rankers(self) -> bool {
        self.any() || self.fold_scores.is_some()
    }

    /// Returns the endings of the files to keep.
    fn endings(self) -> impl Iterator<Item = &'static str> {
        let asked = [self.rankers, self.scores, self.runs];
        ENDINGS.into_iter().zip(asked).filter_map(|(ending, asked)| asked.then_some(ending))
    }

    /// Returns the files to keep for a fit, as paths relative to the folder of the run.
    pub fn files(self, fold: usize, seed: u64) -> Vec<String> {
        self.endings().map(|ending| kept_file(ending, fold, seed)).collect()
    }
}

impl FromStr for Keep {
    type Err = Refusal;

    /// Reads words separated by commas, as in `rankers,scores`.
    fn from_str(text: &str) -> Result<Self, Refusal> {
        let mut keep = Self::default();
        for word in text.split(',').map(str::trim) {
            match word {
                "rankers" => keep.rankers = true,
                "scores" => keep.scores = true,
                "runs" => keep.runs = true,
                _ => {
                    let near = did_you_mean(&nearest(word, Self::NAMES));
                    let expected = format!("{}, separated by commas{near}", Self::NAMES.join(", "));
                    return Err(Refusal::new("keep", format!("`{word}`"), expected));
                }
            }
        }
        Ok(keep)
    }
}

/// Returns the path of a kept file with one of the [`ENDINGS`], relative to the folder of the run.
fn kept_file(ending: &str, fold: usize, seed: u64) -> String {
    format!("{KEPT}/fold{fold}-seed{seed}{ending}")
}

/// The options of a cross-validation.
pub struct CrossValidationOptions<'a> {
    /// The device for tensor operations.
    pub device: &'a Device,
    /// The folder that receives the jobs; without it, nothing is saved. Finished jobs in it are reused, and others
    /// continue.
    pub output: Option<&'a OutputFolder>,
    /// The files to keep from each fold's selected fit.
    pub keep: Keep,
    /// The file that receives the score of each test document, by the selected fits that did not train on its query.
    pub scores: Option<&'a Path>,
    /// The number of fits to run at once; by default, as many as memory and `threads` allow.
    pub jobs: Option<usize>,
    /// The number of threads that all fits together may use.
    pub threads: usize,
    /// Receives the progress of the jobs.
    pub progress: &'a (dyn Fn(JobEvent) + Sync),
    /// Tells the fits to stop early.
    pub interrupt: Interrupt,
}

/// A cross-validation whose data are read and whose fits are listed.
pub struct PlannedFits<'a> {
    config: &'a Experiment,
    /// The resolved configuration, as reports show it.
    resolved: Value,
    splits: Splits,
    /// The rows of the data, for a file of all test scores.
    rows: Option<Rows>,
    /// The facts about each split: fold number, statistics, hashes and test queries.
    contents: Vec<SplitContents>,
    /// The test queries of all splits.
    tests: EmptyQueries,
    /// The settings to try in each split: either the grid points or the split's own trials. All splits have the same
    /// number of candidates.
    candidates: Vec<Vec<Candidate>>,
    /// The rungs of successive halving; empty if every fit continues to its end.
    rungs: Vec<Rung>,
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
        progress: &dyn Fn(JobEvent),
    ) -> Result<Self, ExperimentError> {
        config.check_folds()?;
        let grid = match config.search {
            None => config.grid_candidates(document)?,
            Some(_) => Vec::new(),
        };
        let seeds = if config.cv.seeds.is_empty() { vec![config.seed] } else { config.cv.seeds.clone() };
        let splits = config.data.splits(&config.cv, config.seed)?;
        let (mut contents, mut tests) = (Vec::new(), EmptyQueries::default());
        for at in 0..splits.count() {
            let split = splits.read(at, true)?;
            if let Some(test) = &split.test {
                tests = tests.and(EmptyQueries::of(test, &config.measure.convention));
            }
            check_measures(config, &split).map_err(ExperimentError::job(format!("fold {}", split.fold)))?;
            contents.push(splits.contents(at, &split).clone());
        }
        splits.tell(|fold, warning| progress(JobEvent::Warning(fold, warning)));
        let chosen = config.warning_without_validation("; use cv.split");
        let chosen = chosen.filter(|_| contents.iter().any(|of| of.data.validation.is_none()));
        let empty = tests.caution("test", &config.measure.convention);
        chosen.iter().chain(&empty).for_each(|warning| progress(JobEvent::Warning("all folds", warning)));
        if keep.runs || keep.fold_scores == Some("run") {
            contents.iter().flat_map(|of| &of.test_queries).try_for_each(|query| check_query(query))?;
        }
        let candidates = match &config.search {
            None => contents.iter().map(|_| grid.clone()).collect(),
            Some(search) => {
                contents.iter().map(|of| config.trials(document, search, of.fold)).collect::<Result<Vec<_>, _>>()?
            }
        };
        let of_first: &[Candidate] = candidates.first().map(Vec::as_slice).unwrap_or_default();
        if of_first.len() > 1 && contents.iter().any(|of| of.data.validation.is_none()) {
            let (key, what) = if config.search.is_some() { ("search", "trials") } else { ("grid", "points") };
            let found = format!("{} {what}", of_first.len());
            return Err(Refusal::new(key, found, "a validation set to select on").into());
        }
        let rungs = of_first.first().map(|trial| trial.config.rungs()).unwrap_or_default();
        let rows = keep.fold_scores.map(|_| splits.rows(&config.data)).transpose()?;
        let resolved = config.resolved_for_points(document);
        Ok(Self { config, resolved, splits, rows, contents, tests, candidates, rungs, seeds })
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
        self.end(self.run_all(options)?, options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_is_kept() {
        let keep: Keep = "scores, rankers".parse().unwrap();
        assert_eq!(keep, Keep { rankers: true, scores: true, ..Keep::default() });
        assert_eq!(keep.files(2, 7), ["kept/fold2-seed7.safetensors", "kept/fold2-seed7.scores.txt"]);
        let message = "ranker".parse::<Keep>().unwrap_err().to_string();
        assert!(message.contains("`ranker`") && message.ends_with("did you mean `rankers`?"), "{message}");
        assert!("".parse::<Keep>().is_err());
    }
}
