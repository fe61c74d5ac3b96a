//! Gumbel noise: the mean of the approximate measure over scores with noise (Bruch et al., A stochastic treatment of
//! learning to rank scoring functions).

use std::sync::Arc;

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use super::approximate::Approximate;
use super::relaxed::{Relaxation, Relaxed};
use crate::loss::error::LossError;
use crate::loss::gumbel::{perturbed, perturbed_by_row};
use crate::loss::lists::Lists;
use crate::loss::smoothing::{Sharper, Smoothing};
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

    /// Positions at noisy scores, after the noise at padded places has been removed.
    fn at(&self, scores: Tensor<2>, lists: &Lists) -> Relaxed {
        let scores = scores * lists.mask.clone();
        self.approximate().relax(&Lists { scores, ..lists.clone() }, 0)
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

    fn smoothing(&self) -> Option<Smoothing> {
        Some(Smoothing { parameter: "alpha", sharper: Sharper::Larger })
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
        self.at(perturbed(lists.scores.clone(), self.seed, sample), lists)
    }

    fn reseeded(&self, seed: &dyn Fn(u64) -> u64) -> Option<Arc<dyn Relaxation>> {
        Some(Arc::new(ByRow(Self { seed: seed(self.seed), ..*self })))
    }
}

/// The same with separate noise for each row of a batch.
#[derive(Debug)]
struct ByRow(Gumbel);

impl Relaxation for ByRow {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn samples(&self) -> usize {
        self.0.samples()
    }

    fn relax(&self, lists: &Lists, sample: usize) -> Relaxed {
        self.0.at(perturbed_by_row(lists.scores.clone(), self.0.seed, sample), lists)
    }

    fn reseeded(&self, seed: &dyn Fn(u64) -> u64) -> Option<Arc<dyn Relaxation>> {
        self.0.reseeded(seed)
    }
}
