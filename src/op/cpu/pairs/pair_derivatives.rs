//! The logistic loss over the pairs of one list, with its first and second derivatives with respect to the scores.
//! Learners that take Newton steps need both derivatives.
//!
//! Documents are sorted by score, the highest first. Each document `i` is paired with the documents `j` after it, so
//! `u = exp(x_j - x_i)` is at most 1. The quotient of `exp(x_j)` and `exp(x_i)` gives `u`, so each document needs only
//! one exponential. With a cut-off at rank `k`, two documents below rank `k` form a pair of weight 0, so only O(k n)
//! pairs are visited.

use super::pair_weight::{PairWeight, swaps};
use crate::op::cpu::{
    dispatch::{Kernel, dispatch, target},
    lists::{TILE, gather, scatter},
    order::by_descending_value,
    real::{Real, sum},
};

/// The loss over the pairs of one list, with its derivatives with respect to the scores; the weights of pairs count as
/// constants.
#[derive(Debug, Clone, PartialEq)]
pub struct PairDerivatives {
    /// The loss, `sum_ij w_ij log(1 + exp(x_j - x_i))`.
    pub value: f64,
    /// The sum of the absolute slopes of all pairs, `sum_ij w_ij / (1 + exp(x_i - x_j))`.
    pub slopes: f64,
    /// The first derivative with respect to each score.
    pub gradient: Vec<f64>,
    /// The second derivative with respect to each score, which is at least 0.
    pub curvature: Vec<f64>,
}

/// A list sorted by descending score.
struct Sorted {
    x: Vec<f64>,
    labels: Vec<f64>,
    weight: PairWeight<Vec<f64>>,
    /// For each document, a factor shared by the weights of all pairs in which it is the more relevant document.
    factor: Option<Vec<f64>>,
    /// The number of top-scoring documents that must be paired with all documents below them.
    firsts: usize,
}

impl Sorted {
    /// Writes the weights of the pairs of document `i` with consecutive documents, starting at place `start`.
    #[inline(always)]
    fn weights(&self, i: usize, start: usize, out: &mut [f64]) {
        let others = start..start + out.len();
        match &self.weight {
            PairWeight::Unit => out.fill(1.0),
            PairWeight::Document(u) => {
                let labels = self.labels[others.clone()].iter().zip(&u[others]);
                for (out, (&label, &weight)) in out.iter_mut().zip(labels) {
                    *out = if label > self.labels[i] { weight } else { u[i] };
                }
            }
            PairWeight::Lambda { gain, discount, absolute, distance, .. } => {
                swaps([gain, discount], *absolute, i, others.clone(), out);
                if let Some(distance) = distance {
                    distance.divide(i, others, out);
                }
            }
        }
        if let Some(factor) = &self.factor {
            let columns = self.labels[start..].iter().zip(&factor[start..]);
            for (out, (&label, &other)) in out.iter_mut().zip(columns) {
                *out *= if label > self.labels[i] { other } else { factor[i] };
            }
        }
    }
}

/// Computes the loss and its derivatives over all pairs of a list.
struct Sums<'a> {
    list: &'a Sorted,
    out: &'a mut PairDerivatives,
}

