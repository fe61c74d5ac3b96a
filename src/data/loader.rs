//! Queries as the items of burn's data loaders. A dataset is a [`Dataset`] of [`RankingQuery`], and one of two batchers
//! makes batches of queries: [`PaddedBatcher`] for models of padded lists, and [`FlatBatcher`] for models of documents.

use burn::data::dataloader::batcher::Batcher;
use burn::data::dataset::{Dataset, DatasetError};
use burn::tensor::{Bool, Device, Tensor, TensorData};

use super::training::scores_or_zero;
use super::{RankingBatch, RankingDataset, Segments};

/// A query with its documents: an item of a [`RankingDataset`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RankingQuery {
    /// The index of the query in its dataset.
    pub index: usize,
    /// The query as a dataset of one query, with its weights and the scores of a teacher.
    pub documents: RankingDataset,
}

/// The queries in the order of the dataset. With features in a file, an item holds a copy of the features of its query.
impl Dataset<RankingQuery> for RankingDataset {
    fn get(&self, index: usize) -> Result<RankingQuery, DatasetError> {
        Ok(RankingQuery { index, documents: self.select(&[index]) })
    }

    fn len(&self) -> usize {
        self.queries()
    }
}

/// Pads the queries of a batch to the length of the longest.
///
/// ```
/// use burn::data::dataloader::DataLoaderBuilder;
/// use burn_rank::data::{PaddedBatcher, RankingBatch, SynthConfig};
///
/// let data = SynthConfig { queries: 6, ..SynthConfig::default() }.generate()?;
/// let loader = DataLoaderBuilder::<_, RankingBatch>::new(PaddedBatcher).batch_size(4).shuffle(1).build(data);
/// let sizes: Vec<usize> = loader.iter().map(|batch| batch.unwrap().queries.len()).collect();
/// assert_eq!(sizes, [4, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct PaddedBatcher;

impl Batcher<RankingQuery, RankingBatch> for PaddedBatcher {
    /// Makes a padded batch. Its [`queries`](RankingBatch::queries) are the indices of the queries in their dataset.
    ///
    /// # Panics
    /// Panics if the queries have different numbers of features.
    fn batch(&self, items: Vec<RankingQuery>, device: &Device) -> RankingBatch {
        let (queries, data) = joined(&items);
        let all: Vec<usize> = (0..data.queries()).collect();
        RankingBatch { queries, ..RankingBatch::assemble(&data, &all, device) }
    }
}

/// Puts the documents of all queries of a batch one after another, without padding.
#[derive(Debug, Clone, Copy, Default)]
pub struct FlatBatcher;

/// A batch of queries whose documents follow one another.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FlatBatch {
    /// The features, `[documents, features]`.
    pub features: Tensor<2>,
    /// The labels, `[documents]`.
    pub labels: Tensor<1>,
    /// The query of each document, for [`forward_packed`](crate::loss::RankingLoss::forward_packed).
    pub segments: Segments,
    /// For each query of the batch, its index in the dataset.
    pub queries: Vec<usize>,
    /// The weight of each query in training, `[queries]`; `None` if all queries weigh the same.
    pub query_weights: Option<Tensor<1>>,
    /// The weight of each document in training, `[documents]`; `None` if all documents weigh the same.
    pub document_weights: Option<Tensor<1>>,
    /// The scores of a teacher, `[documents]`, with 0 where there is none, and whether each document has one; `None`
    /// without a teacher.
    pub teacher: Option<(Tensor<1>, Tensor<1, Bool>)>,
}

impl Batcher<RankingQuery, FlatBatch> for FlatBatcher {
    /// Makes a flat batch.
    ///
    /// # Panics
    /// Panics if the queries have different numbers of features, or if there is no query.
    fn batch(&self, items: Vec<RankingQuery>, device: &Device) -> FlatBatch {
        let (queries, data) = joined(&items);
        let values = |values: &[f32]| Tensor::<1>::from_data(TensorData::from(values), device);
        let present = |of: &[f32]| (!of.is_empty()).then(|| values(of));
        let features: Vec<f32> = items.iter().flat_map(|item| item.documents.query_features(0)).copied().collect();
        let (scores, has) = scores_or_zero(data.teacher.iter().copied());
        FlatBatch {
            features: Tensor::from_data(TensorData::new(features, [data.documents(), data.feature_count]), device),
            labels: values(&data.labels),
            segments: Segments::from_offsets(&data.offsets).expect("each item is a query with documents"),
            queries,
            query_weights: present(&data.query_weights),
            document_weights: present(&data.document_weights),
            teacher: present(&scores).map(|scores| (scores, Tensor::from_data(TensorData::from(&has[..]), device))),
        }
    }
}

