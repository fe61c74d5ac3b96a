//! The fits of a cross-validation. Several fits run at the same time, each with its own folder.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;

use burn_rank::json::Map;
use burn_rank::learner::{Progress, Round, SURROGATE, StopReason};
use burn_rank::op::Execution;
use burn_rank::workbench::text::hexadecimal;
use burn_rank::workbench::{mean_of, memory};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::options::{CrossValidationOptions, JobDone, JobProgress};
use crate::experiment::config::candidates::Candidate;
use crate::experiment::config::{CrossValidationConfig, Experiment, ExperimentConfig, Rung, grid};
use crate::experiment::error::{ExperimentError, OutputError};
use crate::experiment::extreme_queries::ExtremeQueries;
use crate::experiment::fit::{FitOptions, fit_in_place};
use crate::experiment::folder::OutputFolder;
use crate::experiment::folder::{JOBS, RANKER, RESULT};
use crate::experiment::record::FitReport;
use crate::experiment::refit::Chosen;
use crate::experiment::splits::{SplitContents, Splits};

/// Every fit of a cross-validation, in the order of folds, candidates and seeds.
pub(super) struct Jobs<'a> {
    pub(super) splits: &'a Splits,
    /// The facts about each split: fold number, statistics, hashes and test queries.
    pub(super) contents: &'a [&'a SplitContents],
    /// The settings to try in each split: either the grid points or the split's own trials. All splits have the same
    /// number of candidates.
    pub(super) candidates: &'a [&'a [Candidate]],
    /// The rungs of successive halving; empty if every fit continues to its end.
    pub(super) rungs: &'a [Rung],
    pub(super) seeds: &'a [u64],
}

/// The fits to run in one pass. Each fit pauses after the given number of rounds.
pub(super) struct Pass<'a> {
    /// The jobs.
    pub(super) numbers: &'a [usize],
    /// The number of rounds after which a fit pauses; if absent, the fit continues to its end.
    pub(super) rounds: Option<usize>,
    /// Whether to reuse the results of fits that have already completed enough rounds.
    pub(super) finished_count: bool,
    /// Whether to continue from the state saved in the job's folder.
    pub(super) resume: bool,
    /// The number of fits run in earlier passes.
    pub(super) before: usize,
    /// The number of fits in all passes.
    pub(super) all: usize,
}

/// One fit.
struct Job<'a> {
    splits: &'a Splits,
    /// The index of the split in [`Jobs`].
    at: usize,
    /// The statistics and hashes of the split's data.
    contents: &'a SplitContents,
    /// Whether this is the only fit of its split.
    is_only: bool,
    config: &'a Experiment,
    seed: u64,
    /// A label such as `fold 1, seed 2`, which names the candidate if there are several.
    label: String,
}

/// The result that a job writes into its folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct JobResult {
    /// The selection measure on validation queries.
    pub(super) selection: f64,
    #[serde(flatten)]
    pub(super) fit: FitReport,
    /// The measures on test queries, indexed as `[measure][query]`. Queries that the convention excludes have no value.
    pub(super) test: Vec<Vec<Option<f64>>>,
    /// The worst and the best test queries, if there is a test set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) extremes: Option<ExtremeQueries>,
}

impl JobResult {
    /// Returns whether the fit ended without being interrupted, or has completed at least `rounds` rounds.
    fn has_reached(&self, rounds: Option<usize>) -> bool {
        self.fit.stop != StopReason::Interrupted || rounds.is_some_and(|rounds| self.fit.history.len() >= rounds)
    }

    /// Returns the surrogate loss at the selected round, if it was recorded.
    fn surrogate(&self) -> Option<f64> {
        let round = self.fit.history.get(self.fit.best_round.checked_sub(1)?)?;
        round.figures.iter().find(|(name, _)| name == SURROGATE).map(|(_, value)| *value)
    }
}

/// Passes on the warnings of one fit, and ignores its other progress reports.
struct FitWarnings<'a> {
    label: &'a str,
    progress: &'a dyn JobProgress,
}

impl Progress for FitWarnings<'_> {
    fn begin(&self, _: &str, _: Option<usize>) {}
    fn round(&self, _: &Round) {}
    fn warn(&self, message: &str) {
        self.progress.warn(self.label, message);
    }
    fn end(&self) {}
}

