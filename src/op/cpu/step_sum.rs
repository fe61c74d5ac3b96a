//! Fused [`step_sum`](crate::op::step_sum()).
//!
//! The logistic step of a list whose scores span less than the exponent range takes one exponential a document:
//! with `e_i = exp(alpha (x_i - center))`, `phi(alpha (x_j - x_i)) = e_j / (e_i + e_j)`. Any other step, and any wider
//! list, is computed from the difference of each pair. Long lists take [walks](super::step_walk) or, with other steps,
//! [boxes](super::step_boxes).

use std::marker::PhantomData;

use super::{
    dispatch::{Kernel, dispatch, target},
    list::diverged,
    parallel::for_each,
    parameters::Step,
    real::Real,
    step_boxes,
    step_walk::{self, Walked},
    sum::sum,
    tiles::{BLOCK, TILE, add, blocks, tiles},
};
use crate::execution::Target;

/// A step and its slope at a difference, for the general path.
trait Phi {
    fn value<T: Real, const FMA: bool>(t: T) -> T;
    fn slope<T: Real, const FMA: bool>(t: T) -> T;
}

struct Logistic;

impl Phi for Logistic {
    #[inline(always)]
    fn value<T: Real, const FMA: bool>(t: T) -> T {
        let u = (-t.abs()).exponential::<FMA>();
        (if t < T::ZERO { u } else { T::ONE }) / (T::ONE + u)
    }

    #[inline(always)]
    fn slope<T: Real, const FMA: bool>(t: T) -> T {
        let u = (-t.abs()).exponential::<FMA>();
        let large = T::ONE / (T::ONE + u);
        u * large * large
    }
}

struct Erf;

impl Phi for Erf {
    #[inline(always)]
    fn value<T: Real, const FMA: bool>(t: T) -> T {
        let small = T::HALF * t.abs().scaled_erfc::<FMA>() * (-t * t).exponential::<FMA>();
        if t < T::ZERO { small } else { T::ONE - small }
    }

    #[inline(always)]
    fn slope<T: Real, const FMA: bool>(t: T) -> T {
        (-t * t).exponential::<FMA>() * T::from_f64(0.5 * std::f64::consts::FRAC_2_SQRT_PI)
    }
}

struct Arctan;

impl Phi for Arctan {
    #[inline(always)]
    fn value<T: Real, const FMA: bool>(t: T) -> T {
        t.atan() * T::from_f64(std::f64::consts::FRAC_1_PI) + T::HALF
    }

    #[inline(always)]
    fn slope<T: Real, const FMA: bool>(t: T) -> T {
        T::from_f64(std::f64::consts::FRAC_1_PI) / t.fma::<FMA>(t, T::ONE)
    }
}

struct Laplace;

impl Phi for Laplace {
    #[inline(always)]
    fn value<T: Real, const FMA: bool>(t: T) -> T {
        let small = T::HALF * (-t.abs()).exponential::<FMA>();
        if t < T::ZERO { small } else { T::ONE - small }
    }

    #[inline(always)]
    fn slope<T: Real, const FMA: bool>(t: T) -> T {
        T::HALF * (-t.abs()).exponential::<FMA>()
    }
}

/// One list without the end that adds nothing.
struct List<'a, T> {
    x: &'a [T],
    v: &'a [T],
    alpha: T,
    /// Documents that can add to a sum.
    members: usize,
    /// Rows of their own; those after have the value of the last.
    rows: usize,
}

impl<'a, T: Real> List<'a, T> {
    /// `weights` are the arrays that a document adds through: one where all are 0 adds nothing, and equal ones at the
    /// end of the list (padding) share one row.
    fn new(x: &'a [T], v: &'a [T], weights: &[&[T]], alpha: T) -> Self {
        let silent = |j: usize| weights.iter().all(|w| w[j] == T::ZERO);
        let last = x.last().copied().unwrap_or_default();
        let members = (0..x.len()).rev().find(|&j| !silent(j)).map_or(0, |j| j + 1);
        let distinct = (0..x.len()).rev().find(|&j| j < members || x[j] != last).map_or(0, |j| j + 1);
        Self { x, v, alpha, members, rows: (distinct + 1).min(x.len()) }
    }

