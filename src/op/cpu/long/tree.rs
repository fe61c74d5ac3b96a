//! A sorted list, halved repeatedly into boxes, with Chebyshev points that represent the documents of each box.

use std::ops::Range;

use crate::execution::Target;
use crate::op::cpu::{
    dispatch::{Kernel, dispatch},
    lists::for_each,
    real::Real,
};

/// The number of Chebyshev points of a box.
pub const POINTS: usize = 16;

/// The largest number of documents in a box that is not halved any further.
pub const LEAF: usize = 32;

/// The number of separate sums into which products are accumulated, regardless of the width of the vectors. Results
/// therefore have the same bits on every instruction set.
pub const LANES: usize = 8;

/// The number of boxes in the task of one thread.
const GROUP: usize = 32;

/// A range of numbers, from `low` to `high`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    pub low: f64,
    pub high: f64,
}

impl Span {
    pub fn width(self) -> f64 {
        self.high - self.low
    }

    /// Returns the range of the differences between a number in this range and a number in `others`.
    pub fn minus(self, others: Self) -> Self {
        Self { low: self.low - others.high, high: self.high - others.low }
    }

    /// Returns the smallest absolute value of a number in the range.
    pub fn nearest(self) -> f64 {
        self.low.max(-self.high).max(0.0)
    }

    /// Returns the largest absolute value of a number in the range.
    pub fn farthest(self) -> f64 {
        self.high.max(-self.low)
    }
}

/// The Chebyshev points in `[-1, 1]`, and the matrix that turns values at these points into coefficients of Chebyshev
/// polynomials.
pub struct Chebyshev {
    points: [f64; POINTS],
    /// The entry `matrix[k][l]` is coefficient `k` of the polynomial that is 1 at point `l` and 0 at the others.
    matrix: [[f64; POINTS]; POINTS],
    transposed: [[f64; POINTS]; POINTS],
}

impl Chebyshev {
    fn new() -> Self {
        let angle = |l: usize| std::f64::consts::PI * (l as f64 + 0.5) / POINTS as f64;
        let coefficient =
            |k: usize, l: usize| (if k == 0 { 1.0 } else { 2.0 * (k as f64 * angle(l)).cos() }) / POINTS as f64;
        Self {
            points: std::array::from_fn(|l| angle(l).cos()),
            matrix: std::array::from_fn(|k| std::array::from_fn(|l| coefficient(k, l))),
            transposed: std::array::from_fn(|l| std::array::from_fn(|k| coefficient(k, l))),
        }
    }
}

/// Returns the values of all Chebyshev polynomials of a box at up to `N` scores.
#[inline(always)]
fn polynomials<const FMA: bool, const N: usize>(span: Span, y: &[f64]) -> [[f64; N]; POINTS] {
    let mut values = [[0.0; N]; POINTS];
    let center = 0.5 * (span.low + span.high);
    // All numbers of a box without width are its center.
    let scale = if span.width() > 0.0 { 2.0 / span.width() } else { 0.0 };
    let mut position = [0.0; N];
    for (position, y) in position.iter_mut().zip(y) {
        *position = (y - center) * scale;
    }
    values[0] = [1.0; N];
    values[1] = position;
    for k in 2..POINTS {
        let [before, last] = [values[k - 2], values[k - 1]];
        for i in 0..N {
            values[k][i] = (2.0 * position[i]).fma::<FMA>(last[i], -before[i]);
        }
    }
    values
}

/// A box in the tree: its level, where 0 is the whole list, and its number within the level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    pub level: u32,
    pub number: usize,
}

impl Place {
    /// Returns whether this box contains a smaller one.
    pub fn contains(self, other: Self) -> bool {
        self.level < other.level && self.number == other.number >> (other.level - self.level)
    }

    pub fn halves(self) -> [Self; 2] {
        [0, 1].map(|half| Self { level: self.level + 1, number: 2 * self.number + half })
    }
}

/// A sorted list in boxes: at level `l`, box `k` holds the `k`-th of `2^l` equal parts of the documents.
pub struct Tree<'a> {
    /// The scores in descending order.
    pub y: &'a [f64],
    /// The level of the boxes that are not halved any further.
    pub depth: u32,
    pub chebyshev: Chebyshev,
}

impl<'a> Tree<'a> {
    pub fn new(y: &'a [f64]) -> Self {
        let depth = y.len().div_ceil(LEAF).next_power_of_two().ilog2();
        Self { y, depth, chebyshev: Chebyshev::new() }
    }

    /// Returns the places of the documents in a box.
    #[inline(always)]
    pub fn documents(&self, of: Place) -> Range<usize> {
        let start = |number: usize| (self.y.len() * number) >> of.level;
        start(of.number)..start(of.number + 1)
    }

    /// Returns the range of the scores in a box.
    #[inline(always)]
    pub fn span(&self, of: Place) -> Span {
        let documents = self.documents(of);
        Span { low: self.y[documents.end - 1], high: self.y[documents.start] }
    }

