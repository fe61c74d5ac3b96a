//! The order in which training takes queries that stay in a file.
//!
//! The file is cut into blocks of consecutive whole queries. Each epoch shuffles the blocks, takes as many of them as fit
//! into a window, and shuffles the queries of a window as [`BatchPlanner`](super::BatchPlanner) shuffles those of a set.
//! A step that a window leaves short goes on with the first queries of the next. So a query meets those that share a
//! window with it in the epoch, and any other query in some epoch. With a window of all queries the order is that of data
//! in memory. It depends on the seed and the window alone.

use std::ops::Range;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::RankingDataset;
use super::padding::groups;
use crate::seed::seed_for;

/// Number of blocks of a window.
const BLOCKS: usize = 64;

/// The blocks of a dataset, and how many of them a window takes.
#[derive(Debug, Clone)]
pub(crate) struct Windows {
    /// Queries, and their documents.
    blocks: Vec<(Range<usize>, Range<usize>)>,
    /// Largest number of documents of a window; a larger block is a window by itself.
    documents: usize,
    seed: u64,
}

/// The steps of a window.
pub(crate) struct Window {
    /// The queries of each step.
    pub steps: Vec<Vec<usize>>,
    /// The documents of its blocks.
    pub documents: Vec<Range<usize>>,
}

impl Windows {
    /// Plans windows of at most `bytes` bytes of features.
    pub fn new(data: &RankingDataset, bytes: usize, seed: u64) -> Self {
        let values = bytes / size_of::<f32>();
        let documents = |queries: &Range<usize>| data.offsets[queries.start]..data.offsets[queries.end];
        let blocks = data.blocks(values / BLOCKS).into_iter().map(|queries| (queries.clone(), documents(&queries)));
        Self { blocks: blocks.collect(), documents: values / data.feature_count.max(1), seed }
    }

    /// Returns the windows of an epoch, with steps of `queries` queries each; only the last step of all has fewer.
    pub fn epoch(&self, epoch: u64, queries: usize) -> Vec<Window> {
        let mut random = ChaCha8Rng::seed_from_u64(seed_for(self.seed, "batches", epoch));
        let mut order: Vec<usize> = (0..self.blocks.len()).collect();
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed_for(self.seed, "blocks", epoch)));
        let mut documents = 0;
        let windows = groups(order, |window, block| {
            let length = |block: usize| self.blocks[block].1.len();
            documents = if window.len() == 1 { length(window[0]) } else { documents } + length(block);
            documents <= self.documents
        });
        let last = windows.len().saturating_sub(1);
        let mut left = Vec::new();
        let of_window = |(place, mut blocks): (usize, Vec<usize>)| {
            blocks.sort_unstable();
            let mut own: Vec<usize> = blocks.iter().flat_map(|&block| self.blocks[block].0.clone()).collect();
            own.shuffle(&mut random);
            let all: Vec<usize> = left.drain(..).chain(own).collect();
            let mut steps: Vec<Vec<usize>> = all.chunks(queries).map(<[usize]>::to_vec).collect();
            if place < last {
                left = steps.pop_if(|step| step.len() < queries).unwrap_or_default();
            }
            steps.shuffle(&mut random);
            Window { steps, documents: blocks.iter().map(|&block| self.blocks[block].1.clone()).collect() }
        };
        windows.into_iter().enumerate().map(of_window).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::data::{BatchPlanner, BatchPlannerConfig};

    fn dataset(sizes: &[usize]) -> RankingDataset {
        let documents: usize = sizes.iter().sum();
        RankingDataset::from_groups(vec![0.0; 2 * documents], 2, vec![0.0; documents], sizes).unwrap()
    }

    proptest! {
        #[test]
        fn every_epoch_has_every_query_once_in_full_steps(
            sizes in prop::collection::vec(1usize..200, 1..80), bytes in 8usize..100_000, queries in 1usize..9, seed: u64,
        ) {
            let data = dataset(&sizes);
            let windows = Windows::new(&data, bytes, seed).epoch(3, queries);
            let steps: Vec<Vec<usize>> = windows.iter().flat_map(|window| window.steps.clone()).collect();
            prop_assert_eq!(steps.len(), sizes.len().div_ceil(queries));
            prop_assert!(steps.iter().filter(|step| step.len() < queries).count() <= 1);
            let mut all = steps.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..sizes.len()).collect::<Vec<_>>());
            for window in &windows {
                let documents: usize = window.documents.iter().map(ExactSizeIterator::len).sum();
                prop_assert!(8 * documents <= bytes || window.documents.len() == 1);
            }
        }

        #[test]
        fn a_window_of_all_queries_has_the_order_of_memory(
            sizes in prop::collection::vec(1usize..40, 2..60), queries in 1usize..9, seed: u64, epoch in 0u64..4,
        ) {
            let data = dataset(&sizes);
            let config = BatchPlannerConfig { queries: Some(queries), bucket: false, ..BatchPlannerConfig::default() };
            let windows = Windows::new(&data, 8 * data.documents(), seed).epoch(epoch, queries);
            prop_assert_eq!(windows.len(), 1);
            prop_assert_eq!(&windows[0].steps, &BatchPlanner::new(&data, &config, seed).unwrap().epoch(epoch));
        }
    }

    #[test]
    fn epochs_and_seeds_differ_and_windows_mix_blocks() {
        let data = dataset(&[2; 400]);
        let steps = |seed, epoch| {
            let windows = Windows::new(&data, 8 * 100, seed).epoch(epoch, 4);
            windows.into_iter().flat_map(|window| window.steps).collect::<Vec<_>>()
        };
        assert_eq!(steps(1, 1), steps(1, 1));
        assert_ne!(steps(1, 1), steps(1, 2));
        assert_ne!(steps(1, 1), steps(2, 1));
        let first = &Windows::new(&data, 8 * 100, 1).epoch(1, 4)[0];
        assert!(first.documents.len() > 10);
    }
}
