//! Pads queries to equal length and puts them into batches. A `RankingBatch` holds padded queries, and the
//! `BatchPlanner` decides which queries share a batch.
//!
//! The size of a batch is limited by its number of padded cells (queries x longest list), not by its number of queries.
//! Memory is therefore bounded for lists of any length. Queries of similar length share a batch, which keeps padding
//! small. Queries are put into buckets by list length. In a bucket, the longest list is less than a quarter longer than
//! the shortest. Queries are shuffled within buckets, and then the batches are shuffled.

use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use rand::seq::SliceRandom;

use super::dataset::RankingDataset;
use super::error::DataError;
use super::padding::{Padding, groups};
use crate::device::sent;
use crate::refusal::Refusal;
use crate::seed::random_for;

/// A batch of queries padded to one length.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RankingBatch {
    /// The features, `[queries, documents, features]`, with 0 for padding.
    pub features: Tensor<3>,
    /// The labels, `[queries, documents]`, with 0 for padding.
    pub labels: Tensor<2>,
    /// The mask, `[queries, documents]`, which is true for documents and false for padding.
    pub mask: Tensor<2, Bool>,
    /// For each query of the batch, its index in the dataset.
    pub queries: Vec<usize>,
    /// The weight of each query in training, `[queries]`; `None` if all queries weigh the same.
    pub query_weights: Option<Tensor<1>>,
    /// The weight of each document in training, `[queries, documents]`, with 0 for padding; `None` if all documents
    /// weigh the same.
    pub document_weights: Option<Tensor<2>>,
    /// The scores of a teacher, `[queries, documents]`, with 0 where there is none, and whether each document has one;
    /// `None` without a teacher.
    pub teacher: Option<(Tensor<2>, Tensor<2, Bool>)>,
    /// The position of each document, `[queries, documents]`, as an index into
    /// [`Positions::names`](super::Positions::names), with 0 for padding; `None` without positions.
    pub positions: Option<Tensor<2, Int>>,
}

impl RankingBatch {
    /// Pads the queries with the given indices to the length of the longest. Each tensor is assembled on the host and
    /// copied to the device in a single transfer.
    ///
    /// # Panics
    /// Panics if an index is not below [`RankingDataset::queries`].
    pub fn assemble(dataset: &RankingDataset, queries: &[usize], device: &Device) -> Self {
        Self::with_features(dataset, queries, device, |padding| {
            Tensor::from_data(sent(padding.gather_features(&dataset.features, dataset.feature_count)), device)
        })
    }

    /// Assembles a batch with features that `gather` puts into rows, `[queries, documents, features]`.
    pub(crate) fn with_features(
        dataset: &RankingDataset,
        queries: &[usize],
        device: &Device,
        gather: impl FnOnce(&Padding) -> Tensor<3>,
    ) -> Self {
        let padding = Padding::from_queries(dataset, queries);
        let weights: Vec<f32> = queries.iter().filter_map(|&query| dataset.query_weights.get(query).copied()).collect();
        Self {
            features: gather(&padding),
            labels: Tensor::from_data(sent(padding.gather(&dataset.labels)), device),
            mask: padding.mask(device),
            queries: queries.to_vec(),
            query_weights: (!dataset.query_weights.is_empty())
                .then(|| Tensor::from_data(sent(TensorData::new(weights, [queries.len()])), device)),
            document_weights: (!dataset.document_weights.is_empty())
                .then(|| Tensor::from_data(sent(padding.gather(&dataset.document_weights)), device)),
            teacher: dataset
                .gather_teacher(&padding)
                .map(|[scores, has]| (Tensor::from_data(sent(scores), device), Tensor::from_data(sent(has), device))),
            positions: dataset.gather_positions(&padding).map(|positions| Tensor::from_data(sent(positions), device)),
        }
    }
}

/// The queries that are used in training.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// All queries.
    All,
    /// Queries with two documents of different labels.
    TwoLabels,
}

/// Options for putting queries into batches.
#[derive(Debug, Clone)]
pub(crate) struct BatchPlannerConfig {
    /// The largest number of padded cells (queries x longest list) in a batch. A longer query forms a batch by itself.
    /// Default: 16,384.
    pub max_cells: usize,
    /// The number of queries in each batch; if this is set, `max_cells` does not apply. The last batch may have fewer
    /// queries.
    pub queries: Option<usize>,
    /// The queries to keep. Default: all.
    pub keep: Keep,
    /// Whether queries of similar length share a batch. Default: true.
    pub bucket: bool,
    /// Whether queries are shuffled anew in each epoch. Default: true.
    pub shuffle: bool,
}

impl Default for BatchPlannerConfig {
    fn default() -> Self {
        Self { max_cells: 16_384, queries: None, keep: Keep::All, bucket: true, shuffle: true }
    }
}

impl BatchPlannerConfig {
    /// Returns options for scoring: every query occurs once, and batches are sorted by list length.
    pub fn in_order(max_cells: usize) -> Self {
        Self { max_cells, shuffle: false, ..Self::default() }
    }