    /// `exp(alpha (x_i - center))` of the first `rows`, if the members are narrow enough that no ratio or product of
    /// two is lost. Rows after the members, which may be padding, have no say in it.
    fn exponentials(&self, target: Target, rows: usize) -> Option<Exponentials<T>> {
        let members = &self.x[..self.members];
        let first = *members.first()?;
        let (low, high) = members
            .iter()
            .fold((first, first), |(low, high), &x| (if x < low { x } else { low }, if x > high { x } else { high }));
        let alpha = self.alpha.to_f64();
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
    /// Distance from the centre up to which an exponential has a meaning.
    reach: f64,
}

/// In double precision: the argument has an error of its own size times the rounding unit.
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

/// `sum_j v_j e_j / (e_i + e_j)`, two documents to a division.
struct ByExponentials<'a, T> {
    e: &'a [T],
    v: &'a [T],
    rows: &'a [T],
    out: &'a mut [T],
}

impl<T: Real> Kernel for ByExponentials<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let length = self.out.len();
        let rows = &self.rows[..length];
        for block in blocks(self.e.len()) {
            let (e_pairs, v_pairs) = (self.e[block.clone()].chunks_exact(2), self.v[block].chunks_exact(2));
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

struct ByDifferences<'a, T, P> {
    x: &'a [T],
    v: &'a [T],
    rows: &'a [T],
    alpha: T,
    out: &'a mut [T],
    phi: PhantomData<P>,
}

impl<T: Real, P: Phi> Kernel for ByDifferences<'_, T, P> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let length = self.out.len();
        let rows = &self.rows[..length];
        for block in blocks(self.x.len()) {
            let mut partial = [[T::ZERO; TILE]; 1];
            let [out] = partial.each_mut().map(|partial| &mut partial[..length]);
            for (&x, &v) in self.x[block.clone()].iter().zip(&self.v[block]) {
                for (out, &row) in out.iter_mut().zip(rows) {
                    *out = v.fma::<FMA>(P::value::<T, FMA>((x - row) * self.alpha), *out);
                }
            }
            add(self.out, out);
        }
    }
}

/// The logistic sum of one row, across the documents.
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
                *term = v * Logistic::value::<T, FMA>((x - self.row) * self.alpha);
            }
            total = total + sum(terms);
        }
        *self.out = total;
    }
}

/// `sum_j v_j phi(alpha (x_j - x_i))` for lists of `n` documents.
pub fn step_sum<T: Real>(x: &[T], v: &[T], n: usize, alpha: f64, step: Step) -> Vec<T> {
    let target = target();
    let mut out = vec![T::ZERO; x.len()];
    let pairs = x.len() * n;
    let lists = x.chunks(n).zip(v.chunks(n)).zip(out.chunks_mut(n)).collect();
    for_each(lists, pairs, |((x, v), out)| {
        let (alpha, step) = logistic_form(alpha, step);
        if diverged(x, out) {
            return;
        }
        let list = List::new(x, v, &[v], T::from_f64(alpha));
        let (members, rows) = (list.members, list.rows);
        if let Some(step) = Walked::of(step).filter(|_| step_walk::pays(&[v])) {
            step_walk::value(target, &x[..rows], &v[..rows], alpha, step, &mut out[..rows]);
            let last = out[rows - 1];
            return out[rows..].fill(last);
        }
        if matches!(step, Step::Erf | Step::Arctan) && step_boxes::pays(&[v]) {
            let (x, v, sums) = (&x[..rows], &v[..rows], &mut out[..rows]);
            if step == Step::Erf {
                step_boxes::value(target, x, v, alpha, step_boxes::Erf, sums);
            } else {
                step_boxes::value(target, x, v, alpha, step_boxes::Arctan, sums);
            }
            let last = out[rows - 1];
            return out[rows..].fill(last);
        }
        let exponentials = if step == Step::Logistic { list.exponentials(target, rows) } else { None };
        for_each(tiles(&mut out[..rows]), members * rows, |(start, out)| match (&exponentials, step) {
            (Some(Exponentials { e, .. }), _) => {
                dispatch(target, ByExponentials { e: &e[..members], v: &v[..members], rows: &e[start..], out });
            }
            (None, Step::Erf) => by_differences(target, &list, start, out, Erf),
            (None, Step::Arctan) => by_differences(target, &list, start, out, Arctan),
            (None, Step::Laplace) => by_differences(target, &list, start, out, Laplace),
            (None, Step::Logistic | Step::Tanh) => by_differences(target, &list, start, out, Logistic),
        });
        if let Some(Exponentials { center, reach, .. }) = exponentials {
            let after = x[members..rows].iter().zip(&mut out[members..rows]);
            for (&row, out) in after.filter(|(row, _)| (row.to_f64() - center).abs() > reach) {
                dispatch(target, LogisticRow { x: &x[..members], v: &v[..members], row, alpha: list.alpha, out });
            }
        }
        let last = out[rows - 1];
        out[rows..].fill(last);
    });
    out
}

