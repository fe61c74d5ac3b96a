//! Computes [`rank_recursion`](crate::op::cpu::ranks::rank_recursion) of long lists, for results in `f32`. The
//! computation takes O(k n) time if few rows have a noticeable result.
//!
//! Only documents near the top have a noticeable probability of being among the first `k`. All other documents are
//! skipped, because their results are 0 in `f32`. Each document is a trial. The trial succeeds if the document ranks
//! above the row, which is the document whose rank is computed. A trial is likely if it succeeds with a probability of
//! at least 1/5 ([`LIKELY`]). A row with `m` documents above it on average has at most about `5 m` likely trials.
//! Likely trials are computed one by one, as in [`rank_recursion`](crate::op::cpu::ranks::rank_recursion). Unlikely
//! trials have success odds of `w = pi / (1 - pi) < 1/4`. These trials are computed together by the series
//!
//! `prod_j (1 - pi_j + pi_j z) = exp(sum_j log(1 - pi_j) + sum_m (-1)^(m + 1) / m (sum_j w_j^m) z^m)`.
//!
//! The coefficient of `z^r` is the probability of `r` successes in the unlikely trials. The sums of powers of the odds
//! are computed from the Chebyshev points of [boxes](super::tree). For the gradient, a trial is removed from the
//! product by a similar series, `1 / (1 - pi + pi z) = (1 + w) sum_m (-w z)^m`.

use std::ops::Range;

use super::convolution::BELL_REACH;
use super::tree::{LANES, LEAF, POINTS, Place, Tree, interpolate};
use super::walk::Sorted;
use crate::execution::Target;
use crate::op::cpu::{
    dispatch::{Kernel, dispatch, is_fast},
    lists::{BLOCK, each_stripe, for_each, reduce},
    parameters::Comparison,
    ranks::trial::{self, beats},
    real::{Real, flushed},
};

/// Returns whether grouping documents into boxes is faster than computing every trial for every rank.
pub fn is_faster(target: Target, documents: usize, ranks: usize) -> bool {
    const DOCUMENTS: usize = 96;
    const CELLS: usize = 512;
    // Up to this number, the first probability of a row with a result stays within the range of f64.
    const RANKS: usize = 200;
    ranks <= RANKS && is_fast(target, documents, documents >= DOCUMENTS && documents * ranks >= CELLS)
}

/// The difference of scores at which a trial succeeds with probability 1/5, the smallest probability of a likely trial.
const LIKELY: f64 = -0.595_116_081_449_995;

/// The number of terms of the series in powers of the odds. Since the odds are below 1/4, the first omitted power is
/// below 1e-10.
const POWERS: usize = 16;

/// A probability whose logarithm is below this bound is too small to change a result in `f32`, whatever it is
/// multiplied by.
const HOPELESS: f64 = -140.0;

/// The number of rows in the task of one thread.
const ROWS: usize = 16;

/// A list sorted by descending score, with the comparison that determines the probabilities of its trials.
pub struct List<'a> {
    tree: Tree<'a>,
    comparison: Comparison,
    discounts: &'a [f64],
    /// The number of documents that each Chebyshev point of each box represents, by level.
    counts: Vec<Vec<f64>>,
}

/// Where unlikely trials come from: single documents, or the points of a box.
enum Source {
    Points(Place),
    Documents(Range<usize>),
}

/// The unlikely trials of one row, and their sources.
#[derive(Default)]
struct Unlikely {
    sources: Vec<Source>,
    /// The scaled difference of scores of each trial; `weights` tells how many documents the trial represents.
    t: Vec<f64>,
    weights: Vec<f64>,
}

#[derive(Default)]
struct Scratch {
    unlikely: Unlikely,
    ahead: Vec<f64>,
    behind: Vec<f64>,
    density: Vec<f64>,
    /// The distribution of the rank after the unlikely trials and after each likely trial, `[trials + 1, ranks]`.
    distributions: Vec<f64>,
    /// For each rank `r`, the derivative with respect to the probability of rank `r + 1`, minus the derivative with
    /// respect to the probability of rank `r`.
    rises: Vec<f64>,
}

impl<'a> List<'a> {
    fn new(target: Target, y: &'a [f64], comparison: Comparison, discounts: &'a [f64]) -> Self {
        let tree = Tree::new(y);
        let counts = tree.weights(target, 1, |_, weights| weights.fill(1.0));
        Self { tree, comparison, discounts, counts }
    }

