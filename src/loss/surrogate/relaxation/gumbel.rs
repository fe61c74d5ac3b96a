//! Gumbel noise: the mean of the approximate measure over scores with noise (Bruch et al., A stochastic treatment of
//! learning to rank scoring functions).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::approximate::Approximate;
use super::relaxed::{Relaxation, Relaxed};
use crate::loss::error::LossError;
use crate::loss::gumbel::perturbed;
use crate::loss::lists::Lists;
use crate::op::Step;

/// Approximate positions of scores with Gumbel noise, averaged over draws. The noise is a function of seed, draw and
/// place in the list: change the seed (say, in each epoch) for other noise.
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
}

impl Relaxation for Gumbel {
    fn name(&self) -> &'static str {
        "gumbel"
    }

    fn check(&self, loss: &'static str) -> Result<(), LossError> {
        if self.samples == 0 {
            return Err(LossError::parameter(loss, "samples", 0, "a number of samples, 1 or more"));
        }
        self.approximate().check(loss)
    }

    fn samples(&self) -> usize {
        self.samples
    }

    fn relax(&self, lists: &Lists, sample: usize) -> Relaxed {
        let scores = perturbed(lists.scores.clone(), self.seed, sample) * lists.mask.clone();
        self.approximate().relax(&Lists { scores, ..lists.clone() }, 0)
    }

    fn reseeded(&self, seed: u64) -> Option<Arc<dyn Relaxation>> {
        Some(Arc::new(Self { seed, ..*self }))
    }
}
