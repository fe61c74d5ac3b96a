//! The files that record a run: `report.json` holds its results, and `run.json` holds facts such as times. On the CPU,
//! the same configuration and seed give the same bytes in `report.json`; `run.json` may differ each time.

mod report;

pub use report::{
    CrossValidation, CrossValidationReport, DataReport, FitReport, FoldDetails, FoldResult, Measures, PerQuery, Report,
    SearchReport, SetMeasures, Sets, Standing, TrainReport, Trial,
};
pub(super) use report::{mean, merit, over_seeds, standard_error};

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use burn_rank::data::RankingDataset;
use burn_rank::learner::Importance;
use burn_rank::op::Execution;
use burn_rank::ranker::{Model, Ranker};
use burn_rank::workbench::memory;
use serde::{Deserialize, Serialize};

/// Facts that may change when a run is repeated, such as device and time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Device name.
    pub device: String,
    /// The processor and the system, for example `x86_64 linux`.
    #[serde(default)]
    pub platform: String,
    /// The instructions that the fused CPU kernels used, for example `avx512`. Older records leave this empty.
    #[serde(default)]
    pub instructions: String,
    /// The number of threads in the processor pool.
    pub threads: usize,
    /// The time that this process spent on fits, in seconds.
    pub fit_seconds: f64,
    /// The total time in seconds, including reading and reporting.
    pub total_seconds: f64,
    /// The largest resident memory of the process in MiB, if the system reports it.
    pub peak_memory_mib: Option<f64>,
    /// The time at the end of the run, in seconds since 1970.
    pub finished: u64,
}

impl RunRecord {
    /// Returns the record of a run that ends now. It records the CPU instructions and the number of threads that the
    /// calling thread uses.
    pub fn new(device: &str, fit: Duration, total: Duration) -> Self {
        Self {
            device: device.to_string(),
            platform: format!("{} {}", std::env::consts::ARCH, std::env::consts::OS),
            instructions: Execution::current().instructions().to_string(),
            threads: rayon::current_num_threads(),
            fit_seconds: fit.as_secs_f64(),
            total_seconds: total.as_secs_f64(),
            peak_memory_mib: memory::peak().map(|bytes| bytes as f64 / f64::from(1 << 20)),
            finished: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        }
    }
}

/// The largest number of features to report; those with the largest gains are chosen.
const FEATURES: usize = 8;

/// The approximate number of training documents to sample; every sampled query is complete.
const DOCUMENTS: usize = 1000;

/// The number of steps into which the values of a feature are divided. Each step contains the same number of documents.
const STEPS: usize = 20;

/// How the mean score depends on the value of one feature. For each value, all sampled training documents are given
/// this value and then scored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartialDependence {
    /// The number of the feature, counted from 1.
    pub feature: usize,
    /// The quantiles of the normalized feature in the sample: its smallest value, its largest value, and 19 values
    /// between them. A value that many documents share appears more than once.
    pub values: Vec<f32>,
    /// For each value, the mean score of all sampled documents after they were given this value.
    pub scores: Vec<f64>,
    /// How a missing value changes the scores. This is absent if every sampled document has the feature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<MissingValue>,
}

/// How many documents lack a feature, and the mean score when the feature is missing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MissingValue {
    /// The share of sampled documents that lack the feature; always above 0.
    pub share: f64,
    /// The mean score of all sampled documents if none of them had the feature.
    pub score: f64,
}

impl PartialDependence {
    /// Returns the partial dependence for the features with the largest gains, in descending order of gain. The result
    /// is empty if the ranker is not a sum of trees or its importance is unknown. `train` holds the normalized training
    /// queries of the fit.
    fn of_ranker(ranker: &Ranker, importance: Option<&Importance>, train: &RankingDataset) -> Vec<Self> {
        let (Model::Trees(trees), Some(importance)) = (ranker.model(), importance) else { return Vec::new() };
        let Some(sample) = sample(train) else { return Vec::new() };
        let width = sample.feature_count;
        let largest = largest(importance);
        let of_feature = |feature: usize| {
            let column = || sample.features.to_slice().iter().skip(feature).step_by(width).copied();
            let mut present: Vec<f32> = column().filter(|value| !value.is_nan()).collect();
            present.sort_by(f32::total_cmp);
            let share = (sample.documents() - present.len()) as f64 / sample.documents() as f64;
            let mut values = quantiles(&present);
            values.push(f32::NAN);
            let mut scores = trees.partial_dependence(sample.features.to_slice(), feature, &values);
            values.pop();
            let without = scores.pop().unwrap_or_default();
            let missing = (share > 0.0).then_some(MissingValue { share, score: without });
            Self { feature: feature + 1, values, scores, missing }
        };
        largest.into_iter().map(of_feature).collect()
    }
}

