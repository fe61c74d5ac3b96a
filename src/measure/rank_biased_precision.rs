//! Rank-biased precision (RBP), which models a user who continues to the next document with probability p.
//!
//! RBP is `RBP = (1 - p) sum_r l_r p^(r - 1)` (Moffat and Zobel 2008). Tied documents share the mean weight of their
//! ranks, which is the expectation over their orders. RBP costs O(n). For a query without a relevant document, RBP is
//! 0.

use super::ranking::RankedList;

/// Computes the RBP with the given persistence, a value in 0..1.
pub(super) fn rank_biased_precision(list: &RankedList, persistence: f64) -> f64 {
    let mut reaches = 1.0;
    let mut value = 0.0;
    for group in list.groups {
        let after = reaches * persistence.powi(group.len() as i32);
        // (1 - p) times the geometric sum over the group's ranks.
        value += (reaches - after) * group.relevant_share();
        reaches = after;
    }
    value
}

#[cfg(test)]
mod tests {
    use crate::measure::testing::{assert_close, assert_expectation_is_the_mean_of_all_orders, value};
    use crate::measure::{Convention, Measure};

    #[test]
    fn worked_values() {
        let rbp = |persistence| {
            let measure = Measure::Rbp { persistence };
            value(measure, &Convention::default(), &[4.0, 3.0, 2.0, 1.0], &[1.0, 0.0, 0.0, 3.0])
        };
        assert_close(rbp(0.5), 0.5 * (1.0 + 0.125));
        assert_close(rbp(0.9), 0.1 * (1.0 + 0.729));
    }

    #[test]
    fn ties_are_averaged_exactly() {
        for persistence in [0.2, 0.8, 0.95] {
            assert_expectation_is_the_mean_of_all_orders(Measure::Rbp { persistence });
        }
    }
}
