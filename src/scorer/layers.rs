//! Parts of scorers: layers with random weights, activation functions, norms, and dropout with random masks. Weights
//! and masks depend on a seed.
//!
//! Norms are layer norm, or a batch norm that ignores padding. Both compute in the type of their parameters, because
//! sums over many numbers need more than 16 bits. The normalized values have the type of the input.

use burn::module::{Module, Param, RunningState};
use burn::nn::{Initializer, LayerNorm, LayerNormConfig, Linear, LinearConfig};
use burn::tensor::{Bool, Device, Tensor, TensorData, activation};
use chacha20::ChaCha8Rng;
use rand::{Rng, RngExt, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::refusal::Refusal;

/// Creates a linear layer whose weights and bias are uniform in `+-1/sqrt(inputs)`.
pub(super) fn linear(inputs: usize, outputs: usize, bias: bool, rng: &mut ChaCha8Rng, device: &Device) -> Linear {
    let bound = (inputs as f32).sqrt().recip();
    let mut draw = |count: usize| -> Vec<f32> { (0..count).map(|_| rng.random_range(-bound..bound)).collect() };
    let mut layer =
        LinearConfig::new(inputs, outputs).with_bias(false).with_initializer(Initializer::Zeros).init(device);
    layer.weight = Param::from_data(TensorData::new(draw(inputs * outputs), [inputs, outputs]), device);
    layer.bias = bias.then(|| Param::from_data(TensorData::new(draw(outputs), [outputs]), device));
    layer
}

/// Returns the number of weights and biases of a linear layer.
pub(super) fn linear_parameters(inputs: usize, outputs: usize) -> f64 {
    (inputs as f64 + 1.0) * outputs as f64
}

/// Dropout whose masks are drawn on the host. The masks are the same on every device and do not depend on other
/// threads.
pub(super) struct Dropout(Option<ChaCha8Rng>);

impl Dropout {
    /// Creates a [`Dropout`] that leaves its input unchanged.
    pub(super) fn off() -> Self {
        Self(None)
    }

    /// Creates a [`Dropout`] whose masks are drawn from `seed`.
    pub(super) fn on(seed: u64) -> Self {
        Self(Some(ChaCha8Rng::seed_from_u64(seed)))
    }

    /// Returns whether dropout is on, as in a training pass.
    pub(super) fn training(&self) -> bool {
        self.0.is_some()
    }

    /// Sets each element to 0 with the given probability, and scales the others to preserve the mean.
    pub(super) fn apply<const D: usize>(&mut self, x: Tensor<D>, probability: f64) -> Tensor<D> {
        let Some(rng) = self.0.as_mut().filter(|_| probability > 0.0) else { return x };
        let shape = x.shape();
        let mut random = vec![0u8; shape.num_elements() * 2];
        rng.fill_bytes(&mut random);
        let threshold = (probability * 65536.0).round() as u32;
        let dropped: Vec<bool> =
            random.chunks_exact(2).map(|pair| u32::from(u16::from_le_bytes([pair[0], pair[1]])) < threshold).collect();
        let dropped = Tensor::<D, Bool>::from_data(TensorData::new(dropped, shape), &x.device());
        x.mask_fill(dropped, 0.0) / (1.0 - probability)
    }
}

/// Creates the error for a scorer parameter that is out of range. The error names the parameter's key in a
/// configuration.
pub(super) fn refusal(parameter: impl Into<String>, found: impl ToString, expected: impl Into<String>) -> Refusal {
    Refusal::new(parameter, found.to_string(), expected).under("scorer")
}

/// Checks that a dropout probability is in `[0, 1)`.
pub(super) fn check_dropout(value: f64) -> Result<(), Refusal> {
    if (0.0..1.0).contains(&value) {
        Ok(())
    } else {
        Err(refusal("dropout", value, "a probability, at least 0 and below 1"))
    }
}

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

/// A constant that is added to every variance.
pub(crate) const EPSILON: f64 = 1e-5;
const MOMENTUM: f64 = 0.1;

/// The kind of normalization that follows a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NormKind {
    /// None.
    #[default]
    None,
    /// Normalization over the neurons of one document.
    Layer,
    /// Normalization over the documents of the batch, without padding.
    Batch,
}

/// Batch normalization that ignores padding in both mean and variance.
///
/// Batch normalization computes `y = gamma (x - mean) / sqrt(variance + 1e-5) + beta`. In training, the mean and the
/// (biased) variance come from the batch. Outside training, they are exponential averages over batches, with momentum
/// 0.1 and the unbiased variance. A batch without documents does not change the averages.
#[derive(Module, Debug)]
pub(crate) struct MaskedBatchNorm {
    gamma: Param<Tensor<1>>,
    beta: Param<Tensor<1>>,
    mean: RunningState<Tensor<1>>,
    variance: RunningState<Tensor<1>>,
}

impl MaskedBatchNorm {
    /// Creates a normalization for `width` neurons.
    pub fn new(width: usize, device: &Device) -> Self {
        Self {
            gamma: Param::from_tensor(Tensor::ones([width], device)),
            beta: Param::from_tensor(Tensor::zeros([width], device)),
            mean: RunningState::new(Tensor::zeros([width], device)),
            variance: RunningState::new(Tensor::ones([width], device)),
        }
    }

