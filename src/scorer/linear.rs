//! The linear scorer, `s = w . x + b`.
//!
//! Scoring a document with F features costs O(F). If `w = 0`, all documents tie.

use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::{Device, Tensor, TensorData};
use chacha20::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::{dense, layers};

/// The configuration of a linear scorer.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LinearScorerConfig {
    /// Whether a constant is added to every score. A constant never changes a ranking, but losses that compare scores
    /// with labels (MSE) need it.
    pub bias: bool,
}

/// A linear scorer, `s = w . x + b`.
#[derive(Module, Debug)]
pub struct LinearScorer {
    linear: Linear,
}

impl LinearScorerConfig {
    pub(super) fn init(&self, features: usize, rng: &mut ChaCha8Rng, device: &Device) -> LinearScorer {
        LinearScorer { linear: layers::linear(features, 1, self.bias, rng, device) }
    }
}

impl LinearScorer {
    /// Creates a scorer from weights, one per feature, and a bias.
    pub fn from_weights(weights: &[f32], bias: f32, device: &Device) -> Self {
        let weight = Param::from_data(TensorData::new(weights.to_vec(), [weights.len(), 1]), device);
        let bias = Some(Param::from_data(TensorData::new(vec![bias], [1]), device));
        Self { linear: Linear { weight, bias } }
    }

    /// Reads the weights, one per feature, and the bias (0 if there is none) from the device.
    pub fn weights(&self) -> (Vec<f32>, f32) {
        let read = |data: TensorData| data.iter::<f32>().collect::<Vec<_>>();
        let bias = self.linear.bias.as_ref().map_or(0.0, |bias| read(bias.val().into_data())[0]);
        (read(self.linear.weight.val().into_data()), bias)
    }

    /// Scores a batch of lists.
    ///
    /// # Shapes
    /// - `features`: `[batch, documents, features]`
    /// - output: `[batch, documents]`
    pub fn forward(&self, features: Tensor<3>) -> Tensor<2> {
        let [batch, documents, count] = features.dims();
        // Uses one product over all documents, because a batch of narrow products is several times slower.
        dense::plain(&self.linear, features.reshape([batch * documents, count])).reshape([batch, documents])
    }

    /// Returns the configuration that the scorer was built from.
    pub fn config(&self) -> LinearScorerConfig {
        LinearScorerConfig { bias: self.linear.bias.is_some() }
    }

    pub(super) fn features(&self) -> usize {
        self.linear.weight.dims()[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_products_with_the_weights() {
        let device = Device::flex();
        let scorer = LinearScorer::from_weights(&[2.0, -1.0], 0.5, &device);
        let features = Tensor::from_data([[[1.0, 3.0], [0.0, -2.0]]], &device);
        assert_eq!(scorer.forward(features).into_data().try_to_vec::<f32>().unwrap(), [-0.5, 2.5]);
        assert_eq!(scorer.weights(), (vec![2.0, -1.0], 0.5));
    }
}
