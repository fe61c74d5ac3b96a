//! The fused kernel of [`step_sum`](crate::op::step_sum()).
//!
//! If the exponentials of all scores in a list are representable, the logistic step needs only one exponential per
//! document instead of one per pair. With `e_i = exp(alpha (x_i - center))`, the logistic step is
//! `phi(alpha (x_j - x_i)) = e_j / (e_i + e_j)`. For other steps and for scores that are farther apart, the step is
//! evaluated for each pair. Long lists are summed by [walks](crate::op::cpu::long::step_walk) (logistic, tanh and
//! Laplace steps) or in [boxes](crate::op::cpu::long::step_boxes) (other steps).
//!
//! Pairs that cannot change a result are skipped. Examples are pairs whose gradient is 0 and pairs in rows whose sums
//! are not needed. The other pairs are added in the same order as without skipping, so the sums are the same to the
//! last bit.

use super::columns::{Columns, Meeting, Tile, tiles};
use super::pair_weight::filled;
use super::steps::{Arctan, Erf, Laplace, Logistic, Phi};
use crate::execution::Target;
use crate::op::cpu::{
    dispatch::{Kernel, dispatch, in_single, target},
    lists::{BLOCK, TILE, add, blocks, counting, diverged, each_list, for_each, gather, scatter},
    long::{step_boxes, step_walk},
    parameters::Step,
    real::{Real, sum},
};

/// One list, of which only the first `members` documents contribute to the sums.
struct List<'a, T> {
    x: &'a [T],
    v: &'a [T],
    alpha: f64,
    /// The number of documents up to and including the last one that contributes to the sums.
    members: usize,
    /// The number of rows to compute; all later rows have the same sum as the last of them.
    rows: usize,
}

impl<'a, T: Real> List<'a, T> {
    /// The arrays `weights` hold the weights with which the documents contribute to the sums. A document adds nothing
    /// if all of its weights are 0. At the end of the list, documents with equal scores that add nothing, such as
    /// padding, share one row.
    fn new(x: &'a [T], v: &'a [T], weights: &[&[T]], alpha: f64) -> Self {
        let silent = |j: usize| weights.iter().all(|w| w[j] == T::ZERO);
        let last = x.last().copied().unwrap_or_default();
        let members = (0..x.len()).rev().find(|&j| !silent(j)).map_or(0, |j| j + 1);
        let distinct = (0..x.len()).rev().find(|&j| j < members || x[j] != last).map_or(0, |j| j + 1);
        Self { x, v, alpha, members, rows: (distinct + 1).min(x.len()) }
    }

    /// Returns the step sums of the documents `rows`, whose indices must be in ascending order. Without `rows`, returns
    /// the step sums of the first [`rows`](Self::rows) documents.
    fn sums(&self, target: Target, rows: Option<&[usize]>, step: Step) -> Vec<T> {
        let end = rows.map_or(self.rows, |rows| rows.last().map_or(0, |last| last + 1).max(self.members));
        let (x, v) = (&self.x[..end], &self.v[..end]);
        let sources = v.iter().filter(|v| **v != T::ZERO).count();
        let fewer = rows.map_or(sources, |rows| sources.min(rows.len()));
        let walked = matches!(step, Step::Logistic | Step::Laplace);
        let fast = if walked { step_walk::is_faster(target, fewer) } else { step_boxes::is_faster(target, fewer) };
        let mut sums = vec![T::ZERO; if fast { end } else { 0 }];
        let value = if walked { step_walk::value } else { step_boxes::value };
        let sum = |inputs, [sums]: [_; 1]| value(target, inputs, self.alpha, step, sums);
        if !fast || in_single([x, v], [&mut sums], sum).is_none() {
            return self.sums_by_pairs(target, rows, step, sources, end);
        }
        rows.map_or_else(|| sums.clone(), |rows| gather(&sums, rows))
    }