    /// Normalizes the values of each neuron over the documents of a batch, ignoring padding.
    ///
    /// # Shapes
    /// - `x`, output: `[documents, neurons]`
    /// - `mask`: `[documents]`, true for a document; `x` must be finite at padded positions
    pub fn forward(&self, x: Tensor<2>, mask: Tensor<1, Bool>, training: bool) -> Tensor<2> {
        let dtype = x.dtype();
        let x = x.cast(self.gamma.val().dtype());
        let (mean, variance) = if training {
            let weight = mask.float().cast(x.dtype()).unsqueeze_dim::<2>(1);
            let count = weight.clone().sum();
            let divisor = count.clone().clamp_min(1.0).unsqueeze_dim::<2>(1);
            let mean = (x.clone() * weight.clone()).sum_dim(0) / divisor.clone();
            let centered = (x.clone() - mean.clone()) * weight;
            let variance = centered.square().sum_dim(0) / divisor;
            self.observe(mean.clone().detach(), variance.clone().detach(), count.detach());
            (mean, variance)
        } else {
            (self.mean.value_sync().unsqueeze(), self.variance.value_sync().unsqueeze())
        };
        let normalized = (x - mean) / (variance + EPSILON).sqrt();
        (normalized * self.gamma.val().unsqueeze() + self.beta.val().unsqueeze()).cast(dtype)
    }

    /// Returns `gamma`, `beta`, the running mean and the running variance, each with one value per neuron.
    #[cfg(feature = "export")]
    pub(crate) fn in_use(&self) -> [Tensor<1>; 4] {
        [self.gamma.val(), self.beta.val(), self.mean.value_sync(), self.variance.value_sync()]
    }

    /// Updates the running mean and variance with the statistics of a batch of `count` documents.
    fn observe(&self, mean: Tensor<2>, variance: Tensor<2>, count: Tensor<1>) {
        let unbias = count.clone() / (count.clone() - 1.0).clamp_min(1.0);
        let momentum = count.clamp(0.0, 1.0) * MOMENTUM;
        let blend = |old: Tensor<1>, new: Tensor<1>| old.clone() + (new - old) * momentum.clone();
        self.mean.update(blend(self.mean.value_sync(), mean.squeeze_dim(0)));
        self.variance.update(blend(self.variance.value_sync(), variance.squeeze_dim(0) * unbias));
    }
}

/// Applies layer norm in the type of its parameters; the result has the shape and the type of `x`.
pub(super) fn layer_norm<const D: usize>(norm: &LayerNorm, x: Tensor<D>) -> Tensor<D> {
    let dtype = x.dtype();
    norm.forward(x.cast(norm.gamma.val().dtype())).cast(dtype)
}

/// The normalization that follows a layer.
#[derive(Module, Debug)]
pub(crate) enum Norm {
    Layer(LayerNorm),
    Batch(MaskedBatchNorm),
}

impl Norm {
    pub(super) fn new(kind: NormKind, width: usize, device: &Device) -> Option<Self> {
        match kind {
            NormKind::None => None,
            NormKind::Layer => Some(Norm::Layer(LayerNormConfig::new(width).with_epsilon(EPSILON).init(device))),
            NormKind::Batch => Some(Norm::Batch(MaskedBatchNorm::new(width, device))),
        }
    }

    pub(super) fn forward(&self, x: Tensor<2>, mask: &Tensor<1, Bool>, training: bool) -> Tensor<2> {
        match self {
            Norm::Layer(norm) => layer_norm(norm, x),
            Norm::Batch(norm) => norm.forward(x, mask.clone(), training),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropout_keeps_the_mean_and_follows_its_seed() {
        let x = Tensor::<2>::ones([100, 100], &Device::flex());
        let once = Dropout::on(3).apply(x.clone(), 0.3);
        let kept: Vec<f32> = once.clone().into_data().try_to_vec().unwrap();
        let share = kept.iter().filter(|&&v| v == 0.0).count() as f64 / 1e4;
        assert!((share - 0.3).abs() < 0.02, "{share}");
        assert!(kept.iter().all(|&v| v == 0.0 || (v - 1.0 / 0.7).abs() < 1e-6));
        assert_eq!(once.into_data(), Dropout::on(3).apply(x.clone(), 0.3).into_data());
        assert_ne!(Dropout::on(4).apply(x.clone(), 0.3).into_data().try_to_vec::<f32>().unwrap(), kept);
        assert_eq!(Dropout::off().apply(x.clone(), 0.3).into_data(), x.into_data());
    }

    #[test]
    fn statistics_are_those_of_the_documents_alone() {
        let device = Device::flex();
        let norm = MaskedBatchNorm::new(1, &device);
        let x = Tensor::<2>::from_data([[1.0], [100.0], [3.0]], &device);
        let mask = Tensor::<1, Bool>::from_data([true, false, true], &device);
        let y: Vec<f32> = norm.forward(x.clone(), mask.clone(), true).into_data().try_to_vec().unwrap();
        // mean 2, biased variance 1
        let unit = 1.0 / (1.0f32 + 1e-5).sqrt();
        assert!((y[0] + unit).abs() < 1e-6 && (y[2] - unit).abs() < 1e-6, "{y:?}");
        // running mean 0.1 x 2, running variance 0.9 + 0.1 x 2
        let y: Vec<f32> = norm.forward(x, mask, false).into_data().try_to_vec().unwrap();
        let expected = (1.0 - 0.2) / (1.1f32 + 1e-5).sqrt();
        assert!((y[0] - expected).abs() < 1e-6, "{} {expected}", y[0]);
    }
}