    /// Returns the Chebyshev points of a box.
    #[inline(always)]
    pub fn points(&self, of: Place) -> [f64; POINTS] {
        let span = self.span(of);
        let (center, half) = (0.5 * (span.low + span.high), 0.5 * span.width());
        self.chebyshev.points.map(|point| center + half * point)
    }

    /// Returns the weights at the Chebyshev points of every box, by level, box and row. The function `weigh` writes
    /// `rows` weights for each document.
    pub fn weights<W>(&self, target: Target, rows: usize, weigh: W) -> Vec<Vec<f64>>
    where
        W: Fn(Range<usize>, &mut [f64]) + Sync,
    {
        let size = rows * POINTS;
        let mut levels: Vec<Vec<f64>> = Vec::new();
        for level in (0..=self.depth).rev() {
            let mut weights = vec![0.0; size << level];
            let groups = weights.chunks_mut(size * GROUP).enumerate().collect();
            let halves = levels.last().map(Vec::as_slice);
            for_each(groups, size << level, |(group, weights)| {
                let upward = Upward { tree: self, weigh: &weigh, rows, level, first: group * GROUP, halves, weights };
                dispatch(target, upward);
            });
            levels.push(weights);
        }
        levels.reverse();
        levels
    }
}

/// Computes the weights at the Chebyshev points for some boxes of a level.
struct Upward<'a, 'b, W> {
    tree: &'a Tree<'b>,
    weigh: &'a W,
    /// The number of weights per document.
    rows: usize,
    level: u32,
    first: usize,
    /// The weights of the boxes one level below, or `None` if the boxes of this level are the smallest.
    halves: Option<&'a [f64]>,
    weights: &'a mut [f64],
}

impl<W: Fn(Range<usize>, &mut [f64])> Kernel for Upward<'_, '_, W> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (tree, rows) = (self.tree, self.rows);
        let mut scratch = vec![0.0; rows * LEAF];
        for (number, weights) in (self.first..).zip(self.weights.chunks_exact_mut(rows * POINTS)) {
            let place = Place { level: self.level, number };
            let span = tree.span(place);
            let mut moments = vec![[0.0; POINTS]; rows];
            if let Some(halves) = self.halves {
                for half in place.halves() {
                    let points = tree.points(half);
                    let weights = &halves[half.number * rows * POINTS..][..rows * POINTS];
                    add_moments::<FMA, POINTS>(span, &points, weights, &mut moments);
                }
            } else {
                let documents = tree.documents(place);
                let scratch = &mut scratch[..rows * documents.len()];
                (self.weigh)(documents.clone(), scratch);
                add_moments::<FMA, LEAF>(span, &tree.y[documents], scratch, &mut moments);
            }
            for (weights, moments) in weights.chunks_exact_mut(POINTS).zip(&moments) {
                for (row, moment) in tree.chebyshev.matrix.iter().zip(moments) {
                    for (weight, coefficient) in weights.iter_mut().zip(row) {
                        *weight = moment.fma::<FMA>(*coefficient, *weight);
                    }
                }
            }
        }
    }
}

/// Adds `sum_j w_j T_k(y_j)` for every row of weights `w` and every Chebyshev polynomial `T_k`.
#[inline(always)]
fn add_moments<const FMA: bool, const N: usize>(span: Span, y: &[f64], weights: &[f64], moments: &mut [[f64; POINTS]]) {
    let polynomials = polynomials::<FMA, N>(span, y);
    for (weights, moments) in weights.chunks_exact(y.len()).zip(moments) {
        for (moment, polynomial) in moments.iter_mut().zip(&polynomials) {
            let mut lanes = [0.0; LANES];
            for (weights, polynomial) in weights.chunks(LANES).zip(polynomial.chunks(LANES)) {
                for ((lane, weight), value) in lanes.iter_mut().zip(weights).zip(polynomial) {
                    *lane = weight.fma::<FMA>(*value, *lane);
                }
            }
            *moment +=
                ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
        }
    }
}

/// Interpolates the sums that are known at the points of a box to the scores `y` in the box. Adds the results to
/// `sums`.
#[inline(always)]
pub fn interpolate<const FMA: bool, const N: usize>(
    chebyshev: &Chebyshev,
    span: Span,
    at_points: &[f64],
    y: &[f64],
    sums: &mut [f64],
) {
    let polynomials = polynomials::<FMA, N>(span, y);
    for (at_points, sums) in at_points.chunks_exact(POINTS).zip(sums.chunks_exact_mut(y.len())) {
        let mut coefficients = [0.0; POINTS];
        for (row, &at_point) in chebyshev.transposed.iter().zip(at_points) {
            for (coefficient, value) in coefficients.iter_mut().zip(row) {
                *coefficient = value.fma::<FMA>(at_point, *coefficient);
            }
        }
        for (coefficient, polynomial) in coefficients.into_iter().zip(&polynomials) {
            for (sum, value) in sums.iter_mut().zip(polynomial) {
                *sum = coefficient.fma::<FMA>(*value, *sum);
            }
        }
    }
}
