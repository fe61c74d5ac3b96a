//! For each document, sums terms over the documents ahead of it or behind it in the sorted list. The terms decay with
//! the distance in score. After the sort, a walk along the list takes O(n) time and is precise enough for `f32`.
//!
//! The terms are values times a function `f(t)` of the distance `t >= 0`. This function is
//! `f(t) = constant + linear t + u p(u)`, with `u = exp(-t)` and a polynomial `p`. Apart from the linear part, `f` is a
//! sum of exponentials of the distance. The walk keeps one running sum for each of these exponentials. From one
//! document to the next, each running sum is multiplied by its power of `u`, and the document's value is added. The
//! terms of distant documents decay to 0 and never overflow, whatever the range of the scores.
//!
//! The functions that the kernels need are analytic in `u`, and their singularity nearest to `[0, 1]` is at `u = -1`.
//! Interpolating `p` at Chebyshev points of `[0, 1]` therefore reduces the error by a factor of `3 + sqrt(8)` per
//! coefficient. See Trefethen, Approximation Theory and Approximation Practice, chapter 8. The error of the
//! interpolation is relative to `f(t)` at every `t`. If a document lies far above a million others, its small sum is
//! therefore as precise as the large sums of the others. The coefficients of `p` are below 10, so their terms do not
//! cancel. Running sums are kept in double precision.
//!
//! A document with value 0 reads the running sums but leaves them unchanged. Padding, which has value 0, therefore does
//! not change a single bit of the results.

use std::ops::Range;

use crate::execution::Target;
use crate::op::cpu::{
    dispatch::{Kernel, dispatch},
    lists::for_each,
    order::descending,
    real::Real,
};

/// The number of coefficients of the polynomial `p`. With 12 coefficients, the relative error is 3e-9 for the logistic
/// function and 4e-8 for its slope.
const TERMS: usize = 12;

/// The running sums for one kind of value: a sum per exponential, the sums at [`COUNT`] and [`MOMENT`], and unused
/// places.
pub type Sums = [f64; 16];

/// The index in [`Sums`] of the plain sum of the values.
const COUNT: usize = TERMS;
/// The index in [`Sums`] of the sum of the values times their distances.
const MOMENT: usize = TERMS + 1;

/// The number of separate sums into which products are accumulated, regardless of the width of the vectors. Results
/// therefore have the same bits on every instruction set.
const LANES: usize = 4;

/// The number of documents with nonzero values in each part of a list; threads sum different parts. Where the parts
/// begin depends only on the values of the list, not on the number of threads.
const PART: usize = 1 << 12;

/// A function `constant + linear t + u p(u)` with `u = exp(-t)`, stored as the coefficients of the running [`Sums`].
#[derive(Debug, Clone, Copy)]
pub struct Decaying(Sums);

impl Decaying {
    /// Creates the function `u p(u)`. The interpolation is exact at both ends of `[0, 1]`, that is, for tied documents
    /// (`u = 1`) and for infinitely distant ones (`u = 0`).
    pub fn new(p: impl Fn(f64) -> f64) -> Self {
        let angle = std::f64::consts::PI / (TERMS - 1) as f64;
        let points: [f64; TERMS] = std::array::from_fn(|i| 0.5 - 0.5 * (angle * i as f64).cos());
        // Newton's form by divided differences is expanded in powers.
        let mut differences = points.map(p);
        for level in 1..TERMS {
            for i in (level..TERMS).rev() {
                differences[i] = (differences[i] - differences[i - 1]) / (points[i] - points[i - level]);
            }
        }
        let mut coefficients = Sums::default();
        for (point, difference) in points.into_iter().zip(differences).rev() {
            for k in (1..TERMS).rev() {
                coefficients[k] = coefficients[k - 1] - point * coefficients[k];
            }
            coefficients[0] = difference - point * coefficients[0];
        }
        Self(coefficients)
    }

    pub fn with_line(mut self, constant: f64, linear: f64) -> Self {
        (self.0[COUNT], self.0[MOMENT]) = (constant, linear);
        self
    }

