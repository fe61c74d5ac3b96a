//! NDCG, DCG, average precision, reciprocal rank and expected reciprocal rank, written as formulas over positions for
//! [`Surrogate`](super::Surrogate). The file `relevance_measures.rs` contains the other measures, such as precision and
//! Kendall's tau. [`MeasureContext`] documents the operations that a measure may use, and [`MeasureName`] the measures.
//!
//! [`MeasureName`]: super::MeasureName

use burn::tensor::{Bool, Tensor};

use super::context::MeasureContext;
use super::position_measure::{PositionMeasure, Uses};
use crate::loss::about::Orientation;
use crate::loss::error::{self, LossError, MAX_EXPONENTIAL_LABEL};
use crate::loss::lists::Lists;
use crate::measure::{Discount, Gain};

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Dcg {
    pub(crate) gain: Gain,
    pub(crate) discount: Discount,
    /// The number of top ranks that count; `None` counts all ranks.
    pub(crate) k: Option<usize>,
}

impl PositionMeasure for Dcg {
    fn name(&self) -> &'static str {
        "dcg"
    }

    fn check(&self, loss: &'static str) -> Result<(), LossError> {
        error::cutoff(loss, self.k)?;
        error::gain(loss, &self.gain)?;
        error::discount(loss, &self.discount)
    }

    fn orientation(&self) -> Orientation {
        Orientation::Measure
    }

    fn gain(&self) -> Option<&Gain> {
        Some(&self.gain)
    }

    fn needed_positions(&self, lists: &Lists) -> Option<Tensor<2>> {
        lists.gaining(&self.gain)
    }

    fn uses(&self) -> Uses {
        Uses::sums_of(&self.discount.clone().into(), self.k)
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        list.sum(list.gains(&self.gain), &self.discount.clone().into(), self.k)
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Ndcg {
    /// The DCG that is divided by its largest value.
    pub(crate) dcg: Dcg,
}

impl PositionMeasure for Ndcg {
    fn name(&self) -> &'static str {
        "ndcg"
    }

    fn check(&self, loss: &'static str) -> Result<(), LossError> {
        self.dcg.check(loss)
    }

    fn gain(&self) -> Option<&Gain> {
        self.dcg.gain()
    }

    fn needed_positions(&self, lists: &Lists) -> Option<Tensor<2>> {
        self.dcg.needed_positions(lists)
    }

    fn uses(&self) -> Uses {
        self.dcg.uses()
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        let Dcg { gain, discount, k } = &self.dcg;
        let (gains, discount) = (list.gains(gain), discount.clone().into());
        list.sum(gains.clone(), &discount, *k) / list.ideal(gains, &discount, *k)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct AveragePrecision {
    /// The number of top ranks that count; `None` counts all ranks.
    pub(crate) k: Option<usize>,
}

impl PositionMeasure for AveragePrecision {
    fn name(&self) -> &'static str {
        "average_precision"
    }

    fn check(&self, loss: &'static str) -> Result<(), LossError> {
        error::cutoff(loss, self.k).map(drop)
    }

    fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
        lists.has_both_relevances()
    }

    fn uses(&self) -> Uses {
        Uses::comparisons().and_function(&Discount::Zipf.into(), self.k)
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        list.sum_with_same_above(list.relevance(), &Discount::Zipf.into(), self.k) / list.relevant()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct ReciprocalRank {
    /// Whether to use `sum_x l_x / r_x`.
    pub(crate) linear: bool,
    /// The number of top ranks that count; `None` counts all ranks.
    pub(crate) k: Option<usize>,
}

impl PositionMeasure for ReciprocalRank {
    fn name(&self) -> &'static str {
        "reciprocal_rank"
    }

    fn check(&self, loss: &'static str) -> Result<(), LossError> {
        error::cutoff(loss, self.k).map(drop)
    }

    fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
        lists.has_both_relevances()
    }

    fn needed_positions(&self, lists: &Lists) -> Option<Tensor<2>> {
        Some(lists.relevance())
    }

    fn uses(&self) -> Uses {
        let uses = if self.linear { Uses::sums() } else { Uses::comparisons() };
        uses.and_function(&Discount::Zipf.into(), self.k)
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        if self.linear {
            return list.sum(list.relevance(), &Discount::Zipf.into(), self.k);
        }
        list.sum_with_no_relevant_above(list.relevance(), &Discount::Zipf.into(), self.k)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ExpectedReciprocalRank {
    maximum_grade: u32,
    /// The probability that a reader stops at each label.
    stops: Gain,
    /// The number of top ranks that count; `None` counts all ranks.
    k: Option<usize>,
}

impl ExpectedReciprocalRank {
    /// Creates the measure for labels from 0 to `maximum_grade`, which must be between 1 and 30, both included.
    pub(crate) fn new(maximum_grade: u32, k: Option<usize>) -> Self {
        let stop = |label: u32| (f64::from(label).exp2() - 1.0) * (-f64::from(maximum_grade)).exp2();
        // `check` rejects larger grades, so they need no table.
        let labels = 0..=maximum_grade.min(LARGEST_GRADE);
        Self { maximum_grade, stops: Gain::Table(labels.map(stop).collect()), k }
    }
}

/// The largest label that a loss with an exponential gain accepts.
const LARGEST_GRADE: u32 = MAX_EXPONENTIAL_LABEL as u32;

impl PositionMeasure for ExpectedReciprocalRank {
    fn name(&self) -> &'static str {
        "expected_reciprocal_rank"
    }

    fn check(&self, loss: &'static str) -> Result<(), LossError> {
        if (1..=LARGEST_GRADE).contains(&self.maximum_grade) {
            return error::cutoff(loss, self.k).map(drop);
        }
        let expected = format!("a whole number from 1 to {LARGEST_GRADE}");
        Err(LossError::parameter(loss, "maximum_grade", self.maximum_grade, expected))
    }

    fn gain(&self) -> Option<&Gain> {
        Some(&self.stops)
    }

    fn needed_positions(&self, lists: &Lists) -> Option<Tensor<2>> {
        lists.gaining(&self.stops)
    }

    fn uses(&self) -> Uses {
        Uses::product_above().and_function(&Discount::Zipf.into(), self.k)
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        let stops = list.gains(&self.stops);
        list.sum_with_none_above(stops.clone(), &Discount::Zipf.into(), stops, self.k)
    }
}
