//! The fused kernel of [`indicator_sum`](crate::op::indicator_sum()), a one-dimensional softmax attention with one
//! exponential per pair. Long lists are summed in [boxes](crate::op::cpu::long::indicator_boxes). The gradient skips a
//! pair if neither of its documents has an incoming gradient.

use super::columns::{Columns, Meeting, Tile, tiles};
use crate::execution::Target;
use crate::op::cpu::{
    dispatch::{Kernel, dispatch, in_single, target},
    lists::{TILE, add, blocks, diverged, documents, each_list_of_documents, for_each, gather, scatter},
    long::indicator_boxes,
    real::Real,
};

/// Computes the softmax sums and their denominators for one tile of rows.
struct Sums<'a, T> {
    x: &'a [T],
    a: &'a [T],
    rows: &'a [T],
    /// The factor `-1 / sigma` of the exponent.
    rate: T,
    out: &'a mut [T],
    total: &'a mut [T],
}

impl<T: Real> Kernel for Sums<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (sums, totals) = (self.out, self.total);
        let length = sums.len();
        let rows = &self.rows[..length];
        for block in blocks(self.x.len()) {
            let mut partial = [[T::ZERO; TILE]; 2];
            let [out, total] = partial.each_mut().map(|partial| &mut partial[..length]);
            for (&x, &a) in self.x[block.clone()].iter().zip(&self.a[block]) {
                for ((out, total), &row) in out.iter_mut().zip(total.iter_mut()).zip(rows) {
                    let d = x - row;
                    let kernel = (d * d * self.rate).exponential::<FMA>();
                    *out = kernel.fma::<FMA>(a, *out);
                    *total = *total + kernel;
                }
            }
            add(sums, out);
            add(totals, total);
        }
        for (out, &total) in sums.iter_mut().zip(totals.iter()) {
            *out = *out / total;
        }
    }
}

/// Returns `sum_j a_j softmax_j(-(x_j - x_i)^2 / sigma)` for lists of `n` documents, and the denominators.
pub fn indicator_sum<T: Real>([x, a, mask]: [&[T]; 3], n: usize, sigma: f64) -> [Vec<T>; 2] {
    let (mut out, mut total) = (vec![T::ZERO; x.len()], vec![T::ONE; x.len()]);
    let (rate, target) = (T::from_f64(-1.0 / sigma), target());
    let pairs = x.len() * n;
    let inputs = x.chunks(n).zip(a.chunks(n)).zip(mask.chunks(n));
    let lists = inputs.zip(out.chunks_mut(n).zip(total.chunks_mut(n))).collect();
    for_each(lists, pairs, |(((x, a), mask), (out, total))| {
        let members = documents(mask);
        let (x, a) = (gather(x, &members), gather(a, &members));
        let (mut sums, mut totals) = (vec![T::ZERO; x.len()], vec![T::ZERO; x.len()]);
        let in_boxes = |inputs, outputs| indicator_boxes::value(target, inputs, sigma, outputs);
        if diverged(&x, &mut sums) {
            // A list with a score that is not finite becomes NaN.
        } else if !indicator_boxes::is_faster(target, x.len())
            || in_single([&x, &a], [&mut sums, &mut totals], in_boxes).is_none()
        {
            let tiles = x.chunks(TILE).zip(sums.chunks_mut(TILE)).zip(totals.chunks_mut(TILE)).collect();
            for_each(tiles, x.len() * x.len(), |((rows, out), total)| {
                dispatch(target, Sums { x: &x, a: &a, rows, rate, out, total });
            });
        }
        scatter(out, &members, &sums);
        scatter(total, &members, &totals);
    });
    [out, total]
}

/// Computes the gradient for one tile of rows.
struct Gradient<'a, T: Real> {
    /// The values of a document are its score, its `a`, its softmax sum, and `q` (the incoming gradient divided by the
    /// denominator).
    tile: Tile<'a, T, 4>,
    rate: T,
}

