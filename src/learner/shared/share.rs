//! Divides the queries of a dataset among its group, and computes scores of linear models and sums over all documents.
//!
//! Queries are divided into blocks, in the order of the file, and sums over blocks are added in this order. Sums are
//! therefore bit-identical for any number of threads and processes.

use std::ops::Range;

use burn::tensor::Device;

use crate::data::RankingDataset;
use crate::data::shards::own;
use crate::learner::solver::add_scaled;
use crate::parallel;
use crate::ranker::Model;
use crate::scorer::Scorer;

/// The fixed number of queries in a block, which makes sums independent of the number of threads and processes.
const QUERIES: usize = 16;

/// The number of documents that a thread scores at a time.
const ROWS: usize = 256;

/// The queries that this process handles, which form whole blocks.
pub(crate) struct Share<'a> {
    data: &'a RankingDataset,
    pub(crate) queries: Range<usize>,
}

impl<'a> Share<'a> {
    pub(crate) fn new(data: &'a RankingDataset) -> Self {
        let blocks = own(data.queries().div_ceil(QUERIES), data.group());
        let first = |block: usize| (block * QUERIES).min(data.queries());
        Self { data, queries: first(blocks.start)..first(blocks.end) }
    }

    /// Returns the range of documents that this process handles.
    pub(crate) fn documents(&self) -> Range<usize> {
        self.data.offsets[self.queries.start]..self.data.offsets[self.queries.end]
    }

    /// Returns the range of a query's documents within the documents of this process.
    pub(crate) fn places(&self, query: usize) -> Range<usize> {
        let first = self.documents().start;
        self.data.offsets[query] - first..self.data.offsets[query + 1] - first
    }

    /// Returns `w . x` for every document of this process, where `w` are the weights and `x` are the features.
    pub(crate) fn scores(&self, weights: &[f64]) -> Vec<f64> {
        scores_of(self.data, self.documents(), weights)
    }

    /// Returns `w . x` for every document of the dataset, where `w` are the weights and `x` are the features.
    pub(crate) fn all_scores(&self, weights: &[f64]) -> Vec<f64> {
        self.gather(self.scores(weights))
    }

    /// Returns `sum_d c_d x_d` over all documents, where each process passes `c_d` for its own documents.
    pub(crate) fn weighted_features(&self, coefficients: &[f64]) -> Vec<f64> {
        let data = self.data;
        let place = self.documents().start;
        let of_block = |first: usize| {
            let mut sum = vec![0.0; data.feature_count];
            let last = (first + QUERIES).min(self.queries.end);
            for document in data.offsets[first]..data.offsets[last] {
                let factor = coefficients[document - place];
                if factor != 0.0 {
                    sum.iter_mut().zip(data.row(document)).for_each(|(s, &x)| *s += factor * f64::from(x));
                }
            }
            sum
        };
        let blocks = parallel::map(self.queries.clone().step_by(QUERIES), of_block);
        let mut total = vec![0.0; data.feature_count];
        let blocks = self.gather(blocks.concat());
        blocks.chunks(data.feature_count.max(1)).for_each(|block| add_scaled(&mut total, 1.0, block));
        total
    }

    /// Returns the numbers that the group passes, concatenated in the order of the ranks.
    pub(crate) fn gather(&self, own: Vec<f64>) -> Vec<f64> {
        self.data.group().gather_numbers(own)
    }
}

/// Returns `w . x` for every document, where `w` are the weights and `x` are the features.
pub(crate) fn linear_scores(data: &RankingDataset, weights: &[f64]) -> Vec<f64> {
    scores_of(data, 0..data.documents(), weights)
}

/// Returns `w . x` for a range of documents, where `w` are the weights and `x` are the features.
fn scores_of(data: &RankingDataset, documents: Range<usize>, weights: &[f64]) -> Vec<f64> {
    let width = data.feature_count.max(1);
    let features = &data.features.to_slice()[documents.start * data.feature_count..documents.end * data.feature_count];
    let score = |row: &[f32]| row.iter().zip(weights).map(|(&x, w)| f64::from(x) * w).sum();
    let of_rows = |rows: &[f32]| rows.chunks_exact(width).map(score).collect::<Vec<f64>>();
    parallel::map(features.chunks(ROWS * width), of_rows).concat()
}

/// Returns a linear scorer with the given bias and the given weight for each feature.
pub(crate) fn linear_model(weights: &[f64], bias: f64, device: &Device) -> Model {
    let weights: Vec<f32> = weights.iter().map(|&w| w as f32).collect();
    Model::Scorer(Scorer::linear(&weights, bias as f32, device))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distributed::ProcessGroup;
    use crate::distributed::testing::in_processes;
    use crate::learner::testing::{dataset, random, shared};

    #[test]
    fn products_agree_with_hand_sums() {
        let data = dataset(2, &[&[(0.0, &[1.0, 2.0]), (1.0, &[0.0, -1.0])], &[(2.0, &[3.0, 0.5])]]);
        let share = Share::new(&data);
        assert_eq!(share.weighted_features(&[1.0, -2.0, 10.0]), [31.0, 9.0]);
        assert_eq!((share.queries.clone(), share.places(1)), (0..2, 2..3));
        assert_eq!(share.all_scores(&[1.0, 2.0]), [5.0, -2.0, 4.0]);
    }

    #[test]
    fn no_number_of_processes_changes_a_bit() {
        // Three blocks, the last of which is smaller.
        let data = random(2 * QUERIES + 3, 5, 4, 1);
        let weights = [0.3, -1.7, 0.01, 123.4];
        let found = |group: &ProcessGroup| {
            let data = shared(&data, group);
            let share = Share::new(&data);
            let scores = share.scores(&weights);
            let places = share.queries.clone().flat_map(|query| share.places(query));
            assert!(places.eq(0..scores.len()));
            (share.weighted_features(&scores), share.all_scores(&weights))
        };
        let alone = found(ProcessGroup::ALONE);
        assert_eq!(alone.1, linear_scores(&data, &weights));
        for count in 1..6 {
            assert!(in_processes(count, found).iter().all(|found| *found == alone), "{count} processes");
        }
    }

    #[test]
    fn scores_are_products_with_the_weights() {
        let data = dataset(2, &[&[(0.0, &[1.0, 2.0]), (0.0, &[-3.0, 0.5])]]);
        assert_eq!(linear_scores(&data, &[2.0, 0.25]), [2.5, -5.875]);
    }
}
