//! Linear models: in `f64`, as the learners hold them, and as a burn scorer, as they return them.

use std::ops::Range;

use burn::tensor::Device;
use rayon::prelude::*;

use crate::data::RankingDataset;
use crate::ranker::Model;
use crate::scorer::{LinearScorer, Scorer};

/// `w . x` of every document, in parallel.
pub(crate) fn scores(data: &RankingDataset, weights: &[f64]) -> Vec<f64> {
    scores_of(data, 0..data.documents(), weights)
}

/// `w . x` of some documents, in parallel.
pub(crate) fn scores_of(data: &RankingDataset, documents: Range<usize>, weights: &[f64]) -> Vec<f64> {
    data.features.to_slice()[documents.start * data.feature_count..documents.end * data.feature_count]
        .par_chunks_exact(data.feature_count.max(1))
        .with_min_len(256)
        .map(|row| row.iter().zip(weights).map(|(&x, w)| f64::from(x) * w).sum())
        .collect()
}

/// The linear scorer with these weights, one per feature, and this bias.
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
