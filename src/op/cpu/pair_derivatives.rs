//! The logistic loss over the pairs of one list with its first and second derivatives, for learners that take Newton
//! steps: [`pair_derivatives`].

use super::{
    by_label::ByLabel,
    dispatch::{Kernel, dispatch, target},
    pair_weight::PairWeight,
    real::Real,
    sum::sum,
    tiles::{TILE, add, blocks},
};

/// A sum over the pairs of one list, and its derivatives in the score of each document, weights taken as constants.
#[derive(Debug, Clone, PartialEq)]
pub struct PairDerivatives<T> {
    /// `sum_ij w_ij log(1 + exp(x_j - x_i))`
    pub value: T,
    /// The sum of the magnitudes of all slopes, `sum_ij w_ij / (1 + exp(x_i - x_j))`
    pub slopes: T,
    /// First derivatives.
    pub gradient: Vec<T>,
    /// Second derivatives, each twice with respect to the same score, 0 or above.
    pub curvature: Vec<T>,
}

/// Both derivatives for the rows `start..`, and what these send to the documents below them.
struct Derivatives<'a, T> {
    list: &'a ByLabel<T>,
    /// What multiplies the weights of each row.
    factor: Option<&'a [T]>,
    start: usize,
    value: &'a mut [T],
    rows: [&'a mut [T]; 2],
    all: [&'a mut [T]; 2],
}

impl<T: Real> Kernel for Derivatives<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let rows = &self.list.x[self.start..];
        let ([row_gradient, row_curvature], [to_gradient, to_curvature]) = (self.rows, self.all);
        let (mut weights, mut slopes, mut bends) = ([T::ZERO; TILE], [T::ZERO; TILE], [T::ZERO; TILE]);
        for block in blocks(self.list.above.len()) {
            let (mut value, mut gradient, mut curvature) = ([T::ZERO; TILE], [T::ZERO; TILE], [T::ZERO; TILE]);
            for j in block {
                let (x, above) = (self.list.x[j], self.list.above[j]);
                let length = above.saturating_sub(self.start).min(self.value.len());
                if length == 0 {
                    continue;
                }
                let weights = self.list.weights(j, self.start, length, &mut weights);
                if let Some(factor) = self.factor {
                    weights.iter_mut().zip(factor).for_each(|(weight, &factor)| *weight = *weight * factor);
                }
                let (slopes, bends) = (&mut slopes[..weights.len()], &mut bends[..weights.len()]);
                for (i, &weight) in weights.iter().enumerate() {
                    let t = rows[i] - x;
                    let u = (-t.abs()).exponential::<FMA>();
                    let large = T::ONE / (T::ONE + u);
                    value[i] = value[i] + weight * ((-t).larger(T::ZERO) + u.log_1p::<FMA>());
                    slopes[i] = weight * large * if t < T::ZERO { T::ONE } else { u };
                    bends[i] = weight * large * large * u;
                    gradient[i] = gradient[i] - slopes[i];
                    curvature[i] = curvature[i] + bends[i];
                }
                to_gradient[j] = to_gradient[j] + sum(slopes);
                to_curvature[j] = to_curvature[j] + sum(bends);
            }
            add(self.value, &value);
            add(row_gradient, &gradient);
            add(row_curvature, &curvature);
        }
    }
}

