//! Parts of scorers that depend on a seed: layers with random weights, and dropout with random masks.

use burn::module::Param;
use burn::nn::{Initializer, Linear, LinearConfig};
use burn::tensor::{Bool, Device, Tensor, TensorData};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

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
pub(super) fn linear_parameters(inputs: usize, outputs: usize) -> usize {
    inputs.saturating_add(1).saturating_mul(outputs)
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
}