/// `(1 + tanh t) / 2` is the logistic step at `2 t`.
fn logistic_form(alpha: f64, step: Step) -> (f64, Step) {
    if step == Step::Tanh { (2.0 * alpha, Step::Logistic) } else { (alpha, step) }
}

fn by_differences<T: Real, P: Phi>(target: Target, list: &List<T>, start: usize, out: &mut [T], _: P) {
    let (x, v) = (&list.x[..list.members], &list.v[..list.members]);
    dispatch(target, ByDifferences { x, v, rows: &list.x[start..], alpha: list.alpha, out, phi: PhantomData::<P> });
}

/// Gradient of one tile: of the rows `start..`.
struct Tile<'a, T> {
    x: &'a [T],
    v: &'a [T],
    g: &'a [T],
    start: usize,
    members: usize,
    alpha: T,
    to_x: &'a mut [T],
}

/// [`Tile`] with the exponentials of the documents, two of them to a division.
struct GradientByExponentials<'a, T> {
    tile: Tile<'a, T>,
    e: &'a [T],
}

impl<T: Real> Kernel for GradientByExponentials<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Tile { v, g, start, members, alpha, to_x: sums, .. } = self.tile;
        let length = sums.len();
        let rows = start..start + length;
        let (e_rows, v_rows, g_rows) = (&self.e[rows.clone()], &v[rows.clone()], &g[rows]);
        for block in blocks(members) {
            let mut partial = [[T::ZERO; TILE]; 1];
            let [to_x] = partial.each_mut().map(|partial| &mut partial[..length]);
            let (e, v, g) = (&self.e[block.clone()], &v[block.clone()], &g[block]);
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

struct GradientByDifferences<'a, T, P> {
    tile: Tile<'a, T>,
    phi: PhantomData<P>,
}