/// `sum_ij u_i w_ij log(1 + exp(x_j - x_i))` over the pairs with `y_i > y_j`, and its derivatives. `u` is a factor of
/// each document, 1 where there is none. The sums of two lists do not share threads: callers have many lists.
pub fn pair_derivatives<T: Real>(
    x: &[T],
    labels: &[T],
    weight: PairWeight<&[T]>,
    factor: Option<&[T]>,
) -> PairDerivatives<T> {
    let n = x.len();
    let target = target();
    let list = ByLabel::new(x, labels, &vec![T::ONE; n], weight);
    let factor: Option<Vec<T>> = factor.map(|factor| list.members.iter().map(|&member| factor[member]).collect());
    let zeros = || vec![T::ZERO; n];
    let (mut value, mut rows, mut all) = (zeros(), [zeros(), zeros()], [zeros(), zeros()]);
    for start in (0..n).step_by(TILE) {
        let tile = start..(start + TILE).min(n);
        let kernel = Derivatives {
            list: &list,
            factor: factor.as_deref().map(|factor| &factor[tile.clone()]),
            start,
            value: &mut value[tile.clone()],
            rows: rows.each_mut().map(|rows| &mut rows[tile.clone()]),
            all: all.each_mut().map(|all| &mut all[..]),
        };
        dispatch(target, kernel);
    }
    let [gradient, curvature] = [0, 1].map(|order| {
        let mut found = zeros();
        for (place, &member) in list.members.iter().enumerate() {
            found[member] = rows[order][place] + all[order][place];
        }
        found
    });
    // All slopes of rows are negative.
    PairDerivatives { value: sum(&value), slopes: -sum(&rows[0]), gradient, curvature }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pair by pair with the standard library's functions.
    fn reference(x: &[f64], labels: &[f64], weight: impl Fn(usize, usize) -> f64) -> PairDerivatives<f64> {
        let n = x.len();
        let mut sum = PairDerivatives { value: 0.0, slopes: 0.0, gradient: vec![0.0; n], curvature: vec![0.0; n] };
        for i in 0..n {
            for j in (0..n).filter(|&j| labels[i] > labels[j]) {
                let (w, t) = (weight(i, j), x[i] - x[j]);
                let wrong = 1.0 / (1.0 + t.exp());
                sum.value += w * ((-t.abs()).exp().ln_1p() + (-t).max(0.0));
                sum.slopes += w * wrong;
                sum.gradient[i] -= w * wrong;
                sum.gradient[j] += w * wrong;
                sum.curvature[i] += w * wrong * (1.0 - wrong);
                sum.curvature[j] += w * wrong * (1.0 - wrong);
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
            let x: Vec<f64> = (0..n).map(|d| 8.0 * draw(d, 1) - 4.0).collect();
            let labels: Vec<f64> = (0..n).map(|d| (5.0 * draw(d, 2)).floor()).collect();
            let gain: Vec<f64> = labels.iter().map(|label| label.exp2() - 1.0).collect();
            let discount: Vec<f64> = (0..n).map(|d| if d % 3 == 0 { 0.0 } else { draw(d, 3) }).collect();
            let rank: Vec<f64> = (0..n).map(|d| d as f64 + 1.0).collect();
            let lambda = PairWeight::Lambda {
                gain: &gain[..],
                discount: &discount[..],
                rank: &rank[..],
                absolute: 1.0,
                gap: 0.0,
                distance: None,
            };
            let factor: Vec<f64> = (0..n).map(|d| 3.0 * draw(d, 4)).collect();
            let found = pair_derivatives(&x, &labels, lambda, Some(&factor));
            let lambda_of = |i: usize, j: usize| (gain[i] - gain[j]).abs() * (discount[i] - discount[j]).abs();
            let expected = reference(&x, &labels, |i, j| factor[i] * lambda_of(i, j));
            assert!((found.value - expected.value).abs() <= 1e-13 * expected.value);
            assert!((found.slopes - expected.slopes).abs() <= 1e-13 * expected.slopes);
            assert_close(&found.gradient, &expected.gradient, 1e-13);
            assert_close(&found.curvature, &expected.curvature, 1e-13);
            let cases: [(_, PairDerivatives<f64>); 2] =
                [(PairWeight::Unit, reference(&x, &labels, |_, _| 1.0)), (lambda, reference(&x, &labels, lambda_of))];
            for (weight, expected) in cases {
                let found = pair_derivatives(&x, &labels, weight, None);
                assert_eq!(pair_derivatives(&x, &labels, weight, Some(&vec![1.0; n])), found);
                assert!((found.value - expected.value).abs() <= 1e-13 * expected.value);
                assert!((found.slopes - expected.slopes).abs() <= 1e-13 * expected.slopes);
                assert_close(&found.gradient, &expected.gradient, 1e-13);
                assert_close(&found.curvature, &expected.curvature, 1e-13);
            }
        }
    }
}
