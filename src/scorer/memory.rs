//! Estimates the memory that a scorer needs, so that an excessive request is refused before anything is allocated.

use super::attention::{BYTES_PER_PAIR, FEWEST_ROWS};
use super::{AttentionScorerConfig, MlpScorerConfig, ScorerConfig};
use crate::execution::Execution;

/// Bytes of a number.
const NUMBER: f64 = 4.0;

/// The number of parameter-sized arrays that training holds: parameters, gradients, two optimizer moments, best
/// parameters and average parameters.
const COPIES: f64 = 6.0;

/// The number of bytes that training needs for each pair of documents, in each head of each block. The number includes
/// gradients and the dropout mask.
const BYTES_PER_PAIR_IN_TRAINING: f64 = 24.0;

/// The quantities that determine the memory of a scorer's layers: numbers per document, and attention heads. They are
/// floats because no product of them overflows.
#[derive(Debug, Clone, Copy, Default)]
struct Layers {
    /// For each document, how many numbers the largest layer holds in its input and output.
    widest: f64,
    /// For each document, how many numbers training keeps from the forward pass to compute the gradient.
    kept: f64,
    /// The number of self-attention heads in all blocks.
    heads: f64,
    /// The number of heads in one block.
    heads_at_once: f64,
}

impl Layers {
    fn of_perceptron(config: &MlpScorerConfig) -> Self {
        let hidden = || config.hidden.iter().map(|&neurons| neurons as f64);
        let neighbors = hidden().zip(hidden().skip(1).chain([1.0])).map(|(from, to)| from + to);
        // Counts the sum of a layer, the result of its norm and activation, and dropout.
        let kept = 3.0 * hidden().sum::<f64>();
        Self { widest: 2.0 * neighbors.fold(1.0, f64::max), kept, ..Self::default() }
    }

    fn of_attention(config: &AttentionScorerConfig) -> Self {
        let [width, feed_forward, blocks, heads] =
            [config.width, config.feed_forward, config.blocks, config.heads].map(|number| number as f64);
        Self {
            widest: 7.0 * width + 2.0 * feed_forward,
            kept: (16.0 * width + 3.0 * feed_forward) * blocks,
            heads: heads * blocks,
            heads_at_once: heads,
        }
    }
}

impl ScorerConfig {
    fn layers(&self) -> Layers {
        match self {
            Self::Linear(_) => Layers { widest: 1.0, kept: 1.0, ..Layers::default() },
            Self::Mlp(config) => Layers::of_perceptron(config),
            Self::Attention(config) => Layers::of_attention(config),
            Self::LatentCross(config) => {
                let Layers { widest, kept, .. } = Layers::of_perceptron(&config.perceptron());
                let attention = Layers::of_attention(&config.attention());
                Layers { widest: widest + attention.widest, kept: kept + attention.kept, ..attention }
            }
        }
    }

    /// Returns the number of bytes needed to score a batch of shape `[lists, documents]`, not counting the features.
    pub(crate) fn bytes_in_use(&self, [lists, documents]: [usize; 2]) -> u64 {
        let layers = self.layers();
        let places = lists as f64 * documents as f64;
        let row = places * layers.heads_at_once * BYTES_PER_PAIR as f64;
        let blocked = (row * FEWEST_ROWS as f64).max(Execution::current().memory_budget() as f64);
        let attention = (row * documents as f64).min(blocked);
        (places * layers.widest * NUMBER + attention) as u64
    }

    /// Returns the number of bytes needed for a training step on a batch of shape `[lists, documents]`, including the
    /// features and the optimizer's state.
    pub(crate) fn bytes_in_training(&self, features: usize, [lists, documents]: [usize; 2]) -> u64 {
        let layers = self.layers();
        let places = lists as f64 * documents as f64;
        let numbers = places * (layers.kept + layers.widest + 2.0 * features as f64);
        let parameters = self.parameters(features) as f64 * COPIES;
        let pairs = places * documents as f64 * layers.heads;
        ((numbers + parameters) * NUMBER + pairs * BYTES_PER_PAIR_IN_TRAINING) as u64
    }

    /// Returns whether a document is scored in the context of its list.
    pub(crate) fn sees_lists(&self) -> bool {
        matches!(self, Self::Attention(_) | Self::LatentCross(_))
    }
}