    /// Returns `sum_j v_j f(t_j)`, given the running sums of the values `v`.
    #[inline(always)]
    pub fn of<const FMA: bool>(&self, sums: &Sums) -> f64 {
        let mut lanes = [0.0; LANES];
        for (sums, coefficients) in sums.chunks_exact(LANES).zip(self.0.chunks_exact(LANES)) {
            for ((lane, &sum), &coefficient) in lanes.iter_mut().zip(sums).zip(coefficients) {
                *lane = sum.fma::<FMA>(coefficient, *lane);
            }
        }
        (lanes[0] + lanes[2]) + (lanes[1] + lanes[3])
    }
}

/// Adds to the running sums the value of the document that the walk has reached.
#[inline(always)]
pub fn add_value(sums: &mut Sums, value: f64) {
    // Adds to all places at once, since a scalar among them would delay the next load of the vector.
    const UNITS: Sums = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0];
    for (sum, unit) in sums.iter_mut().zip(UNITS) {
        *sum += value * unit;
    }
}

/// The distance by which a walk moves along the sorted list in one step.
#[derive(Clone, Copy)]
pub struct Stretch {
    length: f64,
    /// The factor by which each of the [`Sums`] decays in one step of the walk.
    factors: Sums,
}

impl Stretch {
    /// Requires `u = exp(-length)`.
    #[inline(always)]
    fn new(length: f64, u: f64) -> Self {
        let square = u * u;
        let fourth = square * square;
        let mut factors = Sums::default();
        factors[..LANES].copy_from_slice(&[u, square, square * u, fourth]);
        for k in LANES..TERMS {
            factors[k] = factors[k - LANES] * fourth;
        }
        (factors[COUNT], factors[MOMENT]) = (1.0, 1.0);
        Self { length, factors }
    }
}

/// Moves running sums by a distance: the exponentials decay, and the sum of distances grows.
#[inline(always)]
pub fn carry<const FMA: bool>(sums: &mut [Sums], stretch: Stretch) {
    let Stretch { length, factors } = stretch;
    let mut steps = Sums::default();
    // 0 times the infinite distance before the first value would be NaN.
    steps[MOMENT] = if length < f64::INFINITY { length } else { 0.0 };
    for sums in sums {
        let count = sums[COUNT];
        for ((sum, factor), &step) in sums.iter_mut().zip(&factors).zip(&steps) {
            *sum = count.fma::<FMA>(step, *sum * factor);
        }
    }
}

/// Whether a walk sums, for each document, the documents before it or those after it in the sorted list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The documents that come earlier in the sorted list, with higher or equal scores.
    Ahead,
    /// The documents that come later in the sorted list, with lower or equal scores.
    Behind,
}

/// The numbers that a walk adds at each document of a sorted list, and the results that it derives from the running
/// sums. A place is the position of a document in the sorted list, from the highest score.
pub trait Walker: Sync {
    /// The running sums. If the number of running sums is known at compile time, they are kept in an array, so that
    /// they stay in registers.
    type State: Clone + AsRef<[Sums]> + AsMut<[Sums]> + Send;

    /// Returns the running sums before any document is added.
    fn empty(&self) -> Self::State;

    /// Returns whether the document at a place changes the running sums.
    fn adds(&self, place: usize) -> bool;

    /// Moves running sums along the list by `stretch`. The argument `_documents` is the number of documents on this
    /// stretch that have added values.
    #[inline(always)]
    fn carry<const FMA: bool>(&self, sums: &mut [Sums], stretch: Stretch, _documents: usize) {
        carry::<FMA>(sums, stretch);
    }

    /// Adds the values of the document at a place to the running sums.
    fn add(&self, place: usize, sums: &mut [Sums]);

    /// Returns the result for the document at a place, from the running sums there.
    fn read<const FMA: bool>(&self, place: usize, sums: &[Sums]) -> f64;
}

/// The documents of a list by descending score.
pub struct Sorted {
    order: Vec<u32>,
    x: Vec<f64>,
}

