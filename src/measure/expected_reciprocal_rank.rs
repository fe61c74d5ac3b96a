//! Expected reciprocal rank (ERR), the expected value of 1 / r for a user who reads from the top and stops at rank r.
//!
//! ERR is `ERR@k = sum_{r <= k} R_r / r x prod_{t < r} (1 - R_t)` (Chapelle, Metzler, Zhang and Grinspan 2009). At a
//! document with label y, the user stops with probability `R = (2^y - 1) / 2^g`, where g is the maximum grade of the
//! convention.
//!
//! For a tied group, let q = 1 - R for each document. Let E_j be the mean, over all subsets of j documents, of the
//! product of their q. The expected probability of stopping at position j is E_(j-1) - E_j. The mean for i documents
//! follows from the means for i - 1 documents: `E_j` becomes `(i - j)/i E_j + j/i q_i E_(j-1)`. This recursion is a
//! convex combination, so no precision is lost to cancellation. If all labels are 0, ERR is 0.
//!
//! For a long tied group that ends before rank k, an integral gives the same sum. In a random order, each document has
//! a place t between 0 and 1, and one after b documents before the group has the reciprocal rank
//! `int z^b prod_j (z if document j lies before t, else 1) dz`. With the chance to stop, the group adds
//! `int int z^b sum_i R_i prod_(j != i) (1 - t (1 - z q_j)) dt dz`. The integrand is smooth on panels that halve
//! towards t = 0 and z = 1, so quadrature meets it to rounding.
//!
//! ERR costs O(n) without ties. A tied group of m documents with g different labels costs O(m min(m, k)), or
//! O(g log^2 m) by the integral, whichever is less.

use super::convention::Convention;
use super::error::MeasureError;
use super::ranking::RankedList;
use crate::quadrature::gauss_legendre;

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
        if let Some(levels) = levels(labels).filter(|_| inside == labels.len()) {
            let levels: Vec<(f64, f64)> = levels.iter().map(|&(label, count)| (passes(label), count)).collect();
            value += reaches * of_whole_tie(&levels, group.start as f64);
            reaches *= levels.iter().map(|(pass, count)| pass.powf(*count)).product::<f64>();
            continue;
        }
        subset_means(labels.iter().map(|&label| passes(label)), inside, &mut means);
        for place in 1..=inside {
            value += reaches * (means[place - 1] - means[place]) / (group.start + place) as f64;
        }
        reaches *= means[inside];
    }
    value
}

/// The number of nodes of the quadrature in each panel.
const NODES: usize = 16;

/// Returns the different labels of a tied group, each with the number of its documents; `None` if the group is so
/// short, or has so many labels, that the recursion takes less time than the integral.
fn levels(labels: &[f64]) -> Option<Vec<(f64, f64)>> {
    let points = NODES * (labels.len().ilog2() as usize + 4);
    let is_faster = |levels: usize| labels.len().saturating_mul(labels.len()) > 8 * points * points * levels;
    if !is_faster(1) {
        return None;
    }
    let mut sorted = labels.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let levels: Vec<(f64, f64)> = sorted.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as f64)).collect();
    is_faster(levels.len()).then_some(levels)
}

/// Returns the expected reciprocal rank at which a user stops in a tied group that begins after `before` documents.
/// `levels` holds the probabilities to pass a document, each with the number of its documents.
fn of_whole_tie(levels: &[(f64, f64)], before: f64) -> f64 {
    let documents: f64 = levels.iter().map(|(_, count)| count).sum();
    let smallest = (before + documents).log2().ceil() as i32 + 2;
    let panels =
        (0..smallest).map(|panel| (0.5f64.powi(panel + 1), 0.5f64.powi(panel))).chain([(0.0, 0.5f64.powi(smallest))]);
    let rule = gauss_legendre(NODES);
    let of_panel = |(low, high): (f64, f64)| {
        let half = (high - low) / 2.0;
        rule.iter().map(move |(node, weight)| (low + half * (1.0 + node), half * weight)).collect::<Vec<_>>()
    };
    let points: Vec<(f64, f64)> = panels.flat_map(of_panel).collect();
    let mut sum = 0.0;
    for &(below_one, weight) in &points {
        let of_before = weight * (before * (-below_one).ln_1p()).exp();
        for &(place, weight) in &points {
            let (mut logarithm, mut stops) = (0.0, 0.0);
            for &(pass, count) in levels {
                let less = place * ((1.0 - pass) + below_one * pass);
                logarithm += count * (-less).ln_1p();
                stops += count * (1.0 - pass) / (1.0 - less);
            }
            sum += of_before * weight * stops * f64::exp(logarithm);
        }
    }
    sum
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
    use super::{of_whole_tie, subset_means};
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
    fn a_long_tie_has_the_value_of_the_recursion_and_takes_no_square_of_its_length() {
        let mut means = Vec::new();
        for (labels, before) in
            [(&[0.0, 1.0, 2.0, 3.0, 4.0][..], 0), (&[0.0, 0.5], 7), (&[4.0, 4.0, 0.0], 3000), (&[0.1], 1)]
        {
            let passes: Vec<f64> = labels.iter().map(|label: &f64| 1.0 - (label.exp2() - 1.0) / 16.0).collect();
            for count in [1usize, 40, 700] {
                let all = passes.iter().flat_map(|&pass| std::iter::repeat_n(pass, count));
                subset_means(all, passes.len() * count, &mut means);
                let drops = means.windows(2).enumerate();
                let expected: f64 = drops.map(|(at, pair)| (pair[0] - pair[1]) / (before + at + 1) as f64).sum();
                let levels: Vec<(f64, f64)> = passes.iter().map(|&pass| (pass, count as f64)).collect();
                let found = of_whole_tie(&levels, before as f64);
                assert!((found - expected).abs() < 1e-13, "{labels:?} {before} {count}: {found}, {expected}");
            }
        }
        // One of 400,000 equal scores is relevant, with R = 1/16: the mean of 1 / rank.
        let labels: Vec<f32> = (0..400_000).map(|at| if at == 7 { 1.0 } else { 0.0 }).collect();
        let found = value(Measure::Err(None), &Convention::default(), &vec![0.0; labels.len()], &labels);
        let harmonic: f64 = (1..=400_000).map(|rank| 1.0 / f64::from(rank)).sum();
        assert!((found - harmonic / 400_000.0 / 16.0).abs() < 1e-17, "{found}");
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
