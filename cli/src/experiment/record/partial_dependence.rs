//! The dependence of a tree ranker's scores on its most important features.

use burn_rank::data::RankingDataset;
use burn_rank::learner::Importance;
use burn_rank::ranker::{Model, Ranker};
use serde::{Deserialize, Serialize};

/// Largest number of reported features, by gain.
const FEATURES: usize = 8;

/// Documents at which the sample ends; it takes whole queries.
const DOCUMENTS: usize = 1000;

/// Steps between the smallest and the largest value of a feature, each of the same number of documents.
const STEPS: usize = 20;

/// Partial dependence on a feature: the mean score of a sample of training documents, with the feature at one value in
/// all of them and the others as they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartialDependence {
    /// Number of the feature, from 1.
    pub feature: usize,
    /// The quantiles of the feature in the sample, after the normalizer: smallest value, 20 steps of as many documents
    /// each, largest value. A value that many documents share comes more than once.
    pub values: Vec<f32>,
    /// Mean score at each of these values.
    pub scores: Vec<f64>,
    /// Share of the sample without the feature, and the mean score without it; absent if all documents have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<MissingValue>,
}

/// The effect of a missing value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MissingValue {
    /// Share of the documents of the sample that lack the feature, above 0.
    pub share: f64,
    /// Mean score of all documents of the sample without the feature.
    pub score: f64,
}

impl PartialDependence {
    /// Returns the features that gain most, the largest gain first; empty if the ranker is not a sum of trees, or its
    /// importance is not known. The training queries are the normalized queries of the fit.
    pub(super) fn of_ranker(ranker: &Ranker, importance: Option<&Importance>, train: &RankingDataset) -> Vec<Self> {
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

/// Whole training queries, evenly spaced.
fn sample(train: &RankingDataset) -> Option<RankingDataset> {
    let wanted = (DOCUMENTS * train.queries()).div_ceil(train.documents().max(1)).clamp(1, train.queries().max(1));
    let spaced: Vec<usize> = (0..wanted).map(|place| place * train.queries() / wanted).collect();
    let sample = train.select(&spaced);
    (sample.documents() > 0).then_some(sample)
}

/// Returns the features of the largest gain, from 0, the first of equal ones. Features without a gain are left out.
fn largest(importance: &Importance) -> Vec<usize> {
    let gain = &importance.gain;
    let mut order: Vec<usize> = (0..gain.len()).filter(|&feature| gain[feature] > 0.0).collect();
    order.sort_by(|&a, &b| gain[b].total_cmp(&gain[a]));
    order.truncate(FEATURES);
    order
}

/// Returns the values at [`STEPS`] equal steps of ascending values; none if there are none.
fn quantiles(ascending: &[f32]) -> Vec<f32> {
    let Some(last) = ascending.len().checked_sub(1) else { return Vec::new() };
    (0..=STEPS).map(|step| ascending[(step * last + STEPS / 2) / STEPS]).collect()
}

#[cfg(test)]
mod tests {
    use burn_rank::workbench::json::json;

    use super::*;
    use burn_rank::data::{Normalizer, NormalizerKind};
    use burn_rank::measure::Convention;
    use burn_rank::ranker::{Metadata, Node, TreeEnsemble, Versions};

    fn ranker(trees: TreeEnsemble) -> Ranker {
        let metadata = Metadata {
            feature_names: None,
            config: json!({}),
            convention: Convention::default(),
            measures: Default::default(),
            data_hash: String::new(),
            seed: 1,
            estimate: None,
            versions: Versions::current(),
        };
        let empty =
            RankingDataset::builder().features(vec![0.0; 3], 3).labels(vec![0.0]).query_sizes(&[1]).build().unwrap();
        Ranker::new(Normalizer::fit(&empty, NormalizerKind::None), Model::Trees(trees), metadata).unwrap()
    }

    /// 100 queries of 30 documents: the first feature counts documents, the second lacks every third, the third is 0.
    fn train() -> RankingDataset {
        let row = |d: usize| [d as f32, if d.is_multiple_of(3) { f32::NAN } else { 1.0 }, 0.0];
        let features = (0..3000).flat_map(row).collect();
        let labels = (0..3000).map(|d| (d % 2) as f32).collect();
        RankingDataset::builder().features(features, 3).labels(labels).query_sizes(&[30; 100]).build().unwrap()
    }

    #[test]
    fn scores_are_those_of_the_sample_with_the_feature_replaced() {
        let mut trees = TreeEnsemble::new(3);
        let split = |feature, threshold, left, right, missing_left| Node::Split {
            feature,
            threshold,
            left,
            right,
            missing_left,
        };
        let leaf = |value| Node::Leaf { value };
        trees
            .push(&[split(0, 1500.0, 1, 2, false), leaf(-1.0), split(1, 0.5, 3, 4, true), leaf(4.0), leaf(2.0)])
            .unwrap();
        let ranker = ranker(trees);
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