impl Kernel for Sums<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (list, n) = (self.list, self.list.x.len());
        let PairDerivatives { value, slopes: slopes_out, gradient, curvature } = self.out;
        // Exponentials are relative to the score of a document above; those far below it are practically 0.
        let (mut exponentials, mut base) = (vec![0.0; n], None);
        let (mut weights, mut flows, mut bends) = ([0.0; TILE], [0.0; TILE], [0.0; TILE]);
        let (mut losses, mut slopes) = ([0.0; TILE], [0.0; TILE]);
        for i in 0..list.firsts {
            let x = list.x[i];
            if base.is_none_or(|base| base - x > f64::RANGE * 0.5) {
                base = Some(x);
                for (exponential, &other) in exponentials[i..].iter_mut().zip(&list.x[i..]) {
                    *exponential = (other - x).exponential::<FMA>();
                }
            }
            let (label, reciprocal) = (list.labels[i], 1.0 / exponentials[i]);
            let (mut flow, mut bend) = (0.0, 0.0);
            for start in (i + 1..n).step_by(TILE) {
                let others = start..(start + TILE).min(n);
                let count = others.len();
                let weights = &mut weights[..count];
                list.weights(i, start, weights);
                let columns =
                    list.x[others.clone()].iter().zip(&list.labels[others.clone()]).zip(&exponentials[others.clone()]);
                let to = gradient[others.clone()].iter_mut().zip(&mut curvature[others]);
                let sums = losses.iter_mut().zip(slopes.iter_mut());
                let own = flows.iter_mut().zip(bends.iter_mut());
                for (
                    ((((&other, &other_label), &exponential), &weight), (to_gradient, to_curvature)),
                    ((loss, slope), (flow, bend)),
                ) in columns.zip(&*weights).zip(to).zip(sums.zip(own))
                {
                    let u = exponential * reciprocal;
                    let large = 1.0 / (1.0 + u);
                    // Pairs that the labels do not order have weight 0. In the others, the document with the higher
                    // label is rightly or wrongly ordered.
                    let (is_right, is_wrong) = (label > other_label, label < other_label);
                    let weight = if is_right | is_wrong { weight } else { 0.0 };
                    let wrong = weight * large * if is_right { u } else { 1.0 };
                    let short = if is_wrong { x - other } else { 0.0 };
                    *loss += weight * (u.log_1p::<FMA>() + short);
                    *slope += wrong;
                    *flow = if is_wrong { wrong } else { -wrong };
                    *bend = weight * u * large * large;
                    *to_gradient -= *flow;
                    *to_curvature += *bend;
                }
                flow += sum(&flows[..count]);
                bend += sum(&bends[..count]);
            }
            gradient[i] += flow;
            curvature[i] += bend;
        }
        (*value, *slopes_out) = (sum(&losses), sum(&slopes));
    }
}

