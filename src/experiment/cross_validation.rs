//! Cross-validation: folds x grid x seeds. Every fold selects its grid point on its own validation queries; test queries
//! are only measured.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;

use burn::tensor::Device;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::fit::{ExperimentError, FitOptions, fit};
use super::grid::{self, Point};
use super::output::{JOBS, OutputFolder};
use super::report::{CrossValidationReport, FitReport, FoldDetails, Measures, PerQuery, Sets, standard_error};
use super::splits::Split;
use super::{ConfigError, CrossValidationConfig, Document, ExperimentConfig};
use crate::data::DataError;
use crate::learner::{Interrupt, Progress, Round, StopReason};
use crate::ranker::Versions;

/// One fit of a cross-validation.
#[derive(Debug, Clone)]
struct Job {
    /// Position of its fold among the splits.
    split: usize,
    point: usize,
    seed: u64,
}

impl Job {
    /// Its fold, and its point of the grid and its seed where there are several.
    fn label(&self, splits: &[Split], points: &[Point]) -> String {
        let point = match points {
            [_] => String::new(),
            points => format!(", {}", grid::label(&points[self.point])),
        };
        format!("fold {}{point}, seed {}", splits[self.split].fold, self.seed)
    }
}

/// What a job leaves in its folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct JobResult {
    /// Selection measure on validation queries.
    selection: f64,
    #[serde(flatten)]
    fit: FitReport,
    /// `[measure][query]` on test queries; absent where the convention excludes the query.
    test: Vec<Vec<Option<f64>>>,
}

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
    /// Why each of its fits ended, one a seed; absent in results of versions before 0.2.
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

/// The progress of one fit among many: its warnings alone.
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
/// The first [`ExperimentError`] of a job, in the order of the jobs; [`ExperimentError::Interrupted`] when a stop was asked
/// for before all were done. Finished jobs are in the output folder.
pub fn cross_validate(
    document: &Document,
    config: &ExperimentConfig,
    options: &CrossValidationOptions,
) -> Result<CrossValidationReport, ExperimentError> {
    let points = grid::points(&config.grid).map_err(|error| ExperimentError::Convention(error.to_string()))?;
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
    let all: Vec<Job> = (0..splits.len())
        .flat_map(|split| (0..points.len()).map(move |point| (split, point)))
        .flat_map(|(split, point)| seeds.iter().map(move |&seed| Job { split, point, seed }))
        .collect();
    let jobs = options.jobs.unwrap_or_else(|| {
        let largest = splits.iter().map(Split::bytes).max().unwrap_or(0);
        jobs_that_fit(largest, available_memory(), options.threads)
    });
    let results = run(&all, &splits, &configs, &points, jobs, options)?;
    let finished = results.len();
    if finished < all.len() {
        return Err(ExperimentError::Interrupted { finished, all: all.len() });
    }
    summarise(config, &points, &seeds, &splits, &results)
}

/// The configuration at a point of the grid.
fn at_point(document: &Document, point: &Point) -> Result<ExperimentConfig, ConfigError> {
    let mut document = document.clone();
    for (key, value) in point {
        document
            .assign(key, value.clone())
            .map_err(|part| document.refuse(&format!("grid.{key}"), &format!("`{part}` is not a table")))?;
    }
    ExperimentConfig::from_document(&document)
        .map_err(|error| document.refuse("grid", &format!("{}: {}", grid::label(point), error.message)))
}

