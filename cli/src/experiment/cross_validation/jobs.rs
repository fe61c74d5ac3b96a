//! The fits of a cross-validation. Several fits run at the same time, each with its own folder.

use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use burn_rank::learner::{Progress, SURROGATE, StopReason};
use burn_rank::op::Execution;
use burn_rank::workbench::memory;
use burn_rank::workbench::text::hexadecimal;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{CrossValidationOptions, JobEvent, Part, PlannedFits};
use crate::experiment::config::candidates::Candidate;
use crate::experiment::config::{CrossValidationConfig, Experiment, ExperimentConfig, grid};
use crate::experiment::error::{ExperimentError, OutputError};
use crate::experiment::extreme_queries::ExtremeQueries;
use crate::experiment::fit::{FitOptions, fit_in_place};
use crate::experiment::folder::{JOBS, OutputFolder, RANKER, RESULT};
use crate::experiment::record::{FitReport, mean, merit};
use crate::experiment::refit::Chosen;
use crate::experiment::splits::SplitContents;

/// The fits to run in one pass. Each fit pauses after the given number of rounds.
pub(super) struct Pass<'a> {
    /// The jobs.
    pub(super) numbers: &'a [usize],
    /// The number of rounds after which a fit pauses; if absent, the fit continues to its end.
    pub(super) rounds: Option<usize>,
    /// Whether to repeat fits that have already completed enough rounds, instead of reusing their results.
    pub(super) is_repeated: bool,
    /// The number of fits run in earlier passes.
    pub(super) before: usize,
    /// The number of fits in all passes.
    pub(super) all: usize,
}

impl<'a> Pass<'a> {
    /// Returns a pass that runs fits to their end, unless they have ended already.
    pub(super) fn new(numbers: &'a [usize]) -> Self {
        Self { numbers, rounds: None, is_repeated: false, before: 0, all: numbers.len() }
    }
}

/// One fit.
pub(super) struct Job<'a> {
    plan: &'a PlannedFits<'a>,
    /// The index of the split.
    pub(super) split: usize,
    /// The index of the candidate.
    candidate: usize,
    pub(super) seed: u64,
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
    progress: &'a (dyn Fn(JobEvent) + Sync),
}

impl Progress for FitWarnings<'_> {
    fn warn(&self, message: &str) {
        (self.progress)(JobEvent::Warning(self.label, message));
    }
}

