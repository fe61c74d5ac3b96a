//! Cross-validation over folds, over grid points or trials, and over seeds. For every fold, a grid point or a trial is
//! selected by its results on the fold's validation queries. Results on test queries are never used for the selection.
//! Several processes can share the fits: each leaves its part of them in one folder, and a final command merges them.

mod jobs;
mod kept;
mod summary;

pub use kept::KeptRun;
pub(crate) use kept::format_of;

use std::fmt;
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
use super::config::{Document, Experiment, ExperimentConfig, Rung, SearchConfig};
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
const RUNS: &str = ".run.txt";

impl Keep {
    /// Returns whether any files are kept.
    pub fn any(self) -> bool {
        self.endings().next().is_some()
    }

    /// Returns whether each fit saves its ranker.
    pub fn needs_rankers(self) -> bool {
        self.any() || self.fold_scores.is_some()
    }

    /// Returns the endings of the files to keep.
    fn endings(self) -> impl Iterator<Item = &'static str> {
        let asked = [(self.rankers, RANKERS), (self.scores, SCORES), (self.runs, RUNS)];
        asked.into_iter().filter_map(|(asked, ending)| asked.then_some(ending))
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
                    let near = did_you_mean(&nearest(word, ["rankers", "scores", "runs"]));
                    let expected = format!("rankers, scores, runs, separated by commas{near}");
                    return Err(Refusal::new("keep", format!("`{word}`"), expected));
                }
            }
        }
        Ok(keep)
    }
}

/// Returns the path of a kept file with one of the endings, relative to the folder of the run.
fn kept_file(ending: &str, fold: usize, seed: u64) -> String {
    format!("{KEPT}/fold{fold}-seed{seed}{ending}")
}

/// An error message names at most this number of parts.
const NAMED: usize = 8;

/// One of several processes that share the fits of a cross-validation. With `of` parts, part `number` runs every
/// `of`-th fit, starting with fit `number`. Fits are counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    number: usize,
    pub(crate) of: usize,
}

impl Part {
    /// Returns the part that runs a fit when there are `of` parts. Fits are counted from 0.
    pub(crate) fn of_fit(fit: usize, of: usize) -> Self {
        Self { number: fit % of + 1, of }
    }
}

impl FromStr for Part {
    type Err = Refusal;

