//! Determines the order in which training uses queries that stay in a file.
//!
//! Each shard of the queries is cut into blocks of consecutive whole queries. Each epoch shuffles the blocks of a
//! shard, and fills windows with as many blocks as fit. The queries of a window are shuffled in the same way as
//! [`BatchPlanner`](super::BatchPlanner) shuffles all queries. A training step takes a share of its queries from each
//! shard. Where a window ends, the step continues with the shard's next window. Within an epoch, a query shares steps
//! only with queries of its window. Over many epochs, it can share a step with any other query. If a window holds all
//! queries, the order is the same as for data in memory. The order depends only on the seed, the window and the number
//! of shards.

use std::collections::VecDeque;
use std::ops::Range;

use chacha20::ChaCha8Rng;
use rand::seq::SliceRandom;

use super::dataset::RankingDataset;
use super::padding::groups;
use super::shards::Shards;
use crate::seed::random_for;

/// The number of blocks in a window.
const BLOCKS: usize = 64;

/// The blocks of queries in each shard, from which the windows of an epoch are made.
#[derive(Debug, Clone)]
pub(crate) struct Windows {
    shards: Shards,
    /// For each shard, its blocks: the range of queries in a block, and the range of their documents.
    blocks: Vec<Vec<(Range<usize>, Range<usize>)>>,
    /// The largest number of documents in a window; a larger block forms a window by itself.
    documents: usize,
    seed: u64,
}

/// Consecutive training steps of an epoch, with the documents that must be loaded before these steps.
pub(crate) struct Window {
    /// The queries of each step.
    pub steps: Vec<Vec<usize>>,
    /// The documents to load: a range for each block, with the number of its shard.
    pub documents: Vec<(usize, Range<usize>)>,
}

/// The blocks in a window of one shard, with the first training step that uses the window.
struct Begun {
    step: usize,
    shard: usize,
    blocks: Vec<usize>,
}

impl Windows {
    /// Plans windows that together hold at most `bytes` bytes of features over all shards.
    pub fn new(data: &RankingDataset, shards: &Shards, bytes: usize, seed: u64) -> Self {
        let values = bytes / size_of::<f32>() / shards.count();
        let with_documents =
            |queries: Range<usize>| (queries.clone(), data.offsets[queries.start]..data.offsets[queries.end]);
        let of_shard =
            |shard| data.blocks_of(shards.range(shard), values / BLOCKS).into_iter().map(with_documents).collect();
        let blocks = (0..shards.count()).map(of_shard).collect();
        Self { shards: shards.clone(), blocks, documents: values / data.feature_count.max(1), seed }
    }

    /// Divides an epoch into windows, with `queries` queries in each training step; only the last step may have fewer.
    pub fn epoch(&self, epoch: u64, queries: usize) -> Vec<Window> {
        let turns = self.shards.turns();
        let begun = self.begun(epoch, &turns, queries);
        let mut random = random_for(self.seed, "batches", epoch);
        let mut ready = vec![VecDeque::new(); self.shards.count()];
        let together: Vec<&[Begun]> = begun.chunk_by(|one, other| one.step == other.step).collect();
        let first = |place: usize| together.get(place).map_or(turns.len(), |begun| begun[0].step * queries);
        let of_windows = |(place, begun): (usize, &&[Begun])| {
            let mut documents = Vec::new();
            for Begun { shard, blocks, .. } in *begun {
                let blocks = || blocks.iter().map(|&block| &self.blocks[*shard][block]);
                let mut own: Vec<usize> = blocks().flat_map(|(queries, _)| queries.clone()).collect();
                own.shuffle(&mut random);
                ready[*shard].extend(own);
                documents.extend(blocks().map(|(_, documents)| (*shard, documents.clone())));
            }
            let mut step = |turns: &[usize]| turns.iter().filter_map(|&shard| ready[shard].pop_front()).collect();
            let mut steps: Vec<Vec<usize>> =
                turns[first(place)..first(place + 1)].chunks(queries).map(&mut step).collect();
            steps.shuffle(&mut random);
            Window { steps, documents }
        };
        together.iter().enumerate().map(of_windows).collect()
    }

    /// Returns the windows of all shards in an epoch, ordered by first step and then by shard.
    fn begun(&self, epoch: u64, turns: &[usize], queries: usize) -> Vec<Begun> {
        let mut random = random_for(self.seed, "blocks", epoch);
        let mut windows: Vec<_> =
            self.blocks.iter().map(|blocks| self.shuffled(blocks, &mut random).into_iter()).collect();
        let mut left = vec![0; self.shards.count()];
        let mut begun = Vec::new();
        let mut begin = |step, shard: usize| {
            let mut blocks = windows[shard].next().unwrap_or_default();
            let queries = blocks.iter().map(|&block| self.blocks[shard][block].0.len()).sum();
            blocks.sort_unstable();
            begun.push(Begun { step, shard, blocks });
            queries
        };
        // All are open from the first step on, whether or not it has a query of each.
        left.iter_mut().enumerate().for_each(|(shard, left)| *left = begin(0, shard));
        for (turn, &shard) in turns.iter().enumerate() {
            if left[shard] == 0 {
                left[shard] = begin(turn / queries, shard);
            }
            left[shard] = left[shard].saturating_sub(1);
        }
        begun.sort_by_key(|begun| (begun.step, begun.shard));
        begun
    }

