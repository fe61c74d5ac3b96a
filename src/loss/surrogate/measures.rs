//! NDCG, DCG, average precision, reciprocal rank and expected reciprocal rank, written as formulas over positions for
//! [`Surrogate`](super::Surrogate). The file `relevance_measures.rs` contains the other measures, such as precision and
//! Kendall's tau. [`MeasureContext`] documents the operations that a measure may use.

use burn::tensor::{Bool, Tensor};

use super::context::MeasureContext;
use super::position_measure::PositionMeasure;
use crate::loss::about::Orientation;
use crate::loss::error::{self, LossError, MAX_EXPONENTIAL_LABEL};
use crate::loss::lists::Lists;
use crate::measure::{Discount, Gain};

/// DCG, the sum `sum_x D(r_x) G(y_x)`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Dcg {
    /// The function that maps a label to its gain.
    pub gain: Gain,
    /// The function that maps a rank to its discount.
    pub discount: Discount,
    /// The number of top ranks that count; `None` counts all ranks.
    pub k: Option<usize>,
}

impl Dcg {
    /// Creates the DCG of the whole list with gain `2^y - 1` and discount `1 / log2(1 + r)`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of top ranks that count, 1 or more; `None` counts the whole list.
    pub fn with_k(self, k: Option<usize>) -> Self {
        Self { k, ..self }
    }
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

    fn counted(&self, lists: &Lists) -> Option<Tensor<2>> {
        lists.gaining(&self.gain)
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        list.sum(list.gains(&self.gain), &self.discount.clone().into(), self.k)
    }
}

/// NDCG, the DCG divided by the largest DCG that any order can reach.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ndcg {
    /// The DCG that is divided by its largest value.
    pub dcg: Dcg,
}

impl Ndcg {
    /// Creates the NDCG of the whole list with gain `2^y - 1` and discount `1 / log2(1 + r)`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of top ranks that count, 1 or more; `None` counts the whole list.
    pub fn with_k(self, k: Option<usize>) -> Self {
        Self { dcg: self.dcg.with_k(k) }
    }
}

impl PositionMeasure for Ndcg {
    fn name(&self) -> &'static str {
        "ndcg"
    }

    fn check(&self, loss: &'static str) -> Result<(), LossError> {
        self.dcg.check(loss)
    }

    fn gain(&self) -> Option<&Gain> {
        Some(&self.dcg.gain)
    }

    fn counted(&self, lists: &Lists) -> Option<Tensor<2>> {
        self.dcg.counted(lists)
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        let Dcg { gain, discount, k } = &self.dcg;
        let (gains, discount) = (list.gains(gain), discount.clone().into());
        list.sum(gains.clone(), &discount, *k) / list.ideal(gains, &discount, *k)
    }
}

/// Average precision, `1/|l| sum_x l_x / r_x (relevant documents at or above x)`.
#[doc(alias = "MAP")]
#[doc(alias = "AP")]
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct AveragePrecision {
    /// The number of top ranks that count; `None` counts all ranks. The divisor is always the number of all relevant
    /// documents, even if there is a cut-off.
    pub k: Option<usize>,
}

impl AveragePrecision {
    /// Creates the average precision of the whole list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of top ranks that count, 1 or more; `None` counts the whole list.
    pub fn with_k(self, k: Option<usize>) -> Self {
        Self { k }
    }
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

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        list.sum_with_same_above(list.relevance(), &Discount::Zipf.into(), self.k) / list.relevant()
    }
}

/// Reciprocal rank, one over the rank of the first relevant document, or 0 if that rank is beyond the cut-off.
#[doc(alias = "MRR")]
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ReciprocalRank {
    /// Whether to use `sum_x l_x / r_x`, which equals the reciprocal rank only if exactly one document is relevant
    /// (smoothrank, section 4.1).
    pub linear: bool,
    /// The number of top ranks that count; `None` counts all ranks.
    pub k: Option<usize>,
}

impl ReciprocalRank {
    /// Creates the reciprocal rank of the first relevant document in the whole list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of top ranks that count, 1 or more; `None` counts the whole list.
    pub fn with_k(self, k: Option<usize>) -> Self {
        Self { k, ..self }
    }
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

    fn counted(&self, lists: &Lists) -> Option<Tensor<2>> {
        Some(lists.relevance())
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        if self.linear {
            return list.sum(list.relevance(), &Discount::Zipf.into(), self.k);
        }
        list.sum_with_no_relevant_above(list.relevance(), &Discount::Zipf.into(), self.k)
    }
}

/// Expected reciprocal rank, `sum_x g_x / r_x prod of (1 - g_y) over y above x`. A reader stops at document `x` with
/// probability `g_x = (2^{y_x} - 1) / 2^{maximum grade}`.
#[doc(alias = "ERR")]
#[derive(Debug, Clone, PartialEq)]
pub struct ExpectedReciprocalRank {
    maximum_grade: u32,
    /// The probability that a reader stops at each label.
    stops: Gain,
    /// The number of top ranks that count; `None` counts all ranks.
    k: Option<usize>,
}

impl ExpectedReciprocalRank {
    /// Creates the measure for labels from 0 to `maximum_grade`, which must be between 1 and 30, both included.
    pub fn new(maximum_grade: u32) -> Self {
        let stop = |label: u32| (f64::from(label).exp2() - 1.0) * (-f64::from(maximum_grade)).exp2();
        // `check` rejects larger grades, so they need no table.
        let labels = 0..=maximum_grade.min(LARGEST_GRADE);
        Self { maximum_grade, stops: Gain::Table(labels.map(stop).collect()), k: None }
    }

    /// Sets the number of top ranks that count, 1 or more; `None` counts the whole list.
    pub fn with_k(self, k: Option<usize>) -> Self {
        Self { k, ..self }
    }

    /// Returns the largest label, the label of a perfect document.
    pub fn maximum_grade(&self) -> u32 {
        self.maximum_grade
    }
}

/// The largest label that a loss with an exponential gain accepts.
const LARGEST_GRADE: u32 = MAX_EXPONENTIAL_LABEL as u32;

impl Default for ExpectedReciprocalRank {
    /// Creates the measure for labels from 0 to 4.
    fn default() -> Self {
        Self::new(4)
    }
}

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

    fn counted(&self, lists: &Lists) -> Option<Tensor<2>> {
        lists.gaining(&self.stops)
    }

    fn value(&self, list: &MeasureContext) -> Tensor<1> {
        let stops = list.gains(&self.stops);
        list.sum_with_none_above(stops.clone(), &Discount::Zipf.into(), stops, self.k)
    }
}
