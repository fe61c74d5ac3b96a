//! One fit on one device, with the quality of its ranker, its errors on the first batch, its speed and its memory.
//!
//! Rounding errors grow from step to step until two devices end with different rankers. So the quality of rankers does
//! not show whether a kernel is wrong or only rounds differently. The error of a loss and its gradient on one batch
//! with given scores, compared with the double-precision results on the CPU, distinguishes wrong kernels from rounding.

use std::hint::black_box;
use std::time::{Duration, Instant};

use burn::nn::loss::Reduction;
use burn::tensor::{DType, Tensor, TensorData};
use burn_rank::data::{RankingBatch, RankingDataset};
use burn_rank::learner::LearnerError;
use burn_rank::ranker::Ranker;
use burn_rank::workbench::op::with_tensor_path;
use burn_rank::workbench::text::hexadecimal;
use burn_rank::workbench::{host, memory};
use serde::Deserializer;
use sha2::{Digest, Sha256};

use super::step_cost::{Clock, TrialSeconds};
use super::*;
use crate::experiment::{ExperimentConfig, RunRecord, fit_normalizer};

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

impl Trial {
    /// Fits the configuration with its seed on the open device, and measures the fit. `data.split` divides the queries
    /// by `split_seed`. The process began at `begun`. If a `target` is given, measures the time until the selection
    /// measure reaches this value.
    ///
    /// # Errors
    /// Returns an error if the data cannot be read or the fit fails.
    pub fn run(
        config: &Experiment,
        split_seed: u64,
        device: &Device,
        begun: Instant,
        target: Option<f64>,
    ) -> Result<Self> {
        let open = begun.elapsed().as_secs_f64();
        let mut split = config.data.split(split_seed)?;
        let data = split.sets().map(|(set, data)| (set.to_string(), data.data_hash())).collect();
        let (set, scored) = split.sets().last().expect("the training queries are always there");
        let scored = scored.clone();
        let error = FirstBatchError::measure(config, &split, device)?;
        let clock = Clock::new(device);
        let start = config.start_ranker(None, device)?;
        let fit_options = FitOptions { start: start.as_ref(), progress: &clock, ..FitOptions::new(device) };
        let documents = split.train.documents();
        let fitting = Instant::now();
        let fit = fit_in_place(config, &mut split, config.seed, &fit_options)?;
        let pools = device.memory_pool_report();
        let of_device = pools.map(|pools| pools.iter().map(|pool| pool.page_size * pool.pages_peak).sum());
        let peak_bytes = PeakBytes { host: memory::peak(), device: of_device };
        let record = RunRecord::new(&config.device, fitting.elapsed(), begun.elapsed());
        let seconds = clock.seconds(open, target);
        Ok(Self {
            seed: config.seed,
            measure: format!("{} ({})", config.measure.select, config.measure.convention.name),
            set: set.to_string(),
            values: fit.evaluations[set].per_query[0].clone(),
            ranker: hexadecimal(&Sha256::digest(fit.ranker.to_bytes())),
            data,
            error,
            rounds: fit.history.len(),
            steps: clock.steps_of_round().map(|_| clock.steps()),
            best: clock.best(),
            train_documents_per_second: clock.training().or(seconds.round).map(|seconds| documents as f64 / seconds),
            score_documents_per_second: scoring_speed(&fit.ranker, &scored, device)?,
            seconds,
            peak_bytes,
            threads: record.threads,
            instructions: record.instructions,
            platform: record.platform,
            versions: Versions::current(),
        })
    }
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

/// For batches with more document pairs, tensor operations would need more than half a GiB, so kernels compute the
/// exact values instead.
const MOST_PAIRS: usize = 5_000_000;

/// The errors of a loss and its gradient on a device, relative to the largest component of the double-precision result.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FirstBatchError {
    /// Error of the loss.
    #[serde(deserialize_with = "nan_if_null")]
    pub loss: f64,
    /// The largest error of any component of the gradient.
    #[serde(deserialize_with = "nan_if_null")]
    pub gradient: f64,
}

/// Reads a number that may be NaN or infinite, for which JSON has null.
fn nan_if_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