    fn sums_by_pairs(&self, target: Target, rows: Option<&[usize]>, step: Step, sources: usize, end: usize) -> Vec<T> {
        let (x, v) = (&self.x[..self.members], &self.v[..self.members]);
        let exponentials = if step == Step::Logistic { self.exponentials(target, end) } else { None };
        let at = exponentials.as_ref().map_or(&self.x[..end], |exponentials| &exponentials.e);
        let values = [&at[..self.members], v];
        // Each source includes its neighbor, and gathering them costs time.
        let few = 4 * sources <= self.members;
        let columns = if few { Columns::met(values, |j| v[j] != T::ZERO) } else { Columns::all(values) };
        let at = filled(rows.map_or_else(|| at.to_vec(), |rows| gather(at, rows)));
        let mut out = vec![T::ZERO; at.len()];
        let tiles = at.chunks(TILE).zip(out.chunks_mut(TILE)).collect();
        let (columns, alpha) = (&columns, T::from_f64(self.alpha));
        for_each(tiles, columns.len() * at.len(), |(rows, out)| match (&exponentials, step) {
            (Some(_), _) => dispatch(target, ByExponentials { columns, rows, out }),
            (None, Step::Erf) => dispatch(target, ByDifferences { columns, rows, alpha, out, phi: Erf }),
            (None, Step::Arctan) => dispatch(target, ByDifferences { columns, rows, alpha, out, phi: Arctan }),
            (None, Step::Laplace) => dispatch(target, ByDifferences { columns, rows, alpha, out, phi: Laplace }),
            (None, Step::Logistic | Step::Tanh) => {
                dispatch(target, ByDifferences { columns, rows, alpha, out, phi: Logistic });
            }
        });
        out.truncate(rows.map_or(end, <[usize]>::len));
        if let Some(Exponentials { center, reach, .. }) = exponentials {
            for (number, out) in out.iter_mut().enumerate() {
                let i = rows.map_or(number, |rows| rows[number]);
                if i >= self.members && (self.x[i].to_f64() - center).abs() > reach {
                    dispatch(target, LogisticRow { x, v, row: self.x[i], alpha: T::from_f64(self.alpha), out });
                }
            }
        }
        out
    }

    /// Returns `exp(alpha (x_i - center))` for the first `rows` documents, or `None` if products or ratios of two
    /// exponentials could overflow or underflow. The decision depends only on the documents that contribute to the
    /// sums, so padding does not change it.
    fn exponentials(&self, target: Target, rows: usize) -> Option<Exponentials<T>> {
        let members = &self.x[..self.members];
        let first = *members.first()?;
        let (low, high) = members
            .iter()
            .fold((first, first), |(low, high), &x| (if x < low { x } else { low }, if x > high { x } else { high }));
        // The kernels use the same rounded factor.
        let alpha = T::from_f64(self.alpha).to_f64();
        if alpha * (high.to_f64() - low.to_f64()) >= T::RANGE.to_f64() {
            return None;
        }
        let center = 0.5 * (high.to_f64() + low.to_f64());
        let mut e = vec![T::ZERO; rows];
        dispatch(target, Exponents { x: &self.x[..rows], alpha, center, e: &mut e });
        Some(Exponentials { e, center, reach: 0.5 * T::RANGE.to_f64() / alpha })
    }
}

struct Exponentials<T> {
    e: Vec<T>,
    center: f64,
    /// The largest distance of a score from the center for which the exponential is in range.
    reach: f64,
}

/// Computes `exp(alpha (x_i - center))` in double precision, because the rounding error of the exponent grows with the
/// exponent.
struct Exponents<'a, T> {
    x: &'a [T],
    alpha: f64,
    center: f64,
    e: &'a mut [T],
}

impl<T: Real> Kernel for Exponents<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (e, x) in self.e.iter_mut().zip(self.x) {
            *e = T::from_f64(((x.to_f64() - self.center) * self.alpha).exponential::<FMA>());
        }
    }
}