/// The fits are in the order of folds, candidates and seeds.
impl PlannedFits<'_> {
    /// Returns the number of fits.
    pub(crate) fn count(&self) -> usize {
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
    pub(super) fn of_candidate<'r>(&self, results: &'r [JobResult], split: usize, candidate: usize) -> &'r [JobResult] {
        &results[self.numbers(split, candidate)]
    }

    /// Returns the selection measure of each candidate in one fold, averaged over seeds.
    pub(super) fn selections(&self, results: &[JobResult], split: usize) -> Vec<f64> {
        let of = |candidate| mean(self.of_candidate(results, split, candidate).iter().map(|result| result.selection));
        (0..self.choices()).map(of).collect()
    }

    /// Returns the candidates to select from in a fold. With successive halving, these are the trials of the last rung.
    fn stayed(&self, results: &[JobResult], split: usize) -> Vec<usize> {
        self.ladder(results, split).pop().map_or_else(|| (0..self.choices()).collect(), |(trials, _)| trials)
    }

    /// Returns the candidate with the best selection measure in a fold, among those that stayed. Ties go to the first
    /// candidate.
    pub(super) fn selected(&self, results: &[JobResult], split: usize) -> usize {
        let selections = self.selections(results, split);
        let better = |best: usize, other: usize| if selections[other] > selections[best] { other } else { best };
        self.stayed(results, split).into_iter().reduce(better).unwrap_or(0)
    }

    /// Returns the candidate with the best mean selection measure over folds and seeds. Ties go to the first candidate.
    /// Candidates that lack a value in some fold are considered only if no candidate has values in all folds. The trials
    /// of a search have a mean only in a single fold, and those that stayed there are compared.
    pub(super) fn best_of_all(&self, results: &[JobResult]) -> Chosen {
        let of_folds: Vec<Vec<f64>> = (0..self.contents.len()).map(|split| self.selections(results, split)).collect();
        let value = |candidate: usize| mean(of_folds.iter().map(|of_fold| of_fold[candidate]));
        let values: Vec<f64> = (0..self.choices()).map(value).collect();
        let better = |best: usize, other: usize| if merit(values[other]) > merit(values[best]) { other } else { best };
        let best = self.stayed(results, 0).into_iter().reduce(better).unwrap_or(0);
        let Candidate { point, config, .. } = &self.candidates[0][best];
        let of_fold = |split| self.of_candidate(results, split, best).iter().map(|result| &result.fit);
        let fits: Vec<&FitReport> = (0..self.contents.len()).flat_map(of_fold).collect();
        let of_member = |number: usize| fits.iter().map(|fit| fit.members[number].best_round).collect();
        Chosen {
            config: config.config.clone(),
            setting: grid::label(point),
            validation: values[best],
            best_rounds: fits.iter().map(|fit| fit.best_round).collect(),
            member_rounds: (0..config.config.members.len()).map(of_member).collect(),
        }
    }

    /// Returns the job numbers for the candidate selected in each fold, in the order of folds and seeds.
    pub(super) fn chosen(&self, results: &[JobResult]) -> Vec<usize> {
        (0..self.contents.len()).flat_map(|split| self.numbers(split, self.selected(results, split))).collect()
    }

    /// Returns the job with a number.
    pub(super) fn job(&self, number: usize) -> Job<'_> {
        let rest = number / self.seeds.len();
        let (split, candidate) = (rest / self.choices(), rest % self.choices());
        Job { plan: self, split, candidate, seed: self.seeds[number % self.seeds.len()] }
    }

    /// Reads the results that jobs have written into the folder of a run. A fit that has not ended has no result.
    pub(super) fn made(&self, output: &OutputFolder) -> Vec<Option<JobResult>> {
        let made = |number| finished(&output.file(&self.job(number).file(RESULT)));
        (0..self.count()).map(|number| made(number).filter(|result| result.has_reached(None))).collect()
    }

    /// Runs the jobs of a pass, with several jobs at a time. Returns their results in the order of the pass.
    pub(super) fn run_pass(
        &self,
        pass: &Pass,
        options: &CrossValidationOptions,
    ) -> Result<Vec<JobResult>, ExperimentError> {
        let count = pass.numbers.len();
        let at_once = options.jobs.unwrap_or_else(|| {
            let largest = self.contents.iter().map(|of| of.bytes).max().unwrap_or(0);
            jobs_that_fit(largest, memory::available(), options.threads)
        });
        let (next, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let results: Vec<OnceLock<Result<JobResult, ExperimentError>>> = (0..count).map(|_| OnceLock::new()).collect();
        let work = || {
            while !options.interrupt.requested() {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(&number) = pass.numbers.get(at) else { break };
                let job = self.job(number);
                let label = &job.label();
                (options.progress)(JobEvent::Begun(label));
                let result = job.run(pass, options).map_err(ExperimentError::job(label.clone()));
                if result.as_ref().is_ok_and(|result| !result.has_reached(pass.rounds)) {
                    break;
                }
                if result.is_err() {
                    next.store(count, Ordering::Relaxed);
                }
                let selection = result.as_ref().ok().map(|result| result.selection);
                let surrogate = result.as_ref().ok().and_then(JobResult::surrogate);
                let _ = results[at].set(result);
                let finished = pass.before + ended.fetch_add(1, Ordering::Relaxed) + 1;
                (options.progress)(JobEvent::Done { finished, all: pass.all, label, selection, surrogate });
            }
        };
        let execution = Execution::current();
        thread::scope(|scope| {
            for _ in 1..at_once.clamp(1, count.max(1)) {
                // If no more threads can be started, the existing threads do the work.
                let _ = thread::Builder::new().spawn_scoped(scope, || execution.scope(work));
            }
            work();
        });
        // A job without a result was dropped after an earlier one failed, or after a stop.
        let results: Vec<JobResult> = results.into_iter().filter_map(OnceLock::into_inner).collect::<Result<_, _>>()?;
        if results.len() < count {
            return Err(ExperimentError::Interrupted { finished: pass.before + results.len(), all: pass.all });
        }
        Ok(results)
    }

    /// Runs the fits of one part of a cross-validation, each in a separate folder, and skips fits that are already
    /// done. Several processes, on one machine or several, can run their parts in the same folder at the same time.
    /// Returns the number of fits of the part.
    ///
    /// # Errors
    /// Returns the same errors as [`run`](Self::run). Successive halving must have been rejected before, by
    /// [`check_parts`](ExperimentConfig::check_parts), because it compares the trials of all parts between its rungs.
    pub fn run_part(&self, part: Part, options: &CrossValidationOptions) -> Result<usize, ExperimentError> {
        let numbers: Vec<usize> = (0..self.count()).filter(|&fit| Part::of_fit(fit, part.of) == part).collect();
        self.run_pass(&Pass::new(&numbers), options)?;
        Ok(numbers.len())
    }
}

