//! Computes the scores of linear models in `f64`, and converts linear models to burn scorers.

use std::ops::Range;

use burn::tensor::Device;
use rayon::prelude::*;

use crate::data::RankingDataset;
use crate::ranker::Model;
use crate::scorer::{LinearScorer, Scorer};

/// Returns `w . x` for every document, where `w` are the weights and `x` are the features.
pub(crate) fn scores(data: &RankingDataset, weights: &[f64]) -> Vec<f64> {
    scores_of(data, 0..data.documents(), weights)
}

/// Returns `w . x` for a range of documents, where `w` are the weights and `x` are the features.
pub(crate) fn scores_of(data: &RankingDataset, documents: Range<usize>, weights: &[f64]) -> Vec<f64> {
    data.features.to_slice()[documents.start * data.feature_count..documents.end * data.feature_count]
        .par_chunks_exact(data.feature_count.max(1))
        .with_min_len(256)
        .map(|row| row.iter().zip(weights).map(|(&x, w)| f64::from(x) * w).sum())
        .collect()
}

/// Returns a linear scorer with the given bias and the given weight for each feature.
pub(crate) fn model(weights: &[f64], bias: f64, device: &Device) -> Model {
    let weights: Vec<f32> = weights.iter().map(|&w| w as f32).collect();
    Model::Scorer(Scorer::Linear(LinearScorer::from_weights(&weights, bias as f32, device)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::testing::dataset;

    #[test]
    fn scores_are_products_with_the_weights() {
        let data = dataset(2, &[&[(0.0, &[1.0, 2.0]), (0.0, &[-3.0, 0.5])]]);
        assert_eq!(scores(&data, &[2.0, 0.25]), [2.5, -5.875]);
    }
}