/// Returns training queries at even intervals, with all their documents.
fn sample(train: &RankingDataset) -> Option<RankingDataset> {
    let wanted = (DOCUMENTS * train.queries()).div_ceil(train.documents().max(1)).clamp(1, train.queries().max(1));
    let spaced: Vec<usize> = (0..wanted).map(|place| place * train.queries() / wanted).collect();
    let sample = train.select(&spaced);
    (sample.documents() > 0).then_some(sample)
}

/// Returns the indices of the features with the largest gains. Features without gain are left out. Ties go to the first
/// feature.
fn largest(importance: &Importance) -> Vec<usize> {
    let gain = &importance.gain;
    let mut order: Vec<usize> = (0..gain.len()).filter(|&feature| gain[feature] > 0.0).collect();
    order.sort_by(|&a, &b| gain[b].total_cmp(&gain[a]));
    order.truncate(FEATURES);
    order
}

/// Returns [`STEPS`] + 1 evenly spaced quantiles of ascending values, or none if there are no values.
fn quantiles(ascending: &[f32]) -> Vec<f32> {
    let Some(last) = ascending.len().checked_sub(1) else { return Vec::new() };
    (0..=STEPS).map(|step| ascending[(step * last + STEPS / 2) / STEPS]).collect()
}

#[cfg(test)]
mod tests {
    use burn_rank::data::{Normalizer, NormalizerKind};
    use burn_rank::ranker::{Metadata, TreeEnsemble};
    use burn_rank::workbench::ranker::{Node, trees};

    use super::*;

    fn ranker(trees: TreeEnsemble) -> Ranker {
        let empty =
            RankingDataset::builder().features(vec![0.0; 3], 3).labels(vec![0.0]).query_sizes(&[1]).build().unwrap();
        Ranker::new(Normalizer::fit(&empty, NormalizerKind::None), Model::Trees(trees), Metadata::default()).unwrap()
    }

    /// Returns 100 queries with 30 documents each. The first feature is the document's number, the second is missing in
    /// every third document, and the third feature is always 0.
    fn train() -> RankingDataset {
        let row = |d: usize| [d as f32, if d.is_multiple_of(3) { f32::NAN } else { 1.0 }, 0.0];
        let features = (0..3000).flat_map(row).collect();
        let labels = (0..3000).map(|d| (d % 2) as f32).collect();
        RankingDataset::builder().features(features, 3).labels(labels).query_sizes(&[30; 100]).build().unwrap()
    }

    #[test]
    fn scores_are_those_of_the_sample_with_the_feature_replaced() {
        let split = |feature, threshold, left, right, missing_left| Node::Split {
            feature,
            threshold,
            left,
            right,
            missing_left,
        };
        let leaf = |value| Node::Leaf { value };
        let tree = vec![split(0, 1500.0, 1, 2, false), leaf(-1.0), split(1, 0.5, 3, 4, true), leaf(4.0), leaf(2.0)];
        let ranker = ranker(trees(3, [tree]).unwrap());
        let importance = Importance { gain: vec![5.0, 7.0, 0.0], splits: vec![1, 1, 0] };
        let found = PartialDependence::of_ranker(&ranker, Some(&importance), &train());
        assert_eq!(found.iter().map(|found| found.feature).collect::<Vec<_>>(), [2, 1]);
        // 34 of 100 queries, the first to the last.
        let sample = sample(&train()).unwrap();
        assert_eq!((sample.documents(), sample.features.to_slice()[0]), (1020, 0.0));
        let Model::Trees(trees) = ranker.model() else { panic!("trees") };
        let mean = |feature: usize, value: f32| {
            let mut replaced = sample.features.clone();
            replaced.to_mut_slice().iter_mut().skip(feature).step_by(3).for_each(|own| *own = value);
            trees.scores(replaced.to_slice()).iter().sum::<f64>() / 1020.0
        };
        for found in &found {
            assert_eq!((found.values.len(), found.scores.len()), (STEPS + 1, STEPS + 1));
            for (&value, score) in found.values.iter().zip(&found.scores) {
                assert!((score - mean(found.feature - 1, value)).abs() < 1e-12, "{found:?}");
            }
        }
        assert_eq!(found[0].values, [1.0; STEPS + 1]);
        let missing = found[0].missing.unwrap();
        assert!((missing.share - 1.0 / 3.0).abs() < 1e-12 && (missing.score - mean(1, f32::NAN)).abs() < 1e-12);
        assert!(found[1].missing.is_none());
        assert!(found[1].values.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(PartialDependence::of_ranker(&ranker, None, &train()).is_empty());
    }

    #[test]
    fn quantiles_are_values_that_occur() {
        let ascending: Vec<f32> = (0..=40).map(|i| i as f32).collect();
        let expected: Vec<f32> = (0..=20).map(|i| 2.0 * i as f32).collect();
        assert_eq!(quantiles(&ascending), expected);
        assert_eq!(quantiles(&[3.0]), [3.0; STEPS + 1]);
        assert!(quantiles(&[]).is_empty());
    }
}