/// Successive halving. In each rung, a trial is ranked by its best round so far, measured on validation queries. The
/// rank is computed from the trial's history up to this rung. So a cross-validation that was stopped and resumed drops
/// the same trials.
impl PlannedFits<'_> {
    /// Returns the trials that reach each rung in a fold, and their selection measures at the end of the rung. The
    /// measures are averaged over seeds; without successive halving there are no rungs.
    pub(super) fn ladder(&self, results: &[JobResult], split: usize) -> Vec<(Vec<usize>, Vec<f64>)> {
        let mut trials: Vec<usize> = (0..self.choices()).collect();
        let mut ladder: Vec<(Vec<usize>, Vec<f64>)> = Vec::with_capacity(self.rungs.len());
        for rung in &self.rungs {
            if let Some((above, values)) = ladder.last() {
                trials = best(above, values, rung.trials);
            }
            let value = |&trial: &usize| {
                let of_seeds = self.of_candidate(results, split, trial);
                mean(of_seeds.iter().map(|result| within(result, rung.rounds)))
            };
            let values: Vec<f64> = trials.iter().map(value).collect();
            ladder.push((trials.clone(), values));
        }
        ladder
    }

    /// Runs all fits, one rung after another, and returns the latest result of every job. Without rungs, every fit runs
    /// to its end in one pass.
    ///
    /// A trial continues from the state in its folder. Without an output folder, the trial is fitted again from its
    /// first round, with the same result.
    pub(super) fn run_all(&self, options: &CrossValidationOptions) -> Result<Vec<JobResult>, ExperimentError> {
        let of_trials = |trials: usize| trials * self.contents.len() * self.seeds.len();
        // Without rungs, every job counts once.
        let all = self.rungs.iter().map(|rung| of_trials(rung.trials)).sum::<usize>().max(self.count());
        let numbers: Vec<usize> = (0..self.count()).collect();
        let first = Pass { rounds: self.pause(0), all, ..Pass::new(&numbers) };
        let mut results = self.run_pass(&first, options)?;
        let mut before = results.len();
        for rung in 1..self.rungs.len() {
            let of_split = |split| {
                let (trials, _) = self.ladder(&results, split).swap_remove(rung);
                trials.into_iter().flat_map(move |trial| self.numbers(split, trial))
            };
            let numbers: Vec<usize> = (0..self.contents.len()).flat_map(of_split).collect();
            let pass = Pass { rounds: self.pause(rung), before, all, ..Pass::new(&numbers) };
            let made = self.run_pass(&pass, options)?;
            before += made.len();
            numbers.iter().zip(made).for_each(|(&number, result)| results[number] = result);
        }
        Ok(results)
    }

    /// Returns the number of rounds after which the fits of a rung pause. The fits of the last rung run to their end.
    fn pause(&self, rung: usize) -> Option<usize> {
        self.rungs.split_last().and_then(|(_, paused)| paused.get(rung)).map(|rung| rung.rounds)
    }
}

/// Returns the `count` trials with the highest values, without changing their order. Ties go to the first trial.
fn best(trials: &[usize], values: &[f64], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..trials.len()).collect();
    order.sort_by(|&one, &other| merit(values[other]).total_cmp(&merit(values[one])));
    let mut stay: Vec<usize> = order.into_iter().take(count).map(|at| trials[at]).collect();
    stay.sort_unstable();
    stay
}

/// Returns a fit's best selection measure on validation queries within its first `rounds` rounds. Returns NaN if none
/// was measured.
fn within(result: &JobResult, rounds: usize) -> f64 {
    let measured = result.fit.history.iter().take(rounds).filter_map(|round| round.validation);
    measured.fold(f64::NAN, f64::max)
}