impl<T: Real, P: Phi> Kernel for GradientByDifferences<'_, T, P> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Tile { x, v, g, start, members, alpha, to_x: sums } = self.tile;
        let length = sums.len();
        let rows = start..start + length;
        let (x_rows, v_rows, g_rows) = (&x[rows.clone()], &v[rows.clone()], &g[rows]);
        for block in blocks(members) {
            let mut partial = [[T::ZERO; TILE]; 1];
            let [to_x] = partial.each_mut().map(|partial| &mut partial[..length]);
            for ((&x, &v), &g) in x[block.clone()].iter().zip(&v[block.clone()]).zip(&g[block]) {
                for (((to_x, &row), &v_row), &g_row) in to_x.iter_mut().zip(x_rows).zip(v_rows).zip(g_rows) {
                    let slope = P::slope::<T, FMA>((row - x) * alpha);
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

/// Gradient of [`step_sum`] in `x`, given that of its output.
pub fn step_sum_gradient<T: Real>(x: &[T], v: &[T], g: &[T], n: usize, alpha: f64, step: Step) -> Vec<T> {
    let target = target();
    let mut to_x = vec![T::ZERO; x.len()];
    let inputs = x.chunks(n).zip(v.chunks(n)).zip(g.chunks(n));
    let lists = inputs.zip(to_x.chunks_mut(n)).collect();
    for_each(lists, x.len() * n, |(((x, v), g), to_x)| {
        let (alpha, step) = logistic_form(alpha, step);
        if diverged(x, to_x) {
            return;
        }
        let list = List::new(x, v, &[v, g], T::from_f64(alpha));
        if let Some(step) = Walked::of(step).filter(|_| step_walk::pays(&[v, g])) {
            let members = ..list.members;
            let (x, v, g) = (&x[members], &v[members], &g[members]);
            return step_walk::gradient(target, x, v, g, alpha, step, &mut to_x[members]);
        }
        if step_boxes::pays(&[v, g]) {
            let members = ..list.members;
            let (x, v, g, fast) = (&x[members], &v[members], &g[members], &mut to_x[members]);
            match step {
                Step::Erf => return step_boxes::gradient(target, x, v, g, alpha, step_boxes::Erf, fast),
                Step::Arctan => return step_boxes::gradient(target, x, v, g, alpha, step_boxes::Arctan, fast),
                Step::Logistic | Step::Tanh | Step::Laplace => {}
            }
        }
        let (members, alpha) = (list.members, list.alpha);
        let exponentials = if step == Step::Logistic { list.exponentials(target, members) } else { None };
        // Rows after the members have weight and gradient 0, as padding does.
        let tiles = to_x[..members].chunks_mut(TILE).enumerate().collect();
        for_each(tiles, members * members, |(tile, to_x)| {
            let tile = Tile { x, v, g, start: tile * TILE, members, alpha, to_x };
            match (&exponentials, step) {
                (Some(Exponentials { e, .. }), _) => dispatch(target, GradientByExponentials { tile, e }),
                (None, Step::Erf) => dispatch(target, GradientByDifferences { tile, phi: PhantomData::<Erf> }),
                (None, Step::Arctan) => dispatch(target, GradientByDifferences { tile, phi: PhantomData::<Arctan> }),
                (None, Step::Laplace) => dispatch(target, GradientByDifferences { tile, phi: PhantomData::<Laplace> }),
                (None, Step::Logistic | Step::Tanh) => {
                    dispatch(target, GradientByDifferences { tile, phi: PhantomData::<Logistic> })
                }
            }
        });
    });
    to_x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_far_from_all_that_add_to_them_keep_their_sums() {
        // The last four add nothing: one within reach of the others, two beyond it on either side, and 0.
        let x = [5.0f64, 5.3, 5.1, 5.2, 300.0, -300.0, 0.0];
        let v = [1.0, 0.5, 2.0, 0.0, 0.0, 0.0, 0.0];
        let alpha = 20.0;
        let expected = |i: usize| -> f64 { (0..3).map(|j| v[j] / (1.0 + (alpha * (x[i] - x[j])).exp())).sum() };
        let found = step_sum(&x, &v, 7, alpha, Step::Logistic);
        let single = step_sum(&x.map(|x| x as f32), &v.map(|v| v as f32), 7, alpha, Step::Logistic);
        for i in 0..7 {
            assert!((found[i] - expected(i)).abs() < 1e-12, "{i}: {} {}", found[i], expected(i));
            assert!((f64::from(single[i]) - expected(i)).abs() < 2e-5, "{i}: {} {}", single[i], expected(i));
        }
        // However many such rows there are.
        assert_eq!(found[..4], step_sum(&x[..4], &v[..4], 4, alpha, Step::Logistic));
    }
}