impl Jobs<'_> {
    /// Returns the number of fits.
    pub(super) fn count(&self) -> usize {
        self.contents.len() * self.choices() * self.seeds.len()
    }

    /// Returns the number of candidates per fold.
    pub(super) fn choices(&self) -> usize {
        self.candidates.first().map_or(0, |candidates| candidates.len())
    }

    /// Returns the job numbers for one candidate in one fold, in the order of the seeds.
    pub(super) fn numbers(&self, split: usize, candidate: usize) -> Range<usize> {
        let first = (split * self.choices() + candidate) * self.seeds.len();
        first..first + self.seeds.len()
    }

    /// Selects the results for one candidate in one fold, in the order of the seeds.
    pub(super) fn of_candidate<'r, T>(&self, results: &'r [T], split: usize, candidate: usize) -> &'r [T] {
        &results[self.numbers(split, candidate)]
    }

    /// Returns the selection measure of each candidate in one fold, averaged over seeds.
    pub(super) fn selections(&self, results: &[JobResult], split: usize) -> Vec<f64> {
        let of = |candidate| mean(self.of_candidate(results, split, candidate).iter().map(|result| result.selection));
        (0..self.choices()).map(of).collect()
    }

    /// Returns the candidate with the best selection measure in a fold. With successive halving, only the candidates in
    /// the last rung are compared. Ties go to the first candidate.
    pub(super) fn selected(&self, results: &[JobResult], split: usize) -> usize {
        let selections = self.selections(results, split);
        let stayed: Vec<usize> = match self.ladder(results, split).pop() {
            Some((trials, _)) => trials,
            None => (0..selections.len()).collect(),
        };
        let better = |best: usize, other: usize| if selections[other] > selections[best] { other } else { best };
        stayed.into_iter().reduce(better).unwrap_or(0)
    }

    /// Returns the candidate with the best mean selection measure over folds and seeds. Ties go to the first candidate.
    /// Candidates that lack a value in some fold are considered only if no candidate has values in all folds.
    pub(super) fn best_of_all(&self, results: &[JobResult]) -> Chosen {
        let of_folds: Vec<Vec<f64>> = (0..self.contents.len()).map(|split| self.selections(results, split)).collect();
        let value = |candidate: usize| mean(of_folds.iter().map(|of_fold| of_fold[candidate]));
        let values: Vec<f64> = (0..self.choices()).map(value).collect();
        let merit = |candidate: usize| if values[candidate].is_nan() { f64::NEG_INFINITY } else { values[candidate] };
        let better = |best: usize, other: usize| if merit(other) > merit(best) { other } else { best };
        let best = (0..self.choices()).reduce(better).unwrap_or(0);
        let Candidate { point, config, .. } = &self.candidates[0][best];
        let of_fold = |split| self.of_candidate(results, split, best).iter().map(|result| result.fit.best_round);
        Chosen {
            config: config.config.clone(),
            setting: grid::label(point),
            validation: values[best],
            best_rounds: (0..self.contents.len()).flat_map(of_fold).collect(),
        }
    }

    /// Returns the job numbers for the candidate selected in each fold, in the order of folds and seeds.
    pub(super) fn chosen(&self, results: &[JobResult]) -> Vec<usize> {
        (0..self.contents.len()).flat_map(|split| self.numbers(split, self.selected(results, split))).collect()
    }

    /// Returns the index of the split that a fit uses, and the seed of the fit.
    pub(super) fn split_and_seed(&self, number: usize) -> (usize, u64) {
        let job = self.job(number);
        (job.at, job.seed)
    }

    /// Returns the folder of a fit, as a path relative to the folder of the run.
    pub(super) fn folder(&self, number: usize) -> String {
        format!("{JOBS}/{}", self.job(number).folder())
    }

    fn job(&self, number: usize) -> Job<'_> {
        let (rest, seed) = (number / self.seeds.len(), self.seeds[number % self.seeds.len()]);
        let (at, candidate) = (rest / self.choices(), rest % self.choices());
        let (candidates, contents) = (self.candidates[at], self.contents[at]);
        let point = match candidates {
            [_] => String::new(),
            candidates => format!(", {}", candidates[candidate].label),
        };
        let label = format!("fold {}{point}, seed {seed}", contents.fold);
        let (is_only, config) = (self.choices() * self.seeds.len() == 1, &candidates[candidate].config);
        Job { splits: self.splits, at, contents, is_only, config, seed, label }
    }

    /// Returns the label of a fit, which names its fold, its seed, and its candidate if there are several.
    pub(super) fn label(&self, number: usize) -> String {
        self.job(number).label
    }

    /// Reads the results that jobs have written into the folder of a run. A fit that has not ended has no result.
    pub(super) fn made(&self, output: &OutputFolder) -> Vec<Option<JobResult>> {
        let made = |number| finished(&output.file(&self.folder(number)).join(RESULT));
        (0..self.count()).map(|number| made(number).filter(|result| result.has_reached(None))).collect()
    }

    /// Runs every job to its end, with several jobs at a time. Returns the results in the order of the jobs.
    pub(super) fn run_all(&self, options: &CrossValidationOptions) -> Result<Vec<JobResult>, ExperimentError> {
        let numbers: Vec<usize> = (0..self.count()).collect();
        let (resume, all) = (options.resume, numbers.len());
        self.run(&Pass { numbers: &numbers, rounds: None, finished_count: resume, resume, before: 0, all }, options)
    }

    /// Runs the jobs of a pass, with several jobs at a time. Returns their results in the order of the pass.
    pub(super) fn run(&self, pass: &Pass, options: &CrossValidationOptions) -> Result<Vec<JobResult>, ExperimentError> {
        let count = pass.numbers.len();
        let at_once = options.jobs.unwrap_or_else(|| {
            let largest = self.contents.iter().map(|of| of.bytes).max().unwrap_or(0);
            jobs_that_fit(largest, memory::available(), options.threads)
        });
        let queue: Mutex<VecDeque<usize>> = Mutex::new((0..count).collect());
        let results: Mutex<Vec<Option<Result<JobResult, ExperimentError>>>> =
            Mutex::new((0..count).map(|_| None).collect());
        let work = || {
            while !options.interrupt.requested() {
                let Some(next) = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front() else { break };
                let job = self.job(pass.numbers[next]);
                options.progress.begin(&job.label);
                let result = job.run(pass, options);
                if result.as_ref().is_ok_and(|result| !result.has_reached(pass.rounds)) {
                    break;
                }
                if result.is_err() {
                    queue.lock().unwrap_or_else(PoisonError::into_inner).clear();
                }
                let result =
                    result.map_err(|error| ExperimentError::Job { label: job.label.clone(), source: Box::new(error) });
                let selection = result.as_ref().ok().map(|result| result.selection);
                let surrogate = result.as_ref().ok().and_then(JobResult::surrogate);
                let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                results[next] = Some(result);
                let finished = pass.before + results.iter().filter(|result| result.is_some()).count();
                drop(results);
                options.progress.done(&JobDone { finished, all: pass.all, label: &job.label, selection, surrogate });
            }
        };
        let execution = Execution::current();
        thread::scope(|scope| {
            for _ in 1..at_once.clamp(1, count.max(1)) {
                // Where no thread can be started, those that there are do the work.
                let _ = thread::Builder::new().spawn_scoped(scope, || execution.scope(work));
            }
            work();
        });
        let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        // A job without a result was dropped after an earlier one failed, or after a stop.
        let results: Vec<JobResult> = results.into_iter().flatten().collect::<Result<_, _>>()?;
        match results.len() {
            finished if finished < count => {
                Err(ExperimentError::Interrupted { finished: pass.before + finished, all: pass.all })
            }
            _ => Ok(results),
        }
    }
}

