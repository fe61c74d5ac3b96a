//! The exact value of a measure for one list whose documents are in rank order.

use std::ops::Range;

use burn::tensor::{DType, Tensor, TensorData};

use super::context::MeasureContext;
use super::position_function::PositionFunction;
use super::position_measure::PositionMeasure;
use super::relaxation::{Indicators, Relaxed};
use crate::loss::about::Orientation;
use crate::loss::error::{LossError, label_problem};
use crate::loss::lists::Lists;

/// A measure, and whether it is a sum over positions.
#[derive(Debug)]
pub(crate) struct RankedValue<M> {
    measure: M,
    /// Whether the measure is a sum over documents. The mean of such a measure over tied orders depends only on the
    /// ranks that each document may have.
    additive: bool,
}

impl<M: PositionMeasure> RankedValue<M> {
    /// # Errors
    /// Returns an error if a parameter of the measure is out of range.
    pub(crate) fn new(measure: M) -> Result<Self, LossError> {
        measure.check(measure.name())?;
        let lists = falling(&[1.0, 0.0]);
        // A list of two documents shows which operations the measure uses.
        let context = MeasureContext::new(&lists, expectations(2, 2, &[]));
        measure.value(&context);
        let additive = context.undefined().is_none();
        Ok(Self { measure, additive })
    }

    /// Returns whether [`averaged`](Self::averaged) may be called. The method requires a measure that does not compare
    /// documents with each other.
    pub(crate) fn is_additive(&self) -> bool {
        self.additive
    }

    /// Returns whether the measure is always in `[0, 1]`.
    pub(crate) fn is_normalized(&self) -> bool {
        self.measure.orientation() == Orientation::NormalizedMeasure
    }

    /// If the gain does not allow `label`, returns a description of the labels that it allows.
    pub(crate) fn expected_label(&self, label: f64) -> Option<String> {
        label_problem(self.measure.gain(), label)
    }

    /// Returns whether a document with this label counts as relevant. For a measure with a gain, this is a label above
    /// 0; for other measures, a label of 1 or above.
    pub(crate) fn finds(&self, label: f64) -> bool {
        if self.measure.gain().is_some() { label > 0.0 } else { label >= 1.0 }
    }

    /// Returns the measure for a list whose labels are given in rank order. Only the first `retrieved` documents have a
    /// rank.
    pub(crate) fn in_order(&self, labels: &[f64], retrieved: usize) -> f64 {
        let ranked = row((0..labels.len()).map(|document| f64::from(u8::from(document < retrieved))).collect());
        self.value(&falling(labels), |lists| {
            Relaxed::Indicators(Indicators::new(lists, move |values| values * ranked.clone()))
        })
    }

    /// Returns the mean of [`in_order`](Self::in_order) over all orders that permute the documents within each range in
    /// `ties`.
    pub(crate) fn averaged(&self, labels: &[f64], retrieved: usize, ties: &[Range<usize>]) -> f64 {
        debug_assert!(self.additive, "two documents meet in {}", self.measure.name());
        self.value(&falling(labels), |_| expectations(labels.len(), retrieved, ties))
    }

    fn value(&self, lists: &Lists, relax: impl FnOnce(&Lists) -> Relaxed) -> f64 {
        let value = self.measure.value(&MeasureContext::new(lists, relax(lists)));
        value.into_data().iter::<f64>().sum()
    }
}

/// Creates a list in which each document has a lower score than the one before.
fn falling(labels: &[f64]) -> Lists {
    let scores = (0..labels.len()).map(|document| -(document as f64)).collect();
    let documents = row(vec![1.0; labels.len()]).greater_elem(0.0);
    Lists::padded(row(scores), row(labels.to_vec()), documents)
}

/// For each document, returns the mean of a function of the rank over the document's possible ranks. The mean is 0 if
/// the document has no rank.
fn expectations(documents: usize, retrieved: usize, ties: &[Range<usize>]) -> Relaxed {
    let ties = ties.to_vec();
    Relaxed::Expectations(Box::new(move |f: &PositionFunction, k: Option<usize>| {
        let within = k.unwrap_or(retrieved).min(retrieved);
        let mut values = if within == 0 { Vec::new() } else { f.at_ranks(within) };
        values.resize(documents, 0.0);
        for tied in &ties {
            let mean = values[tied.clone()].iter().sum::<f64>() / tied.len() as f64;
            values[tied.clone()].fill(mean);
        }
        row(values)
    }))
}

/// Creates a tensor with one row, `[1, documents]`, in host memory.
fn row(values: Vec<f64>) -> Tensor<2> {
    // Not every GPU has double precision.
    let dtype = if cfg!(any(feature = "flex", test)) { DType::F64 } else { DType::F32 };
    let shape = [1, values.len()];
    Tensor::from_data(TensorData::new(values, shape), (&crate::device::host(), dtype))
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "one tie is one range")]
mod tests {
    use super::*;
    use crate::loss::{AveragePrecision, Dcg, Ndcg, PrecisionAt, ReciprocalRank};

    const LABELS: [f64; 5] = [1.0, 0.0, 3.0, 0.0, 2.0];

    #[test]
    fn sums_over_positions_are_additive_and_products_of_two_are_not() {
        let additive = [
            RankedValue::new(Ndcg::new()).unwrap().is_additive(),
            RankedValue::new(PrecisionAt { k: 2 }).unwrap().is_additive(),
            RankedValue::new(AveragePrecision::new()).unwrap().is_additive(),
            RankedValue::new(ReciprocalRank::new()).unwrap().is_additive(),
        ];
        assert_eq!(additive, [true, true, false, false]);
        assert!(RankedValue::new(PrecisionAt { k: 0 }).is_err());
    }

    #[test]
    fn documents_without_a_rank_add_nothing() {
        let dcg = RankedValue::new(Dcg::new()).unwrap();
        let expected = 1.0 + 7.0 / 2.0;
        assert!((dcg.in_order(&LABELS, 4) - expected).abs() < 1e-12);
        assert!((dcg.averaged(&LABELS, 4, &[]) - expected).abs() < 1e-12);
        let precision = RankedValue::new(AveragePrecision::new()).unwrap();
        assert!((precision.in_order(&LABELS, 3) - (1.0 + 2.0 / 3.0) / 3.0).abs() < 1e-12);
        assert_eq!(precision.in_order(&LABELS, 0), 0.0);
        assert_eq!(dcg.averaged(&LABELS, 0, &[]), 0.0);
    }

    #[test]
    fn the_average_is_the_mean_of_the_orders() {
        let value = RankedValue::new(Ndcg::new().with_k(Some(2))).unwrap();
        let averaged = value.averaged(&LABELS, 5, &[1..3]);
        let swapped = [1.0, 3.0, 0.0, 0.0, 2.0];
        let mean = (value.in_order(&LABELS, 5) + value.in_order(&swapped, 5)) / 2.0;
        assert!((averaged - mean).abs() < 1e-12, "{averaged} {mean}");
    }
}
