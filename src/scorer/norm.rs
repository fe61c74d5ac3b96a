//! Normalization inside a scorer, either layer norm or a batch norm that ignores padding. Both normalizations compute
//! in the type of their parameters, because sums over many numbers need more than 16 bits. The normalized values have
//! the type of the input.

use burn::module::{Module, Param, RunningState};
use burn::nn::{LayerNorm, LayerNormConfig};
use burn::tensor::{Bool, Device, Tensor};
use serde::{Deserialize, Serialize};

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
pub struct MaskedBatchNorm {
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