    /// Reads `I/N`, such as `3/16`.
    fn from_str(text: &str) -> Result<Self, Refusal> {
        let numbers = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        let part = numbers.map(|(number, of)| Self { number, of }).filter(|part| (1..=part.of).contains(&part.number));
        part.ok_or_else(|| Refusal::new("part", format!("`{text}`"), "I/N, with I from 1 to N, as in 3/16"))
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
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
        let grid = if config.search.is_none() { config.grid_candidates(document)? } else { Vec::new() };
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
        let empty = tests.caution("test", config);
        chosen.iter().chain(&empty).for_each(|warning| progress(JobEvent::Warning("all folds", warning)));
        if keep.runs || keep.fold_scores == Some("run") {
            contents.iter().flat_map(|of| &of.test_queries).try_for_each(|query| check_query(query))?;
        }
        let of_fold = |of: &SplitContents| match &config.search {
            Some(search) => config.trials(document, search, of.fold),
            None => Ok(grid.clone()),
        };
        let candidates = contents.iter().map(of_fold).collect::<Result<Vec<_>, _>>()?;
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

    /// Returns the fold, the hashes of the data and the names of the features of each split.
    pub fn data(&self) -> Vec<String> {
        let of = |of: &SplitContents| [vec![of.fold.to_string()], of.data.identity(&of.feature_names)].concat();
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

    /// Merges the fits that the parts of a cross-validation left in its folder. The report equals the report of a run
    /// without parts. For the selected fits, keeps the files that the options ask for. Also returns the setting with
    /// the best mean selection measure over all folds and seeds.
    ///
    /// # Errors
    /// Returns [`ExperimentError::Missing`] if a part has not finished all its fits. Also returns any error that
    /// [`run_part`](Self::run_part) can return.
    pub fn merge(
        &self,
        folder: &OutputFolder,
        options: &CrossValidationOptions,
    ) -> Result<(CrossValidationReport, Chosen), ExperimentError> {
        let made = self.made(folder);
        let missing: Vec<usize> = (0..made.len()).filter(|&fit| made[fit].is_none()).collect();
        if let Some(&first) = missing.first() {
            let (advice, first) = (advice(&missing, folder.parts()), self.job(first).label());
            return Err(ExperimentError::Missing { missing: missing.len(), all: made.len(), first, advice });
        }
        self.end(made.into_iter().flatten().collect(), options)
    }
}

impl ExperimentConfig {
    /// Rejects a starting ranker and streamed data, because a cross-validation supports neither.
    ///
    /// # Errors
    /// Returns a [`Refusal`] for `start` or `data.memory`, if that key is given.
    pub(crate) fn check_folds(&self) -> Result<(), Refusal> {
        let words = "not read by `cv`: the ranker may have been trained on the queries that a fold tests";
        if self.start.is_some() {
            return Err(Refusal::fault("start", words));
        }
        let Some(memory) = self.data.memory else { return Ok(()) };
        Err(Refusal::new("data.memory", memory, "none: `cv` holds the data in memory; `train` streams them"))
    }

    /// Rejects a run in parts if the search is successive halving, because its fits wait for each other.
    ///
    /// # Errors
    /// Returns a [`Refusal`] for the key `search.kind` if the search is successive halving.
    pub(crate) fn check_parts(&self) -> Result<(), Refusal> {
        let Some(SearchConfig::SuccessiveHalving { .. }) = self.search else { return Ok(()) };
        let expected = "`random` where fits are made in parts: successive halving compares trials between its rungs";
        Err(Refusal::new("search.kind", "`successive_halving`", expected))
    }
}

/// Returns advice on which parts to run again.
fn advice(missing: &[usize], of: Option<usize>) -> String {
    let Some(of) = of else { return "cv --part I/N makes them".to_string() };
    let mut parts: Vec<Part> = missing.iter().map(|&fit| Part::of_fit(fit, of)).collect();
    parts.sort();
    parts.dedup();
    let names: Vec<String> = parts.iter().take(NAMED).map(Part::to_string).collect();
    let more = match parts.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let what = if parts.len() == 1 { "part" } else { "parts" };
    format!("run {what} {}{more} again", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fit_falls_to_one_part() {
        let parts: Vec<Part> = (0..3).map(|fit| Part::of_fit(fit, 3)).collect();
        let fits = |part: &Part| (0..8).filter(|&fit| Part::of_fit(fit, 3) == *part).collect::<Vec<_>>();
        assert_eq!(parts.iter().map(fits).collect::<Vec<_>>(), [vec![0, 3, 6], vec![1, 4, 7], vec![2, 5]]);
    }

    #[test]
    fn a_part_is_read_as_it_is_written() {
        let part: Part = "3/16".parse().unwrap();
        assert_eq!((part, part.to_string()), (Part { number: 3, of: 16 }, "3/16".to_string()));
        for text in ["0/3", "4/3", "0/0", "x", "", "1", "1/", "-1/3", "1/3/5"] {
            let message = text.parse::<Part>().unwrap_err().to_string();
            assert_eq!(message, format!("part = `{text}`: expected I/N, with I from 1 to N, as in 3/16"));
        }
    }

    #[test]
    fn the_parts_to_run_again_are_named() {
        assert_eq!(advice(&[2, 5], Some(3)), "run part 3/3 again");
        assert_eq!(advice(&[2, 3, 5], Some(3)), "run parts 1/3, 3/3 again");
        let many: Vec<usize> = (0..20).collect();
        let named = "1/12, 2/12, 3/12, 4/12, 5/12, 6/12, 7/12, 8/12";
        assert_eq!(advice(&many, Some(12)), format!("run parts {named} and 4 more again"));
        assert_eq!(advice(&[1], None), "cv --part I/N makes them");
    }

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