impl Sorted {
    /// Sorts the scores in descending order. Documents with equal scores are sorted by index.
    pub fn new<T: Real>(x: &[T]) -> Self {
        Self::of(x, 0..x.len())
    }

    /// Sorts the scores of some documents in descending order. The indices of the documents must be in ascending order,
    /// and documents with equal scores are sorted by index.
    pub fn of<T: Real>(x: &[T], documents: impl Iterator<Item = usize>) -> Self {
        let order = descending(documents.map(|i| (i as u32, x[i])));
        let x = order.iter().map(|&i| x[i as usize].to_f64()).collect();
        Self { order, x }
    }

    /// Sorts documents with equal scores by descending `values`.
    pub fn with_ties_by<T: Real>(mut self, values: &[T]) -> Self {
        let mut start = 0;
        while start < self.x.len() {
            let tied = self.x[start..].iter().take_while(|x| **x == self.x[start]).count();
            self.order[start..start + tied].sort_by(|&a, &b| values[b as usize].total_cmp(&values[a as usize]));
            start += tied;
        }
        self
    }

    /// Returns the sorted scores, multiplied by `scale`.
    pub fn scaled(&self, scale: f64) -> Vec<f64> {
        self.x.iter().map(|x| x * scale).collect()
    }

    /// Returns `values`, one per document, in sorted order.
    pub fn gather<T: Copy>(&self, values: &[T]) -> Vec<T> {
        self.order.iter().map(|&i| values[i as usize]).collect()
    }

    /// Returns `values`, one per document, in sorted order and in double precision.
    pub fn gather_exact<T: Real>(&self, values: &[T]) -> Vec<f64> {
        self.order.iter().map(|&i| values[i as usize].to_f64()).collect()
    }

    /// Writes `values`, which are in sorted order, to `out` in the order of the documents.
    pub fn scatter<T: Real>(&self, values: impl Iterator<Item = f64>, out: &mut [T]) {
        for (&i, value) in self.order.iter().zip(values) {
            out[i as usize] = T::from_f64(value);
        }
    }

    /// Writes rows of `width` values, which are in sorted order, to `out` in the order of the documents.
    pub fn scatter_rows(&self, values: &[f64], width: usize, out: &mut [f32]) {
        for (&i, values) in self.order.iter().zip(values.chunks_exact(width)) {
            let out = &mut out[i as usize * width..][..width];
            out.iter_mut().zip(values).for_each(|(out, &value)| *out = value as f32);
        }
    }

    /// Returns the result of the walker for each document, in sorted order. The running sums of a document cover the
    /// documents on one side of it. `scale` turns differences of scores into distances.
    pub fn walk(&self, target: Target, side: Side, scale: f64, walker: &impl Walker) -> Vec<f64> {
        let walk = Walk { x: &self.x, side, scale, walker };
        let parts = walk.parts();
        let starts = walk.starts(target, &parts);
        let mut out = vec![0.0; self.x.len()];
        let mut rest = out.as_mut_slice();
        let mut tasks = Vec::with_capacity(parts.len());
        for (part, start) in parts.into_iter().zip(starts) {
            let out = match side {
                Side::Ahead => rest.split_off_mut(..part.steps.len()),
                Side::Behind => rest.split_off_mut(rest.len() - part.steps.len()..),
            };
            tasks.push((part, start, out.expect("parts cover the list")));
        }
        for_each(tasks, walk.cost(), |(part, mut sums, out)| {
            dispatch(target, Steps { walk: &walk, part, sums: &mut sums, out: Some(out) });
        });
        out
    }
}

/// The sorted list in the direction in which a walk visits it. The step of a document is its position in the direction
/// of the walk.
struct Walk<'a, W> {
    x: &'a [f64],
    side: Side,
    scale: f64,
    walker: &'a W,
}

/// Consecutive documents on a walk that are computed by one thread.
#[derive(Debug, Clone, PartialEq)]
struct Part {
    steps: Range<usize>,
    /// The score of the last document before this part that adds a value, or NaN if there is none.
    before: f64,
    /// The score of the last document before the end of this part that adds a value, or NaN if there is none.
    last: f64,
}

