//! Computes [`above_recursion`](super::above_recursion) for functions of the rank alone
//! ([`Above::Nothing`](crate::op::Above::Nothing)).
//!
//! The distributions of the rows of a tile are stored rank by rank, as `[ranks, rows]`, so each trial takes one pass
//! over this array. The gradient visits the trials in reverse order. The forward pass stores only every `sqrt(n)`-th
//! distribution; the gradient recomputes those in between. For long lists, the kernel computes only [documents near the
//! top](crate::op::cpu::long::recursion_boxes), with the trials that matter to them.

use super::trial::{self, Trial};
use crate::execution::Target;
use crate::op::cpu::{
    dispatch::{Kernel, dispatch, in_single},
    lists::{BLOCK, TILE, add, counting, each_stripe, for_each, gather, reduce, scatter},
    long::recursion_boxes,
    parameters::{Comparison, Mixture},
    real::{Real, flushed, sum},
};

/// The largest number of values in the distributions of one tile, and the smallest number of rows in a tile.
const TILE_NUMBERS: usize = 1 << 20;
const FEWEST_ROWS: usize = 8;

/// Returns the number of rows per tile if `distributions` distributions over `ranks` ranks are stored for each row.
fn rows_of_tile(ranks: usize, distributions: usize) -> usize {
    (TILE_NUMBERS / (ranks * distributions)).clamp(FEWEST_ROWS, TILE)
}

/// Returns the number of trials between two stored distributions.
fn block(documents: usize) -> usize {
    documents.isqrt().max(1)
}

/// The trials of all documents of a list against the rows of a tile.
#[derive(Clone, Copy)]
struct Trials<'a, T> {
    x: &'a [T],
    /// The scores of the rows. The array `places` holds the indices of the rows in the list, in ascending order.
    rows: &'a [T],
    places: &'a [usize],
    compared: Comparison<T>,
}

impl<T: Real> Trials<'_, T> {
    /// Computes the trial of document `j` against the rows.
    #[inline(always)]
    fn of<const FMA: bool>(self, j: usize, trial: &mut Trial<T>) {
        trial.meet::<FMA>((j, self.x[j]), self.rows, self.places, self.compared);
    }
}

/// Updates the distribution of each row's rank for the trial of document `j`.
#[inline(always)]
fn advance<T: Real, const FMA: bool>(p: &mut [T], j: usize, ahead: &[T], behind: &[T]) {
    trial::advance::<T, FMA>(p, j, ahead, behind);
    if j % BLOCK == BLOCK - 1 {
        p.iter_mut().for_each(|value| *value = flushed(*value));
    }
}

/// Sets the distributions to rank 0 with probability 1, as before the first trial.
#[inline(always)]
fn certain<T: Real>(p: &mut [T], rows: usize) {
    p.fill(T::ZERO);
    p[..rows].fill(T::ONE);
}

/// Computes the expected value of the function for the rows of a tile.
struct Expectation<'a, T> {
    trials: Trials<'a, T>,
    values: &'a [T],
    /// The distributions of the rows, `[ranks, rows]`.
    p: &'a mut [T],
    out: &'a mut [T],
}

impl<T: Real> Kernel for Expectation<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let rows = self.out.len();
        let mut scratch = [[T::ZERO; TILE]; 3];
        let mut trial = Trial::of_rows(rows, &mut scratch);
        certain(self.p, rows);
        for j in 0..self.trials.x.len() {
            self.trials.of::<FMA>(j, &mut trial);
            advance::<T, FMA>(self.p, j, trial.ahead, trial.behind);
        }
        for (p, &value) in self.p.chunks_exact(rows).zip(self.values) {
            for (out, &p) in self.out.iter_mut().zip(p) {
                *out = p.fma::<FMA>(value, *out);
            }
        }
    }
}