    /// Returns `rate (x_j - x_i) - shift`, the argument of the probability that `j` ranks above `i`.
    #[inline(always)]
    fn difference(&self, j: usize, i: usize) -> f64 {
        self.tree.y[j] - self.tree.y[i] - self.comparison.shift
    }

    /// Returns the number of documents at the start of the list whose trials against row `i` are likely. Row `i` itself
    /// may be among them.
    fn likely(&self, i: usize) -> usize {
        self.tree.y.partition_point(|y| y - self.tree.y[i] - self.comparison.shift >= LIKELY)
    }

    /// Collects the trials of row `i` against the documents from place `likely` to the end of the list.
    fn collect(&self, i: usize, likely: usize, unlikely: &mut Unlikely) {
        unlikely.sources.clear();
        unlikely.t.clear();
        unlikely.weights.clear();
        let tree = &self.tree;
        let mut places = vec![Place { level: 0, number: 0 }];
        while let Some(place) = places.pop() {
            let documents = tree.documents(place);
            let highest = self.difference(documents.start.max(likely).min(documents.end - 1), i);
            if documents.end <= likely || highest <= -BELL_REACH {
                continue;
            }
            let farthest = -self.difference(documents.end - 1, i);
            let whole = documents.start >= likely && !documents.contains(&i);
            if whole && smooth(tree.span(place).width(), farthest) {
                let points = tree.points(place);
                let counts = &self.counts[place.level as usize][place.number * POINTS..][..POINTS];
                unlikely.sources.push(Source::Points(place));
                unlikely.t.extend(points.iter().map(|y| y - tree.y[i] - self.comparison.shift));
                unlikely.weights.extend(counts);
            } else if place.level < tree.depth {
                places.extend(place.halves());
            } else {
                let start = documents.start.max(likely);
                let parts = if (start..documents.end).contains(&i) {
                    [start..i, i + 1..documents.end]
                } else {
                    [start..documents.end, 0..0]
                };
                for documents in parts.into_iter().filter(|part| !part.is_empty()) {
                    unlikely.t.extend(documents.clone().map(|j| self.difference(j, i)));
                    unlikely.weights.extend(documents.clone().map(|_| 1.0));
                    unlikely.sources.push(Source::Documents(documents));
                }
            }
        }
    }

    /// Returns the logarithm of Chernoff's bound on the probability that fewer than `k` documents rank above row `i`.
    /// Chernoff's bound is `z^(1 - k) prod_j (1 + pi_j (z - 1))` for any `z` in (0, 1).
    fn bound(&self, i: usize, unlikely: &mut Unlikely) -> f64 {
        let likely = self.likely(i);
        self.collect(i, likely, unlikely);
        let first = (0..likely).filter(|&j| j != i).map(|j| (self.difference(j, i), 1.0));
        let trials = first.chain(unlikely.t.iter().copied().zip(unlikely.weights.iter().copied()));
        let chances: Vec<_> = trials.map(|(t, weight)| (beats::<f64, false>(t), weight)).collect();
        let ranks = self.discounts.len() as f64;
        let at = |exponent: f64| {
            let z = (-exponent).exp2();
            let factor = |&((ahead, behind, _), weight): &((f64, f64, f64), f64)| {
                weight * (behind + ahead * z).max(f64::MIN_POSITIVE).ln()
            };
            chances.iter().map(factor).sum::<f64>() + exponent * std::f64::consts::LN_2 * (ranks - 1.0)
        };
        [0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 32.0, 64.0, 256.0].into_iter().map(at).fold(0.0, f64::min)
    }

    /// Returns the number of documents at the start of the list whose result is not 0 in `f32`. The results of all
    /// later documents are 0, too, because even more documents rank above them.
    fn rows(&self) -> usize {
        let mut unlikely = Unlikely::default();
        let mut hopeless = |i: usize| self.bound(i, &mut unlikely) < HOPELESS;
        let n = self.tree.y.len();
        let (mut some, mut bound) = (0, 1);
        while bound <= n && !hopeless(bound - 1) {
            (some, bound) = (bound, 2 * bound);
        }
        // The rows before `some` have a result, and `bound - 1` has none, or does not exist.
        let mut none = bound.min(n + 1) - 1;
        while some < none {
            let middle = some + (none - some) / 2;
            if hopeless(middle) { none = middle } else { some = middle + 1 }
        }
        some
    }
}