impl<W: Walker> Walk<'_, W> {
    /// Returns the place of the document that the walk visits at a step.
    #[inline(always)]
    fn place(&self, step: usize) -> usize {
        match self.side {
            Side::Ahead => step,
            Side::Behind => self.x.len() - 1 - step,
        }
    }

    /// Returns the approximate cost of the walk, expressed as a number of pairs.
    fn cost(&self) -> usize {
        self.x.len() * self.walker.empty().as_ref().len() * TERMS
    }

    /// Splits the walk into parts. Each part has [`PART`] documents that add values, except the last part, which may
    /// have fewer.
    fn parts(&self) -> Vec<Part> {
        let (mut parts, mut start, mut count) = (Vec::new(), 0, 0);
        let (mut before, mut last) = (f64::NAN, f64::NAN);
        for step in 0..self.x.len() {
            let place = self.place(step);
            if self.walker.adds(place) {
                last = self.x[place];
                count += 1;
                if count == PART {
                    parts.push(Part { steps: start..step + 1, before, last });
                    (start, count, before) = (step + 1, 0, last);
                }
            }
        }
        if start < self.x.len() {
            parts.push(Part { steps: start..self.x.len(), before, last });
        }
        parts
    }

    /// Returns the running sums at the beginning of each part.
    fn starts(&self, target: Target, parts: &[Part]) -> Vec<W::State> {
        let mut starts = vec![self.walker.empty(); parts.len()];
        if parts.len() < 2 {
            return starts;
        }
        // Each part is summed as if nothing came before it. Then the sums are carried from one part to the next.
        let alone = starts[1..].iter_mut().zip(parts).collect();
        for_each(alone, self.cost(), |(sums, part)| {
            dispatch(target, Steps { walk: self, part: part.clone(), sums, out: None });
        });
        for (number, part) in parts.iter().enumerate().take(parts.len() - 1).skip(1) {
            let distance = (part.last - part.before).abs() * self.scale;
            let stretch = Stretch::new(distance, (-distance).exp());
            let mut carried = starts[number].clone();
            self.walker.carry::<false>(carried.as_mut(), stretch, PART);
            for (sums, carried) in starts[number + 1].as_mut().iter_mut().zip(carried.as_ref()) {
                sums.iter_mut().zip(carried).for_each(|(sum, carried)| *sum += carried);
            }
        }
        starts
    }
}

/// The number of steps whose exponentials are computed at once.
const CHUNK: usize = 64;

/// Computes one part of a walk.
struct Steps<'a, 'b, W: Walker> {
    walk: &'a Walk<'b, W>,
    part: Part,
    /// Before the run, this holds the running sums before the part; after the run, it holds those at the end of the
    /// part. They belong to the position of the last document that has added a value.
    sums: &'a mut W::State,
    /// Where to write the results of the part by place, or `None` if only the running sums are needed.
    out: Option<&'a mut [f64]>,
}

