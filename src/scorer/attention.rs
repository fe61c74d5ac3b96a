//! Listwise self-attention scorer, which scores each document in the context of its list. It follows Pobrotyn et al.,
//! "Context-Aware Learning to Rank with Self-Attention", 2020.
//!
//! The layers are `input layer -> blocks -> norm -> output layer`. Each block computes `x + dropout(attention(norm x))`
//! and then `x + dropout(feed-forward(norm x))`. There is no positional encoding, so the scorer is
//! permutation-equivariant. In a list of one document, the document attends to itself.
//!
//! Scoring a list of n documents with width d takes O(n^2 d + n d^2) time and O(n d) memory. If the attention matrices
//! would exceed the memory budget ([`Execution`]), scoring computes their rows in blocks. Training keeps an `n x n`
//! attention matrix for each head and block.

use burn::module::Module;
use burn::nn::{LayerNorm, LayerNormConfig, Linear};
use burn::tensor::{Bool, Device, Tensor, activation};
use chacha20::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::InputConfig;
use super::dense::{Output, dense};
use super::layers::{self, Dropout, layer_norm, refusal};
use crate::execution::Execution;
use crate::refusal::Refusal;

/// The number of bytes per document needed to compute a row of attention: a logit, its exponential and the padding
/// mask.
pub(super) const BYTES_PER_PAIR: usize = 12;

/// Attention is computed for at least this many documents at a time, even if the memory budget is smaller.
pub(super) const FEWEST_ROWS: usize = 32;

/// The configuration of a scorer with self-attention.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AttentionScorerConfig {
    /// The width of a document's representation.
    pub width: usize,
    /// The number of attention heads, which must divide `width`.
    pub heads: usize,
    /// Number of encoder blocks.
    pub blocks: usize,
    /// The number of neurons in the feed-forward layer of a block.
    pub feed_forward: usize,
    /// The dropout probability for attention weights and for the output of each part of a block.
    pub dropout: f64,
    /// How features are transformed before the first layer.
    #[serde(skip_serializing_if = "InputConfig::is_identity")]
    pub input: InputConfig,
}

impl Default for AttentionScorerConfig {
    fn default() -> Self {
        Self { width: 64, heads: 2, blocks: 2, feed_forward: 128, dropout: 0.1, input: InputConfig::default() }
    }
}

/// A scorer that applies self-attention to the documents of a list.
#[derive(Module, Debug)]
pub struct AttentionScorer {
    pub(crate) input: Linear,
    pub(crate) blocks: Vec<Block>,
    pub(crate) norm: LayerNorm,
    pub(crate) output: Linear,
    #[module(skip)]
    config: AttentionScorerConfig,
}

/// One encoder block.
#[derive(Module, Debug)]
pub(crate) struct Block {
    pub(crate) attention_norm: LayerNorm,
    pub(crate) query: Linear,
    pub(crate) key: Linear,
    pub(crate) value: Linear,
    pub(crate) merge: Linear,
    pub(crate) feed_forward_norm: LayerNorm,
    pub(crate) expand: Linear,
    pub(crate) contract: Linear,
}

impl AttentionScorerConfig {
    /// Checks every parameter of the configuration.
    ///
    /// # Errors
    /// Returns [`Refusal`] with the key of the first parameter that is out of range.
    pub fn check(&self) -> Result<(), Refusal> {
        for (name, value) in
            [("width", self.width), ("heads", self.heads), ("blocks", self.blocks), ("feed_forward", self.feed_forward)]
        {
            if value == 0 {
                return Err(refusal(name, value, "at least 1"));
            }
        }
        if !self.width.is_multiple_of(self.heads) {
            return Err(refusal("heads", self.heads, format!("a divisor of the width {}", self.width)));
        }
        layers::check_dropout(self.dropout)?;
        self.input.check()
    }

    /// Returns the number of parameters of a scorer whose output layer has `outputs` neurons.
    pub(super) fn parameters(&self, features: usize, outputs: usize) -> f64 {
        let (width, layer) = (self.width, layers::linear_parameters);
        let norm = 2.0 * width as f64;
        let feed_forward = layer(width, self.feed_forward) + layer(self.feed_forward, width);
        let block = 4.0 * layer(width, width) + 2.0 * norm + feed_forward;
        layer(features, width) + self.blocks as f64 * block + norm + layer(width, outputs)
    }

    /// Creates a self-attention scorer whose output layer has `outputs` neurons.
    pub(super) fn init(
        &self,
        features: usize,
        outputs: usize,
        rng: &mut ChaCha8Rng,
        device: &Device,
    ) -> AttentionScorer {
        let width = self.width;
        let norm = || LayerNormConfig::new(width).init(device);
        let mut layer = |inputs, outputs| layers::linear(inputs, outputs, true, rng, device);
        let input = layer(features, width);
        let blocks = (0..self.blocks)
            .map(|_| Block {
                attention_norm: norm(),
                query: layer(width, width),
                key: layer(width, width),
                value: layer(width, width),
                merge: layer(width, width),
                feed_forward_norm: norm(),
                expand: layer(width, self.feed_forward),
                contract: layer(self.feed_forward, width),
            })
            .collect();
        let output = layer(width, outputs);
        AttentionScorer { input, blocks, norm: norm(), output, config: self.clone() }
    }
}