impl FirstBatchError {
    /// Returns the larger of the two errors.
    pub fn largest(self) -> f64 {
        // NaN is an error, too.
        if self.loss.is_nan() || self.gradient.is_nan() { f64::INFINITY } else { self.loss.max(self.gradient) }
    }

    /// Measures the errors on one batch of normalized training queries. An untrained scorer computes the scores on the
    /// CPU, so every device gets the same scores. Returns `None` for learners without a loss or a scorer, and if
    /// features are streamed.
    ///
    /// # Errors
    /// Returns an error if the loss or the scorer cannot be built.
    fn measure(config: &ExperimentConfig, split: &Split, device: &Device) -> Result<Option<Self>> {
        let (None, Some(scorer), Some(loss)) = (&config.data.memory, &config.scorer, &config.loss) else {
            return Ok(None);
        };
        let step = config.resolved()["learner"]["batch_queries"].as_u64().unwrap_or(16) as usize;
        let mut queries = split.train.select(&(0..split.train.queries().min(step)).collect::<Vec<usize>>());
        fit_normalizer(&split.train, config.normalizer, config.indicates_missing())?.apply(&mut queries)?;
        let loss = loss.build().map_err(LearnerError::from)?;
        let all: Vec<usize> = (0..queries.queries()).collect();
        let batch = RankingBatch::assemble(&queries, &all, &host());
        let scorer = scorer.init(queries.feature_count, config.seed, &host()).map_err(LearnerError::from)?;
        let scores = scorer.forward(batch.features, batch.mask.clone());
        let [lists, documents] = scores.dims();
        let numbers = |tensor: Tensor<2>| tensor.into_data().iter::<f64>().collect::<Vec<f64>>();
        let (scores, labels, mask) = (numbers(scores), numbers(batch.labels), batch.mask.into_data());
        // The mean loss of the lists, and its gradient.
        let explain = |dtype: DType, device: &Device| {
            let device = device.clone().autodiff();
            let tensor = |values: &[f64]| {
                Tensor::<2>::from_data(TensorData::new(values.to_vec(), [lists, documents]), (&device, dtype))
            };
            let scores = tensor(&scores).require_grad();
            let mask = Tensor::from_data(mask.clone(), &device);
            let value = loss.forward(scores.clone(), tensor(&labels), mask, Reduction::Mean);
            let number: f64 = value.to_data().iter::<f64>().sum();
            let gradient = scores.grad(&value.backward()).map(|of| of.into_data().iter::<f64>().collect());
            (number, gradient.unwrap_or_else(|| vec![0.0; lists * documents]))
        };
        // Tensor operations compute the exact values, so a wrong CPU kernel is also detected.
        let exact = || explain(DType::F64, &host());
        let exact = if lists * documents * documents > MOST_PAIRS { exact() } else { with_tensor_path(exact) };
        let found = explain(DType::F32, device);
        Ok(Some(Self { loss: relative(&[exact.0], &[found.0]), gradient: relative(&exact.1, &found.1) }))
    }
}

/// Returns the larger number, or NaN if one of the two is NaN.
pub(super) fn larger(one: f64, other: f64) -> f64 {
    if one.is_nan() || other.is_nan() { f64::NAN } else { one.max(other) }
}

/// Returns the largest difference between the values, divided by the largest component of `exact` unless that is 0.
fn relative(exact: &[f64], found: &[f64]) -> f64 {
    let largest = |values: &mut dyn Iterator<Item = f64>| values.map(f64::abs).fold(0.0, larger);
    let size = largest(&mut exact.iter().copied());
    let error = largest(&mut exact.iter().zip(found).map(|(exact, found)| found - exact));
    if size > 0.0 { error / size } else { error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_shares_of_the_largest_component() {
        assert_eq!(relative(&[2.0, -4.0], &[2.0, -5.0]), 0.25);
        assert_eq!(relative(&[0.0], &[0.5]), 0.5);
        assert!(relative(&[1.0, 2.0], &[f64::NAN, 2.0]).is_nan());
        assert_eq!(FirstBatchError { loss: 0.0, gradient: f64::NAN }.largest(), f64::INFINITY);
    }
}