/// Returns whether the Chebyshev points of a box of this width can represent its documents. All powers of the odds must
/// be interpolated precisely for differences of scores down to `-farthest`. The first power of the odds changes by a
/// factor of `exp(width (farthest + 0.9))` on either side of the middle of the box. The relative error of the powers is
/// at most 1e-7, since the odds are below 1/4.
fn smooth(width: f64, farthest: f64) -> bool {
    width * (farthest.min(BELL_REACH) + 0.9) <= 2.0
}

impl List<'_> {
    /// Computes the distributions of the rank of row `i`; the last distribution includes all trials.
    #[inline(always)]
    fn advance<const FMA: bool>(&self, i: usize, scratch: &mut Scratch, keep: bool) {
        let (likely, ranks) = (self.likely(i), self.discounts.len());
        self.collect(i, likely, &mut scratch.unlikely);
        let Scratch { unlikely, ahead, behind, density, distributions, .. } = scratch;
        let trials = || (0..likely).filter(|&j| j != i);
        let count = trials().count();
        for values in [&mut *ahead, &mut *behind, &mut *density] {
            values.resize(count, 0.0);
        }
        for (at, j) in trials().enumerate() {
            density[at] = self.difference(j, i);
        }
        for ((density, ahead), behind) in density.iter_mut().zip(&mut *ahead).zip(&mut *behind) {
            (*ahead, *behind, *density) = beats::<f64, FMA>(*density);
        }
        distributions.resize(if keep { count + 1 } else { 2 } * ranks, 0.0);
        distribution::<FMA>(&unlikely.t, &unlikely.weights, &mut distributions[..ranks]);
        for (trial, (&ahead, &behind)) in ahead.iter().zip(&*behind).enumerate() {
            let (before, after) = if keep {
                let (before, after) = distributions[trial * ranks..].split_at_mut(ranks);
                (before, &mut after[..ranks])
            } else {
                distributions.split_at_mut(ranks)
            };
            trial::after::<FMA>(before, ahead, behind, after);
            if trial % BLOCK == BLOCK - 1 {
                after.iter_mut().for_each(|value| *value = flushed(*value));
            }
            if !keep {
                before.copy_from_slice(after);
            }
        }
    }

    /// Returns `sum_r D_r p(r)` for row `i`.
    #[inline(always)]
    fn value<const FMA: bool>(&self, i: usize, scratch: &mut Scratch) -> f64 {
        self.advance::<FMA>(i, scratch, false);
        scratch.distributions.iter().zip(self.discounts).map(|(p, discount)| p * discount).sum()
    }

    /// Adds the contributions of row `i` to the gradients of single documents (`to_documents`) and of the points of
    /// boxes (`to_points`).
    #[inline(always)]
    fn gradient<const FMA: bool>(
        &self,
        i: usize,
        g: f64,
        scratch: &mut Scratch,
        to_documents: &mut [f64],
        to_points: &mut [Vec<f64>],
    ) {
        self.advance::<FMA>(i, scratch, true);
        let ranks = self.discounts.len();
        let Scratch { unlikely, ahead, behind, density, distributions, rises } = scratch;
        let slope = g * self.comparison.rate * 0.5 * std::f64::consts::FRAC_2_SQRT_PI;
        // Beyond the last rank the discount is 0, and so is its rise.
        rises.clear();
        let next = self.discounts.iter().skip(1).chain(&[0.0]);
        rises.extend(self.discounts.iter().zip(next).map(|(here, next)| next - here));
        rises.resize(ranks + POWERS, 0.0);
        let mut own = 0.0;
        let trials = ahead.iter().zip(&*behind).zip(&*density).enumerate();
        for (trial, ((&ahead, &behind), &density)) in trials.rev() {
            let j = trial + usize::from(trial >= i);
            let before = &distributions[trial * ranks..][..ranks];
            let flow = slope * density * dot::<FMA>(before, &rises[..ranks]);
            to_documents[j] += flow;
            own += flow;
            // The slice includes the rise beyond the last rank, which is 0.
            trial::before::<FMA>(&mut rises[..=ranks], ahead, behind);
        }
        let start = &distributions[..ranks];
        let powers: [f64; POWERS] = std::array::from_fn(|m| dot::<FMA>(start, &rises[m..m + ranks]));
        let mut at = 0;
        for source in &unlikely.sources {
            let (count, to) = match source {
                Source::Points(place) => {
                    let to_points = &mut to_points[place.level as usize];
                    if to_points.is_empty() {
                        to_points.resize(POINTS << place.level, 0.0);
                    }
                    (POINTS, &mut to_points[place.number * POINTS..][..POINTS])
                }
                Source::Documents(documents) => (documents.len(), &mut to_documents[documents.clone()]),
            };
            for ((to, &t), &weight) in to.iter_mut().zip(&unlikely.t[at..]).zip(&unlikely.weights[at..]) {
                let (ahead, behind, density) = beats::<f64, FMA>(t);
                let odds = -ahead / behind;
                let series = powers.iter().rev().fold(0.0, |series: f64, &power| series.fma::<FMA>(odds, power));
                let flow = slope * density / behind * series;
                *to += flow;
                own += weight * flow;
            }
            at += count;
        }
        to_documents[i] -= own;
    }
}