/// Computes `sum_j v_j e_j / (e_i + e_j)`. Two documents `j` share one division by their common denominator.
struct ByExponentials<'a, T: Real> {
    /// For each column, the exponential `e` and the weight `v`.
    columns: &'a Columns<'a, T, 2>,
    rows: &'a [T],
    out: &'a mut [T],
}

impl<T: Real> Kernel for ByExponentials<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let length = self.out.len();
        let rows = &self.rows[..length];
        for [e, v] in self.columns.blocks() {
            let (e_pairs, v_pairs) = (e.chunks_exact(2), v.chunks_exact(2));
            let rest = e_pairs.remainder().iter().zip(v_pairs.remainder());
            let mut partial = [[T::ZERO; TILE]; 1];
            let [out] = partial.each_mut().map(|partial| &mut partial[..length]);
            for (e, v) in e_pairs.zip(v_pairs) {
                let (first, second) = (v[0] * e[0], v[1] * e[1]);
                for (out, &row) in out.iter_mut().zip(rows) {
                    let (a, b) = (row + e[0], row + e[1]);
                    *out = *out + first.fma::<FMA>(b, second * a) / (a * b);
                }
            }
            for (&e, &v) in rest {
                for (out, &row) in out.iter_mut().zip(rows) {
                    *out = *out + v * e / (row + e);
                }
            }
            add(self.out, out);
        }
    }
}

struct ByDifferences<'a, T: Real, P> {
    /// For each column, the score `x` and the weight `v`.
    columns: &'a Columns<'a, T, 2>,
    rows: &'a [T],
    alpha: T,
    out: &'a mut [T],
    phi: P,
}

impl<T: Real, P: Phi> Kernel for ByDifferences<'_, T, P> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let length = self.out.len();
        let rows = &self.rows[..length];
        for [x, v] in self.columns.blocks() {
            let mut partial = [[T::ZERO; TILE]; 1];
            let [out] = partial.each_mut().map(|partial| &mut partial[..length]);
            for (&x, &v) in x.iter().zip(v) {
                for (out, &row) in out.iter_mut().zip(rows) {
                    *out = v.fma::<FMA>(self.phi.value::<T, FMA>((x - row) * self.alpha), *out);
                }
            }
            add(self.out, out);
        }
    }
}

/// Computes the logistic step sum of a single document, vectorized over the other documents.
struct LogisticRow<'a, T> {
    x: &'a [T],
    v: &'a [T],
    row: T,
    alpha: T,
    out: &'a mut T,
}

impl<T: Real> Kernel for LogisticRow<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let mut total = T::ZERO;
        for block in blocks(self.x.len()) {
            let mut terms = [T::ZERO; BLOCK];
            let terms = &mut terms[..block.len()];
            for ((term, &x), &v) in terms.iter_mut().zip(&self.x[block.clone()]).zip(&self.v[block]) {
                *term = v * Logistic.value::<T, FMA>((x - self.row) * self.alpha);
            }
            total = total + sum(terms);
        }
        *self.out = total;
    }
}

/// Returns the step sum `sum_j v_j phi(alpha (x_j - x_i))` of each document, for lists of `n` documents. If `rows` are
/// given, only documents with a nonzero number in `rows` are computed; the others receive 1/2. If the kernel visits the
/// pairs, the computed sums are the same as without `rows`, to the last bit.
pub fn step_sum<T: Real>(x: &[T], v: &[T], rows: Option<&[T]>, n: usize, alpha: f64, step: Step) -> Vec<T> {
    let target = target();
    each_list([x, v], n, x.len() * n, T::HALF, |list, [x, v], out| {
        let (alpha, step) = logistic_form(alpha, step);
        if diverged(x, out) {
            return;
        }
        let sums = List::new(x, v, &[v], alpha);
        if let Some(rows) = rows {
            let rows = counting(&rows[list * n..(list + 1) * n]);
            return scatter(out, &rows, &sums.sums(target, Some(&rows), step));
        }
        let (rows, sums) = (sums.rows, sums.sums(target, None, step));
        out[..rows].copy_from_slice(&sums);
        out[rows..].fill(sums[rows - 1]);
    })
}

