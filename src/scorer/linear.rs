//! Linear scorer: `s = w . x + b`.

use burn::config::Config;
use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor};

/// Configuration of a [`LinearScorer`].
#[derive(Config, Debug)]
pub struct LinearScorerConfig {
    /// Add a constant to every score. It never changes an order.
    #[config(default = false)]
    pub bias: bool,
}

/// `s = w . x + b`
#[derive(Module, Debug)]
pub struct LinearScorer {
    linear: Linear,
}

impl LinearScorerConfig {
    /// A scorer of `features` features.
    pub fn init(&self, features: usize, device: &Device) -> LinearScorer {
        LinearScorer { linear: LinearConfig::new(features, 1).with_bias(self.bias).init(device) }
    }
}

impl LinearScorer {
    /// # Shapes
    /// - `features`: `[batch, documents, features]`
    /// - output: `[batch, documents]`
    pub fn forward(&self, features: Tensor<3>) -> Tensor<2> {
        self.linear.forward(features).squeeze_dim(2)
    }
}
