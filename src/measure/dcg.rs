//! Discounted cumulative gain (DCG) and its normalized form, NDCG.
//!
//! DCG is `DCG@k = sum_{r <= k} G(y_r) x D(r)`, with the gain G of a label and the discount D of a rank. NDCG is
//! `DCG@k / max over all orders of DCG@k` (Järvelin and Kekäläinen 2002).
//!
//! Tied documents share the mean discount of their ranks (McSherry and Najork 2008). The shared discount gives the
//! expectation over all orders of the tied documents, because DCG is linear in the gains. Computing NDCG takes O(n log
//! n), because the ideal order needs sorting. Without a positive label, NDCG is 0/0.

use std::cmp::Reverse;

use super::convention::Convention;
use super::ranking::RankedList;

/// Computes the DCG of the first `k` documents, which is at least 0.
pub(super) fn dcg(list: &RankedList, k: Option<usize>, convention: &Convention) -> f64 {
    let gain = |label: &f64| convention.gain.of(*label);
    let sum = |group: &super::ranking::Group| {
        let inside = group.within(k.unwrap_or(usize::MAX));
        let discount: f64 = (group.start..group.start + inside).map(|at| list.discounts.at_position(at)).sum();
        let gains: f64 = list.labels[group.start..group.end].iter().map(gain).sum();
        discount * gains / group.len() as f64
    };
    // Starts from 0, because an empty sum of floats is -0.
    list.groups_within(k).map(sum).fold(0.0, |sum, part| sum + part)
}

/// Computes the NDCG of the first `k` documents, a value in 0..=1.
pub(super) fn ndcg(list: &RankedList, k: Option<usize>, convention: &Convention) -> Option<f64> {
    if !list.any_positive {
        return None;
    }
    let ideal = ideal_dcg(list, k, convention);
    (ideal > 0.0).then(|| dcg(list, k, convention) / ideal)
}

/// Computes the largest possible DCG@k of all documents, retrieved or not.
fn ideal_dcg(list: &RankedList, k: Option<usize>, convention: &Convention) -> f64 {
    // Adding 0 turns -0 into 0.
    let mut gains: Vec<f64> = list.all_labels().map(|label| convention.gain.of(label) + 0.0).collect();
    let by_falling_gain = |gain: &f64| Reverse(gain.to_bits());
    match k {
        Some(k) if k < gains.len() => {
            gains.select_nth_unstable_by_key(k, by_falling_gain);
            gains.truncate(k);
        }
        _ => {}
    }
    // Gains are 0 or above, so their bits sort in the same order.
    gains.sort_unstable_by_key(by_falling_gain);
    gains.iter().enumerate().map(|(at, gain)| gain * list.discounts.at_position(at)).sum()
}

#[cfg(test)]
mod tests {
    use crate::measure::testing::{assert_close, assert_expectation_is_the_mean_of_all_orders, value};
    use crate::measure::{Convention, EmptyQuery, Gain, Measure};

    #[test]
    fn worked_values() {
        let ranked = value(Measure::Dcg(None), &Convention::default(), &[3.0, 2.0, 1.0], &[1.0, 0.0, 2.0]);
        assert_close(ranked, 1.0 + 3.0 / 2.0);
        let ideal = 3.0 + 1.0 / 3f64.log2();
        let ndcg = |k| value(Measure::Ndcg(k), &Convention::default(), &[3.0, 2.0, 1.0], &[1.0, 0.0, 2.0]);
        assert_close(ndcg(None), 2.5 / ideal);
        assert_close(ndcg(Some(1)), 1.0 / 3.0);
        assert_close(ndcg(Some(10)), 2.5 / ideal);
    }

    #[test]
    fn a_gain_of_minus_0_is_the_smallest() {
        let convention = Convention { gain: Gain::Table(vec![-0.0, 1.0]), ..Convention::default() };
        assert_close(value(Measure::Ndcg(None), &convention, &[2.0, 1.0], &[1.0, 0.0]), 1.0);
    }

    #[test]
    fn presets_differ_where_they_should() {
        let value = |name| {
            let convention = Convention::preset(name).unwrap();
            value(Measure::Dcg(None), &convention, &[3.0, 2.0, 1.0], &[1.0, 2.0, 2.0])
        };
        assert_close(value("standard"), 1.0 + 3.0 / 3f64.log2() + 3.0 / 2.0);
        assert_close(value("letor"), 1.0 + 3.0 + 3.0 * 2f64.ln() / 3f64.ln());
        assert_close(value("sklearn"), 1.0 + 2.0 / 3f64.log2() + 2.0 / 2.0);
    }

    #[test]
    fn a_query_without_a_positive_label_is_empty() {
        let all_zero = |empty, gain| {
            let convention = Convention { empty, gain, ..Convention::default() };
            let query = crate::measure::Ranking { scores: &[1.0, 0.0], labels: &[0.0, 0.0], ids: None };
            Measure::Ndcg(None).query(&query, &convention).unwrap()
        };
        assert_eq!(all_zero(EmptyQuery::Exclude, Gain::Exp2), None);
        assert_eq!(all_zero(EmptyQuery::Exclude, Gain::Exp2Raw), None);
        assert_eq!(all_zero(EmptyQuery::Value(1.0), Gain::Exp2), Some(1.0));
    }

    #[test]
    fn the_ideal_order_is_by_gain_even_if_a_table_is_not_monotone() {
        let convention = Convention { gain: Gain::Table(vec![0.0, 5.0, 1.0]), ..Convention::default() };
        assert_close(value(Measure::Ndcg(None), &convention, &[2.0, 1.0, 0.0], &[1.0, 2.0, 0.0]), 1.0);
    }

    #[test]
    fn ties_are_averaged_exactly() {
        for k in [None, Some(1), Some(2), Some(3), Some(9)] {
            assert_expectation_is_the_mean_of_all_orders(Measure::Ndcg(k));
            assert_expectation_is_the_mean_of_all_orders(Measure::Dcg(k));
        }
    }
}
