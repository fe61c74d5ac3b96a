//! Expected reciprocal rank (ERR), the expected value of 1 / r for a user who reads from the top and stops at rank r.
//!
//! ERR is `ERR@k = sum_{r <= k} R_r / r x prod_{t < r} (1 - R_t)` (Chapelle, Metzler, Zhang and Grinspan 2009). At a
//! document with label y, the user stops with probability `R = (2^y - 1) / 2^g`, where g is the maximum grade of the
//! convention.
//!
//! For a tied group, let q = 1 - R for each document. Let E_j be the mean, over all subsets of j documents, of the
//! product of their q. The expected probability of stopping at position j is E_(j-1) - E_j. The mean for i documents
//! follows from the means for i - 1 documents: `E_j` becomes `(i - j)/i E_j + j/i q_i E_(j-1)`. This recursion is a
//! convex combination, so no precision is lost to cancellation. ERR costs O(n) without ties, and O(m min(m, k)) for a
//! tied group of m documents. If all labels are 0, ERR is 0.

use super::convention::Convention;
use super::error::MeasureError;
use super::ranking::RankedList;

/// Computes the ERR of the first `k` documents, a value in 0..1.
pub(super) fn expected_reciprocal_rank(list: &RankedList, k: Option<usize>, convention: &Convention) -> f64 {
    let scale = (-convention.maximum_grade).exp2();
    let passes = |label: f64| 1.0 - (label.exp2() - 1.0) * scale;
    let mut reaches = 1.0;
    let mut value = 0.0;
    let mut means = Vec::new();
    for group in list.groups_within(k) {
        let labels = &list.labels[group.start..group.end];
        if let [label] = labels {
            let pass = passes(*label);
            value += reaches * (1.0 - pass) / group.end as f64;
            reaches *= pass;
            continue;
        }
        let inside = group.within(k.unwrap_or(usize::MAX));
        subset_means(labels.iter().map(|&label| passes(label)), inside, &mut means);
        for place in 1..=inside {
            value += reaches * (means[place - 1] - means[place]) / (group.start + place) as f64;
        }
        reaches *= means[inside];
    }
    value
}

/// Sets `means[j]` to the mean, over all subsets of j factors, of the product of these factors, for j up to `largest`.
fn subset_means(factors: impl Iterator<Item = f64>, largest: usize, means: &mut Vec<f64>) {
    means.clear();
    means.resize(largest + 1, 0.0);
    means[0] = 1.0;
    for (seen, factor) in factors.enumerate() {
        let documents = (seen + 1) as f64;
        for j in (1..=largest.min(seen + 1)).rev() {
            let with = j as f64 / documents;
            means[j] = (1.0 - with) * means[j] + with * factor * means[j - 1];
        }
    }
}

/// Rejects a label above the maximum grade, for which the probability of stopping would exceed 1.
pub(super) fn check_grades(list: &RankedList, convention: &Convention, query: usize) -> Result<(), MeasureError> {
    match list.all_labels().find(|label| *label > convention.maximum_grade) {
        None => Ok(()),
        Some(label) => Err(MeasureError::Grade { query, found: label, maximum: convention.maximum_grade }),
    }
}

#[cfg(test)]
mod tests {
    use super::subset_means;
    use crate::measure::testing::{assert_close, assert_expectation_is_the_mean_of_all_orders, value};
    use crate::measure::{Convention, Measure, Ranking};

    #[test]
    fn worked_values() {
        let err = |labels: &[f32]| {
            let scores: Vec<f32> = (0..labels.len()).map(|at| -(at as f32)).collect();
            value(Measure::Err(Some(3)), &Convention::default(), &scores, labels)
        };
        assert_close(err(&[1.0]), 1.0 / 16.0);
        assert_close(err(&[3.0]), 7.0 / 16.0);
        assert_close(err(&[2.0, 4.0]), 3.0 / 16.0 + 13.0 / 16.0 * 15.0 / 16.0 / 2.0);
    }

    #[test]
    fn means_over_subsets() {
        let mut means = Vec::new();
        subset_means([0.5, 0.25, 1.0].into_iter(), 3, &mut means);
        let expected = [1.0, 1.75 / 3.0, (0.125 + 0.5 + 0.25) / 3.0, 0.125];
        for (found, expected) in means.iter().zip(expected) {
            assert_close(*found, expected);
        }
    }

    #[test]
    fn a_label_above_the_maximum_grade_is_refused() {
        let query = Ranking { scores: &[0.0], labels: &[5.0], ids: None };
        let message = Measure::Err(None).query(&query, &Convention::default()).unwrap_err().to_string();
        assert!(message.contains("label 5") && message.contains("maximum_grade"), "{message}");
    }

    #[test]
    fn ties_are_averaged_exactly() {
        for k in [None, Some(1), Some(2), Some(4), Some(9)] {
            assert_expectation_is_the_mean_of_all_orders(Measure::Err(k));
        }
    }
}