impl<T: Real> Kernel for Gradient<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Self { tile: Tile { columns, rows, sums }, rate } = self;
        let length = sums.len();
        let [x_rows, a_rows, out_rows, q_rows] = rows.map(|values| &values[..length]);
        for [x, a, out, q] in columns.blocks() {
            let mut partial = [[T::ZERO; TILE]; 1];
            let [to_x] = partial.each_mut().map(|partial| &mut partial[..length]);
            for ((&x, &a), (&out, &q)) in x.iter().zip(a).zip(out.iter().zip(q)) {
                let rows = x_rows.iter().zip(a_rows).zip(out_rows.iter().zip(q_rows));
                for (to_x, ((&x_row, &a_row), (&out_row, &q_row))) in to_x.iter_mut().zip(rows) {
                    let d = x - x_row;
                    let kernel = (d * d * rate).exponential::<FMA>();
                    let flow = q_row.fma::<FMA>(a - out_row, q * (a_row - out));
                    *to_x = (kernel * d).fma::<FMA>(flow, *to_x);
                }
            }
            add(sums, to_x);
        }
        for to_x in sums {
            *to_x = *to_x * rate * T::from_f64(-2.0);
        }
    }
}

/// Computes the gradient over all pairs that contribute to it. If few documents have an incoming gradient, the others
/// are paired only with these few.
fn by_pairs<T: Real>(target: Target, values: [&[T]; 4], rate: T, to_x: &mut [T]) {
    let ([.., q], n) = (values, to_x.len());
    let kernel = |tile: Tile<'_, T, 4>| dispatch(target, Gradient { tile, rate });
    let count: usize = q.iter().map(|q| usize::from(*q != T::ZERO)).sum();
    if 4 * count > n {
        let columns = Columns::all(values);
        return for_each(tiles(&columns, values, to_x), n * n, kernel);
    }
    let (receiving, silent): (Vec<usize>, Vec<usize>) = (0..n).partition(|&i| q[i] != T::ZERO);
    let to_silent = Columns::met(values, |j| q[j] != T::ZERO);
    let pairs = receiving.len() * n + silent.len() * to_silent.len();
    let meetings = [Meeting::new(receiving, values, Columns::all(values)), Meeting::new(silent, values, to_silent)];
    Meeting::each_tile(&meetings, pairs, to_x, kernel);
}

/// Returns the gradient of [`indicator_sum`] with respect to `x`. `out` holds the softmax sums of the forward pass, and
/// `total` holds their denominators.
pub fn indicator_sum_gradient<T: Real>(
    [x, a, mask]: [&[T]; 3],
    [out, total]: [&[T]; 2],
    g: &[T],
    n: usize,
    sigma: f64,
) -> Vec<T> {
    let (rate, target) = (T::from_f64(-1.0 / sigma), target());
    each_list_of_documents(mask, [x, a, out, g, total], (n, 1), x.len() * n, |_, [x, a, out, g, total], to_x| {
        let q: Vec<T> = g.iter().zip(total).map(|(&g, total)| g / total).collect();
        let inputs = [&x, &a, &out, &q].map(Vec::as_slice);
        let in_boxes = |inputs, [to_x]: [&mut [f32]; 1]| indicator_boxes::gradient(target, inputs, sigma, to_x);
        if !indicator_boxes::is_faster(target, x.len()) || in_single(inputs, [&mut *to_x], in_boxes).is_none() {
            by_pairs(target, inputs, rate, to_x);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::cpu::box_cases::scattered;

    #[test]
    fn a_gradient_of_few_ranks_reaches_all_that_meet_them() {
        let n = 200;
        let x: Vec<f64> = scattered(n, 1009).map(|x| x / 500.0).collect();
        let a: Vec<f64> = (0..n).map(|i| (i % 5) as f64).collect();
        let (mask, sigma) = (vec![1.0; n], 0.1);
        let [out, total] = indicator_sum([&x, &a, &mask], n, sigma);
        for apart in [1, 40, 1000] {
            let g: Vec<f64> = (0..n).map(|i| if i % apart == 0 { (i % 7) as f64 - 3.5 } else { 0.0 }).collect();
            let found = indicator_sum_gradient([&x, &a, &mask], [&out, &total], &g, n, sigma);
            for i in 0..n {
                let flow = |j: usize| {
                    let d = x[j] - x[i];
                    let sent = g[i] / total[i] * (a[j] - out[i]) + g[j] / total[j] * (a[i] - out[j]);
                    2.0 / sigma * (-d * d / sigma).exp() * d * sent
                };
                let expected: f64 = (0..n).map(flow).sum();
                assert!((found[i] - expected).abs() < 1e-9, "{apart}, {i}: {} {expected}", found[i]);
            }
        }
    }
}