/// Returns `sum_ij u_i w_ij log(1 + exp(x_j - x_i))` over the pairs with `y_i > y_j`, and its derivatives. The weight
/// of `pair_derivatives` must not have a `gap`. The optional `factor` holds `u_i` for each document, which is 1 by
/// default. With `within`, a pair counts only if at least one of its documents has one of the `within` highest scores.
/// Documents with equal scores are sorted by index. The function uses one thread, because callers have many lists to
/// distribute among threads.
pub fn pair_derivatives(
    x: &[f64],
    labels: &[f64],
    weight: PairWeight<&[f64]>,
    factor: Option<&[f64]>,
    within: Option<usize>,
) -> PairDerivatives {
    let n = x.len();
    let mut order: Vec<usize> = (0..n).collect();
    by_descending_value(&mut order, x);
    let weight = weight.map(|values| gather(values, &order));
    let firsts = match &weight {
        PairWeight::Lambda { discount, .. } => discount.iter().rposition(|&d| d != 0.0).map_or(0, |last| last + 1),
        _ => n,
    };
    let firsts = firsts.min(within.unwrap_or(n));
    let factor = factor.map(|factor| gather(factor, &order));
    let list = Sorted { x: gather(x, &order), labels: gather(labels, &order), weight, factor, firsts };
    let mut out = PairDerivatives { value: 0.0, slopes: 0.0, gradient: vec![0.0; n], curvature: vec![0.0; n] };
    dispatch(target(), Sums { list: &list, out: &mut out });
    for values in [&mut out.gradient, &mut out.curvature] {
        let sorted = values.clone();
        scatter(values, &order, &sorted);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::pair_weight::Distance;
    use super::*;

    /// Computes the derivatives pair by pair, using functions from the standard library.
    fn reference(x: &[f64], labels: &[f64], weight: impl Fn(usize, usize) -> f64) -> PairDerivatives {
        let n = x.len();
        let mut sum = PairDerivatives { value: 0.0, slopes: 0.0, gradient: vec![0.0; n], curvature: vec![0.0; n] };
        for i in 0..n {
            for j in (0..n).filter(|&j| labels[i] > labels[j]) {
                let (w, t) = (weight(i, j), x[i] - x[j]);
                let (wrong, right) = (1.0 / (1.0 + t.exp()), 1.0 / (1.0 + (-t).exp()));
                sum.value += w * ((-t.abs()).exp().ln_1p() + (-t).max(0.0));
                sum.slopes += w * wrong;
                sum.gradient[i] -= w * wrong;
                sum.gradient[j] += w * wrong;
                sum.curvature[i] += w * wrong * right;
                sum.curvature[j] += w * wrong * right;
            }
        }
        sum
    }

    fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
        let largest = expected.iter().fold(f64::MIN_POSITIVE, |largest, value| value.abs().max(largest));
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() <= tolerance * largest, "{found} {expected}");
        }
    }

    #[test]
    fn derivatives_are_those_summed_pair_by_pair() {
        for n in [0, 1, 2, 17, 130, 300] {
            let draw = |d: usize, seed: usize| ((d * 7919 + seed * 104_729) % 1009) as f64 / 1009.0;
            // A long list spans more than the exponents of its type.
            let scale = if n == 300 { 3000.0 } else { 8.0 };
            let x: Vec<f64> = (0..n).map(|d| scale * (draw(d, 1) - 0.5)).collect();
            let labels: Vec<f64> = (0..n).map(|d| (5.0 * draw(d, 2)).floor()).collect();
            let gain: Vec<f64> = labels.iter().map(|label| label.exp2() - 1.0).collect();
            // Beyond a cut-off of 40 in the order of the scores, discounts are 0.
            let ahead = |d: usize| x.iter().filter(|other| **other > x[d]).count();
            let discount: Vec<f64> = (0..n).map(|d| if ahead(d) < 40 { draw(d, 3) } else { 0.0 }).collect();
            let rank: Vec<f64> = (0..n).map(|d| d as f64 + 1.0).collect();
            let lambda = |distance| {
                let (gain, discount, rank) = (&gain[..], &discount[..], &rank[..]);
                PairWeight::Lambda { gain, discount, rank, absolute: 1.0, gap: 0.0, distance }
            };
            let swap = |i: usize, j: usize| (gain[i] - gain[j]).abs() * (discount[i] - discount[j]).abs();
            let within = pair_derivatives(&x, &labels, PairWeight::Unit, None, Some(15));
            let expected = reference(&x, &labels, |i, j| f64::from(u8::from(ahead(i).min(ahead(j)) < 15)));
            assert_close(&within.gradient, &expected.gradient, 1e-13);
            assert_close(&within.curvature, &expected.curvature, 1e-13);
            let near = Some(Distance { scores: &x[..], offset: 0.01 });
            let cases: [(_, PairDerivatives); 4] = [
                (PairWeight::Unit, reference(&x, &labels, |_, _| 1.0)),
                (PairWeight::Document(&gain[..]), reference(&x, &labels, |i, _| gain[i])),
                (lambda(None), reference(&x, &labels, swap)),
                (lambda(near), reference(&x, &labels, |i, j| swap(i, j) / (0.01 + (x[i] - x[j]).abs()))),
            ];
            let factor: Vec<f64> = (0..n).map(|d| 3.0 * draw(d, 4)).collect();
            let found = pair_derivatives(&x, &labels, lambda(None), Some(&factor), None);
            let expected = reference(&x, &labels, |i, j| factor[i] * swap(i, j));
            assert!((found.value - expected.value).abs() <= 1e-13 * expected.value);
            assert!((found.slopes - expected.slopes).abs() <= 1e-13 * expected.slopes);
            assert_close(&found.gradient, &expected.gradient, 1e-13);
            assert_close(&found.curvature, &expected.curvature, 1e-13);
            for (weight, expected) in cases {
                let found = pair_derivatives(&x, &labels, weight, None, None);
                assert_eq!(pair_derivatives(&x, &labels, weight, Some(&vec![1.0; n]), Some(n)), found);
                assert!((found.value - expected.value).abs() <= 1e-13 * expected.value);
                assert!((found.slopes - expected.slopes).abs() <= 1e-13 * expected.slopes);
                assert_close(&found.gradient, &expected.gradient, 1e-13);
                assert_close(&found.curvature, &expected.curvature, 1e-13);
            }
        }
    }
}
