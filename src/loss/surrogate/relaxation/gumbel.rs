//! Gumbel noise: the mean of the approximate measure over scores with noise (Bruch et al., A stochastic treatment of
//! learning to rank scoring functions).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::approximate::Approximate;
use super::gumbel_noise::GumbelNoise;
use super::relaxed::{Relaxation, Relaxed};
use crate::loss::error::LossError;
use crate::loss::lists::Lists;
use crate::loss::smoothing::Smoothing;
use crate::op::Step;

/// Approximate positions of scores with Gumbel noise, averaged over draws. The noise is a function of the seed, the
/// draw and the place in the list. Change the seed, for example in each epoch, to get other noise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Gumbel {
    /// Number of draws, 1 or more.
    pub samples: usize,
    /// Seed of the noise.
    pub seed: u64,
    /// Steepness of positions, above 0.
    pub alpha: f64,
    /// Steepness of cut-offs and comparisons, above 0.
    pub beta: f64,
    /// Smooth step of the positions.
    #[serde(default)]
    pub step: Step,
}

impl Gumbel {
    fn approximate(&self) -> Approximate {
        Approximate { alpha: self.alpha, beta: self.beta, step: self.step }
    }

    fn noise(&self) -> GumbelNoise {
        GumbelNoise::new(Arc::new(self.approximate()), self.samples, self.seed)
    }
}

impl Relaxation for Gumbel {
    fn name(&self) -> &'static str {
        "gumbel"
    }

    fn check(&self, loss: &'static str) -> Result<(), LossError> {
        self.noise().check(loss)
    }

    fn smoothing(&self) -> Option<Smoothing> {
        self.approximate().smoothing()
    }

    fn short_list_power(&self) -> i32 {
        self.approximate().short_list_power()
    }

    fn with_parameter(&self, parameter: &str, value: f64) -> Option<Arc<dyn Relaxation>> {
        match parameter {
            "alpha" => Some(Arc::new(Self { alpha: value, ..*self })),
            "beta" => Some(Arc::new(Self { beta: value, ..*self })),
            _ => None,
        }
    }

    fn samples(&self) -> usize {
        self.samples
    }

    fn relax(&self, lists: &Lists, sample: usize) -> Relaxed {
        self.noise().relax(lists, sample)
    }

    fn reseeded(&self, seed: &dyn Fn(u64) -> u64) -> Option<Arc<dyn Relaxation>> {
        self.noise().reseeded(seed)
    }
}
