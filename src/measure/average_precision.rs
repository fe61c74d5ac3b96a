//! Average precision (AP), whose mean over queries is MAP.
//!
//! Average precision is `AP@k = 1/R sum_{r <= k} l_r (1/r) sum_{t <= r} l_t`. The divisor R is the number of relevant
//! documents, or `min(k, R)` in some conventions.
//!
//! Consider a group of m tied documents, of which c are relevant. The group follows `a` documents, of which H are
//! relevant. Position j of the group is relevant with probability c/m. If position j is relevant, the expected number
//! of relevant documents before it in the group is (j - 1)(c - 1)/(m - 1). In expectation, the group therefore
//! contributes `sum_j (c/m) (H + 1 + (j - 1)(c - 1)/(m - 1)) / (a + j)`. Average precision costs O(n). For a query
//! without a relevant document, average precision is 0/0.

use super::convention::{AveragePrecisionDenominator, AveragePrecisionTies, Convention};
use super::ranking::{Group, RankedList};

/// Computes the average precision of the first `k` documents, a value in 0..=1.
pub(super) fn average_precision(list: &RankedList, k: Option<usize>, convention: &Convention) -> Option<f64> {
    if list.relevant == 0 {
        return None;
    }
    let (groups, precisions): (_, fn(&Group, usize, usize) -> f64) = match convention.average_precision_ties {
        AveragePrecisionTies::AsOrdered => (list.groups, expected_precisions),
        AveragePrecisionTies::GroupEnd => (list.equal_scores, precisions_at_end),
    };
    let cutoff = k.unwrap_or(usize::MAX);
    let mut before = 0;
    let mut sum = 0.0;
    for group in groups.iter().take_while(|group| group.start < cutoff) {
        if group.relevant > 0 {
            sum += precisions(group, before, group.within(cutoff));
            before += group.relevant;
        }
    }
    let denominator = match convention.average_precision_denominator {
        AveragePrecisionDenominator::Relevant => list.relevant,
        AveragePrecisionDenominator::CutoffOrRelevant => list.relevant.min(cutoff),
    };
    Some(sum / denominator as f64)
}

/// Computes how much a group adds to the sum of precisions, in expectation over its orders. Only the first `inside`
/// positions of the group count.
fn expected_precisions(group: &Group, before: usize, inside: usize) -> f64 {
    let others = match group.len() {
        1 => 0.0,
        documents => (group.relevant - 1) as f64 / (documents - 1) as f64,
    };
    let precision = |j: usize| (before as f64 + 1.0 + j as f64 * others) / (group.start + j + 1) as f64;
    group.relevant_share() * (0..inside).map(precision).sum::<f64>()
}

/// Computes a group's sum of precisions if all documents of the group are retrieved at once.
fn precisions_at_end(group: &Group, before: usize, inside: usize) -> f64 {
    let precision = (before + group.relevant) as f64 / group.end as f64;
    group.relevant_share() * inside as f64 * precision
}

#[cfg(test)]
mod tests {
    use crate::measure::convention::{AveragePrecisionDenominator, AveragePrecisionTies};
    use crate::measure::testing::{assert_close, assert_expectation_is_the_mean_of_all_orders, value};
    use crate::measure::{Convention, Measure};

    const SCORES: [f32; 5] = [5.0, 4.0, 3.0, 2.0, 1.0];
    const LABELS: [f32; 5] = [1.0, 0.0, 1.0, 0.0, 2.0];

    #[test]
    fn worked_values() {
        let ap = |k| value(Measure::Ap(k), &Convention::default(), &SCORES, &LABELS);
        assert_close(ap(None), (1.0 + 2.0 / 3.0 + 3.0 / 5.0) / 3.0);
        assert_close(ap(Some(4)), (1.0 + 2.0 / 3.0) / 3.0);
        assert_close(ap(Some(1)), 1.0 / 3.0);
    }

    #[test]
    fn the_convention_chooses_the_denominator() {
        let convention = Convention {
            average_precision_denominator: AveragePrecisionDenominator::CutoffOrRelevant,
            ..Convention::default()
        };
        assert_close(value(Measure::Ap(Some(2)), &convention, &SCORES, &LABELS), 1.0 / 2.0);
        assert_close(value(Measure::Ap(Some(9)), &convention, &SCORES, &LABELS), (1.0 + 2.0 / 3.0 + 0.6) / 3.0);
    }

    #[test]
    fn a_group_retrieved_at_once_has_the_precision_at_its_end() {
        let convention = Convention { average_precision_ties: AveragePrecisionTies::GroupEnd, ..Convention::default() };
        let found = value(Measure::Ap(None), &convention, &[2.0, 1.0, 1.0, 0.0], &[1.0, 1.0, 0.0, 1.0]);
        assert_close(found, (1.0 + 2.0 / 3.0 + 3.0 / 4.0) / 3.0);
    }

    #[test]
    fn ties_are_averaged_exactly() {
        for k in [None, Some(1), Some(2), Some(4), Some(9)] {
            assert_expectation_is_the_mean_of_all_orders(Measure::Ap(k));
        }
    }
}
