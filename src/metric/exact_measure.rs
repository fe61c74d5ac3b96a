//! Turns a measure written over positions into an exact measure, which can be computed under any convention.

use crate::loss::{LossError, PositionMeasure, RankedValue};
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
/// If the convention averages ties, the value is exact for a measure that is a sum over positions. Measures that are
/// not sums over positions, for example average precision, get the value of [`RankedDocuments::mean_over_orders`].
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
/// use burn_rank::loss::{Dcg, Ndcg};
/// use burn_rank::measure::{Convention, Discount, Rankings, evaluate};
/// use burn_rank::metric;
///
/// let zipf = Ndcg { dcg: Dcg { discount: Discount::Zipf, ..Dcg::new() } };
/// let measures = [metric::exact_measure("zipf_ndcg", zipf)?];
/// let rankings = Rankings { scores: &[2.0, 1.0], labels: &[0.0, 1.0], offsets: &[0, 2], document_ids: &[] };
/// let found = evaluate(&rankings, &measures, &Convention::default())?;
/// assert!((found.means[0].1 - 0.5).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn exact_measure(name: impl Into<String>, measure: impl PositionMeasure + 'static) -> Result<Measure, LossError> {
    let (name, value) = (name.into(), RankedValue::new(measure)?);
    Ok(Measure::own(ExactMeasure { name, value, execution: Execution::current() }))
}

#[derive(Debug)]
struct ExactMeasure<M> {
    name: String,
    value: RankedValue<M>,
    /// The [`Execution`] settings of the thread that created the measure. They also apply on the threads that evaluate
    /// lists.
    execution: Execution,
}

impl<M: PositionMeasure> ListMeasure for ExactMeasure<M> {
    fn name(&self) -> &str {
        &self.name
    }

    fn value(&self, list: &RankedDocuments) -> Option<f64> {
        let (retrieved, unretrieved) = (list.retrieved(), list.unretrieved());
        if !list.labels().iter().chain(unretrieved).any(|&label| self.value.finds(label)) {
            return None;
        }
        let all = |labels: &[f64]| [labels, unretrieved].concat();
        Some(self.execution.scope(|| {
            if self.value.is_additive() {
                let ties: Vec<_> = list.ties().collect();
                self.value.averaged(&all(list.labels()), retrieved, &ties)
            } else {
                list.mean_over_orders(|labels| self.value.in_order(&all(labels), retrieved))
            }
        }))
    }

    fn in_unit_interval(&self) -> bool {
        self.value.is_normalized()
    }

    fn expected_label(&self, label: f64) -> Option<String> {
        self.value.expected_label(label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{AveragePrecision, Dcg, Ndcg, PrecisionAt, ReciprocalRank};
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
            (exact_measure("ndcg of mine", Ndcg::new()).unwrap(), Measure::Ndcg(None)),
            (exact_measure("ndcg@3 of mine", Ndcg::new().with_k(Some(3))).unwrap(), Measure::Ndcg(Some(3))),
            (exact_measure("dcg@2 of mine", Dcg::new().with_k(Some(2))).unwrap(), Measure::Dcg(Some(2))),
            (exact_measure("p@2 of mine", PrecisionAt { k: 2 }).unwrap(), Measure::Precision(Some(2))),
            (exact_measure("map of mine", AveragePrecision::new()).unwrap(), Measure::Ap(None)),
            (exact_measure("mrr of mine", ReciprocalRank::new()).unwrap(), Measure::ReciprocalRank(None)),
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
            refused(exact_measure("mine", Ndcg::new()).unwrap()),
            "document 2 of query 1 has the label 31: expected a whole number from 0 to 30"
        );
        assert!(refused(exact_measure("ndcg", Ndcg::new()).unwrap()).contains("a name that no measure"));
        assert!(exact_measure("mine", PrecisionAt { k: 0 }).is_err());
    }
}