    /// Checks that the sizes of batches are not 0.
    fn check(&self) -> Result<(), Refusal> {
        let sizes = [("max_cells", Some(self.max_cells)), ("queries", self.queries)];
        let none = sizes.into_iter().find(|(_, size)| *size == Some(0));
        none.map_or(Ok(()), |(key, _)| Err(Refusal::new(key, 0, "at least 1")))
    }
}

/// Plans the batches of each epoch from the list lengths only.
#[derive(Debug, Clone)]
pub struct BatchPlanner {
    config: BatchPlannerConfig,
    seed: u64,
    /// Each query that is kept, with the length of its list.
    queries: Vec<(usize, usize)>,
    dropped: usize,
}

impl BatchPlanner {
    /// Creates a planner of batches that have at most `max_cells` padded cells (queries x longest list). A longer query
    /// forms a batch by itself.
    ///
    /// # Errors
    /// Returns [`DataError::Refused`] if `max_cells` is 0.
    pub fn new(dataset: &RankingDataset, max_cells: usize, seed: u64) -> Result<Self, DataError> {
        Self::with(dataset, &BatchPlannerConfig { max_cells, ..BatchPlannerConfig::default() }, seed)
    }

    /// Creates a planner of batches that have `queries` queries each; the last batch may have fewer.
    ///
    /// # Errors
    /// Returns [`DataError::Refused`] if `queries` is 0.
    pub fn of_queries(dataset: &RankingDataset, queries: usize, seed: u64) -> Result<Self, DataError> {
        Self::with(dataset, &BatchPlannerConfig { queries: Some(queries), ..BatchPlannerConfig::default() }, seed)
    }

    /// Creates a planner with the given options.
    pub(crate) fn with(dataset: &RankingDataset, config: &BatchPlannerConfig, seed: u64) -> Result<Self, DataError> {
        config.check()?;
        let keep = |q: &usize| match config.keep {
            Keep::All => true,
            Keep::TwoLabels => dataset.has_two_labels(*q),
        };
        let queries: Vec<_> = (0..dataset.queries()).filter(keep).map(|q| (q, dataset.range(q).len())).collect();
        let dropped = dataset.queries() - queries.len();
        Ok(Self { config: config.clone(), seed, queries, dropped })
    }

    /// Returns the number of queries that are left out.
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// Returns the number of queries that are kept.
    pub fn kept(&self) -> usize {
        self.queries.len()
    }

    /// Returns the number of queries and the length of the longest list for each batch of the first epoch.
    pub(crate) fn shapes(&self) -> Vec<(usize, usize)> {
        let longest = |batch: &[(usize, usize)]| batch.iter().map(|(_, length)| *length).max().unwrap_or(0);
        self.batches(0).iter().map(|batch| (batch.len(), longest(batch))).collect()
    }

    /// Returns the batches of an epoch, each as a list of query indices. The same seed and epoch give the same batches.
    pub fn epoch(&self, epoch: u64) -> Vec<Vec<usize>> {
        let queries = |batch: Vec<(usize, usize)>| batch.into_iter().map(|(query, _)| query).collect();
        self.batches(epoch).into_iter().map(queries).collect()
    }

    /// Returns the batches of an epoch, each as queries with the lengths of their lists.
    fn batches(&self, epoch: u64) -> Vec<Vec<(usize, usize)>> {
        let mut random = random_for(self.seed, "batches", epoch);
        let mut queries = self.queries.clone();
        if self.config.shuffle {
            queries.shuffle(&mut random);
        }
        if self.config.bucket {
            // The sort is stable: within a bucket, queries stay in shuffled order.
            queries.sort_by_key(|&(_, length)| if self.config.shuffle { bucket(length) } else { length });
        }
        // The longest list of the batch being filled; the first query of a batch resets it.
        let mut longest = 0;
        let mut batches = groups(queries, |batch, (_, length)| {
            longest = if batch.len() == 1 { batch[0].1 } else { longest }.max(length);
            self.has_room(batch.len(), longest)
        });
        if self.config.shuffle {
            batches.shuffle(&mut random);
        }
        batches
    }

    /// Returns whether a batch has room for one more query, with all queries padded to `longest`.
    fn has_room(&self, queries: usize, longest: usize) -> bool {
        match self.config.queries {
            Some(most) => queries < most,
            None => (queries + 1).saturating_mul(longest) <= self.config.max_cells,
        }
    }
}

