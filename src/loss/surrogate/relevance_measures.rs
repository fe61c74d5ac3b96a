//! Precision, recall, success, R-precision, rank-biased precision and Kendall's tau, written as formulas over positions
//! for [`Surrogate`](super::Surrogate). [`MeasureContext`] documents the operations that a measure may use.

use burn::tensor::{Bool, Tensor};

use super::context::MeasureContext;
use super::position_function::PositionFunction;
use super::position_measure::PositionMeasure;
use crate::loss::about::Orientation;
use crate::loss::error::{self, LossError};
use crate::loss::lists::Lists;

/// Precision, the number of relevant documents among the first `k`, divided by `k`. Precision needs a cut-off, so `k`
/// is not optional.
#[doc(alias = "P@k")]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrecisionAt {
    /// The number of top ranks that count, 1 or more.
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

/// Recall, the share of all relevant documents that are among the first `k`.
#[doc(alias = "R@k")]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecallAt {
    /// The number of top ranks that count, 1 or more.
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

/// Success, whether a relevant document is among the first `k`.
#[doc(alias = "hits")]
#[doc(alias = "WTA")]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SuccessAt {
    /// The number of top ranks that count, 1 or more.
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

/// R-precision, the precision at `k`, where `k` is the number of relevant documents.
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

/// Rank-biased precision, `(1 - p) sum_x l_x p^(r_x - 1)`. A reader who goes on to the next document with probability
/// `p` finds relevant documents at this rate.
#[doc(alias = "RBP")]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankBiasedPrecision {
    /// The probability that a reader continues to the next document, above 0 and below 1.
    pub persistence: f64,
}

impl Default for RankBiasedPrecision {
    /// Uses the persistence 0.8, as [`Measure`](crate::measure::Measure) does.
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

/// Kendall's tau, the number of correctly ordered pairs minus the number of inverted pairs, divided by the number of
/// pairs with different labels. The values of Kendall's tau are between -1 and 1.
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