impl Job<'_> {
    fn run(&self, pass: &Pass, options: &CrossValidationOptions) -> Result<JobResult, ExperimentError> {
        let folder = options.output.map(|output| (output, format!("{JOBS}/{}", self.folder())));
        let path = folder.as_ref().map(|(output, name)| output.file(name));
        if let Some(path) = &path {
            if pass.finished_count
                && let Some(result) = finished(&path.join(RESULT))
                && result.has_reached(pass.rounds)
            {
                return Ok(result);
            }
            std::fs::create_dir_all(path).map_err(|source| OutputError::Unwritable { path: path.clone(), source })?;
        }
        let mut split = self.splits.read(self.at, !self.is_only)?;
        let fitted = fit_in_place(
            self.config,
            &mut split,
            self.seed,
            &FitOptions {
                start: None,
                device: options.device,
                directory: path.as_deref(),
                resume: pass.resume,
                progress: &FitWarnings { label: &self.label, progress: options.progress },
                interrupt: match pass.rounds {
                    Some(rounds) => options.interrupt.after(rounds),
                    None => options.interrupt.clone(),
                },
            },
        )?;
        let result = JobResult {
            selection: fitted.selection(),
            fit: FitReport::new(&fitted, self.seed),
            test: fitted.evaluations.get("test").map(|test| test.per_query.clone()).unwrap_or_default(),
            extremes: fitted.evaluations.contains_key("test").then(|| fitted.extremes.clone()),
        };
        if let Some((output, name)) = &folder
            && result.has_reached(pass.rounds)
        {
            // Which of the fits a fold selects is known when all are done.
            if options.keep.any() && fitted.stop != StopReason::Interrupted {
                let bytes = fitted.ranker.to_bytes();
                output.write(&format!("{name}/{RANKER}"), &bytes)?;
            }
            output.write_json(&format!("{name}/{RESULT}"), &result)?;
        }
        Ok(result)
    }

    /// Returns the folder name of the job: its fold, its seed, and a hash of everything else that affects the result.
    /// The results in this folder are therefore never reused for a different configuration, different data or a
    /// different version.
    fn folder(&self) -> String {
        let fitted = ExperimentConfig {
            name: String::new(),
            description: String::new(),
            grid: Map::new(),
            search: None,
            cv: CrossValidationConfig { split: self.config.cv.split.clone(), ..CrossValidationConfig::default() },
            ..self.config.config.clone()
        };
        let mut hash = Sha256::new();
        hash.update(env!("CARGO_PKG_VERSION"));
        hash.update(fitted.resolved().to_string());
        for (name, set) in self.contents.data.iter() {
            hash.update(name);
            hash.update(&set.hash);
        }
        format!("fold{}-seed{}-{}", self.contents.fold, self.seed, &hexadecimal(&hash.finalize())[..12])
    }
}

