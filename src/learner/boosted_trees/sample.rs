//! Draws the queries and features that each tree uses, and the features that each split may use.

use chacha20::ChaCha8Rng;
use rand::SeedableRng;
use rand::seq::index;

use super::config::BoostedTreesConfig;
use crate::data::RankingDataset;
use crate::seed::seed_for;

/// The random sample of queries and features that one tree uses.
pub(super) struct Sample {
    /// The indices of the documents to which the tree is fitted, in ascending order.
    pub documents: Vec<u32>,
    /// The indices of all other training documents, in ascending order.
    pub others: Vec<u32>,
    /// For each feature, whether the tree may use it.
    features: Vec<bool>,
    by_node: f64,
    seed: u64,
    round: u64,
}

impl Sample {
    /// Draws the queries and features for the tree of a round.
    pub(super) fn new(config: &BoostedTreesConfig, train: &RankingDataset, seed: u64, round: usize) -> Self {
        let round = round as u64;
        let draw = |purpose, total, share| drawn(seed_for(seed, purpose, round), total, share);
        let mut is_drawn = vec![false; train.queries()];
        let queries = draw("boosted_trees queries", train.queries(), config.subsample);
        queries.into_iter().for_each(|query| is_drawn[query] = true);
        let of_queries = |drawn: bool| {
            let queries = (0..train.queries()).filter(|&query| is_drawn[query] == drawn);
            queries.flat_map(|query| train.range(query)).map(|document| document as u32).collect()
        };
        let (documents, others) = (of_queries(true), of_queries(false));
        let mut features = vec![false; train.feature_count];
        let of_tree = draw("boosted_trees features", train.feature_count, config.colsample);
        of_tree.into_iter().for_each(|feature| features[feature] = true);
        Self { documents, others, features, by_node: config.colsample_by_node, seed, round }
    }

    /// Returns, for each feature, whether the split of this node may use it.
    pub(super) fn features(&self, node: usize) -> Vec<bool> {
        if self.by_node >= 1.0 {
            return self.features.clone();
        }
        let seed = seed_for(self.seed, "boosted_trees node features", (self.round << 32) | node as u64);
        let numbers: Vec<usize> = (0..self.features.len()).filter(|&feature| self.features[feature]).collect();
        let mut features = vec![false; self.features.len()];
        drawn(seed, numbers.len(), self.by_node).into_iter().for_each(|place| features[numbers[place]] = true);
        features
    }
}

/// Draws a random subset of `0..total`, in ascending order. Its size is the given share of `total`, but at least 1.
fn drawn(seed: u64, total: usize, share: f64) -> Vec<usize> {
    let count = ((total as f64 * share).round() as usize).clamp(1, total);
    let mut drawn = index::sample(&mut ChaCha8Rng::seed_from_u64(seed), total, count).into_vec();
    drawn.sort_unstable();
    drawn
}
