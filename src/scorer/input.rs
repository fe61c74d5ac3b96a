//! Transformations of the features before the first layer of a scorer: a logarithm, and noise in training. They follow
//! Qin et al., "Are Neural Rankers still Outperformed by Gradient Boosted Decision Trees?", ICLR 2021, sections 4.1 and
//! 4.2.
//!
//! Noise is drawn on the host, with a separate seed for each query. The noise of a query therefore depends neither on
//! the device nor on which queries share its batch.

use std::f64::consts::TAU;

use burn::tensor::{Tensor, TensorData};
use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};

use super::layers::refusal;
use crate::parallel;
use crate::refusal::Refusal;
use crate::seed::seed_for;

/// The transformation of a document's features before the first layer, which does nothing by default.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InputConfig {
    /// Whether a feature `x` is replaced by `sign(x) ln(1 + |x|)`.
    pub log1p: bool,
    /// The standard deviation of the Gaussian noise that training adds after the logarithm, or 0 for no noise.
    pub noise: f64,
}

impl InputConfig {
    /// Returns whether features stay unchanged.
    pub fn is_identity(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn check(&self) -> Result<(), Refusal> {
        if self.noise >= 0.0 && self.noise.is_finite() {
            Ok(())
        } else {
            Err(refusal("input.noise", self.noise, "a finite number, 0 or above"))
        }
    }

    /// Returns the transformed features, which are the input of the first layer. `noise` holds a seed for each query;
    /// without seeds, no noise is added.
    ///
    /// # Shapes
    /// - `features`, output: `[queries, documents, features]`; the output is finite where the features are
    pub(super) fn apply(&self, features: Tensor<3>, noise: Option<&[u64]>) -> Tensor<3> {
        let features = if self.log1p { features.clone().sign() * features.abs().log1p() } else { features };
        match noise.filter(|_| self.noise > 0.0) {
            Some(seeds) => {
                let noise = TensorData::new(gaussian(seeds, features.dims()), features.dims());
                features.clone() + Tensor::from_data(noise, &features.device()) * self.noise
            }
            None => features,
        }
    }
}

/// Returns a seed for the noise of each query, derived from the index of the query.
pub(crate) fn noise_seeds(seed: u64, queries: impl IntoIterator<Item = usize>) -> Vec<u64> {
    queries.into_iter().map(|query| seed_for(seed, "noise", query as u64)).collect()
}

/// Draws standard Gaussian numbers. A document's random numbers do not depend on the documents after it, so padding
/// does not change them.
fn gaussian(seeds: &[u64], [queries, documents, features]: [usize; 3]) -> Vec<f32> {
    let mut drawn = vec![0.0; queries * documents * features];
    parallel::for_each(drawn.chunks_mut((documents * features).max(1)).zip(seeds), |(query, &seed)| {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        // Box and Muller's pairs.
        for pair in query.chunks_mut(2) {
            let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
            let (sine, cosine) = (TAU * random.random::<f64>()).sin_cos();
            pair.iter_mut().zip([radius * cosine, radius * sine]).for_each(|(place, value)| *place = value as f32);
        }
    });
    drawn
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    fn values(tensor: Tensor<3>) -> Vec<f32> {
        tensor.into_data().try_to_vec().unwrap()
    }

    #[test]
    fn the_logarithm_is_odd_and_keeps_zero() {
        let input = InputConfig { log1p: true, noise: 0.0 };
        let one = std::f32::consts::E - 1.0;
        let x = Tensor::from_data([[[one, 0.0, -one, 1e30]]], &Device::flex());
        let found = values(input.apply(x, Some(&[1])));
        for (found, expected) in found.into_iter().zip([1.0, 0.0, -1.0, 1e30f32.ln()]) {
            assert!((found - expected).abs() < 1e-5, "{found} {expected}");
        }
    }

    #[test]
    fn noise_is_gaussian_and_of_training_alone() {
        let input = InputConfig { log1p: false, noise: 0.5 };
        let x = Tensor::<3>::zeros([2, 100, 50], &Device::flex());
        assert_eq!(values(input.apply(x.clone(), None)), values(x.clone()));
        let drawn = values(input.apply(x, Some(&[3, 4])));
        let moment = |power: i32| drawn.iter().map(|&v| f64::from(v / 0.5).powi(power)).sum::<f64>() / 1e4;
        // Standard errors of the moments of 10,000 draws: 0.01, 0.014, 0.1.
        assert!(moment(1).abs() < 0.05 && (moment(2) - 1.0).abs() < 0.07 && (moment(4) - 3.0).abs() < 0.5);
        assert_ne!(drawn[..5000], drawn[5000..]);
    }

    #[test]
    fn the_noise_of_a_document_follows_its_query_alone() {
        let draw = |seeds: &[u64], documents: usize| gaussian(seeds, [seeds.len(), documents, 3]);
        let (alone, together) = (draw(&[7], 4), draw(&[9, 7], 6));
        assert_eq!(alone[..], together[18..30]);
        assert_eq!(noise_seeds(1, [5, 6])[1], noise_seeds(1, [6])[0]);
        assert_ne!(noise_seeds(1, [5]), noise_seeds(2, [5]));
    }
}
