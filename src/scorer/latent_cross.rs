//! Latent cross of a perceptron and self-attention, the scorer of DASALC (Qin et al., "Are Neural Rankers still
//! Outperformed by Gradient Boosted Decision Trees?", ICLR 2021, section 4.3; Beutel et al., "Latent Cross", 2018,
//! introduced the cross).
//!
//! `s = w . ((1 + W a) * h) + b`, where `h` are the last hidden neurons of a perceptron over the document, `a` is the
//! self-attention of the document over its list, and `*` multiplies neuron by neuron. Both read the same input. The
//! cost is the sum of both costs: O(n^2 d + n d^2) time for a list of n documents and width d; memory as for
//! self-attention. A list of one document attends to itself.

use burn::module::Module;
use burn::tensor::{Bool, Device, Tensor};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::attention::{AttentionScorer, AttentionScorerConfig};
use super::dense::{Output, dense};
use super::init::{Dropout, refusal};
use super::mlp::{MlpScorer, MlpScorerConfig};
use super::{Activation, InputConfig, NormKind};
use crate::refusal::Refusal;

/// Configuration of a [`LatentCrossScorer`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LatentCrossScorerConfig {
    /// Number of neurons of each hidden layer of the perceptron; at least one layer.
    pub hidden: Vec<usize>,
    /// Activation of the hidden layers of the perceptron.
    pub activation: Activation,
    /// Normalization between a hidden layer of the perceptron and its activation.
    pub norm: NormKind,
    /// Width of the representation of a document in self-attention.
    pub width: usize,
    /// Number of attention heads; must divide `width`.
    pub heads: usize,
    /// Number of encoder blocks.
    pub blocks: usize,
    /// Number of neurons in the feed-forward layer of a block.
    pub feed_forward: usize,
    /// Dropout of both parts, as in [`MlpScorerConfig`] and [`AttentionScorerConfig`].
    pub dropout: f64,
    /// The transformation of the features before the first layer.
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

/// A perceptron over each document, crossed with self-attention over its list.
#[derive(Module, Debug)]
pub struct LatentCrossScorer {
    pub(crate) perceptron: MlpScorer,
    pub(crate) attention: AttentionScorer,
    #[module(skip)]
    config: LatentCrossScorerConfig,
}

impl LatentCrossScorerConfig {
    /// Checks every parameter.
    ///
    /// # Errors
    /// [`Refusal`] with the key of the first parameter out of its range.
    pub fn check(&self) -> Result<(), Refusal> {
        if self.hidden.is_empty() {
            return Err(refusal("hidden", "[]", "at least one layer, whose neurons are crossed"));
        }
        self.perceptron().check()?;
        self.attention().check()?;
        self.input.check()
    }

    /// The perceptron. Its output layer is the output layer of the whole scorer.
    pub(super) fn perceptron(&self) -> MlpScorerConfig {
        let Self { activation, dropout, norm, .. } = *self;
        MlpScorerConfig { hidden: self.hidden.clone(), activation, dropout, norm, input: InputConfig::default() }
    }

    /// Self-attention, whose output layer has the width of the last hidden layer of the perceptron.
    pub(super) fn attention(&self) -> AttentionScorerConfig {
        let Self { width, heads, blocks, feed_forward, dropout, .. } = *self;
        AttentionScorerConfig { width, heads, blocks, feed_forward, dropout, input: InputConfig::default() }
    }

    fn crossed(&self) -> usize {
        self.hidden.last().copied().unwrap_or(1)
    }

    pub(super) fn parameters(&self, features: usize) -> usize {
        let attention = self.attention().parameters_with(features, self.crossed());
        self.perceptron().parameters(features).saturating_add(attention)
    }

    pub(super) fn init(&self, features: usize, rng: &mut ChaCha8Rng, device: &Device) -> LatentCrossScorer {
        LatentCrossScorer {
            perceptron: self.perceptron().init(features, rng, device),
            attention: self.attention().init_with(features, self.crossed(), rng, device),
            config: self.clone(),
        }
    }
}

impl LatentCrossScorer {
    /// Scores a batch.
    ///
    /// # Shapes
    /// - `features`: `[batch, documents, features]`, finite at padded places
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
