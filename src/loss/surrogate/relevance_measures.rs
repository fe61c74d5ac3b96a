//! Precision, recall, success, R-precision, rank-biased precision and Kendall's tau, written as formulas over positions
//! for [`Surrogate`](super::Surrogate). [`MeasureContext`] documents the operations that a measure may use, and
//! [`MeasureName`](super::MeasureName) the measures.

use burn::tensor::{Bool, Tensor};

use super::context::MeasureContext;
use super::position_function::PositionFunction;
use super::position_measure::{PositionMeasure, Uses};
use crate::loss::about::Orientation;
use crate::loss::error::{self, LossError};
use crate::loss::lists::Lists;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PrecisionAt {
    pub(crate) k: usize,
}

impl PositionMeasure for PrecisionAt {
    fn name(&self) -> &'static str {
        "precision"
    }

    fn check(&self, loss: &'static str) -> Result<(), LossError> {
        error::required_cutoff(loss, self.k).map(drop)
    }

    fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
        lists.has_both_relevances()
    }

    fn needed_positions(&self, lists: &Lists) -> Option<Tensor<2>> {
        Some(lists.relevance())
    }

    fn uses(&self) -> Uses {
        Uses::sums_of(&PositionFunction::one(), Some(self.k))
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        list.sum(list.relevance(), &PositionFunction::one(), Some(self.k)) * (1.0 / self.k as f64)
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RecallAt {
    pub(crate) k: usize,
}

impl PositionMeasure for RecallAt {
    fn name(&self) -> &'static str {
        "recall"
    }

    fn check(&self, loss: &'static str) -> Result<(), LossError> {
        error::required_cutoff(loss, self.k).map(drop)
    }

    fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
        lists.has_both_relevances()
    }

    fn needed_positions(&self, lists: &Lists) -> Option<Tensor<2>> {
        Some(lists.relevance())
    }

    fn uses(&self) -> Uses {
        Uses::sums_of(&PositionFunction::one(), Some(self.k))
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        list.sum(list.relevance(), &PositionFunction::one(), Some(self.k)) / list.relevant()
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SuccessAt {
    pub(crate) k: usize,
}

impl PositionMeasure for SuccessAt {
    fn name(&self) -> &'static str {
        "success"
    }

    fn check(&self, loss: &'static str) -> Result<(), LossError> {
        error::required_cutoff(loss, self.k).map(drop)
    }

    fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
        lists.has_both_relevances()
    }

    fn needed_positions(&self, lists: &Lists) -> Option<Tensor<2>> {
        Some(lists.relevance())
    }

    fn uses(&self) -> Uses {
        Uses::comparisons().and_function(&PositionFunction::one(), Some(self.k))
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        list.any_relevant_within(self.k)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct RPrecision;

impl PositionMeasure for RPrecision {
    fn name(&self) -> &'static str {
        "r_precision"
    }

    fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
        lists.has_both_relevances()
    }

    fn needed_positions(&self, lists: &Lists) -> Option<Tensor<2>> {
        Some(lists.relevance())
    }

    fn uses(&self) -> Uses {
        Uses::comparisons()
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        list.sum_within(list.relevance(), list.relevant()) / list.relevant()
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RankBiasedPrecision {
    pub(crate) persistence: f64,
}

impl RankBiasedPrecision {
    /// Returns the probability that a reader reaches a rank, times the probability to stop there.
    fn attention(self) -> PositionFunction {
        PositionFunction::geometric(1.0 - self.persistence, self.persistence)
    }
}

impl PositionMeasure for RankBiasedPrecision {
    fn name(&self) -> &'static str {
        "rbp"
    }

    fn check(&self, loss: &'static str) -> Result<(), LossError> {
        if self.persistence > 0.0 && self.persistence < 1.0 {
            return Ok(());
        }
        Err(LossError::parameter(loss, "persistence", self.persistence, "a number above 0 and below 1"))
    }

    fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
        lists.has_both_relevances()
    }

    fn needed_positions(&self, lists: &Lists) -> Option<Tensor<2>> {
        Some(lists.relevance())
    }

    fn uses(&self) -> Uses {
        Uses::sums_of(&self.attention(), None)
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        list.sum(list.relevance(), &self.attention(), None)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct KendallTau;

impl PositionMeasure for KendallTau {
    fn name(&self) -> &'static str {
        "kendall_tau"
    }

    fn orientation(&self) -> Orientation {
        Orientation::Measure
    }

    fn uses(&self) -> Uses {
        Uses::concordance()
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        list.concordance() / list.pairs()
    }
}