/// Returns the bucket of a list length. Buckets begin at each power of 2 and at three evenly spaced lengths between it
/// and the next power. If a batch holds queries of one bucket, padding is at most a fifth of a list.
fn bucket(length: usize) -> usize {
    let power = length.max(1).ilog2() as usize;
    let quarter = ((length.max(1) - (1 << power)) << 2) >> power;
    4 * power + quarter
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dataset(sizes: &[usize]) -> RankingDataset {
        let documents: usize = sizes.iter().sum();
        let features = (0..2 * documents).map(|value| value as f32).collect();
        let labels = (0..documents).map(|d| (d % 3) as f32).collect();
        RankingDataset::builder().features(features, 2).labels(labels).query_sizes(sizes).build().unwrap()
    }

    #[test]
    fn a_batch_is_padded_with_zeros() {
        let data = dataset(&[1, 3, 2]);
        let batch = RankingBatch::assemble(&data, &[2, 0], &Device::flex());
        assert_eq!(batch.features.dims(), [2, 2, 2]);
        assert_eq!(batch.features.into_data().try_to_vec::<f32>().unwrap(), [8.0, 9.0, 10.0, 11.0, 0.0, 1.0, 0.0, 0.0]);
        assert_eq!(batch.labels.into_data().try_to_vec::<f32>().unwrap(), [1.0, 2.0, 0.0, 0.0]);
        assert_eq!(batch.mask.into_data().try_to_vec::<bool>().unwrap(), [true, true, true, false]);
        assert_eq!(batch.queries, [2, 0]);
        assert!(batch.query_weights.is_none());
    }

    #[test]
    fn a_batch_has_the_weights_of_its_queries() {
        let data = dataset(&[1, 3, 2]).with_query_weights(vec![0.5, 1.0, 2.0]).unwrap();
        let weights = RankingBatch::assemble(&data, &[2, 0], &Device::flex()).query_weights.unwrap();
        assert_eq!(weights.into_data().try_to_vec::<f32>().unwrap(), [2.0, 0.5]);
    }

    #[test]
    fn a_batch_has_the_weights_of_its_documents() {
        let data = dataset(&[1, 3]).with_document_weights(vec![0.5, 1.0, 2.0, 3.0]).unwrap();
        let batch = RankingBatch::assemble(&data, &[1, 0], &Device::flex());
        let weights = batch.document_weights.unwrap().into_data().try_to_vec::<f32>().unwrap();
        assert_eq!(weights, [1.0, 2.0, 3.0, 0.5, 0.0, 0.0]);
        assert!(RankingBatch::assemble(&dataset(&[1]), &[0], &Device::flex()).document_weights.is_none());
    }

    #[test]
    fn a_query_larger_than_the_limit_is_a_batch_by_itself() {
        let batcher = BatchPlanner::with(
            &dataset(&[3, 50, 3, 4]),
            &BatchPlannerConfig { max_cells: 12, ..Default::default() },
            1,
        );
        let mut batches = batcher.unwrap().epoch(0);
        batches.iter_mut().for_each(|batch| batch.sort_unstable());
        batches.sort();
        assert_eq!(batches, [vec![0, 2, 3], vec![1]]);
    }

    #[test]
    fn queries_not_to_be_kept_are_dropped() {
        let labels = vec![0.0, 0.0, 2.0, 2.0, 0.0, 1.0, 0.0, 0.5];
        let data = RankingDataset::builder()
            .features(vec![0.0; 8], 1)
            .labels(labels)
            .query_sizes(&[2, 2, 2, 2])
            .build()
            .unwrap();
        for (keep, kept) in [(Keep::All, vec![0, 1, 2, 3]), (Keep::TwoLabels, vec![2, 3])] {
            let batcher = BatchPlanner::with(&data, &BatchPlannerConfig { keep, ..Default::default() }, 1).unwrap();
            let mut queries = batcher.epoch(0).concat();
            queries.sort_unstable();
            assert_eq!(queries, kept);
            assert_eq!(batcher.dropped(), 4 - kept.len());
        }
    }

    #[test]
    fn sizes_of_zero_are_refused() {
        let data = dataset(&[1]);
        assert!(BatchPlanner::with(&data, &BatchPlannerConfig { max_cells: 0, ..Default::default() }, 1).is_err());
        assert!(BatchPlanner::with(&data, &BatchPlannerConfig { queries: Some(0), ..Default::default() }, 1).is_err());
    }

    proptest! {
        #[test]
        fn every_epoch_has_every_query_once(
            sizes in prop::collection::vec(1usize..200, 1..80), max_cells in 1usize..2000,
            queries in prop::option::of(1usize..9), bucket: bool, shuffle: bool, seed: u64,
        ) {
            let data = dataset(&sizes);
            let config = BatchPlannerConfig { max_cells, queries, bucket, shuffle, keep: Keep::All };
            let batcher = BatchPlanner::with(&data, &config, seed).unwrap();
            let batches = batcher.epoch(3);
            prop_assert_eq!(&batches, &batcher.epoch(3));
            let mut all = batches.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..sizes.len()).collect::<Vec<_>>());
            for batch in &batches {
                let longest = batch.iter().map(|&q| sizes[q]).max().unwrap();
                match queries {
                    Some(most) => prop_assert!(batch.len() <= most),
                    None => prop_assert!(batch.len() == 1 || batch.len() * longest <= max_cells),
                }
            }
        }

        #[test]
        fn lists_of_one_bucket_differ_by_a_quarter_at_most(length in 1usize..100_000) {
            prop_assert!(bucket(length) <= bucket(length + 1));
            let last = (length..).take_while(|&other| bucket(other) == bucket(length)).last().unwrap();
            prop_assert!(last as f64 <= 1.25 * length as f64);
        }
    }
}