/// Returns the mean, or NaN if there are no values; JSON writes NaN as `null`.
pub(super) fn mean(values: impl Iterator<Item = f64>) -> f64 {
    mean_of(values).unwrap_or(f64::NAN)
}

fn finished(path: &Path) -> Option<JobResult> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// Returns how many fits can run at once in `available` bytes of memory, from 1 to `threads`.
fn jobs_that_fit(splits_bytes: usize, available: Option<u64>, threads: usize) -> usize {
    // A fit holds its normalized copy of the data, batches and intermediate tensors.
    let one = 4 * splits_bytes.max(1) as u64;
    available.map_or(1, |available| (available / one) as usize).clamp(1, threads.max(1))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Barrier;
    use std::thread::ThreadId;

    use burn::tensor::Device;

    use super::*;
    use crate::experiment::{Document, Keep, cross_validate};
    use burn_rank::learner::Interrupt;
    use burn_rank::op::PrimitivePath;

    #[test]
    fn fits_at_once_are_bounded_by_memory_and_threads() {
        assert_eq!(jobs_that_fit(100, Some(1_000), 8), 2);
        assert_eq!(jobs_that_fit(100, Some(1_000_000), 8), 8);
        assert_eq!(jobs_that_fit(100, Some(10), 8), 1);
    }

    /// At the end of each fit, records the execution that the fit's thread uses. Each thread waits in its first fit
    /// until a second thread arrives.
    struct Seen {
        together: Barrier,
        executions: Mutex<HashMap<ThreadId, Execution>>,
    }

    impl JobProgress for Seen {
        fn done(&self, _: &JobDone) {
            let here = thread::current().id();
            if self.executions.lock().unwrap().insert(here, Execution::current()).is_none() {
                self.together.wait();
            }
        }

        fn warn(&self, _: &str, _: &str) {}
    }

    #[test]
    fn every_thread_of_a_cross_validation_is_in_the_execution_of_the_caller() {
        let text = "data = { synthetic = { train_queries = 6, validation_queries = 0, test_queries = 4 } }\n\
                    learner = { kind = \"regression\" }\ncv = { seeds = [1, 2, 3, 4] }\n";
        let document = Document::parse(Path::new("a.toml"), text.to_string(), &[]).unwrap();
        let config = Experiment::from_document(&document).unwrap();
        let seen = Seen { together: Barrier::new(2), executions: Mutex::default() };
        let options = CrossValidationOptions {
            device: &Device::flex(),
            output: None,
            resume: false,
            keep: Keep::default(),
            jobs: Some(2),
            threads: 2,
            progress: &seen,
            interrupt: Interrupt::default(),
        };
        let execution = Execution::default().with_memory_budget(12_345).with_path(PrimitivePath::Tensor);
        execution.scope(|| cross_validate(&document, &config, &options)).unwrap();
        let executions = seen.executions.into_inner().unwrap();
        assert_eq!(executions.into_values().collect::<Vec<_>>(), [execution; 2]);
    }
}