/// Returns `sum_r f(r) p_i(r)`, averaged over the comparisons, for each document with a nonzero weight. Other documents
/// receive 0.
pub fn value<T: Real>(target: Target, [x, weights]: [&[T]; 2], mixture: &Mixture, values: &[f64], out: &mut [T]) {
    let (places, ranks) = (counting(weights), values.len());
    let (rows, length) = (gather(x, &places), rows_of_tile(ranks, 1));
    let mut of_rows = vec![T::ZERO; rows.len()];
    for &(share, comparison) in mixture {
        let exact: Vec<f64> = values.iter().map(|value| share * value).collect();
        let fast = recursion_boxes::is_faster(target, x.len(), ranks);
        let mut of_all = vec![T::ZERO; if fast { x.len() } else { 0 }];
        let in_boxes =
            |[x]: [&[f32]; 1], [out]: [_; 1]| recursion_boxes::value(target, x, &places, comparison, &exact, out);
        if fast && in_single([x], [&mut of_all], in_boxes).is_some() {
            add(&mut of_rows, &gather(&of_all, &places));
            continue;
        }
        let values: Vec<T> = exact.iter().map(|&value| T::from_f64(value)).collect();
        let tiles = rows.chunks(length).zip(places.chunks(length)).zip(of_rows.chunks_mut(length)).collect();
        for_each(tiles, x.len() * rows.len() * ranks, |((rows, places), out)| {
            let mut p = vec![T::ZERO; ranks * out.len()];
            let trials = Trials { x, rows, places, compared: comparison.in_type() };
            dispatch(target, Expectation { trials, values: &values, p: &mut p, out });
        });
    }
    scatter(out, &places, &of_rows);
}

/// Memory for the gradient of one tile of rows.
struct Memory<T> {
    /// The distributions before every `block`-th trial, `[blocks, ranks, rows]`.
    starts: Vec<T>,
    /// The distributions before every trial of one block, `[block, ranks, rows]`.
    before: Vec<T>,
    /// For each rank `r`, the derivative with respect to the probability of rank `r + 1`, minus the derivative with
    /// respect to the probability of rank `r`. The shape is `[ranks, rows]`. Differences of derivatives follow the same
    /// recursion as the derivatives, and are precise even if the derivatives are nearly equal.
    rises: Vec<T>,
}

/// Computes the gradient over the pairs that combine the rows of a tile with all documents, for both sides of each
/// pair.
struct Gradient<'a, T> {
    trials: Trials<'a, T>,
    /// For each rank, the value of the function at the next rank minus its value at this rank.
    rises: &'a [T],
    /// The incoming gradient of each row.
    g: &'a [T],
    memory: &'a mut Memory<T>,
    to_rows: &'a mut [T],
    to_all: &'a mut [T],
}

/// Computes the derivative with respect to the probability of trial `j` for each row, `sum_r p(r) (a(r + 1) - a(r))`.
/// The sum ends at rank `j`, because after `j` trials no rank can be higher than `j`.
#[inline(always)]
fn by_chance<T: Real, const FMA: bool>(p: &[T], rises: &[T], j: usize, flow: &mut [T]) {
    let rows = flow.len();
    flow.fill(T::ZERO);
    for (p, rises) in p.chunks_exact(rows).zip(rises.chunks_exact(rows)).take(j + 1) {
        for ((flow, &p), &rise) in flow.iter_mut().zip(p).zip(rises) {
            *flow = p.fma::<FMA>(rise, *flow);
        }
    }
}