/// Rewrites the tanh step `(1 + tanh t) / 2` as the logistic step at `2 t`.
fn logistic_form(alpha: f64, step: Step) -> (f64, Step) {
    if step == Step::Tanh { (2.0 * alpha, Step::Logistic) } else { (alpha, step) }
}

/// Computes the gradient for one tile of rows from the exponentials. Two documents share one division by their common
/// denominator.
struct GradientByExponentials<'a, T: Real> {
    /// The values of a document are its exponential, `v` and `g`.
    tile: Tile<'a, T, 3>,
    alpha: T,
}

impl<T: Real> Kernel for GradientByExponentials<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Self { tile: Tile { columns, rows, sums }, alpha } = self;
        let length = sums.len();
        let [e_rows, v_rows, g_rows] = rows.map(|values| &values[..length]);
        for [e, v, g] in columns.blocks() {
            let mut partial = [[T::ZERO; TILE]; 1];
            let [to_x] = partial.each_mut().map(|partial| &mut partial[..length]);
            let pairs = e.chunks_exact(2).zip(v.chunks_exact(2)).zip(g.chunks_exact(2));
            for ((e, v), g) in pairs {
                for (((to_x, &row), &v_row), &g_row) in to_x.iter_mut().zip(e_rows).zip(v_rows).zip(g_rows) {
                    let (a, b) = (row + e[0], row + e[1]);
                    let r = T::ONE / (a * b);
                    let (first, second) = (r * b, r * a);
                    // The difference before the sum: a document's term with itself and its ties is exactly 0.
                    let exchange = [g[0] * v_row - g_row * v[0], g[1] * v_row - g_row * v[1]];
                    *to_x = (e[0] * first * first).fma::<FMA>(exchange[0], *to_x);
                    *to_x = (e[1] * second * second).fma::<FMA>(exchange[1], *to_x);
                }
            }
            if let ([.., e], [.., v], [.., g], 1) = (e, v, g, e.len() % 2) {
                for (((to_x, &row), &v_row), &g_row) in to_x.iter_mut().zip(e_rows).zip(v_rows).zip(g_rows) {
                    let r = T::ONE / (row + *e);
                    *to_x = (*e * r * r).fma::<FMA>(*g * v_row - g_row * *v, *to_x);
                }
            }
            add(sums, to_x);
        }
        for (to_x, &row) in sums.iter_mut().zip(e_rows) {
            *to_x = *to_x * row * alpha;
        }
    }
}

struct GradientByDifferences<'a, T: Real, P> {
    /// The values of a document are its score, `v` and `g`.
    tile: Tile<'a, T, 3>,
    alpha: T,
    phi: P,
}

impl<T: Real, P: Phi> Kernel for GradientByDifferences<'_, T, P> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Self { tile: Tile { columns, rows, sums }, alpha, phi } = self;
        let length = sums.len();
        let [x_rows, v_rows, g_rows] = rows.map(|values| &values[..length]);
        for [x, v, g] in columns.blocks() {
            let mut partial = [[T::ZERO; TILE]; 1];
            let [to_x] = partial.each_mut().map(|partial| &mut partial[..length]);
            for ((&x, &v), &g) in x.iter().zip(v).zip(g) {
                for (((to_x, &row), &v_row), &g_row) in to_x.iter_mut().zip(x_rows).zip(v_rows).zip(g_rows) {
                    let slope = phi.slope::<T, FMA>((row - x) * alpha);
                    *to_x = slope.fma::<FMA>(g * v_row - g_row * v, *to_x);
                }
            }
            add(sums, to_x);
        }
        for to_x in sums {
            *to_x = *to_x * alpha;
        }
    }
}

