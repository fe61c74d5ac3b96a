//! Reciprocal rank (whose mean is MRR), success (hits) and winner takes all, which measure the first relevant document.
//!
//! Let f be the rank of the first relevant document: `RR@k = 1/f if f <= k, else 0`, `Success@k = 1 if f <= k, else 0`,
//! `WTA = Success@1`.
//!
//! Consider a group of m tied documents, c of them relevant. The first relevant document of the group is at position j
//! with probability `C(m - j, c - 1) / C(m, c)`. The code computes this probability step by step, as a product of
//! ratios. The measures cost O(n). For a query without a relevant document, all these measures are 0.

use super::ranking::{Group, RankedList};

/// Computes the reciprocal of the rank of the first relevant document, or 0 if that rank is beyond `k`.
pub(super) fn reciprocal_rank(list: &RankedList, k: Option<usize>) -> f64 {
    let Some(group) = first_with_relevant(list, k) else { return 0.0 };
    places_of_first(group).take(group.within(k.unwrap_or(usize::MAX))).map(|(rank, share)| share / rank as f64).sum()
}

/// Computes the probability that a relevant document is among the first `k`, which is 0 or 1 without ties.
pub(super) fn success(list: &RankedList, k: Option<usize>) -> f64 {
    let Some(group) = first_with_relevant(list, k) else { return 0.0 };
    match group.within(k.unwrap_or(usize::MAX)) {
        inside if inside == group.len() => 1.0,
        inside => places_of_first(group).take(inside).map(|(_, share)| share).sum(),
    }
}

fn first_with_relevant<'a>(list: &'a RankedList, k: Option<usize>) -> Option<&'a Group> {
    list.groups_within(k).find(|group| group.relevant > 0)
}

/// Iterates over the ranks that the group's first relevant document can have, with the probability of each rank.
fn places_of_first(group: &Group) -> impl Iterator<Item = (usize, f64)> {
    let (start, relevant) = (group.start, group.relevant as f64);
    let irrelevant = group.len() - group.relevant;
    let mut none_before = 1.0;
    (0..=irrelevant).map(move |place| {
        let left = (irrelevant - place) as f64 + relevant;
        let share = none_before * relevant / left;
        none_before *= (irrelevant - place) as f64 / left;
        (start + place + 1, share)
    })
}

#[cfg(test)]
mod tests {
    use crate::measure::testing::{assert_close, assert_expectation_is_the_mean_of_all_orders, value};
    use crate::measure::{Convention, Measure};

    #[test]
    fn worked_values() {
        let value = |measure| value(measure, &Convention::default(), &[4.0, 3.0, 2.0], &[0.0, 0.0, 1.0]);
        assert_close(value(Measure::ReciprocalRank(None)), 1.0 / 3.0);
        assert_close(value(Measure::ReciprocalRank(Some(2))), 0.0);
        assert_close(value(Measure::Success(Some(2))), 0.0);
        assert_close(value(Measure::Success(Some(3))), 1.0);
        assert_close(value(Measure::Success(None)), 1.0);
        assert_close(value(Measure::Wta), 0.0);
    }

    #[test]
    fn a_relevant_document_among_ties_has_the_mean_reciprocal_rank() {
        let found = value(Measure::ReciprocalRank(None), &Convention::default(), &[0.0; 4], &[0.0, 1.0, 0.0, 0.0]);
        assert_close(found, (1.0 + 1.0 / 2.0 + 1.0 / 3.0 + 1.0 / 4.0) / 4.0);
    }

    #[test]
    fn ties_are_averaged_exactly() {
        for k in [None, Some(1), Some(2), Some(4), Some(9)] {
            assert_expectation_is_the_mean_of_all_orders(Measure::ReciprocalRank(k));
            assert_expectation_is_the_mean_of_all_orders(Measure::Success(k));
        }
        assert_expectation_is_the_mean_of_all_orders(Measure::Wta);
    }
}
