//! Gumbel noise from a seed: the same for every query of a batch, whatever its padding.

use burn::tensor::{Tensor, TensorData};
use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::seed::seed_for;

/// Standard Gumbel noise `-log(-log u)` for the first `n` places of a list.
pub(super) fn gumbel_noise(seed: u64, sample: usize, n: usize) -> Vec<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed_for(seed, "gumbel", sample as u64));
    // 1 - u is in (0, 1], so that the inner logarithm is finite; the outer needs it below 1.
    let mut uniform = || (1.0 - random.random::<f64>()).min(1.0 - f64::EPSILON);
    (0..n).map(|_| -(-uniform().ln()).ln()).collect()
}

/// Scores `[B, N]` with the noise of one draw added to every query.
pub(super) fn perturbed(scores: Tensor<2>, seed: u64, sample: usize) -> Tensor<2> {
    let [_, n] = scores.dims();
    let options = (&scores.device(), scores.dtype());
    let noise = Tensor::<2>::from_data(TensorData::new(gumbel_noise(seed, sample, n), [1, n]), options);
    scores + noise
}

#[cfg(test)]
mod tests {
    use super::gumbel_noise;

    #[test]
    fn the_moments_are_those_of_the_distribution() {
        let noise = gumbel_noise(7, 0, 100_000);
        let mean = noise.iter().sum::<f64>() / noise.len() as f64;
        let variance = noise.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / noise.len() as f64;
        assert!((mean - 0.577_215_664_9).abs() < 0.02, "{mean}");
        assert!((variance - std::f64::consts::PI.powi(2) / 6.0).abs() < 0.05, "{variance}");
    }

    #[test]
    fn a_longer_list_begins_with_the_same_noise() {
        assert_eq!(gumbel_noise(1, 2, 10)[..4], gumbel_noise(1, 2, 4));
        assert_ne!(gumbel_noise(1, 2, 4), gumbel_noise(1, 3, 4));
    }
}