/// Returns `sum_r a_r b_r`, added in the same order on every instruction set.
#[inline(always)]
fn dot<const FMA: bool>(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    for (a, b) in a.chunks(LANES).zip(b.chunks(LANES)) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane = a.fma::<FMA>(*b, *lane);
        }
    }
    lanes.iter().sum()
}

/// Writes the probability of each number of successes of trials with the scaled differences `t`. The entry of a trial
/// in `weights` says how many documents the trial represents. The probability is the coefficient of a power of `z` in
/// the product over the trials.
#[inline(always)]
fn distribution<const FMA: bool>(t: &[f64], weights: &[f64], p: &mut [f64]) {
    // The logarithm of the probability that no trial succeeds, `sum_j log(1 - pi_j)`, and the sums of powers of the
    // odds, `sum_j w_j^m` from `m = 1`.
    let (mut none, mut powers) = ([0.0; LANES], [[0.0; LANES]; POWERS]);
    for (t, weights) in t.chunks(LANES).zip(weights.chunks(LANES)) {
        let (mut differences, mut counts) = ([-BELL_REACH; LANES], [0.0; LANES]);
        differences[..t.len()].copy_from_slice(t);
        counts[..t.len()].copy_from_slice(weights);
        let mut odds = [0.0; LANES];
        for lane in 0..LANES {
            let (ahead, behind, _) = beats::<f64, FMA>(differences[lane]);
            odds[lane] = ahead / behind;
            none[lane] = behind.logarithm::<FMA>().fma::<FMA>(counts[lane], none[lane]);
        }
        for powers in &mut powers {
            for lane in 0..LANES {
                counts[lane] *= odds[lane];
                powers[lane] += counts[lane];
            }
        }
    }
    let powers: [f64; POWERS] = powers.map(|lanes| lanes.iter().sum());
    let signed: [f64; POWERS] = std::array::from_fn(|m| if m % 2 == 0 { powers[m] } else { -powers[m] });
    p[0] = none.iter().sum::<f64>().exp();
    for rank in 1..p.len() {
        // The derivative of the logarithm is multiplied by the product.
        let before = p[rank.saturating_sub(POWERS)..rank].iter().rev();
        p[rank] = flushed(before.zip(&signed).map(|(p, power)| p * power).sum::<f64>() / rank as f64);
    }
}

/// Computes the values of consecutive rows. Only the rows marked by `counted` are computed.
struct Values<'a, 'b> {
    list: &'a List<'b>,
    counted: &'a [bool],
    first: usize,
    out: &'a mut [f64],
}

impl Kernel for Values<'_, '_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let mut scratch = Scratch::default();
        for (i, out) in (self.first..).zip(self.out).filter(|(i, _)| self.counted[*i]) {
            *out = self.list.value::<FMA>(i, &mut scratch);
        }
    }
}

/// Computes the contributions of a range of rows to the gradients of all documents.
struct Gradients<'a, 'b> {
    list: &'a List<'b>,
    rows: Range<usize>,
    g: &'a [f64],
    to_documents: &'a mut [f64],
}

