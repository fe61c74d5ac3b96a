//! The latent cross of a perceptron and self-attention. It is the scorer of DASALC (Qin et al., "Are Neural Rankers
//! still Outperformed by Gradient Boosted Decision Trees?", ICLR 2021, section 4.3). The latent cross itself comes from
//! Beutel et al., "Latent Cross", 2018.
//!
//! The score of a document is `s = w . (h * (1 + W a)) + b`, where `*` multiplies neuron by neuron. In the formula, `h`
//! is the last hidden layer of a perceptron for the document, and `a` is the document's self-attention in its list. The
//! perceptron and self-attention read the same input. For a list of n documents with width d, self-attention takes
//! O(n^2 d + n d^2) time. The perceptron's time comes on top of that. The scorer needs as much memory as
//! self-attention. In a list of one document, the document attends to itself.

use burn::module::Module;
use burn::tensor::{Bool, Device, Tensor};
use chacha20::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::attention::{AttentionScorer, AttentionScorerConfig};
use super::dense::{Output, dense};
use super::layers::{Dropout, refusal};
use super::mlp::{MlpScorer, MlpScorerConfig};
use super::{Activation, InputConfig, NormKind};
use crate::refusal::Refusal;

/// The configuration of a perceptron that self-attention scales.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LatentCrossScorerConfig {
    /// The number of neurons in each hidden layer of the perceptron. At least one hidden layer is required.
    pub hidden: Vec<usize>,
    /// The activation function of the perceptron's hidden layers.
    pub activation: Activation,
    /// The normalization between a hidden layer of the perceptron and its activation.
    pub norm: NormKind,
    /// The width of a document's representation in self-attention.
    pub width: usize,
    /// The number of attention heads, which must divide `width`.
    pub heads: usize,
    /// Number of encoder blocks.
    pub blocks: usize,
    /// The number of neurons in the feed-forward layer of a block.
    pub feed_forward: usize,
    /// The dropout probability of the perceptron and of self-attention.
    pub dropout: f64,
    /// How features are transformed before the first layer.
    #[serde(skip_serializing_if = "InputConfig::is_identity")]
    pub input: InputConfig,
}

impl Default for LatentCrossScorerConfig {
    fn default() -> Self {
        let (perceptron, attention) = (MlpScorerConfig::default(), AttentionScorerConfig::default());
        Self {
            hidden: perceptron.hidden,
            activation: perceptron.activation,
            norm: perceptron.norm,
            width: attention.width,
            heads: attention.heads,
            blocks: attention.blocks,
            feed_forward: attention.feed_forward,
            dropout: attention.dropout,
            input: InputConfig::default(),
        }
    }
}

/// A perceptron for each document, crossed with self-attention over the document's list.
#[derive(Module, Debug)]
pub struct LatentCrossScorer {
    pub(crate) perceptron: MlpScorer,
    pub(crate) attention: AttentionScorer,
    #[module(skip)]
    config: LatentCrossScorerConfig,
}

impl LatentCrossScorerConfig {
    /// Checks every parameter of the configuration.
    ///
    /// # Errors
    /// Returns [`Refusal`] with the key of the first parameter that is out of range.
    pub fn check(&self) -> Result<(), Refusal> {
        if self.hidden.is_empty() {
            return Err(refusal("hidden", "[]", "at least one layer, whose neurons are crossed"));
        }
        self.perceptron().check()?;
        self.attention().check()?;
        self.input.check()
    }

    /// Returns the configuration of the perceptron. The perceptron's output layer is the output layer of the whole
    /// scorer.
    pub(super) fn perceptron(&self) -> MlpScorerConfig {
        let Self { activation, dropout, norm, .. } = *self;
        MlpScorerConfig { hidden: self.hidden.clone(), activation, dropout, norm, input: InputConfig::default() }
    }

    /// Returns the configuration of self-attention. The output layer of self-attention is as wide as the last hidden
    /// layer of the perceptron.
    pub(super) fn attention(&self) -> AttentionScorerConfig {
        let Self { width, heads, blocks, feed_forward, dropout, .. } = *self;
        AttentionScorerConfig { width, heads, blocks, feed_forward, dropout, input: InputConfig::default() }
    }

    fn crossed(&self) -> usize {
        self.hidden.last().copied().unwrap_or(1)
    }

    pub(super) fn parameters(&self, features: usize) -> f64 {
        self.perceptron().parameters(features) + self.attention().parameters(features, self.crossed())
    }

    pub(super) fn init(&self, features: usize, rng: &mut ChaCha8Rng, device: &Device) -> LatentCrossScorer {
        LatentCrossScorer {
            perceptron: self.perceptron().init(features, rng, device),
            attention: self.attention().init(features, self.crossed(), rng, device),
            config: self.clone(),
        }
    }
}

impl LatentCrossScorer {
    /// Scores a batch of lists.
    ///
    /// # Shapes
    /// - `features`: `[batch, documents, features]`, finite at padded positions
    /// - `mask`, output: `[batch, documents]`
    pub(super) fn forward(&self, features: Tensor<3>, mask: Tensor<2, Bool>, dropout: &mut Dropout) -> Tensor<2> {
        let shape = mask.dims();
        let hidden = self.perceptron.represent(features.clone(), mask.clone(), dropout);
        let context = self.attention.represent(features, mask, dropout);
        let crossed = (context + 1.0).reshape(hidden.dims()) * hidden;
        dense(self.perceptron.output(), crossed, Output::Sum).reshape(shape)
    }

    /// Returns the configuration that the scorer was built from.
    pub fn config(&self) -> &LatentCrossScorerConfig {
        &self.config
    }

    pub(super) fn features(&self) -> usize {
        self.perceptron.features()
    }
}
