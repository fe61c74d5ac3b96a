//! One fit on one device, with the quality of its ranker, its errors on the first batch, its speed and its memory.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use burn::tensor::Device;
use burn_rank::data::{Normalizer, RankingDataset};
use burn_rank::ranker::{Ranker, Versions};
use burn_rank::workbench::text::hexadecimal;
use burn_rank::workbench::{memory, normalizer};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Result;
use super::clock::Clock;
use super::first_batch::FirstBatchError;
use crate::experiment::{Experiment, ExperimentConfig, FitOptions, RunRecord, Split, fit_in_place};
use crate::number::median;

/// Scoring is repeated until this time has passed, or until this number of repetitions is reached.
const SCORING: (Duration, usize) = (Duration::from_millis(300), 50);

/// The measurements of one trial. `None` stands for a value that was not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Seed of the fit.
    pub seed: u64,
    /// The selection measure, with its convention.
    pub measure: String,
    /// The name of the set of queries that the values belong to.
    pub set: String,
    /// The value of each query; `None` if the convention excludes the query.
    pub values: Vec<Option<f64>>,
    /// SHA-256 of the ranker.
    pub ranker: String,
    /// The hash of the raw queries of each set.
    pub data: BTreeMap<String, String>,
    /// The errors of loss and gradient on the first batch.
    pub error: Option<FirstBatchError>,
    /// Rounds of the fit.
    pub rounds: usize,
    /// The number of training steps of the fit; `None` for learners without steps.
    pub steps: Option<usize>,
    /// The best value of any round on the validation queries, or on the training queries if there are none.
    pub best: Option<f64>,
    /// The number of training documents per second during training steps; the median over the rounds after the first.
    /// For learners without steps, the time includes the measures of the round.
    pub train_documents_per_second: Option<f64>,
    /// The number of documents per second that the ranker scores from raw features; the median over repetitions.
    pub score_documents_per_second: Option<f64>,
    /// Times in seconds.
    pub seconds: TrialSeconds,
    /// Largest memory in bytes.
    pub peak_bytes: PeakBytes,
    /// Threads of the processor pool.
    pub threads: usize,
    /// The instructions that the fused CPU kernels used.
    pub instructions: String,
    /// Processor and system.
    pub platform: String,
    /// Versions of this build.
    pub versions: Versions,
}

/// Times of a trial in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TrialSeconds {
    /// The time from the start of the process until the device is open, in seconds.
    pub open: f64,
    /// The time to compile kernels, in seconds: the first round's duration minus the median of the other rounds. The
    /// value is `None` for fewer than two rounds.
    pub compile: Option<f64>,
    /// The duration of the median round after the first, in seconds.
    pub round: Option<f64>,
    /// The time from the start of the fit to the first round that reached the target, in seconds.
    pub target: Option<f64>,
}

/// Largest memory in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeakBytes {
    /// The peak memory of the process until the end of the fit, in bytes. It includes a raw copy of the queries that
    /// are scored afterward.
    pub host: Option<u64>,
    /// The peak memory in the pools of the device, in bytes; `None` if the device has no separate memory or does not
    /// report it.
    pub device: Option<u64>,
}

/// The options of a trial.
#[derive(Debug)]
pub struct TrialOptions<'a> {
    /// The open device.
    pub device: &'a Device,
    /// When the process began.
    pub begun: Instant,
    /// The value of the selection measure to reach, if the time until then is to be measured.
    pub target: Option<f64>,
}

impl Trial {
    /// Fits the configuration with its seed and measures the fit.
    ///
    /// # Errors
    /// Returns an error if the data cannot be read or the fit fails.
    pub fn run(config: &Experiment, options: &TrialOptions) -> Result<Self> {
        let open = options.begun.elapsed().as_secs_f64();
        let mut split = config.data.split(config.seed)?;
        let scored = split.test.as_ref().or(split.validation.as_ref()).unwrap_or(&split.train).clone();
        let sets =
            [("train", Some(&split.train)), ("validation", split.validation.as_ref()), ("test", split.test.as_ref())];
        let data = sets.into_iter().filter_map(|(set, data)| Some((set.to_string(), data?.data_hash()))).collect();
        let error = first_batch(config, &split, options.device)?;
        let clock = Clock::new(options.device);
        let start = config.start_ranker(options.device)?;
        let fit_options = FitOptions { start: start.as_ref(), progress: &clock, ..FitOptions::new(options.device) };
        let documents = split.train.documents();
        let fitting = Instant::now();
        let fit = fit_in_place(config, &mut split, config.seed, &fit_options)?;
        let peak_bytes = PeakBytes { host: memory::peak(), device: peak_of_pools(options.device) };
        let record = RunRecord::new(&config.device, fitting.elapsed(), options.begun.elapsed());
        let mut of_sets = ["test", "validation", "train"].into_iter();
        let (set, evaluation) = of_sets
            .find_map(|set| Some((set, fit.evaluations.get(set)?)))
            .expect("the training queries are always measured");
        let times = clock.times(options.target);
        Ok(Self {
            seed: config.seed,
            measure: format!("{} ({})", config.measure.select, config.measure.convention.name),
            set: set.to_string(),
            values: evaluation.per_query[0].clone(),
            ranker: hexadecimal(&Sha256::digest(fit.ranker.to_bytes())),
            data,
            error,
            rounds: fit.history.len(),
            steps: clock.steps_of_round().map(|_| clock.steps()),
            best: times.best,
            train_documents_per_second: clock.training().or(times.round).map(|seconds| documents as f64 / seconds),
            score_documents_per_second: scoring_speed(&fit.ranker, &scored, options.device)?,
            seconds: TrialSeconds { open, compile: times.compile, round: times.round, target: times.target },
            peak_bytes,
            threads: record.threads,
            instructions: record.instructions,
            platform: record.platform,
            versions: Versions::current(),
        })
    }
}

/// Returns the peak number of bytes in the memory pools of a device, or `None` if the device does not report it.
fn peak_of_pools(device: &Device) -> Option<u64> {
    let pools = device.memory_pool_report()?;
    Some(pools.iter().map(|pool| pool.page_size * pool.pages_peak).sum())
}

/// Measures the errors of loss and gradient on the first batch, or returns `None` if features are streamed.
fn first_batch(config: &ExperimentConfig, split: &Split, device: &Device) -> Result<Option<FirstBatchError>> {
    if config.data.memory.is_some() {
        return Ok(None);
    }
    let normalizer = Normalizer::fit(&split.train, config.normalizer);
    let step = config.resolved()["learner"]["batch_queries"].as_u64().unwrap_or(16) as usize;
    let mut queries = split.train.select(&(0..split.train.queries().min(step)).collect::<Vec<usize>>());
    normalizer.apply(&mut queries)?;
    if config.indicates_missing() {
        normalizer::fill(&Normalizer::fit_with_indicators(&split.train, config.normalizer)?, &mut queries);
    }
    FirstBatchError::measure(config, &queries, device)
}

/// Returns the number of documents scored per second, as the median over repetitions after one warm-up pass.
fn scoring_speed(ranker: &Ranker, data: &RankingDataset, device: &Device) -> Result<Option<f64>> {
    let (long, most) = SCORING;
    let mut times = Vec::new();
    let begun = Instant::now();
    while times.len() < 2 || (times.len() < most && begun.elapsed() < long) {
        let start = Instant::now();
        black_box(ranker.predict(data, device)?);
        times.push(start.elapsed().as_secs_f64());
    }
    Ok(median(&mut times[1..]).map(|seconds| data.documents() as f64 / seconds))
}
