//! Activation functions, which configurations choose by name.

use burn::tensor::{Tensor, activation};
use serde::{Deserialize, Serialize};

/// The slope of [`Activation::LeakyRelu`] for inputs below 0.
pub(crate) const LEAKY_SLOPE: f64 = 0.01;

/// An activation function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// `max(0, x)`
    #[default]
    Relu,
    /// `x` above 0, and `x / 100` below
    LeakyRelu,
    /// `x Phi(x)`, where `Phi` is the normal distribution function
    Gelu,
    /// `x / (1 + exp(-x))`
    Silu,
    /// `tanh x`
    Tanh,
    /// `1 / (1 + exp(-x))`
    Sigmoid,
    /// `x`
    Identity,
}

impl Activation {
    /// Applies the function to each element.
    pub fn apply<const D: usize>(self, x: Tensor<D>) -> Tensor<D> {
        match self {
            Self::Relu => activation::relu(x),
            Self::LeakyRelu => activation::leaky_relu(x, LEAKY_SLOPE),
            Self::Gelu => activation::gelu(x),
            Self::Silu => activation::silu(x),
            Self::Tanh => activation::tanh(x),
            Self::Sigmoid => activation::sigmoid(x),
            Self::Identity => x,
        }
    }
}