impl Kernel for Gradients<'_, '_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let tree = &self.list.tree;
        let mut to_points = vec![Vec::new(); tree.depth as usize + 1];
        let mut scratch = Scratch::default();
        for i in self.rows.filter(|&i| self.g[i] != 0.0) {
            self.list.gradient::<FMA>(i, self.g[i], &mut scratch, self.to_documents, &mut to_points);
        }
        // The gradient goes from points to the points of the halves, and finally to documents.
        let mut from_above = Vec::new();
        for (level, mut points) in (0..).zip(to_points) {
            let (before, here) = (std::mem::take(&mut from_above), POINTS << level);
            if before.is_empty() && points.is_empty() {
                continue;
            }
            points.resize(here, 0.0);
            let is_last = level == tree.depth;
            if !is_last {
                from_above.resize(2 * here, 0.0);
            }
            for number in 0..1 << level {
                let place = Place { level, number };
                let at_points = &mut points[number * POINTS..][..POINTS];
                if let Some(before) = before.get(number * POINTS..(number + 1) * POINTS) {
                    at_points.iter_mut().zip(before).for_each(|(point, before)| *point += before);
                }
                if at_points.iter().all(|value| *value == 0.0) {
                    continue;
                }
                let span = tree.span(place);
                if is_last {
                    let documents = tree.documents(place);
                    let to = &mut self.to_documents[documents.clone()];
                    interpolate::<FMA, LEAF>(&tree.chebyshev, span, at_points, &tree.y[documents], to);
                } else {
                    for half in place.halves() {
                        let to = &mut from_above[half.number * POINTS..][..POINTS];
                        interpolate::<FMA, POINTS>(&tree.chebyshev, span, at_points, &tree.points(half), to);
                    }
                }
            }
        }
    }
}

/// Writes `sum_r D_r p_i(r)` for the documents at `places`, and 0 for all other documents.
pub fn value(target: Target, x: &[f32], places: &[usize], comparison: Comparison, discounts: &[f64], out: &mut [f32]) {
    let sorted = Sorted::new(x);
    let mut counted = vec![false; x.len()];
    places.iter().for_each(|&place| counted[place] = true);
    let counted = sorted.gather(&counted);
    let y = sorted.scaled(comparison.rate);
    let list = List::new(target, &y, comparison, discounts);
    let mut values = vec![0.0; x.len()];
    let rows = list.rows();
    let tasks = values[..rows].chunks_mut(ROWS).enumerate().collect();
    for_each(tasks, rows * rows * discounts.len() * LANES, |(task, out)| {
        dispatch(target, Values { list: &list, counted: &counted, first: task * ROWS, out });
    });
    sorted.scatter(values.into_iter(), out);
}

/// Writes the gradient of [`value`] with respect to `x`.
pub fn gradient(target: Target, [x, g]: [&[f32]; 2], comparison: Comparison, discounts: &[f64], to_x: &mut [f32]) {
    let sorted = Sorted::new(x);
    let y = sorted.scaled(comparison.rate);
    let list = List::new(target, &y, comparison, discounts);
    let g = sorted.gather_exact(g);
    let rows = list.rows();
    let work = rows * rows * discounts.len() * LANES;
    let partials = each_stripe(&mut vec![0.0; rows], x.len(), work, |rows, _, to_documents| {
        dispatch(target, Gradients { list: &list, rows, g: &g, to_documents });
    });
    let mut to_sorted = vec![0.0; x.len()];
    reduce(&mut to_sorted, &partials);
    sorted.scatter(to_sorted.into_iter(), to_x);
}

#[cfg(test)]
mod tests {
    use super::super::box_cases::{Errors, cases, gradient_weights, padded};
    use super::*;
    use crate::op::cpu::{
        dispatch::target,
        parameters::{Above, AboveRecursion, ScoreNoise},
        ranks::above_recursion::{above_recursion, above_recursion_gradient},
    };

    const N: usize = 250;

    /// The recursion in double precision, which serves as the reference in tests.
    struct Definition {
        comparison: Comparison,
        discounts: Vec<f64>,
        x: Vec<f64>,
    }

    impl Definition {
        fn chances(&self, j: usize, i: usize) -> (f64, f64, f64) {
            beats::<f64, false>(self.comparison.rate * (self.x[j] - self.x[i]) - self.comparison.shift)
        }

        /// Returns the distribution of the rank of `i` before each trial and after the last one.
        fn distributions(&self, i: usize) -> Vec<Vec<f64>> {
            let mut p = vec![0.0; self.discounts.len()];
            p[0] = 1.0;
            let mut distributions = vec![p.clone()];
            for j in 0..self.x.len() {
                let (ahead, behind, _) = if j == i { (0.0, 1.0, 0.0) } else { self.chances(j, i) };
                for rank in (1..p.len()).rev() {
                    p[rank] = p[rank] * behind + p[rank - 1] * ahead;
                }
                p[0] *= behind;
                distributions.push(p.clone());
            }
            distributions
        }

