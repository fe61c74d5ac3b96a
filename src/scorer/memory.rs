//! Estimates the memory that a scorer needs, so that an excessive request is refused before anything is allocated.

use super::attention::{BYTES_PER_PAIR, FEWEST_ROWS};
use super::{AttentionScorerConfig, MlpScorerConfig, ScorerConfig};
use crate::execution::Execution;

/// Bytes of a number.
const NUMBER: u64 = 4;

/// The number of parameter-sized arrays that training holds: parameters, gradients, two optimizer moments, best
/// parameters and average parameters.
const COPIES: u64 = 6;

/// The number of bytes that training needs for each pair of documents, in each head of each block. The number includes
/// gradients and the dropout mask.
const BYTES_PER_PAIR_IN_TRAINING: u64 = 24;

/// The quantities that determine the memory of a scorer's layers: numbers per document, and attention heads.
#[derive(Debug, Clone, Copy, Default)]
struct Layers {
    /// For each document, how many numbers the largest layer holds in its input and output.
    widest: u64,
    /// For each document, how many numbers training keeps from the forward pass to compute the gradient.
    kept: u64,
    /// The number of self-attention heads in all blocks.
    heads: u64,
    /// The number of heads in one block.
    heads_at_once: u64,
}

impl Layers {
    fn of_perceptron(config: &MlpScorerConfig) -> Self {
        let hidden = || config.hidden.iter().map(|&neurons| neurons as u64);
        let neighbors = hidden().zip(hidden().skip(1).chain([1]));
        let widest = neighbors.map(|(from, to)| from.saturating_add(to)).max().unwrap_or(1);
        // Counts the sum of a layer, the result of its norm and activation, and dropout.
        let kept = hidden().fold(0, u64::saturating_add).saturating_mul(3);
        Self { widest: widest.saturating_mul(2), kept, ..Self::default() }
    }

    fn of_attention(config: &AttentionScorerConfig) -> Self {
        let [width, feed_forward, blocks, heads] =
            [config.width, config.feed_forward, config.blocks, config.heads].map(|number| number as u64);
        let block = width.saturating_mul(16).saturating_add(feed_forward.saturating_mul(3));
        Self {
            widest: width.saturating_mul(7).saturating_add(feed_forward.saturating_mul(2)),
            kept: block.saturating_mul(blocks),
            heads: heads.saturating_mul(blocks),
            heads_at_once: heads,
        }
    }

    fn beside(self, other: Self) -> Self {
        Self {
            widest: self.widest.saturating_add(other.widest),
            kept: self.kept.saturating_add(other.kept),
            heads: self.heads + other.heads,
            heads_at_once: self.heads_at_once + other.heads_at_once,
        }
    }
}

impl ScorerConfig {
    fn layers(&self) -> Layers {
        match self {
            Self::Linear(_) => Layers { widest: 1, kept: 1, ..Layers::default() },
            Self::Mlp(config) => Layers::of_perceptron(config),
            Self::Attention(config) => Layers::of_attention(config),
            Self::LatentCross(config) => {
                Layers::of_perceptron(&config.perceptron()).beside(Layers::of_attention(&config.attention()))
            }
        }
    }

    /// Returns the number of bytes needed to score a batch of shape `[lists, documents]`, not counting the features.
    pub(crate) fn bytes_in_use(&self, [lists, documents]: [usize; 2]) -> u64 {
        let layers = self.layers();
        let places = (lists as u64).saturating_mul(documents as u64);
        let row = places.saturating_mul(layers.heads_at_once).saturating_mul(BYTES_PER_PAIR as u64);
        let blocked = row.saturating_mul(FEWEST_ROWS as u64).max(Execution::current().memory_budget() as u64);
        let attention = row.saturating_mul(documents as u64).min(blocked);
        places.saturating_mul(layers.widest).saturating_mul(NUMBER).saturating_add(attention)
    }

    /// Returns the number of bytes needed for a training step on a batch of shape `[lists, documents]`, including the
    /// features and the optimizer's state.
    pub(crate) fn bytes_in_training(&self, features: usize, [lists, documents]: [usize; 2]) -> u64 {
        let layers = self.layers();
        let places = (lists as u64).saturating_mul(documents as u64);
        let numbers = layers.kept.saturating_add(layers.widest).saturating_add((features as u64).saturating_mul(2));
        let pairs = places.saturating_mul(documents as u64).saturating_mul(layers.heads);
        let parameters = (self.parameters(features) as u64).saturating_mul(COPIES);
        places
            .saturating_mul(numbers)
            .saturating_add(parameters)
            .saturating_mul(NUMBER)
            .saturating_add(pairs.saturating_mul(BYTES_PER_PAIR_IN_TRAINING))
    }

    /// Returns whether a document is scored in the context of its list.
    pub(crate) fn sees_lists(&self) -> bool {
        matches!(self, Self::Attention(_) | Self::LatentCross(_))
    }
}
