//! Precision, recall and R-precision, which count the relevant documents at the top of the list.
//!
//! Let h be the number of relevant documents among the first k, and R the number of all relevant documents, retrieved
//! or not: `P@k = h / k` (or `h / min(k, retrieved)`, by convention), `Recall@k = h / R`, `R-precision = P@R`.
//!
//! Consider a tied group of m documents, of which c are relevant. Of its m positions, t are within the cut-off. The
//! expected number of hits in the group is t c / m, the mean of a hypergeometric distribution. The measures cost O(n).
//! For a query without a relevant document, recall and R-precision are 0/0, and precision is 0.

use super::convention::{Convention, PrecisionDenominator};
use super::ranking::RankedList;

/// Computes the precision of the first `k` documents, a value in 0..=1; `None` (0/0) for an empty list.
pub(super) fn precision(list: &RankedList, k: Option<usize>, convention: &Convention) -> Option<f64> {
    let retrieved = list.labels.len();
    let denominator = match (k, convention.precision_denominator) {
        (Some(k), PrecisionDenominator::Cutoff) => k,
        (Some(k), PrecisionDenominator::Retrieved) => retrieved.min(k),
        (None, _) => retrieved,
    };
    (denominator > 0).then(|| list.expected_hits(k) / denominator as f64)
}

/// Computes the recall of the first `k` documents, a value in 0..=1.
pub(super) fn recall(list: &RankedList, k: Option<usize>) -> Option<f64> {
    (list.relevant > 0).then(|| list.expected_hits(k) / list.relevant as f64)
}

/// Computes the precision of the first R documents, a value in 0..=1, where R is the number of relevant documents. The
/// divisor is R even if the list is shorter.
pub(super) fn r_precision(list: &RankedList) -> Option<f64> {
    recall(list, Some(list.relevant))
}

#[cfg(test)]
mod tests {
    use crate::measure::testing::{assert_close, assert_expectation_is_the_mean_of_all_orders, value};
    use crate::measure::{Convention, Measure};

    const SCORES: [f32; 4] = [4.0, 3.0, 2.0, 1.0];
    const LABELS: [f32; 4] = [1.0, 0.0, 2.0, 1.0];

    #[test]
    fn worked_values() {
        let value = |measure| value(measure, &Convention::default(), &SCORES, &LABELS);
        assert_close(value(Measure::Precision(Some(3))), 2.0 / 3.0);
        assert_close(value(Measure::Precision(None)), 3.0 / 4.0);
        assert_close(value(Measure::Precision(Some(10))), 3.0 / 10.0);
        assert_close(value(Measure::Recall(Some(1))), 1.0 / 3.0);
        assert_close(value(Measure::Recall(None)), 1.0);
        assert_close(value(Measure::RPrecision), 2.0 / 3.0);
    }

    #[test]
    fn a_short_list_divides_by_its_length_where_the_convention_says_so() {
        let convention = Convention::preset("tfranking").unwrap();
        assert_close(value(Measure::Precision(Some(10)), &convention, &SCORES, &LABELS), 3.0 / 4.0);
    }

    #[test]
    fn the_convention_sets_the_lowest_relevant_label() {
        let convention = Convention { relevant_from: 2.0, ..Convention::default() };
        assert_close(value(Measure::Precision(None), &convention, &SCORES, &LABELS), 1.0 / 4.0);
    }

    #[test]
    fn documents_that_were_not_retrieved_count_in_recall_only() {
        let convention = Convention::preset("rax").unwrap();
        let (scores, labels) = ([f32::NEG_INFINITY, 5.0, 2.0], [1.0, 0.0, 1.0]);
        assert_close(value(Measure::Recall(None), &convention, &scores, &labels), 0.5);
        assert_close(value(Measure::Precision(None), &convention, &scores, &labels), 0.5);
    }

    #[test]
    fn ties_are_averaged_exactly() {
        for k in [None, Some(1), Some(2), Some(4), Some(9)] {
            assert_expectation_is_the_mean_of_all_orders(Measure::Precision(k));
            assert_expectation_is_the_mean_of_all_orders(Measure::Recall(k));
        }
        assert_expectation_is_the_mean_of_all_orders(Measure::RPrecision);
    }
}