        fn value(&self, i: usize) -> Errors {
            let mut value = Errors::default();
            let distributions = self.distributions(i);
            distributions[self.x.len()].iter().zip(&self.discounts).for_each(|(p, discount)| value.add(p * discount));
            value
        }

        /// Adds the contributions of row `i` to the gradients of all documents.
        fn add_gradient(&self, i: usize, g: f64, to: &mut [Errors]) {
            let n = self.x.len();
            let distributions = self.distributions(i);
            let mut rises: Vec<f64> = (0..self.discounts.len())
                .map(|r| self.discounts.get(r + 1).unwrap_or(&0.0) - self.discounts[r])
                .collect();
            for j in (0..n).rev().filter(|&j| j != i) {
                let (ahead, behind, bell) = self.chances(j, i);
                let density = g * self.comparison.rate * 0.5 * std::f64::consts::FRAC_2_SQRT_PI * bell;
                let flow: f64 = distributions[j].iter().zip(&rises).map(|(p, rise)| p * rise).sum();
                to[j].add(density * flow);
                to[i].add(-density * flow);
                for rank in 0..rises.len() {
                    rises[rank] = rises[rank] * behind + rises.get(rank + 1).unwrap_or(&0.0) * ahead;
                }
            }
        }
    }

    fn log2(ranks: usize) -> Vec<f64> {
        (0..ranks).map(|rank| 1.0 / (rank as f64 + 2.0).log2()).collect()
    }

    #[test]
    fn trials_taken_together_are_as_precise_as_single_precision_wherever_documents_stand() {
        let g = gradient_weights(N);
        for (name, x, steepness) in cases(N) {
            for (discounts, shift) in [(vec![1.0], 0.0), (log2(10), 0.0), (vec![1.0; 7], -1.5), (log2(40), 2.0)] {
                let comparison = Comparison { rate: steepness, shift };
                let places: Vec<usize> = (0..x.len()).collect();
                let [mut out, mut gradient] = [vec![0.0; x.len()], vec![0.0; x.len()]];
                value(target(), &x, &places, comparison, &discounts, &mut out);
                super::gradient(target(), [&x, &g], comparison, &discounts, &mut gradient);
                let definition = Definition { comparison, discounts, x: x.iter().copied().map(f64::from).collect() };
                let mut slopes: Vec<Errors> = (0..N).map(|_| Errors::default()).collect();
                for i in 0..N {
                    let error = definition.value(i).error(out[i]);
                    assert!(error < 1e-6, "{name}, shift {shift}, {i}: {error}");
                    definition.add_gradient(i, f64::from(g[i]), &mut slopes);
                }
                for (i, slopes) in slopes.iter().enumerate() {
                    let error = slopes.error(gradient[i]);
                    assert!(error < 1e-6, "{name}, shift {shift}, {i}: {error}");
                }
            }
        }
    }

    #[test]
    fn rows_without_a_chance_are_left_out() {
        // All documents are tied, so even the first has no chance of being at the first rank.
        let (y, comparison) = (vec![0.0; 1000], Comparison::independent(1.0));
        assert_eq!(List::new(target(), &y, comparison, &[1.0]).rows(), 0);
        // The documents are far apart, so the first ten take the first ten ranks.
        let y: Vec<f64> = (0..1000).map(|i| -30.0 * f64::from(i)).collect();
        assert_eq!(List::new(target(), &y, comparison, &[1.0; 10]).rows(), 10);
    }

    #[test]
    fn padding_changes_no_bit() {
        const LONG: usize = 2100;
        let (_, x, _) = cases(LONG).swap_remove(0);
        let (mask, g) = (vec![1.0; LONG], gradient_weights(LONG));
        let values: Vec<f32> = log2(10).into_iter().map(|value| value as f32).collect();
        let recursion = AboveRecursion { noise: ScoreNoise::one(Comparison::independent(0.3)), above: Above::Nothing };
        let run = |[x, mask, g]: [&[f32]; 3]| {
            let inputs = [x, mask, g, mask, &values];
            let out = above_recursion(inputs, x.len(), &recursion);
            let gradient = above_recursion_gradient(inputs, g, x.len(), &recursion);
            [out, gradient].map(|values| values[..LONG].to_vec())
        };
        let all = [&x, &mask, &g];
        let filled = all.map(|values| padded(values));
        assert_eq!(run(all.map(|values| values.as_slice())), run(filled.each_ref().map(|values| values.as_slice())));
    }
}