impl<T: Real> Kernel for Gradient<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let rows = self.to_rows.len();
        let (ranks, documents) = (self.rises.len(), self.trials.x.len());
        let (size, block) = (ranks * rows, block(documents));
        let Memory { starts, before, rises } = self.memory;
        let (starts, before) = (&mut starts[..documents.div_ceil(block) * size], &mut before[..block * size]);
        let rises = &mut rises[..size];
        let (mut scratch, mut flow, mut partial) = ([[T::ZERO; TILE]; 3], [T::ZERO; TILE], [T::ZERO; TILE]);
        let (flow, partial) = (&mut flow[..rows], &mut partial[..rows]);
        let mut trial = Trial::of_rows(rows, &mut scratch);

        certain(&mut starts[..size], rows);
        for (number, first) in (0..documents).step_by(block).enumerate().take(documents.div_ceil(block) - 1) {
            let (here, next) = starts[number * size..].split_at_mut(size);
            let next = &mut next[..size];
            next.copy_from_slice(here);
            for j in first..first + block {
                self.trials.of::<FMA>(j, &mut trial);
                advance::<T, FMA>(next, j, trial.ahead, trial.behind);
            }
        }
        for (rises, &rise) in rises.chunks_exact_mut(rows).zip(self.rises) {
            for (own, &g) in rises.iter_mut().zip(self.g) {
                *own = g * rise;
            }
        }
        let slope = self.trials.compared.rate * T::from_f64(0.5 * std::f64::consts::FRAC_2_SQRT_PI);
        for (number, first) in (0..documents).step_by(block).enumerate().rev() {
            let last = (first + block).min(documents);
            before[..size].copy_from_slice(&starts[number * size..(number + 1) * size]);
            for j in first..last - 1 {
                let (here, next) = before[(j - first) * size..].split_at_mut(size);
                let next = &mut next[..size];
                next.copy_from_slice(here);
                self.trials.of::<FMA>(j, &mut trial);
                advance::<T, FMA>(next, j, trial.ahead, trial.behind);
            }
            for j in (first..last).rev() {
                self.trials.of::<FMA>(j, &mut trial);
                by_chance::<T, FMA>(&before[(j - first) * size..(j - first + 1) * size], rises, j, flow);
                for ((flow, partial), &density) in flow.iter_mut().zip(partial.iter_mut()).zip(trial.density.iter()) {
                    *flow = *flow * density * slope;
                    *partial = *partial + *flow;
                }
                self.to_all[j] = self.to_all[j] + sum(flow);
                trial::retreat::<T, FMA>(rises, trial.ahead, trial.behind);
                if j % BLOCK == 0 {
                    rises.iter_mut().for_each(|value| *value = flushed(*value));
                    for (to_row, partial) in self.to_rows.iter_mut().zip(partial.iter_mut()) {
                        *to_row = *to_row - *partial;
                        *partial = T::ZERO;
                    }
                }
            }
        }
    }
}

/// Returns the gradient of [`value`] with respect to `x`. Documents with `g = 0` are skipped.
pub fn gradient<T: Real>(target: Target, [x, g]: [&[T]; 2], mixture: &Mixture, values: &[f64], to_x: &mut [T]) {
    let (places, ranks) = (counting(g), values.len());
    let (own, own_g, mut to_own) = (gather(x, &places), gather(g, &places), vec![T::ZERO; places.len()]);
    let rows = rows_of_tile(ranks, 2 * block(x.len()) + 1);
    for &(share, comparison) in mixture {
        let exact: Vec<f64> = values.iter().map(|value| share * value).collect();
        let fast = recursion_boxes::is_faster(target, x.len(), ranks);
        let mut to_all = vec![T::ZERO; if fast { x.len() } else { 0 }];
        let in_boxes = |list, [to_all]: [_; 1]| recursion_boxes::gradient(target, list, comparison, &exact, to_all);
        if fast && in_single([x, g], [&mut to_all], in_boxes).is_some() {
            add(to_x, &to_all);
            continue;
        }
        // Beyond the last rank the function is 0.
        let next = exact.iter().skip(1).chain(&[0.0]);
        let rises: Vec<T> = exact.iter().zip(next).map(|(here, next)| T::from_f64(next - here)).collect();
        let compared = comparison.in_type();
        let work = x.len() * places.len() * ranks;
        let partials = each_stripe(&mut to_own, x.len(), work, |stripe, to_rows, to_all| {
            let (block, size) = (block(x.len()), ranks * rows.min(to_rows.len()));
            let mut memory = Memory {
                starts: vec![T::ZERO; x.len().div_ceil(block) * size],
                before: vec![T::ZERO; block * size],
                rises: vec![T::ZERO; size],
            };
            for (tile, to_rows) in to_rows.chunks_mut(rows).enumerate() {
                let start = stripe.start + tile * rows;
                let here = start..start + to_rows.len();
                let trials = Trials { x, rows: &own[here.clone()], places: &places[here.clone()], compared };
                let g = &own_g[here];
                dispatch(target, Gradient { trials, rises: &rises, g, memory: &mut memory, to_rows, to_all });
            }
        });
        reduce(to_x, &partials);
    }
    for (&place, own) in places.iter().zip(to_own) {
        to_x[place] = to_x[place] + own;
    }
}