/// Groups the documents by whether they have a weight `v` and an incoming gradient `g`. The gradient that `i` receives
/// from `j` is proportional to `g_j v_i - g_i v_j`. Documents that have only `v` are therefore paired with those that
/// have `g`, and documents that have only `g` with those that have `v`.
fn meetings<T: Real>(values: [&[T]; 3]) -> Vec<Meeting<'_, T, 3>> {
    let [_, v, g] = values;
    let [adds, receives] = [v, g].map(|weights| move |i: usize| weights[i] != T::ZERO);
    [(true, true), (true, false), (false, true)]
        .into_iter()
        .map(|kind| (kind, (0..v.len()).filter(|&i| (adds(i), receives(i)) == kind).collect::<Vec<_>>()))
        .filter(|(_, rows)| !rows.is_empty())
        .map(|((of_v, of_g), rows)| {
            Meeting::new(rows, values, Columns::met(values, |j| of_g && adds(j) || of_v && receives(j)))
        })
        .collect()
}

/// The pairs and documents of a list through which a gradient flows.
struct Flows {
    /// The number of pairs with a nonzero gradient.
    pairs: usize,
    /// The number of documents with a weight `v` or an incoming gradient `g`.
    documents: usize,
}

impl Flows {
    fn new<T: Real>(v: &[T], g: &[T]) -> Self {
        let count = |f: fn(bool, bool) -> bool| {
            v.iter().zip(g).map(|(v, g)| usize::from(f(*v != T::ZERO, *g != T::ZERO))).sum()
        };
        // Documents that have both `v` and `g`, only `v`, or only `g`.
        let [both, adding, receiving]: [usize; 3] = [count(|v, g| v & g), count(|v, g| v & !g), count(|v, g| !v & g)];
        let documents = both + adding + receiving;
        Self { pairs: both * documents + adding * (both + receiving) + receiving * (both + adding), documents }
    }

    /// Returns whether it is faster to visit only the pairs with a nonzero gradient. The bounds take into account that
    /// neighbors of selected documents are visited, too, and that short lists do not fill the vectors.
    fn are_few(&self, documents: usize) -> bool {
        const FEWEST: usize = 2 * TILE;
        documents >= FEWEST && 4 * self.pairs <= documents * documents
    }

    /// Returns the cost per document, as a number of pairs.
    fn pairs_per_document(&self, documents: usize) -> usize {
        let pairs = if self.are_few(documents) { 2 * self.pairs } else { self.pairs };
        pairs / self.documents.max(1)
    }
}

