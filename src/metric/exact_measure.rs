//! Turns a measure written over positions into an exact measure, which can be computed under any convention.

use std::ops::Range;

use burn::tensor::{DType, Tensor, TensorData};

use crate::loss::{
    Form, Indicators, Lists, LossError, MeasureContext, Orientation, PositionMeasure, Relaxed, label_problem,
};
use crate::measure::{ListMeasure, Measure, RankedDocuments};
use crate::op::Execution;

/// Returns the exact [`Measure`] of a [`PositionMeasure`], for [`evaluate`](crate::metric::evaluate()),
/// [`measure::evaluate`](crate::measure::evaluate()), `RankingMetric` and the selection of learners. One definition
/// gives both the surrogate, through [`Surrogate`](crate::loss::Surrogate), and the exact measure that it approximates.
///
/// The measure defines gain, discount and relevance (labels of 1 or above). The convention defines the order of equal
/// scores, the meaning of negative labels, and the value of a query with nothing to find. If the measure has a gain, a
/// query has nothing to find when no label is above 0. If the measure has no gain, a query has nothing to find when no
/// document is relevant.
///
/// If the convention averages ties, the value is exact for a measure that says that it is a sum over documents
/// ([`PositionMeasure::uses`]). All others, for example average precision, get the value of
/// [`RankedDocuments::mean_over_orders`].
/// Documents that were not retrieved have no position, but count in ideal values.
///
/// `name` includes the parameters, as in `rbp_of_mine@p=0.8`, and must not be the name of a measure of this crate. The
/// name is printed, and a fit can be resumed only with a measure of the same name. The measure is kept until the
/// program ends, as with [`Measure::own`]. Each list is measured by the measure's own operations on the CPU.
///
/// # Errors
/// Returns an error if a parameter of the measure is out of its range.
///
/// ```
/// use burn::tensor::Tensor;
/// use burn_rank::loss::{MeasureContext, PositionMeasure};
/// use burn_rank::measure::{Convention, Discount, Gain, Rankings, evaluate};
/// use burn_rank::metric;
///
/// /// NDCG with the discount 1 / r.
/// #[derive(Debug)]
/// struct ZipfNdcg;
///
/// impl PositionMeasure for ZipfNdcg {
///     fn name(&self) -> &'static str {
///         "zipf_ndcg"
///     }
///     fn gain(&self) -> Option<&Gain> {
///         Some(&Gain::Exp2)
///     }
///     fn value(&self, list: &MeasureContext) -> Tensor<1> {
///         let (gains, discount) = (list.gains(&Gain::Exp2), Discount::Zipf.into());
///         list.sum(gains.clone(), &discount, None) / list.ideal(gains, &discount, None)
///     }
/// }
///
/// let measures = [metric::exact_measure("zipf_ndcg", ZipfNdcg)?];
/// let rankings = Rankings { scores: &[2.0, 1.0], labels: &[0.0, 1.0], offsets: &[0, 2], document_ids: &[] };
/// let found = evaluate(&rankings, &measures, &Convention::default())?;
/// assert!((found.means[0].1 - 0.5).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn exact_measure(name: impl Into<String>, measure: impl PositionMeasure + 'static) -> Result<Measure, LossError> {
    measure.check(measure.name())?;
    let only_sums = measure.uses().only_sums();
    let (name, execution) = (name.into(), Execution::current());
    Ok(Measure::own(ExactMeasure { name, measure: Box::new(measure), only_sums, execution }))
}

#[derive(Debug)]
struct ExactMeasure {
    name: String,
    measure: Box<dyn PositionMeasure>,
    /// Whether the measure is a sum over documents. The mean of such a measure over tied orders depends only on the
    /// ranks that each document may have.
    only_sums: bool,
    /// The [`Execution`] settings of the thread that created the measure. They also apply on the threads that evaluate
    /// lists.
    execution: Execution,
}

impl ExactMeasure {
    /// Returns the measure for a list whose labels are given in rank order. Only the first `retrieved` documents have a
    /// rank. At ranks that documents share, the value is the mean over their orders.
    fn in_order(&self, labels: &[f64], retrieved: usize, ties: &[Range<usize>]) -> f64 {
        let lists = falling(labels);
        let ties = ties.to_vec();
        let at_ranks = move |values: Tensor<2>| {
            let mut values: Vec<f64> = values.into_data().iter().collect();
            values[retrieved..].fill(0.0);
            for tied in &ties {
                let mean = values[tied.clone()].iter().sum::<f64>() / tied.len() as f64;
                values[tied.clone()].fill(mean);
            }
            row(values)
        };
        let relaxed = Relaxed(Form::Indicators(Indicators::new(&lists, at_ranks)));
        let value = self.measure.value(&MeasureContext::new(&lists, relaxed, self.only_sums));
        value.into_data().iter::<f64>().sum()
    }

    /// Returns whether a document with this label counts as relevant. For a measure with a gain, this is a label above
    /// 0; for other measures, a label of 1 or above.
    fn finds(&self, label: f64) -> bool {
        if self.measure.gain().is_some() { label > 0.0 } else { label >= 1.0 }
    }
}

impl ListMeasure for ExactMeasure {
    fn name(&self) -> &str {
        &self.name
    }