impl<W: Walker> Kernel for Steps<'_, '_, W> {
    #[inline(always)]
    fn run<const FMA: bool>(mut self) {
        let (walk, walker) = (self.walk, self.walk.walker);
        let lowest = self.part.steps.clone().map(|step| walk.place(step)).min().unwrap_or(0);
        let mut sums = self.sums.clone();
        let (mut distances, mut units) = ([0.0; CHUNK], [0.0; CHUNK]);
        let mut before = if self.part.before.is_nan() { f64::INFINITY } else { self.part.before };
        for chunk in self.part.steps.clone().step_by(CHUNK) {
            let steps = chunk..(chunk + CHUNK).min(self.part.steps.end);
            for (distance, step) in distances.iter_mut().zip(steps.clone()) {
                let place = walk.place(step);
                *distance = (walk.x[place] - before).abs() * walk.scale;
                if walker.adds(place) {
                    before = walk.x[place];
                }
            }
            for (unit, distance) in units.iter_mut().zip(&distances) {
                *unit = (-distance).exponential::<FMA>();
            }
            for (step, (&distance, &unit)) in steps.zip(distances.iter().zip(&units)) {
                let (place, stretch) = (walk.place(step), Stretch::new(distance, unit));
                if walker.adds(place) {
                    walker.carry::<FMA>(sums.as_mut(), stretch, 1);
                    if let Some(out) = &mut self.out {
                        out[place - lowest] = walker.read::<FMA>(place, sums.as_ref());
                    }
                    walker.add(place, sums.as_mut());
                } else if let Some(out) = &mut self.out {
                    // A document without a value changes no sum.
                    let mut here = sums.clone();
                    walker.carry::<FMA>(here.as_mut(), stretch, 1);
                    out[place - lowest] = walker.read::<FMA>(place, here.as_ref());
                }
            }
        }
        *self.sums = sums;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function `f`, and the polynomial `p` of its decaying part.
    type Function = (fn(f64) -> f64, fn(f64) -> f64);

    #[test]
    fn errors_are_relative_to_the_function_at_every_distance() {
        let functions: [Function; 3] = [
            (|u| u / (1.0 + u), |u| 1.0 / (1.0 + u)),
            (|u| u / ((1.0 + u) * (1.0 + u)), |u| 1.0 / ((1.0 + u) * (1.0 + u))),
            (|u| u.ln_1p(), |u| if u == 0.0 { 1.0 } else { u.ln_1p() / u }),
        ];
        for (number, (f, p)) in functions.into_iter().enumerate() {
            let decaying = Decaying::new(p);
            for t in (0..6000).map(|t| f64::from(t) * 0.01) {
                let u = (-t).exp();
                let mut sums = Sums::default();
                add_value(&mut sums, 1.0);
                carry::<false>(std::slice::from_mut(&mut sums), Stretch::new(t, u));
                let error = (decaying.of::<false>(&sums) / f(u) - 1.0).abs();
                assert!(error < 5e-8, "function {number} at {t}: {error:e}");
            }
        }
    }

    #[test]
    fn a_line_is_summed_exactly() {
        let line = Decaying::new(|_| 0.0).with_line(2.0, 3.0);
        let mut sums = Sums::default();
        for distance in [f64::INFINITY, 0.5, 1.5] {
            carry::<false>(std::slice::from_mut(&mut sums), Stretch::new(distance, f64::exp(-distance)));
            add_value(&mut sums, 1.0);
        }
        // Values at distances 2, 1.5 and 0.
        assert_eq!(line.of::<false>(&sums), 3.0 * 2.0 + 3.0 * 3.5);
    }

    struct Count<'a>(&'a [f64]);

    impl Walker for Count<'_> {
        type State = [Sums; 1];

        fn empty(&self) -> [Sums; 1] {
            Default::default()
        }

        fn adds(&self, place: usize) -> bool {
            self.0[place] != 0.0
        }

        fn add(&self, place: usize, sums: &mut [Sums]) {
            add_value(&mut sums[0], self.0[place]);
        }

        fn read<const FMA: bool>(&self, _: usize, sums: &[Sums]) -> f64 {
            sums[0][0]
        }
    }

    #[test]
    fn parts_join_without_a_seam() {
        let n = 3 * PART;
        let x: Vec<f32> = (0..n).map(|i| -(i as f32) * 1e-3).collect();
        let values: Vec<f64> = (0..n).map(|i| f64::from(u8::from(i % 3 != 1))).collect();
        let sorted = Sorted::new(&x);
        let target = crate::execution::Execution::current().target();
        for side in [Side::Ahead, Side::Behind] {
            let found = sorted.walk(target, side, 1.0, &Count(&values));
            for i in [0, 1, 2 * PART - 3, 2 * PART, n - 2, n - 1] {
                let others = if side == Side::Ahead { 0..i } else { i + 1..n };
                let expected: f64 =
                    others.map(|j| values[j] * (-(f64::from(x[i]) - f64::from(x[j])).abs()).exp()).sum();
                let error = (found[i] - expected).abs() / expected.max(1e-300);
                assert!(error < 1e-12, "{side:?} {i}: {} {expected}", found[i]);
            }
        }
    }
}
