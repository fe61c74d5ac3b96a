//! Gumbel noise that is added to the scores before another relaxation is applied. The relaxed measure is averaged over
//! draws of this noise. Bruch et al. combine Gumbel noise with approximate positions (A stochastic treatment of
//! learning to rank scoring functions).

use std::sync::Arc;

use burn::tensor::DType;

use super::relaxed::{Relaxation, Relaxed};
use crate::loss::approximation::Approximation;
use crate::loss::error::{self, LossError};
use crate::loss::gumbel::{perturbed, perturbed_by_list};
use crate::loss::lists::Lists;
use crate::loss::smoothing::Smoothing;
use crate::loss::surrogate::position_function::PositionFunction;
use crate::loss::temperature::TemperatureUnit;

/// Another relaxation, applied to scores with standard Gumbel noise and averaged over draws. The noise depends on the
/// seed, the index of the draw, and the document's place in its list. For new noise, for example in each epoch, change
/// the seed.
#[derive(Debug, Clone)]
pub struct GumbelNoise {
    relaxation: Arc<dyn Relaxation>,
    samples: usize,
    seed: u64,
    /// Whether each row of a batch gets its own noise.
    by_row: bool,
}

impl GumbelNoise {
    /// Adds noise to the scores before `relaxation` is applied. The number of draws, `samples`, must be 1 or more. All
    /// queries of a batch share the noise, unless the loss receives [`Change::Noise`](crate::loss::Change::Noise).
    pub fn new(relaxation: Arc<dyn Relaxation>, samples: usize, seed: u64) -> Self {
        Self { relaxation, samples, seed, by_row: false }
    }
}

impl Relaxation for GumbelNoise {
    fn name(&self) -> &'static str {
        self.relaxation.name()
    }

    fn check(&self, loss: &'static str) -> Result<(), LossError> {
        error::samples(loss, self.samples)?;
        self.relaxation.check(loss)
    }

    fn check_sum(&self, loss: &'static str, f: &PositionFunction, k: Option<usize>) -> Result<(), LossError> {
        self.relaxation.check_sum(loss, f, k)
    }

    fn smoothing(&self) -> Option<Smoothing> {
        self.relaxation.smoothing()
    }

    fn temperature_unit(&self) -> TemperatureUnit {
        self.relaxation.temperature_unit()
    }

    fn short_list_power(&self) -> u32 {
        self.relaxation.short_list_power()
    }

    fn with_parameter(&self, parameter: &str, value: f64) -> Option<Arc<dyn Relaxation>> {
        let relaxation = self.relaxation.with_parameter(parameter, value)?;
        Some(Arc::new(Self { relaxation, ..self.clone() }))
    }

    fn is_differentiable(&self) -> bool {
        self.relaxation.is_differentiable()
    }

    fn samples(&self) -> usize {
        self.samples * self.relaxation.samples()
    }

    fn relax(&self, lists: &Lists, sample: usize) -> Relaxed {
        let inner = self.relaxation.samples();
        let (scores, draw) = (lists.scores.clone(), sample / inner);
        let noisy = match self.by_row {
            true => perturbed_by_list(lists, scores, self.seed, draw),
            false => perturbed(scores, self.seed, draw),
        };
        // Removes the noise at padded places.
        let scores = noisy * lists.mask.clone();
        self.relaxation.relax(&Lists { scores, ..lists.clone() }, sample % inner)
    }

    fn numbers_held(&self, documents: usize) -> u64 {
        self.relaxation.numbers_held(documents)
    }

    fn approximation(
        &self,
        loss: &'static str,
        f: &PositionFunction,
        k: Option<usize>,
        documents: usize,
        scores: DType,
    ) -> Result<Option<Approximation>, LossError> {
        self.relaxation.approximation(loss, f, k, documents, scores)
    }

    fn reseeded(&self, seed: &dyn Fn(u64) -> u64) -> Option<Arc<dyn Relaxation>> {
        Some(Arc::new(Self { seed: seed(self.seed), by_row: true, ..self.clone() }))
    }
}
