//! [`indicator_sum`](super::indicator_sum()) of long lists in O(n log n), for results in `f32`.

use super::boxes::results;
use super::convolution::{Bell, Convolution, Pull};
use super::real::Real;
use super::walk::{Sorted, is_single};
use crate::execution::Target;

/// Whether boxes cost less than pairs.
pub fn pays<T: Real>(x: &[T]) -> bool {
    const DOCUMENTS: usize = 512;
    is_single::<T>() && x.len() >= DOCUMENTS
}

/// `values` by descending score.
fn gather<T: Real>(sorted: &Sorted, values: &[T]) -> Vec<f64> {
    sorted.gather(values).into_iter().map(T::to_f64).collect()
}

/// Sums over the softmax, and its denominators.
pub fn value<T: Real>(target: Target, x: &[T], a: &[T], sigma: f64, out: &mut [T], total: &mut [T]) {
    let sorted = Sorted::new(x);
    let a = gather(&sorted, a);
    // A document is a member of its own softmax, with the largest share.
    let finish = |place: usize, [of_a, of_all]: [f64; 2]| {
        let total = 1.0 + of_all;
        [(a[place] + of_a) / total, total]
    };
    let sum = Convolution::new(Bell, [a.clone(), vec![1.0; x.len()]], finish);
    let results = results(target, &sum, &sorted.scaled(1.0 / sigma.sqrt()));
    sorted.scatter(results.iter().step_by(2).copied(), out);
    sorted.scatter(results.iter().skip(1).step_by(2).copied(), total);
}

/// What the gradient takes of each document: `out` is the forward pass's sum, `q` the gradient over the denominator.
pub struct Documents<'a, T> {
    pub x: &'a [T],
    pub a: &'a [T],
    pub out: &'a [T],
    pub q: &'a [T],
}

/// Gradient of [`value`] in `x`.
pub fn gradient<T: Real>(target: Target, documents: Documents<T>, sigma: f64, to_x: &mut [T]) {
    let Documents { x, a, out, q } = documents;
    let sorted = Sorted::new(x);
    let [a, out, q] = [a, out, q].map(|values| gather(&sorted, values));
    let sent: Vec<f64> = q.iter().zip(&out).map(|(q, out)| q * out).collect();
    let rate = 1.0 / sigma.sqrt();
    let weights = [a.clone(), vec![1.0; x.len()], q.clone(), sent];
    let finish = |place: usize, [of_a, of_all, of_q, of_sent]: [f64; 4]| {
        [2.0 * rate * (q[place] * (of_a - out[place] * of_all) + a[place] * of_q - of_sent)]
    };
    let results = results(target, &Convolution::new(Pull, weights, finish), &sorted.scaled(rate));
    sorted.scatter(results.into_iter(), to_x);
}
