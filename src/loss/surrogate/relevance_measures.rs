//! Measures of relevance within a cut-off, rank-biased precision and Kendall's tau, written over positions for
//! [`Surrogate`](super::Surrogate). See [`MeasureContext`] for the operations.

use burn::tensor::{Bool, Tensor};

use super::context::MeasureContext;
use super::position_function::PositionFunction;
use super::position_measure::PositionMeasure;
use crate::loss::about::Orientation;
use crate::loss::error::{self, LossError};
use crate::loss::lists::Lists;

/// Relevant documents among the first `k`, over `k`. Precision needs a cut-off, so `k` is a plain number.
#[doc(alias = "P@k")]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrecisionAt {
    /// Cut-off, 1 or more.
    pub k: usize,
}

impl PositionMeasure for PrecisionAt {
    fn name(&self) -> &'static str {
        "precision"
    }

    fn check(&self, loss: &'static str) -> Result<(), LossError> {
        error::required_cutoff(loss, self.k)?;
        Ok(())
    }

    fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
        lists.has_both_relevances()
    }

    fn counted(&self, lists: &Lists) -> Option<Tensor<2>> {
        Some(lists.relevance())
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        list.sum(list.relevance(), &PositionFunction::one(), Some(self.k)) * (1.0 / self.k as f64)
    }
}

/// Relevant documents among the first `k`, over all relevant documents.
#[doc(alias = "R@k")]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecallAt {
    /// Cut-off, 1 or more.
    pub k: usize,
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

    fn counted(&self, lists: &Lists) -> Option<Tensor<2>> {
        Some(lists.relevance())
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        list.sum(list.relevance(), &PositionFunction::one(), Some(self.k)) / list.relevant()
    }
}

/// Whether a relevant document is among the first `k`.
#[doc(alias = "hits")]
#[doc(alias = "WTA")]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SuccessAt {
    /// Cut-off, 1 or more.
    pub k: usize,
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

    fn counted(&self, lists: &Lists) -> Option<Tensor<2>> {
        Some(lists.relevance())
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        list.any_relevant_within(self.k)
    }
}

/// Precision among as many documents as there are relevant ones.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RPrecision;

impl PositionMeasure for RPrecision {
    fn name(&self) -> &'static str {
        "r_precision"
    }

    fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
        lists.has_both_relevances()
    }

    fn counted(&self, lists: &Lists) -> Option<Tensor<2>> {
        Some(lists.relevance())
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        list.sum_within(list.relevance(), list.relevant()) / list.relevant()
    }
}

/// `(1 - p) sum_x l_x p^(r_x - 1)`: the rate at which a reader who continues to the next document with the chance `p`
/// finds relevant documents.
#[doc(alias = "RBP")]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankBiasedPrecision {
    /// Chance to continue to the next document, above 0 and below 1.
    pub persistence: f64,
}

impl Default for RankBiasedPrecision {
    /// A persistence of 0.8, as in [`Measure`](crate::measure::Measure).
    fn default() -> Self {
        Self { persistence: 0.8 }
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

    fn counted(&self, lists: &Lists) -> Option<Tensor<2>> {
        Some(lists.relevance())
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        let reached = PositionFunction::geometric(1.0 - self.persistence, self.persistence);
        list.sum(list.relevance(), &reached, None)
    }
}

/// Pairs of different labels in the right order minus those in the wrong one, over all of them: from -1 to 1.
#[doc(alias = "rank correlation")]
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct KendallTau;

impl PositionMeasure for KendallTau {
    fn name(&self) -> &'static str {
        "kendall_tau"
    }

    fn orientation(&self) -> Orientation {
        Orientation::Measure
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        list.concordance() / list.pairs()
    }
}
