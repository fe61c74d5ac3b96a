//! The features of the training queries in the memory of a device, where batches are gathered. A step then uploads an
//! index for each document instead of its features.

use burn::tensor::{Device, Int, Tensor, TensorData};

use crate::data::RankingDataset;
use crate::data::padding::Padding;
use crate::device::{in_host_memory, largest_buffer, sent};
use crate::memory::Size;

/// Checks that the features of the longest query fit into the largest buffer of a device, of `bytes` bytes.
///
/// # Errors
/// Returns an error that says how much memory they take.
pub(super) fn check_largest_query(data: &RankingDataset, bytes: usize) -> Result<(), String> {
    let (documents, features) = (data.longest_query(), data.feature_count);
    let needed = documents.saturating_mul(features).saturating_mul(size_of::<f32>());
    if needed <= bytes {
        return Ok(());
    }
    Err(format!(
        "the longest query has {documents} documents of {features} features, {}, but the largest buffer of the device is \
         {}; train on the CPU, or limit the documents of a query",
        Size(needed as u64),
        Size(bytes as u64),
    ))
}

/// The features of a dataset on a device, in blocks of whole queries.
pub(super) struct Resident {
    blocks: Vec<Block>,
}

struct Block {
    /// The index of the block's first document.
    first: usize,
    /// The features of the block's documents, and a row of zeros, `[documents + 1, features]`.
    features: Tensor<2>,
}

impl Resident {
    /// Copies the features to the device, unless they take more than `limit` bytes, are streamed, or are in the memory
    /// of the host anyway. Also returns `None` if a query is larger than a block.
    pub(super) fn new(data: &RankingDataset, limit: usize, device: &Device) -> Option<Self> {
        let is_small = data.features.len().saturating_mul(size_of::<f32>()) <= limit;
        let useful = is_small && data.features.window().is_none() && !in_host_memory(&device.clone().inner());
        useful.then(|| Self::in_blocks(data, largest_buffer(device).unwrap_or(usize::MAX), device)).flatten()
    }

    /// Copies the features to the device in blocks of at most `bytes` bytes.
    fn in_blocks(data: &RankingDataset, bytes: usize, device: &Device) -> Option<Self> {
        let width = data.feature_count;
        let cells = (bytes / size_of::<f32>()).checked_sub(width)?;
        let blocks = data.blocks(cells).into_iter().map(|queries| {
            let documents = data.offsets[queries.start]..data.offsets[queries.end];
            let (first, count) = (documents.start, documents.len());
            let mut values = vec![0.0; (count + 1) * width];
            data.features.copy_rows(width, documents, &mut values[..count * width]);
            (count * width <= cells).then(|| {
                let features = Tensor::from_data(TensorData::new(values, [count + 1, width]), device);
                Block { first, features }
            })
        });
        Some(Self { blocks: blocks.collect::<Option<_>>()? })
    }

    /// Gathers the features of padded rows, `[rows, width, features]`, with 0 for padding.
    pub(super) fn gather(&self, padding: &Padding) -> Tensor<3> {
        let [rows, width] = padding.shape();
        let places = padding.places();
        let of_block = |block: &Block| {
            let [zero, features] = [block.features.dims()[0] - 1, block.features.dims()[1]];
            let row = |place: &Option<usize>| place.and_then(|d| d.checked_sub(block.first)).filter(|&row| row < zero);
            if places.iter().all(|place| row(place).is_none()) {
                return None;
            }
            let indices: Vec<i32> = places.iter().map(|place| row(place).unwrap_or(zero) as i32).collect();
            let indices = sent(TensorData::new(indices, [places.len()]));
            let indices = Tensor::<1, Int>::from_data(indices, &block.features.device());
            Some(block.features.clone().select(0, indices).reshape([rows, width, features]))
        };
        // A document is in one block, and the others add 0.
        let all = self.blocks.iter().filter_map(of_block).reduce(|sum, block| sum + block);
        all.unwrap_or_else(|| {
            let Block { features, .. } = &self.blocks[0];
            Tensor::zeros([rows, width, features.dims()[1]], &features.device())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{RankingBatch, SynthConfig};

    fn data() -> RankingDataset {
        SynthConfig { queries: 12, features: 7, median_length: 9.0, max_length: 30, ..SynthConfig::default() }
            .generate()
            .unwrap()
    }

    #[test]
    fn gathered_batches_are_those_that_are_uploaded() {
        let (data, device) = (data(), Device::flex());
        let longest = data.longest_query();
        for bytes in [usize::MAX, 4 * 7 * (longest + 1), 4 * 7 * (2 * longest + 1)] {
            let resident = Resident::in_blocks(&data, bytes, &device).unwrap();
            assert_eq!(resident.blocks.len() == 1, bytes == usize::MAX, "{bytes}");
            for queries in [vec![0], vec![11, 3, 4], (0..12).collect()] {
                let expected = RankingBatch::assemble(&data, &queries, &device).features.into_data();
                let found = resident.gather(&Padding::from_queries(&data, &queries));
                assert_eq!(found.into_data(), expected, "{bytes} {queries:?}");
            }
        }
    }

    #[test]
    fn a_query_beyond_the_largest_buffer_is_refused() {
        let data = data();
        let needed = 4 * 7 * data.longest_query();
        assert!(check_largest_query(&data, needed).is_ok());
        let refused = check_largest_query(&data, needed - 1).unwrap_err();
        assert!(refused.starts_with("the longest query has ") && refused.contains(" of 7 features, "), "{refused}");
    }

    #[test]
    fn features_stay_where_they_are_if_that_is_the_host_or_a_query_is_too_large() {
        let (data, device) = (data(), Device::flex());
        assert!(Resident::new(&data, usize::MAX, &device).is_none());
        assert!(Resident::in_blocks(&data, 4 * 7 * data.longest_query(), &device).is_none());
        assert!(Resident::in_blocks(&data, 1, &device).is_none());
    }
}