    fn value(&self, list: &RankedDocuments) -> Option<f64> {
        let (retrieved, unretrieved) = (list.retrieved(), list.unretrieved());
        if !list.labels().iter().chain(unretrieved).any(|&label| self.finds(label)) {
            return None;
        }
        let all = |labels: &[f64]| [labels, unretrieved].concat();
        Some(self.execution.scope(|| {
            if self.only_sums {
                let ties: Vec<_> = list.ties().collect();
                self.in_order(&all(list.labels()), retrieved, &ties)
            } else {
                list.mean_over_orders(|labels| self.in_order(&all(labels), retrieved, &[]))
            }
        }))
    }

    fn in_unit_interval(&self) -> bool {
        self.measure.orientation() == Orientation::NormalizedMeasure
    }

    fn expected_label(&self, label: f64) -> Option<String> {
        label_problem(self.measure.gain(), label)
    }
}

/// Creates a list in which each document has a lower score than the one before.
fn falling(labels: &[f64]) -> Lists {
    let scores = (0..labels.len()).map(|document| -(document as f64)).collect();
    let documents = row(vec![1.0; labels.len()]).greater_elem(0.0);
    Lists::padded(row(scores), row(labels.to_vec()), documents)
}

/// Creates a tensor with one row, `[1, documents]`, in host memory.
fn row(values: Vec<f64>) -> Tensor<2> {
    // Not every GPU has double precision.
    let dtype = if cfg!(any(feature = "flex", test)) { DType::F64 } else { DType::F32 };
    let shape = [1, values.len()];
    Tensor::from_data(TensorData::new(values, shape), (&crate::device::host(), dtype))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::MeasureName;
    use crate::loss::surrogate::measures::KnownMeasure;
    use crate::measure::{Convention, Rankings, evaluate};

    /// Returns 40 queries of 5 documents, with ties, documents that were not retrieved, and queries without a relevant
    /// document.
    fn many() -> (Vec<f32>, Vec<f32>, Vec<usize>) {
        let hash = |document: u32| document.wrapping_mul(2_654_435_761) >> 16;
        let score = |d: u32| if hash(d + 7) % 11 == 0 { f32::NEG_INFINITY } else { (hash(d) % 6) as f32 };
        let scores = (0..200).map(score).collect();
        let labels = (0..200).map(|d| (hash(d + 9_000) % 7).saturating_sub(4) as f32).collect();
        (scores, labels, (0..=40).map(|query| 5 * query).collect())
    }

    #[test]
    fn the_exact_measure_of_a_definition_is_the_measure_of_this_crate() {
        let (scores, labels, offsets) = many();
        let rankings = Rankings { scores: &scores, labels: &labels, offsets: &offsets, document_ids: &[] };
        let pairs = [
            (exact_measure("ndcg of mine", KnownMeasure::at(MeasureName::Ndcg, None)).unwrap(), Measure::Ndcg(None)),
            (
                exact_measure("ndcg@3 of mine", KnownMeasure::at(MeasureName::Ndcg, Some(3))).unwrap(),
                Measure::Ndcg(Some(3)),
            ),
            (
                exact_measure("dcg@2 of mine", KnownMeasure::at(MeasureName::Dcg, Some(2))).unwrap(),
                Measure::Dcg(Some(2)),
            ),
            (
                exact_measure("p@2 of mine", KnownMeasure::at(MeasureName::Precision, 2)).unwrap(),
                Measure::Precision(Some(2)),
            ),
            (exact_measure("map of mine", KnownMeasure::at(MeasureName::Ap, None)).unwrap(), Measure::Ap(None)),
            (
                exact_measure("mrr of mine", KnownMeasure::at(MeasureName::Rr, None)).unwrap(),
                Measure::ReciprocalRank(None),
            ),
        ];
        let in_file_order = Convention { ties: crate::measure::Ties::FileOrder, ..Convention::default() };
        for convention in [Convention::default(), in_file_order] {
            for (own, known) in pairs {
                let found = evaluate(&rankings, &[own, known], &convention).unwrap();
                for (query, (own, known)) in found.per_query[0].iter().zip(&found.per_query[1]).enumerate() {
                    let close = match (own, known) {
                        (Some(own), Some(known)) => (own - known).abs() < 1e-12,
                        (own, known) => own == known,
                    };
                    assert!(close, "{known:?} of query {query}: {own:?}, {:?}", convention.ties);
                }
                assert!(found.per_query[0].iter().flatten().count() > 20);
            }
        }
    }

    #[test]
    fn what_it_refuses_is_said() {
        let rankings = Rankings { scores: &[1.0, 0.0], labels: &[0.0, 31.0], offsets: &[0, 2], document_ids: &[] };
        let refused = |measure| evaluate(&rankings, &[measure], &Convention::default()).unwrap_err().to_string();
        assert_eq!(
            refused(exact_measure("mine", KnownMeasure::at(MeasureName::Ndcg, None)).unwrap()),
            "document 2 of query 1 has the label 31: expected a whole number from 0 to 30"
        );
        assert!(
            refused(exact_measure("ndcg", KnownMeasure::at(MeasureName::Ndcg, None)).unwrap())
                .contains("a name that no measure")
        );
        assert!(exact_measure("mine", KnownMeasure::at(MeasureName::Precision, 0)).is_err());
    }
}