/// Runs every job, `jobs` at once; results in the order of the jobs, without those that a stop left undone.
fn run(
    all: &[Job],
    splits: &[Split],
    configs: &[ExperimentConfig],
    points: &[Point],
    jobs: usize,
    options: &CrossValidationOptions,
) -> Result<Vec<JobResult>, ExperimentError> {
    let queue: Mutex<VecDeque<usize>> = Mutex::new((0..all.len()).collect());
    let results: Mutex<Vec<Option<Result<JobResult, ExperimentError>>>> =
        Mutex::new(all.iter().map(|_| None).collect());
    let work = || {
        loop {
            if options.interrupt.requested() {
                break;
            }
            let Some(next) = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front() else { break };
            let job = &all[next];
            let label = job.label(splits, points);
            let result = run_job(job, &label, &splits[job.split], &configs[job.point], options)
                .map_err(|source| ExperimentError::Job { label: label.clone(), source: Box::new(source) });
            let failed = result.is_err();
            if result.as_ref().is_ok_and(|result| result.fit.stop == StopReason::Interrupted) {
                break;
            }
            let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
            results[next] = Some(result);
            let finished = results.iter().filter(|result| result.is_some()).count();
            drop(results);
            if failed {
                queue.lock().unwrap_or_else(PoisonError::into_inner).clear();
            }
            options.progress.done(finished, all.len(), &label);
        }
    };
    thread::scope(|scope| {
        for _ in 1..jobs.clamp(1, all.len().max(1)) {
            scope.spawn(work);
        }
        work();
    });
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    // A job without a result was dropped after an earlier one failed, or after a stop.
    results.into_iter().flatten().collect()
}

fn run_job(
    job: &Job,
    label: &str,
    split: &Split,
    config: &ExperimentConfig,
    options: &CrossValidationOptions,
) -> Result<JobResult, ExperimentError> {
    let folder = options.output.map(|output| {
        let name = format!("{JOBS}/fold{}-seed{}-{}", split.fold, job.seed, identity(config));
        (output, name)
    });
    let path = folder.as_ref().map(|(output, name)| output.file(name));
    if let Some(path) = &path {
        if options.resume
            && let Some(result) = finished(&path.join(RESULT))
        {
            return Ok(result);
        }
        std::fs::create_dir_all(path)
            .map_err(|source| super::OutputError::Unwritable { path: path.clone(), source })?;
    }
    let fit_options = FitOptions {
        device: options.device,
        directory: path.as_deref(),
        resume: options.resume,
        dashboard: false,
        progress: &FitWarnings { label, progress: options.progress },
        interrupt: options.interrupt.clone(),
    };
    let fitted = fit(config, split, job.seed, &fit_options)?;
    let result = JobResult {
        selection: fitted.selection(),
        fit: FitReport::of(&fitted, job.seed),
        test: fitted.evaluations.get("test").map(|test| test.per_query.clone()).unwrap_or_default(),
    };
    if let Some((output, name)) = &folder
        && fitted.stop != StopReason::Interrupted
    {
        output.write_json(&format!("{name}/{RESULT}"), &result)?;
    }
    Ok(result)
}

const RESULT: &str = "result.json";

/// What tells the fits of one fold and seed apart: a hash of all that the fit and its measures are made from.
fn identity(config: &ExperimentConfig) -> String {
    let fitted = ExperimentConfig {
        name: String::new(),
        description: String::new(),
        grid: Map::new(),
        cv: CrossValidationConfig { split: config.cv.split, ..CrossValidationConfig::default() },
        ..config.clone()
    };
    let hash = Sha256::digest(fitted.resolved().to_string());
    hash[..6].iter().map(|byte| format!("{byte:02x}")).collect()
}

fn finished(path: &Path) -> Option<JobResult> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