impl AttentionScorer {
    /// Scores a batch of lists.
    ///
    /// # Shapes
    /// - `features`: `[batch, documents, features]`, finite at padded positions
    /// - `mask`, output: `[batch, documents]`
    pub(super) fn forward(&self, features: Tensor<3>, mask: Tensor<2, Bool>, dropout: &mut Dropout) -> Tensor<2> {
        self.represent(features, mask, dropout).squeeze_dim(2)
    }

    /// Computes the output layer for each document.
    ///
    /// # Shapes
    /// - `features`: `[batch, documents, features]`, finite at padded positions
    /// - `mask`: `[batch, documents]`
    /// - output: `[batch, documents, neurons]`
    pub(super) fn represent(&self, features: Tensor<3>, mask: Tensor<2, Bool>, dropout: &mut Dropout) -> Tensor<3> {
        let padded = mask.bool_not();
        let mut x = dense(&self.input, features, Output::Sum);
        for block in &self.blocks {
            x = block.forward(x, &padded, &self.config, dropout);
        }
        dense(&self.output, layer_norm(&self.norm, x), Output::Sum)
    }

    /// Returns the configuration that the scorer was built from.
    pub fn config(&self) -> &AttentionScorerConfig {
        &self.config
    }

    pub(super) fn features(&self) -> usize {
        self.input.weight.dims()[0]
    }
}

impl Block {
    fn forward(
        &self,
        x: Tensor<3>,
        padded: &Tensor<2, Bool>,
        config: &AttentionScorerConfig,
        dropout: &mut Dropout,
    ) -> Tensor<3> {
        let attended = self.attend(layer_norm(&self.attention_norm, x.clone()), padded, config, dropout);
        let x = x + dropout.apply(attended, config.dropout);
        let hidden = dense(&self.expand, layer_norm(&self.feed_forward_norm, x.clone()), Output::Rectified);
        let fed = dense(&self.contract, dropout.apply(hidden, config.dropout), Output::Sum);
        x + dropout.apply(fed, config.dropout)
    }

    /// Computes multi-head attention between the documents of each list, in which padding gets no attention.
    fn attend(
        &self,
        x: Tensor<3>,
        padded: &Tensor<2, Bool>,
        config: &AttentionScorerConfig,
        dropout: &mut Dropout,
    ) -> Tensor<3> {
        let [batch, documents, width] = x.dims();
        let (heads, size) = (config.heads, width / config.heads);
        let split = |layer: &Linear| {
            dense(layer, x.clone(), Output::Sum).reshape([batch, documents, heads, size]).swap_dims(1, 2)
        };
        let (query, key, value) = (split(&self.query), split(&self.key).swap_dims(2, 3), split(&self.value));
        let padded = padded.clone().reshape([batch, 1, 1, documents]);
        let rows = rows_at_once([batch, heads, documents], Execution::current().memory_budget());
        let mixed = if dropout.training() || rows >= documents {
            self.mix(query, key, value, padded, config, dropout)
        } else {
            let blocks = (0..documents).step_by(rows).map(|start| {
                let query = query.clone().narrow(2, start, rows.min(documents - start));
                self.mix(query, key.clone(), value.clone(), padded.clone(), config, dropout)
            });
            Tensor::cat(blocks.collect(), 2)
        };
        dense(&self.merge, mixed.swap_dims(1, 2).reshape([batch, documents, width]), Output::Sum)
    }

    /// Computes the attention-weighted means of all values for some of the documents; padding gets no attention.
    ///
    /// # Shapes
    /// - `query`, output: `[batch, heads, rows, size]`
    /// - `key`: `[batch, heads, size, documents]`
    /// - `value`: `[batch, heads, documents, size]`
    /// - `padded`: `[batch, 1, 1, documents]`
    fn mix(
        &self,
        query: Tensor<4>,
        key: Tensor<4>,
        value: Tensor<4>,
        padded: Tensor<4, Bool>,
        config: &AttentionScorerConfig,
        dropout: &mut Dropout,
    ) -> Tensor<4> {
        let (dtype, [batch, heads, rows, size]) = (query.dtype(), query.dims());
        let documents = value.dims()[2];
        // Sums over the documents of a list need more than 16 bits.
        let logits = query.matmul(key).cast(self.query.weight.dtype()) / (size as f64).sqrt();
        let padded = padded.expand([batch, heads, rows, documents]);
        // The value is finite, so a list without documents gives no NaN, and low enough for a weight of exactly 0.
        let weights = activation::softmax(logits.mask_fill(padded, f32::MIN / 2.0), 3);
        dropout.apply(weights.cast(dtype), config.dropout).matmul(value)
    }
}

/// Returns the number of attention rows that fit the memory budget, for a shape `[batch, heads, documents]`.
fn rows_at_once(shape: [usize; 3], budget: usize) -> usize {
    let row = shape.iter().fold(BYTES_PER_PAIR, |bytes, &number| bytes.saturating_mul(number));
    (budget / row.max(1)).max(FEWEST_ROWS)
}