/// Returns the gradient of [`step_sum`] with respect to `x`, given the gradient of its output.
pub fn step_sum_gradient<T: Real>(x: &[T], v: &[T], g: &[T], n: usize, alpha: f64, step: Step) -> Vec<T> {
    let target = target();
    each_list([x, v, g], n, x.len() * n, T::ZERO, |_, [x, v, g], to_x| {
        let (alpha, step) = logistic_form(alpha, step);
        if diverged(x, to_x) {
            return;
        }
        let list = List::new(x, v, &[v, g], alpha);
        // Rows after the members have weight and gradient 0, as padding does.
        let members = ..list.members;
        let (x, v, g, to_x) = (&x[members], &v[members], &g[members], &mut to_x[members]);
        let flows = Flows::new(v, g);
        let pairs_per_document = flows.pairs_per_document(list.members);
        let walked = matches!(step, Step::Logistic | Step::Laplace);
        let is_faster = if walked { step_walk::is_faster } else { step_boxes::is_faster };
        let gradient = if walked { step_walk::gradient } else { step_boxes::gradient };
        let sum = |inputs, [to_x]: [_; 1]| gradient(target, inputs, alpha, step, to_x);
        if is_faster(target, pairs_per_document) && in_single([x, v, g], [&mut *to_x], sum).is_some() {
            return;
        }
        let exponentials = if step == Step::Logistic { list.exponentials(target, list.members) } else { None };
        let at = exponentials.as_ref().map_or(x, |exponentials| &exponentials.e);
        let alpha = T::from_f64(alpha);
        let kernel = |tile: Tile<'_, T, 3>| match (&exponentials, step) {
            (Some(_), _) => dispatch(target, GradientByExponentials { tile, alpha }),
            (None, Step::Erf) => dispatch(target, GradientByDifferences { tile, alpha, phi: Erf }),
            (None, Step::Arctan) => dispatch(target, GradientByDifferences { tile, alpha, phi: Arctan }),
            (None, Step::Laplace) => dispatch(target, GradientByDifferences { tile, alpha, phi: Laplace }),
            (None, Step::Logistic | Step::Tanh) => {
                dispatch(target, GradientByDifferences { tile, alpha, phi: Logistic });
            }
        };
        let values = [at, v, g];
        if flows.are_few(list.members) {
            return Meeting::each_tile(&meetings(values), flows.pairs, to_x, kernel);
        }
        let columns = Columns::all(values);
        for_each(tiles(&columns, values, to_x), list.members * list.members, kernel);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::cpu::box_cases::scattered;

    #[test]
    fn rows_far_from_all_that_add_to_them_keep_their_sums() {
        // The last four add nothing: one within reach of the others, two beyond it on either side, and 0.
        let x = [5.0f64, 5.3, 5.1, 5.2, 300.0, -300.0, 0.0];
        let v = [1.0, 0.5, 2.0, 0.0, 0.0, 0.0, 0.0];
        let alpha = 20.0;
        let expected = |i: usize| -> f64 { (0..3).map(|j| v[j] / (1.0 + (alpha * (x[i] - x[j])).exp())).sum() };
        let found = step_sum(&x, &v, None, 7, alpha, Step::Logistic);
        let single = step_sum(&x.map(|x| x as f32), &v.map(|v| v as f32), None, 7, alpha, Step::Logistic);
        for i in 0..7 {
            assert!((found[i] - expected(i)).abs() < 1e-12, "{i}: {} {}", found[i], expected(i));
            assert!((f64::from(single[i]) - expected(i)).abs() < 2e-5, "{i}: {} {}", single[i], expected(i));
        }
        // The number of such rows changes nothing.
        assert_eq!(found[..4], step_sum(&x[..4], &v[..4], None, 4, alpha, Step::Logistic));
    }

    /// Creates scores, weights and incoming gradients of `n` documents; the gradient is nonzero for every document
    /// whose index is a multiple of `apart`.
    fn list(n: usize, apart: usize) -> [Vec<f64>; 3] {
        let x = scattered(n, 1009).map(|x| x / 500.0).collect();
        let g = (0..n).map(|i| if i % apart == 0 { (i % 7) as f64 - 3.5 } else { 0.0 }).collect();
        [x, (0..n).map(|i| (i % 5) as f64).collect(), g]
    }

    #[test]
    fn documents_that_count_have_the_bits_of_all() {
        for n in [1, 2, 17, 129, 300] {
            for apart in [1, 3, 40] {
                let [x, v, counted] = list(n, apart);
                for step in [Step::Logistic, Step::Erf, Step::Arctan] {
                    let all = step_sum(&x, &v, None, n, 3.0, step);
                    let expected = |(sum, counted): (f64, &f64)| if *counted == 0.0 { 0.5 } else { sum };
                    let expected: Vec<f64> = all.into_iter().zip(&counted).map(expected).collect();
                    assert_eq!(step_sum(&x, &v, Some(&counted), n, 3.0, step), expected, "{n}, {apart}, {step:?}");
                }
            }
        }
    }

    #[test]
    fn a_gradient_of_few_documents_reaches_all_that_meet_them() {
        let n = 300;
        for apart in [2, 40, 1000] {
            let [x, v, g] = list(n, apart);
            let found = step_sum_gradient(&x, &v, &g, n, 3.0, Step::Logistic);
            for i in 0..n {
                let flow = |j: usize| {
                    let u = (-3.0 * (x[i] - x[j]).abs()).exp();
                    3.0 * u / (1.0 + u).powi(2) * (g[j] * v[i] - g[i] * v[j])
                };
                let expected: f64 = (0..n).map(flow).sum();
                assert!((found[i] - expected).abs() < 1e-10, "{apart}, {i}: {} {expected}", found[i]);
            }
        }
    }
}