/// Returns the indices of some queries, and one dataset of them. A query may occur again, as a sampler draws it.
fn joined(items: &[RankingQuery]) -> (Vec<usize>, RankingDataset) {
    let width = items.first().map_or(0, |item| item.documents.feature_count);
    for RankingQuery { index, documents } in items {
        let found = documents.feature_count;
        assert!(found == width, "query {index}: found {found} features, expected {width}, as in the first query");
    }
    let parts = items.iter().map(|item| &item.documents);
    (items.iter().map(|item| item.index).collect(), RankingDataset::stacked(width, parts))
}

#[cfg(test)]
mod tests {
    use burn::data::dataloader::DataLoaderBuilder;
    use burn::data::dataset::transform::{SamplerDataset, SamplerDatasetOptions};

    use super::*;

    fn data() -> RankingDataset {
        let features = (0..12).map(|value| value as f32).collect();
        let data = RankingDataset::builder().features(features, 2).labels(vec![0.0, 1.0, 2.0, 0.0, 1.0, 0.0]);
        let data = data.query_sizes(&[3, 1, 2]).build().unwrap();
        let data = data.with_query_weights(vec![1.0, 2.0, 3.0]).unwrap();
        data.with_teacher(vec![0.5, f32::NAN, 1.5, 2.5, 3.5, 4.5]).unwrap()
    }

    fn numbers<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
        tensor.into_data().iter::<f32>().collect()
    }

    #[test]
    fn a_padded_batch_is_the_one_of_these_queries() {
        let (device, data) = (Device::flex(), data());
        let expected = RankingBatch::assemble(&data, &[2, 0], &device);
        let items = [2, 0].map(|index| Dataset::get(&data, index).unwrap()).to_vec();
        let found = PaddedBatcher.batch(items, &device);
        assert_eq!(found.queries, [2, 0]);
        assert_eq!(found.features.into_data(), expected.features.into_data());
        assert_eq!(found.labels.into_data(), expected.labels.into_data());
        assert_eq!(found.mask.into_data(), expected.mask.into_data());
        assert_eq!(numbers(found.query_weights.unwrap()), [3.0, 1.0]);
        assert_eq!(found.teacher.unwrap().0.into_data(), expected.teacher.unwrap().0.into_data());
    }

    #[test]
    fn a_flat_batch_has_the_documents_in_order() {
        let loader = DataLoaderBuilder::<_, FlatBatch>::new(FlatBatcher).batch_size(2).set_device(Device::flex());
        let batches: Vec<FlatBatch> = loader.build(data()).iter().map(Result::unwrap).collect();
        let lengths = |batch: &FlatBatch| batch.segments.lengths().collect::<Vec<usize>>();
        assert_eq!((lengths(&batches[0]), lengths(&batches[1])), (vec![3, 1], vec![2]));
        assert_eq!((&batches[0].queries[..], &batches[1].queries[..]), (&[0, 1][..], &[2][..]));
        let FlatBatch { features, labels, teacher, query_weights, document_weights, .. } = batches[0].clone();
        assert_eq!(features.dims(), [4, 2]);
        assert_eq!(numbers(features), (0..8).map(|value| value as f32).collect::<Vec<f32>>());
        assert_eq!(numbers(labels), [0.0, 1.0, 2.0, 0.0]);
        let (scores, has) = teacher.unwrap();
        assert_eq!(numbers(scores), [0.5, 0.0, 1.5, 2.5]);
        assert_eq!(has.into_data().iter::<bool>().collect::<Vec<bool>>(), [true, false, true, true]);
        assert_eq!(numbers(query_weights.unwrap()), [1.0, 2.0]);
        assert!(document_weights.is_none());
    }

    #[test]
    fn a_sampler_may_draw_a_query_twice() {
        let options = SamplerDatasetOptions::default().with_replacement().with_fixed_size(9);
        let sampled = SamplerDataset::<_, RankingQuery>::new(data(), options);
        let loader = DataLoaderBuilder::<_, RankingBatch>::new(PaddedBatcher).batch_size(9);
        let batches: Vec<RankingBatch> =
            loader.set_device(Device::flex()).build(sampled).iter().map(Result::unwrap).collect();
        assert_eq!(batches.len(), 1);
        assert_eq!(batches[0].queries.len(), 9);
    }
}