    /// Shuffles the blocks of a shard, and fills windows with as many blocks as fit.
    fn shuffled(&self, blocks: &[(Range<usize>, Range<usize>)], random: &mut ChaCha8Rng) -> Vec<Vec<usize>> {
        let mut order: Vec<usize> = (0..blocks.len()).collect();
        order.shuffle(random);
        let mut documents = 0;
        groups(order, |window, block| {
            let length = |block: usize| blocks[block].1.len();
            documents = if window.len() == 1 { length(window[0]) } else { documents } + length(block);
            documents <= self.documents
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::data::BatchPlanner;
    use crate::data::batch::BatchPlannerConfig;

    fn dataset(sizes: &[usize]) -> RankingDataset {
        let documents: usize = sizes.iter().sum();
        RankingDataset::builder()
            .features(vec![0.0; 2 * documents], 2)
            .labels(vec![0.0; documents])
            .query_sizes(sizes)
            .build()
            .unwrap()
    }

    proptest! {
        #[test]
        fn every_epoch_has_every_query_once_in_full_steps(
            sizes in prop::collection::vec(1usize..200, 1..80), bytes in 8usize..100_000, queries in 1usize..9, seed: u64,
            count in 1usize..5,
        ) {
            let data = dataset(&sizes);
            let shards = Shards::new(sizes.len(), count);
            let windows = Windows::new(&data, &shards, bytes, seed).epoch(3, queries);
            let steps: Vec<Vec<usize>> = windows.iter().flat_map(|window| window.steps.clone()).collect();
            prop_assert_eq!(steps.len(), sizes.len().div_ceil(queries));
            prop_assert!(steps.iter().filter(|step| step.len() < queries).count() <= 1);
            let mut all = steps.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..sizes.len()).collect::<Vec<_>>());
            for step in &steps {
                for shard in 0..count {
                    let fair = step.len() as f64 * shards.range(shard).len() as f64 / sizes.len() as f64;
                    prop_assert!((shards.share(shard, step).len() as f64 - fair).abs() <= 2.0);
                }
            }
            // Whatever a step takes has begun, and of each shard the two windows that began last are enough.
            let mut begun = vec![Vec::new(); count];
            for window in &windows {
                for (shard, begun) in begun.iter_mut().enumerate() {
                    let own = window.documents.iter().filter(|(of, _)| *of == shard);
                    let documents: Vec<Range<usize>> = own.map(|(_, documents)| documents.clone()).collect();
                    if count == 1 && queries == 1 {
                        let sum: usize = documents.iter().map(ExactSizeIterator::len).sum();
                        prop_assert!(8 * sum <= bytes || documents.len() == 1);
                    }
                    if !documents.is_empty() {
                        begun.push(documents);
                    }
                    for query in shards.share(shard, &window.steps.concat()) {
                        let mut last = begun.iter().rev().take(2).flatten();
                        prop_assert!(last.any(|documents| documents.contains(&data.offsets[query])));
                    }
                }
            }
        }

        #[test]
        fn a_window_of_all_queries_has_the_order_of_memory(
            sizes in prop::collection::vec(1usize..40, 2..60), queries in 1usize..9, seed: u64, epoch in 0u64..4,
            count in 1usize..5,
        ) {
            let data = dataset(&sizes);
            let config = BatchPlannerConfig { queries: Some(queries), bucket: false, ..BatchPlannerConfig::default() };
            let shards = Shards::new(sizes.len(), count);
            let windows = Windows::new(&data, &shards, 8 * data.documents() * count, seed).epoch(epoch, queries);
            let mut random = random_for(seed, "batches", epoch);
            let in_memory = match count {
                1 => BatchPlanner::with(&data, &config, seed).unwrap().epoch(epoch),
                _ => shards.steps(queries, &mut random),
            };
            prop_assert_eq!(windows.into_iter().flat_map(|window| window.steps).collect::<Vec<_>>(), in_memory);
        }
    }

    /// The order that a seed gives must not change, because users rely on seeds.
    #[test]
    fn one_shard_has_the_order_of_before_there_were_several() {
        let data = dataset(&[2; 10]);
        let windows = Windows::new(&data, &Shards::new(10, 1), 8 * 8, 1).epoch(1, 3);
        let steps: Vec<Vec<usize>> = windows.into_iter().flat_map(|window| window.steps).collect();
        assert_eq!(steps, [vec![7, 8, 3], vec![0, 9, 2], vec![5, 1, 4], vec![6]]);
    }

    #[test]
    fn epochs_and_seeds_differ_and_windows_mix_blocks() {
        let data = dataset(&[2; 400]);
        let shards = Shards::new(400, 1);
        let steps = |seed, epoch| {
            let windows = Windows::new(&data, &shards, 8 * 100, seed).epoch(epoch, 4);
            windows.into_iter().flat_map(|window| window.steps).collect::<Vec<_>>()
        };
        assert_eq!(steps(1, 1), steps(1, 1));
        assert_ne!(steps(1, 1), steps(1, 2));
        assert_ne!(steps(1, 1), steps(2, 1));
        let first = &Windows::new(&data, &shards, 8 * 100, 1).epoch(1, 4)[0];
        assert!(first.documents.len() > 10);
    }
}