impl Job<'_> {
    fn contents(&self) -> &SplitContents {
        &self.plan.contents[self.split]
    }

    fn config(&self) -> &Experiment {
        &self.plan.candidates[self.split][self.candidate].config
    }

    /// Returns a label such as `fold 1, seed 2`, which names the candidate if there are several.
    pub(super) fn label(&self) -> String {
        let point = match &self.plan.candidates[self.split][..] {
            [_] => String::new(),
            candidates => format!(", {}", candidates[self.candidate].label),
        };
        format!("fold {}{point}, seed {}", self.contents().fold, self.seed)
    }

    fn run(&self, pass: &Pass, options: &CrossValidationOptions) -> Result<JobResult, ExperimentError> {
        let folder = options.output.map(|output| output.file(&self.folder()));
        if let Some(folder) = &folder {
            let earlier = finished(&folder.join(RESULT)).filter(|result| result.has_reached(pass.rounds));
            if let Some(result) = earlier.filter(|_| !pass.is_repeated) {
                return Ok(result);
            }
            std::fs::create_dir_all(folder).map_err(OutputError::unwritable(folder))?;
        }
        let is_only = self.plan.choices() * self.plan.seeds.len() == 1;
        let mut split = self.plan.splits.read(self.split, !is_only)?;
        let progress = &FitWarnings { label: &self.label(), progress: options.progress };
        let interrupt = match pass.rounds {
            Some(rounds) => options.interrupt.after(rounds),
            None => options.interrupt.clone(),
        };
        let options_of_fit =
            FitOptions { directory: folder.as_deref(), progress, interrupt, ..FitOptions::new(options.device) };
        let fitted = fit_in_place(self.config(), &mut split, self.seed, &options_of_fit)?;
        let test = fitted.evaluations.get("test");
        let result = JobResult {
            selection: fitted.selection(),
            fit: FitReport::new(&fitted, self.seed),
            test: test.map(|test| test.per_query.clone()).unwrap_or_default(),
            extremes: test.map(|_| fitted.extremes.clone()),
        };
        if let Some(output) = options.output.filter(|_| result.has_reached(pass.rounds)) {
            // Which of the fits a fold selects is known when all are done.
            if options.keep.needs_rankers() && fitted.stop != StopReason::Interrupted {
                output.write(&self.file(RANKER), &fitted.ranker.to_bytes())?;
            }
            output.write_json(&self.file(RESULT), &result)?;
        }
        Ok(result)
    }

    /// Returns the path of a file of the job, relative to the folder of the run.
    pub(super) fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.folder())
    }

    /// Returns the folder of the job. Its name has the fold, the seed, and a hash of everything else that affects the
    /// result. The results in this folder are therefore never reused for a different configuration, different data or a
    /// different version.
    fn folder(&self) -> String {
        let config = self.config();
        let fitted = ExperimentConfig {
            name: String::new(),
            description: String::new(),
            cv: CrossValidationConfig { split: config.cv.split.clone(), ..CrossValidationConfig::default() },
            ..config.config.clone().without_choice()
        };
        let mut hash = Sha256::new();
        hash.update(env!("CARGO_PKG_VERSION"));
        hash.update(fitted.with_absolute_paths().resolved().to_string());
        for (name, set) in self.contents().data.iter() {
            hash.update(name);
            hash.update(&set.hash);
        }
        self.contents().feature_names.iter().for_each(|name| hash.update(format!("{name:?}")));
        format!("{JOBS}/fold{}-seed{}-{}", self.contents().fold, self.seed, &hexadecimal(&hash.finalize())[..12])
    }
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
    use std::sync::{Barrier, Mutex};

    use burn::tensor::Device;

    use super::*;
    use crate::experiment::{Document, Keep, PlannedFits};
    use burn_rank::learner::Interrupt;
    use burn_rank::workbench::op::PrimitivePath;

    #[test]
    fn the_best_trials_stay_and_ties_go_to_the_first() {
        assert_eq!(best(&[0, 1, 2, 3], &[0.5, f64::NAN, 0.5, 0.7], 2), [0, 3]);
        assert_eq!(best(&[2, 5, 9], &[f64::NAN, 0.1, -1.0], 2), [5, 9]);
        assert_eq!(best(&[4, 6], &[f64::NAN, f64::NAN], 1), [4]);
    }

    #[test]
    fn fits_at_once_are_bounded_by_memory_and_threads() {
        assert_eq!(jobs_that_fit(100, Some(1_000), 8), 2);
        assert_eq!(jobs_that_fit(100, Some(1_000_000), 8), 8);
        assert_eq!(jobs_that_fit(100, Some(10), 8), 1);
    }

    #[test]
    fn every_thread_of_a_cross_validation_is_in_the_execution_of_the_caller() {
        let text = "data = { synthetic = { train_queries = 6, validation_queries = 0, test_queries = 4 } }\n\
                    learner = { kind = \"regression\" }\ncv = { seeds = [1, 2, 3, 4] }\n";
        let document = Document::parse(Path::new("a.toml"), text.to_string(), &[]).unwrap();
        let config = Experiment::from_document(&document).unwrap();
        // At the end of each fit, records the execution that the fit's thread uses. Each thread waits in its first fit
        // until a second thread arrives.
        let (together, executions) = (Barrier::new(2), Mutex::new(HashMap::new()));
        let seen = |event: JobEvent| {
            let here = thread::current().id();
            if matches!(event, JobEvent::Done { .. })
                && executions.lock().unwrap().insert(here, Execution::current()).is_none()
            {
                together.wait();
            }
        };
        let options = CrossValidationOptions {
            device: &Device::flex(),
            output: None,
            keep: Keep::default(),
            scores: None,
            jobs: Some(2),
            threads: 2,
            progress: &seen,
            interrupt: Interrupt::default(),
        };
        let execution = Execution::default().with_memory_budget(12_345).with_path(PrimitivePath::Tensor);
        let plan = PlannedFits::read(&document, &config, Keep::default(), &|_| ()).unwrap();
        execution.scope(|| plan.run(&options)).unwrap();
        let executions = executions.into_inner().unwrap();
        assert_eq!(executions.into_values().collect::<Vec<_>>(), [execution; 2]);
    }
}
