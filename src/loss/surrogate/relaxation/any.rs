//! The relaxations of this crate as one type.

use std::sync::Arc;

use burn::tensor::DType;
use serde::{Deserialize, Serialize};

use super::approximate::Approximate;
use super::exact::Exact;
use super::expected::Expected;
use super::gumbel::Gumbel;
use super::indicator::Indicator;
use super::neural_sort::NeuralSort;
use super::projected_ranks::ProjectedRanks;
use super::relaxed::{Relaxation, Relaxed};
use super::sigmoid_ranks::SigmoidRanks;
use super::smooth_indicators::SmoothIndicators;
use super::soft_sort::SoftSort;
use crate::loss::approximation::Approximation;
use crate::loss::error::LossError;
use crate::loss::lists::Lists;
use crate::loss::smoothing::Smoothing;
use crate::loss::surrogate::position_function::PositionFunction;

/// The relaxations of this crate. In configurations they go by the names of
/// [`RelaxationName`](crate::loss::RelaxationName).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "relaxation")]
pub enum AnyRelaxation {
    /// Whole ranks, without gradient.
    Exact,
    /// Approximate positions.
    Approximate(Approximate),
    /// Sigmoid ranks.
    SigmoidRanks(SigmoidRanks),
    /// Soft indicators.
    Indicator(Indicator),
    /// Expectation over Gaussian scores.
    Expected(Expected),
    /// Rows of NeuralSort's matrix.
    NeuralSort(NeuralSort),
    /// Rows of SoftSort's matrix.
    SoftSort(SoftSort),
    /// SmoothI's rank indicators.
    SmoothIndicators(SmoothIndicators),
    /// Projections on the permutahedron.
    ProjectedRanks(ProjectedRanks),
    /// Mean over scores with Gumbel noise.
    Gumbel(Gumbel),
}

impl AnyRelaxation {
    fn inner(&self) -> &dyn Relaxation {
        match self {
            AnyRelaxation::Exact => &Exact,
            AnyRelaxation::Approximate(relaxation) => relaxation,
            AnyRelaxation::SigmoidRanks(relaxation) => relaxation,
            AnyRelaxation::Indicator(relaxation) => relaxation,
            AnyRelaxation::Expected(relaxation) => relaxation,
            AnyRelaxation::NeuralSort(relaxation) => relaxation,
            AnyRelaxation::SoftSort(relaxation) => relaxation,
            AnyRelaxation::SmoothIndicators(relaxation) => relaxation,
            AnyRelaxation::ProjectedRanks(relaxation) => relaxation,
            AnyRelaxation::Gumbel(relaxation) => relaxation,
        }
    }
}

impl Relaxation for AnyRelaxation {
    fn name(&self) -> &'static str {
        self.inner().name()
    }

    fn check(&self, loss: &'static str) -> Result<(), LossError> {
        self.inner().check(loss)
    }

    fn check_sum(&self, loss: &'static str, f: &PositionFunction, k: Option<usize>) -> Result<(), LossError> {
        self.inner().check_sum(loss, f, k)
    }

    fn smoothing(&self) -> Option<Smoothing> {
        self.inner().smoothing()
    }

    fn short_list_power(&self) -> i32 {
        self.inner().short_list_power()
    }

    fn with_parameter(&self, parameter: &str, value: f64) -> Option<Arc<dyn Relaxation>> {
        self.inner().with_parameter(parameter, value)
    }

    fn is_differentiable(&self) -> bool {
        self.inner().is_differentiable()
    }

    fn samples(&self) -> usize {
        self.inner().samples()
    }

    fn relax(&self, lists: &Lists, sample: usize) -> Relaxed {
        self.inner().relax(lists, sample)
    }

    fn numbers_held(&self, documents: usize) -> u64 {
        self.inner().numbers_held(documents)
    }

    fn approximation(
        &self,
        loss: &'static str,
        f: &PositionFunction,
        k: Option<usize>,
        documents: usize,
        scores: DType,
    ) -> Result<Option<Approximation>, LossError> {
        self.inner().approximation(loss, f, k, documents, scores)
    }

    fn reseeded(&self, seed: &dyn Fn(u64) -> u64) -> Option<Arc<dyn Relaxation>> {
        self.inner().reseeded(seed)
    }
}
