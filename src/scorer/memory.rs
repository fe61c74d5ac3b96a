//! About how many bytes a scorer needs, so that too large a request is refused before anything is allocated.

use super::attention::{BYTES_PER_PAIR, FEWEST_ROWS};
use super::{AttentionScorerConfig, MlpScorerConfig, ScorerConfig};
use crate::execution::Execution;

/// Bytes of a number.
const NUMBER: u64 = 4;

/// Copies of the parameters in training: themselves, gradients, two moments of the optimizer, the best so far, an
/// average.
const COPIES: u64 = 6;

/// Bytes of a pair of documents in training, for each head and block: what its gradient keeps, and the mask of dropout.
const BYTES_PER_PAIR_IN_TRAINING: u64 = 24;

/// Numbers of a document, and of a pair of documents and a head, in all layers.
#[derive(Debug, Clone, Copy, Default)]
struct Layers {
    /// Numbers per document in the largest layer, with its input.
    widest: u64,
    /// Numbers that training keeps of a document.
    kept: u64,
    /// Heads of self-attention, in all blocks.
    heads: u64,
    /// Heads of one block.
    heads_at_once: u64,
}

impl Layers {
    fn of_perceptron(config: &MlpScorerConfig) -> Self {
        let hidden = || config.hidden.iter().map(|&neurons| neurons as u64);
        let neighbors = hidden().zip(hidden().skip(1).chain([1]));
        let widest = neighbors.map(|(from, to)| from.saturating_add(to)).max().unwrap_or(1);
        // The sum of a layer, what its norm and activation make of it, and dropout.
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

    /// Returns the bytes that scoring a batch needs in use, `[lists, documents]`, without the features.
    pub(crate) fn bytes_in_use(&self, [lists, documents]: [usize; 2]) -> u64 {
        let layers = self.layers();
        let places = (lists as u64).saturating_mul(documents as u64);
        let row = places.saturating_mul(layers.heads_at_once).saturating_mul(BYTES_PER_PAIR as u64);
        let blocked = row.saturating_mul(FEWEST_ROWS as u64).max(Execution::current().memory_budget() as u64);
        let attention = row.saturating_mul(documents as u64).min(blocked);
        places.saturating_mul(layers.widest).saturating_mul(NUMBER).saturating_add(attention)
    }

    /// Bytes that a step of training takes on a batch, `[lists, documents]`, with the features of the batch and the
    /// state of an optimizer.
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

    /// Whether a document is scored in the context of its list.
    pub(crate) fn sees_lists(&self) -> bool {
        matches!(self, Self::Attention(_) | Self::LatentCross(_))
    }
}
