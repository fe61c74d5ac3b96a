//! A multi-layer perceptron, which scores each document separately. Each hidden layer is
//! `linear -> norm -> activation -> dropout`. A linear output layer follows the hidden layers.
//!
//! The cost of scoring a document is the sum of the products of neighboring layer widths. Without hidden layers, the
//! perceptron is a linear scorer.

use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::{Bool, Device, Tensor};
use chacha20::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::dense::{Output, dense};
use super::layers::{self, Dropout, Norm, NormKind, refusal};
use super::{Activation, InputConfig};
use crate::refusal::Refusal;

/// The configuration of a perceptron.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MlpScorerConfig {
    /// The number of neurons in each hidden layer.
    pub hidden: Vec<usize>,
    /// The activation function of the hidden layers.
    pub activation: Activation,
    /// The probability that a hidden neuron is dropped in training.
    pub dropout: f64,
    /// The normalization between a hidden layer and its activation.
    pub norm: NormKind,
    /// How features are transformed before the first layer.
    #[serde(skip_serializing_if = "InputConfig::is_identity")]
    pub input: InputConfig,
}

impl Default for MlpScorerConfig {
    fn default() -> Self {
        Self {
            hidden: vec![64],
            activation: Activation::Relu,
            dropout: 0.0,
            norm: NormKind::None,
            input: InputConfig::default(),
        }
    }
}

/// A multi-layer perceptron that scores each document separately.
#[derive(Module, Debug)]
pub struct MlpScorer {
    hidden: Vec<Linear>,
    norms: Vec<Norm>,
    output: Linear,
    #[module(skip)]
    config: MlpScorerConfig,
}

impl MlpScorerConfig {
    /// Checks every parameter of the configuration.
    ///
    /// # Errors
    /// Returns [`Refusal`] with the key of the first parameter that is out of range.
    pub fn check(&self) -> Result<(), Refusal> {
        if let Some(layer) = self.hidden.iter().position(|&neurons| neurons == 0) {
            return Err(refusal(format!("hidden[{layer}]"), 0, "at least 1 neuron"));
        }
        layers::check_dropout(self.dropout)?;
        self.input.check()
    }

    /// Returns the numbers of inputs and of neurons of each layer; the last layer is the output.
    fn layers(&self, features: usize) -> impl Iterator<Item = (usize, usize)> {
        let neurons = || self.hidden.iter().copied();
        [features].into_iter().chain(neurons()).zip(neurons().chain([1]))
    }

    pub(super) fn parameters(&self, features: usize) -> f64 {
        let norm = match self.norm {
            NormKind::None => 0.0,
            NormKind::Layer => 2.0,
            NormKind::Batch => 4.0,
        };
        let neurons: f64 = self.hidden.iter().map(|&neurons| neurons as f64).sum();
        let layers = self.layers(features).map(|(inputs, neurons)| layers::linear_parameters(inputs, neurons));
        layers.sum::<f64>() + norm * neurons
    }

    pub(super) fn init(&self, features: usize, rng: &mut ChaCha8Rng, device: &Device) -> MlpScorer {
        let layer = |(inputs, neurons)| layers::linear(inputs, neurons, true, rng, device);
        let mut hidden: Vec<Linear> = self.layers(features).map(layer).collect();
        let output = hidden.pop().expect("a layer");
        let norms = self.hidden.iter().filter_map(|&neurons| Norm::new(self.norm, neurons, device)).collect();
        MlpScorer { hidden, norms, output, config: self.clone() }
    }
}

impl MlpScorer {
    /// Scores a batch of lists.
    ///
    /// # Shapes
    /// - `features`: `[batch, documents, features]`, finite at padded positions
    /// - `mask`, output: `[batch, documents]`
    pub(super) fn forward(&self, features: Tensor<3>, mask: Tensor<2, Bool>, dropout: &mut Dropout) -> Tensor<2> {
        let shape = mask.dims();
        dense(&self.output, self.represent(features, mask, dropout), Output::Sum).reshape(shape)
    }

    /// Computes the last hidden layer for each document.
    ///
    /// # Shapes
    /// - `features`: `[batch, documents, features]`, finite at padded positions
    /// - `mask`: `[batch, documents]`
    /// - output: `[batch * documents, neurons]`
    pub(super) fn represent(&self, features: Tensor<3>, mask: Tensor<2, Bool>, dropout: &mut Dropout) -> Tensor<2> {
        let [batch, documents, count] = features.dims();
        let mask: Tensor<1, Bool> = mask.reshape([batch * documents]);
        let mut x = features.reshape([batch * documents, count]);
        for (layer, norm) in self.hidden() {
            x = match (norm, self.config.activation) {
                (None, Activation::Relu) => dense(layer, x, Output::Rectified),
                (None, activation) => activation.apply(dense(layer, x, Output::Sum)),
                (Some(norm), activation) => {
                    activation.apply(norm.forward(dense(layer, x, Output::Sum), &mask, dropout.training()))
                }
            };
            x = dropout.apply(x, self.config.dropout);
        }
        x
    }

    /// Iterates over the hidden layers in order, each with the normalization that follows it.
    pub(crate) fn hidden(&self) -> impl Iterator<Item = (&Linear, Option<&Norm>)> {
        self.hidden.iter().enumerate().map(|(index, layer)| (layer, self.norms.get(index)))
    }

    /// Returns the output layer.
    pub(crate) fn output(&self) -> &Linear {
        &self.output
    }

    /// Returns the configuration that the scorer was built from.
    pub fn config(&self) -> &MlpScorerConfig {
        &self.config
    }

    pub(super) fn features(&self) -> usize {
        self.hidden.first().unwrap_or(&self.output).weight.dims()[0]
    }
}