fn summarise(
    config: &ExperimentConfig,
    points: &[Point],
    seeds: &[u64],
    splits: &[Split],
    results: &[JobResult],
) -> Result<CrossValidationReport, ExperimentError> {
    let names: Vec<String> = config.measures().iter().map(ToString::to_string).collect();
    let mut folds = Vec::new();
    let mut details = Vec::new();
    // `[measure][query]` over all folds, averaged over seeds.
    let mut pooled: Vec<Vec<f64>> = vec![Vec::new(); names.len()];
    for (s, split) in splits.iter().enumerate() {
        let of_point = |point: usize| -> &[JobResult] {
            let first = (s * points.len() + point) * seeds.len();
            &results[first..first + seeds.len()]
        };
        let selections: Vec<f64> =
            (0..points.len()).map(|point| mean(of_point(point).iter().map(|result| result.selection))).collect();
        // Ties go to the first point.
        let best =
            (1..points.len()).fold(0, |best, point| if selections[point] > selections[best] { point } else { best });
        let (mut measures, mut standard_errors) = (Measures::new(), Measures::new());
        let mut per_query = PerQuery {
            set: "test".to_string(),
            queries: split.test.as_ref().map(|test| test.query_ids.clone()).unwrap_or_default(),
            values: BTreeMap::new(),
        };
        for (m, name) in names.iter().enumerate() {
            let of_queries = over_seeds(of_point(best), m);
            let counted: Vec<f64> = of_queries.iter().copied().flatten().collect();
            measures.insert(name.clone(), Value::from(mean(counted.iter().copied())));
            standard_errors.insert(name.clone(), Value::from(standard_error(&counted)));
            pooled[m].extend(counted);
            per_query.values.insert(name.clone(), of_queries);
        }
        folds.push(FoldResult {
            fold: split.fold,
            selected: grid::label(&points[best]),
            validation: selections[best],
            measures,
            standard_errors,
            stops: of_point(best).iter().map(|result| result.fit.stop).collect(),
        });
        details.push(FoldDetails {
            data: Sets::of(split),
            points: selections,
            per_query,
            fits: of_point(best).iter().map(|result| result.fit.clone()).collect(),
        });
    }
    let tests = splits.iter().filter_map(|split| split.test.as_ref());
    let value_of = |fold: &FoldResult, name: &str| fold.measures[name].as_f64().unwrap_or(f64::NAN);
    let result = CrossValidation {
        name: config.name.clone(),
        convention: config.convention().map_err(ExperimentError::Convention)?,
        queries: tests.clone().map(|test| test.queries()).sum(),
        empty_queries: tests.map(|test| (0..test.queries()).filter(|&q| !test.has_relevant(q)).count()).sum(),
        measures: names.iter().map(|n| (n.clone(), Value::from(mean(folds.iter().map(|f| value_of(f, n)))))).collect(),
        standard_errors: names.iter().zip(&pooled).map(|(n, v)| (n.clone(), Value::from(standard_error(v)))).collect(),
        seeds: seeds.to_vec(),
        folds,
        selected_on: if splits.iter().all(|split| split.validation.is_some()) { "validation" } else { "training" }
            .into(),
    };
    Ok(CrossValidationReport {
        result,
        config: config.resolved(),
        selection: config.measure.select,
        points: points.iter().map(grid::label).collect(),
        details,
        versions: Versions::current(),
    })
}

/// Value of measure `m` for every query, averaged over seeds; none where the convention leaves the query out.
fn over_seeds(results: &[JobResult], m: usize) -> Vec<Option<f64>> {
    let queries = results.first().and_then(|result| result.test.get(m)).map_or(0, Vec::len);
    let of_query = |q: usize| {
        let values: Option<Vec<f64>> = results.iter().map(|result| result.test[m][q]).collect();
        values.map(|values| mean(values.into_iter()))
    };
    (0..queries).map(of_query).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0usize), |(sum, count), value| (sum + value, count + 1));
    sum / count as f64
}

/// Fits at once that `available` bytes of memory allow, one to `threads`.
fn jobs_that_fit(splits_bytes: usize, available: Option<usize>, threads: usize) -> usize {
    // A fit holds its normalised copy of the data, batches and intermediate tensors.
    let one = 4 * splits_bytes.max(1);
    available.map_or(1, |available| available / one).clamp(1, threads.max(1))
}

/// Memory that the system can still give, in bytes; `None` where `/proc` is absent.
fn available_memory() -> Option<usize> {
    let text = std::fs::read_to_string(PathBuf::from("/proc/meminfo")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: usize = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_that_a_convention_excludes_have_no_value() {
        let result = |a, b| JobResult {
            selection: 0.0,
            fit: FitReport {
                seed: 1,
                rounds: 1,
                best_round: 1,
                stop: StopReason::Completed,
                approximation: None,
                weights: None,
                history: Vec::new(),
            },
            test: vec![vec![Some(a), None, Some(b)]],
        };
        assert_eq!(over_seeds(&[result(1.0, 0.0), result(0.0, 0.5)], 0), [Some(0.5), None, Some(0.25)]);
    }

    #[test]
    fn fits_at_once_are_bounded_by_memory_and_threads() {
        assert_eq!(jobs_that_fit(100, Some(1_000), 8), 2);
        assert_eq!(jobs_that_fit(100, Some(1_000_000), 8), 8);
        assert_eq!(jobs_that_fit(100, Some(10), 8), 1);
    }
}
