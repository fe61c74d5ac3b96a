//! Sums over all pairs of a long list, in O(n) after a sort, of functions of the difference of two scores: a
//! one-dimensional fast multipole method (Greengard and Rokhlin 1987; with Chebyshev points Fong and Darve 2009).
//!
//! The sorted documents are halved again and again into boxes. A function that is smooth over a box is known from its
//! values at a few Chebyshev points of the box. So a box of sources is as good as [`POINTS`] sources with weights of
//! their own, which its halves make of theirs; and the sums of a box of targets are known from those at its points, which
//! its halves read. Two boxes meet through their points where the function is smooth over them, each side for itself,
//! and else through their halves, down to documents. Where the function is constant to all digits, weights are counted.
//!
//! Whether a function is smooth over a box is asked relative to its own size there ([`Sum::smooth`]), so that a document
//! far above all others has its sum as precisely as one among them. Boxes depend on the list alone, and all sums over
//! one target are added by one thread: results have the same bits with any number of threads.

use std::ops::Range;

use super::dispatch::{Kernel, dispatch};
use super::parallel::for_each;
use super::real::Real;
use crate::execution::Target;

/// Chebyshev points of a box.
pub const POINTS: usize = 16;

/// Documents in a smallest box, at most.
pub const LEAF: usize = 32;

/// Lanes in which products are added, whatever the width of vectors: the bits do not depend on it.
const LANES: usize = 8;

/// Halvings down to the boxes of targets that are summed apart, on any thread.
const TASK_LEVEL: u32 = 6;

/// Boxes whose points are made at once.
const GROUP: usize = 32;

/// Work per document in pairs, as a number of pairs that it compares with.
const PAIRS_PER_DOCUMENT: usize = 100;

/// Functions of the difference `t = y_source - y_target` of two documents, and the sums that are made of them.
///
/// Arrays of one quantity for several documents or points hold one row per weight, function or sum.
pub trait Sum: Sync {
    /// Number of weights of a source.
    fn weights(&self) -> usize;

    /// Number of functions.
    fn functions(&self) -> usize;

    /// Number of sums of a target.
    fn sums(&self) -> usize;

    /// Number of results of a target.
    fn results(&self) -> usize;

    /// The weights of the documents at these places.
    fn weigh(&self, places: Range<usize>, weights: &mut [f64]);

    /// The functions at differences `t`.
    fn evaluate<const FMA: bool>(&self, t: &[f64], values: &mut [f64]);

    /// Adds the functions of one source, of which `weight(w)` is a weight, to the sums.
    fn add<const FMA: bool>(&self, values: &[f64], weight: impl Fn(usize) -> f64, sums: &mut [f64]);

    /// Makes the results of the documents at these places, document by document. Rows of sums may have more places.
    fn finish(&self, places: Range<usize>, sums: &[f64], results: &mut [f64]);

    /// Whether the functions of differences within `span`, over part of it of this width, are known from [`POINTS`]
    /// points.
    fn smooth(&self, width: f64, span: Span) -> bool;

    /// The functions where they are constant over the span.
    fn constant(&self, span: Span) -> Option<Constant<'_>>;
}

/// Functions that do not depend on the difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Constant<'a> {
    Zero,
    /// The value of every function.
    Values(&'a [f64]),
}

/// From the smallest to the largest of some numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    pub low: f64,
    pub high: f64,
}

impl Span {
    pub fn width(self) -> f64 {
        self.high - self.low
    }

    /// Differences between these numbers and `others`.
    fn minus(self, others: Self) -> Self {
        Self { low: self.low - others.high, high: self.high - others.low }
    }

    /// The smallest size of a number in it.
    pub fn nearest(self) -> f64 {
        self.low.max(-self.high).max(0.0)
    }

    /// The largest size of a number in it.
    pub fn farthest(self) -> f64 {
        self.high.max(-self.low)
    }
}

/// Chebyshev points in `[-1, 1]`, and what joins them with Chebyshev polynomials.
struct Chebyshev {
    points: [f64; POINTS],
    /// `matrix[k][l]`: coefficient `k` of the polynomial that is 1 at point `l` and 0 at the others.
    matrix: [[f64; POINTS]; POINTS],
    /// `transposed[l][k] = matrix[k][l]`
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

    /// The points of a box.
    #[inline(always)]
    fn of(&self, span: Span) -> [f64; POINTS] {
        let (center, half) = (0.5 * (span.low + span.high), 0.5 * span.width());
        self.points.map(|point| center + half * point)
    }
}

/// Chebyshev polynomials of a box at up to `N` numbers in it.
struct Polynomials<const N: usize>([[f64; N]; POINTS]);

impl<const N: usize> Polynomials<N> {
    #[inline(always)]
    fn new<const FMA: bool>(span: Span, y: &[f64]) -> Self {
        let mut values = [[0.0; N]; POINTS];
        let center = 0.5 * (span.low + span.high);
        // All numbers of a box without width are its centre.
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
        Self(values)
    }
}

/// A list in boxes. Box `k` of level `l` is the `k`-th of `2^l` equal parts.
struct Boxes<'a, S> {
    sum: &'a S,
    /// Scores in descending order.
    y: &'a [f64],
    chebyshev: Chebyshev,
    /// The level of the smallest boxes.
    depth: u32,
    /// For each level, box and weight: the weights of its points.
    weights: Vec<Vec<f64>>,
}

/// A box: its level, and its number there.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Place {
    level: u32,
    number: usize,
}

impl Place {
    fn halves(self) -> [Self; 2] {
        [0, 1].map(|half| Self { level: self.level + 1, number: 2 * self.number + half })
    }
}

impl<'a, S: Sum> Boxes<'a, S> {
    fn new(target: Target, sum: &'a S, y: &'a [f64]) -> Self {
        let depth = y.len().div_ceil(LEAF).next_power_of_two().ilog2();
        let mut boxes = Self { sum, y, chebyshev: Chebyshev::new(), depth, weights: Vec::new() };
        let size = sum.weights() * POINTS;
        let mut levels: Vec<Vec<f64>> = Vec::new();
        for level in (0..=depth).rev() {
            let mut weights = vec![0.0; size << level];
            let groups = weights.chunks_mut(size * GROUP).enumerate().collect();
            let halves = levels.last().map(Vec::as_slice);
            for_each(groups, size << level, |(group, weights)| {
                dispatch(target, Upward { boxes: &boxes, level, first: group * GROUP, halves, weights });
            });
            levels.push(weights);
        }
        levels.reverse();
        boxes.weights = levels;
        boxes
    }

    /// The documents of a box.
    #[inline(always)]
    fn documents(&self, of: Place) -> Range<usize> {
        let start = |number: usize| (self.y.len() * number) >> of.level;
        start(of.number)..start(of.number + 1)
    }

    #[inline(always)]
    fn span(&self, of: Place) -> Span {
        let documents = self.documents(of);
        Span { low: self.y[documents.end - 1], high: self.y[documents.start] }
    }

    #[inline(always)]
    fn weights_of(&self, of: Place) -> &[f64] {
        let size = self.sum.weights() * POINTS;
        &self.weights[of.level as usize][of.number * size..][..size]
    }
}

/// Makes the weights of the points of some boxes of a level.
struct Upward<'a, 'b, S> {
    boxes: &'a Boxes<'b, S>,
    level: u32,
    first: usize,
    /// Those of the next level, unless this one has the smallest boxes.
    halves: Option<&'a [f64]>,
    weights: &'a mut [f64],
}

impl<S: Sum> Kernel for Upward<'_, '_, S> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let boxes = self.boxes;
        let rows = boxes.sum.weights();
        let mut scratch = vec![0.0; rows * LEAF];
        for (number, weights) in (self.first..).zip(self.weights.chunks_exact_mut(rows * POINTS)) {
            let place = Place { level: self.level, number };
            let span = boxes.span(place);
            let mut moments = vec![[0.0; POINTS]; rows];
            if let Some(halves) = self.halves {
                for half in place.halves() {
                    let points = boxes.chebyshev.of(boxes.span(half));
                    let weights = &halves[half.number * rows * POINTS..][..rows * POINTS];
                    add_moments::<FMA, POINTS>(span, &points, weights, &mut moments);
                }
            } else {
                let documents = boxes.documents(place);
                let scratch = &mut scratch[..rows * documents.len()];
                boxes.sum.weigh(documents.clone(), scratch);
                add_moments::<FMA, LEAF>(span, &boxes.y[documents], scratch, &mut moments);
            }
            for (weights, moments) in weights.chunks_exact_mut(POINTS).zip(&moments) {
                for (row, moment) in boxes.chebyshev.matrix.iter().zip(moments) {
                    for (weight, coefficient) in weights.iter_mut().zip(row) {
                        *weight = moment.fma::<FMA>(*coefficient, *weight);
                    }
                }
            }
        }
    }
}

/// Adds `sum_j w_j T_k(y_j)` for every weight and polynomial.
#[inline(always)]
fn add_moments<const FMA: bool, const N: usize>(span: Span, y: &[f64], weights: &[f64], moments: &mut [[f64; POINTS]]) {
    let polynomials = Polynomials::<N>::new::<FMA>(span, y);
    for (weights, moments) in weights.chunks_exact(y.len()).zip(moments) {
        for (moment, polynomial) in moments.iter_mut().zip(&polynomials.0) {
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

/// How a box of targets meets a box of sources.
enum Way {
    /// The functions are 0 there.
    Not,
    /// Through the halves of the sources.
    ByHalves,
    /// Through the halves of the targets.
    Later,
    /// Now: with its sources themselves, or with its points, for the targets themselves or for their points.
    Now { by_documents: bool, at_documents: bool },
    /// The functions are constant.
    Counted,
}

/// Documents of a smallest box, and the last of them again up to whole vectors.
#[inline(always)]
fn filled(documents: &[f64]) -> ([f64; LEAF], usize) {
    let mut y = [documents[documents.len() - 1]; LEAF];
    let length = documents.len().min(LEAF);
    y[..length].copy_from_slice(&documents[..length]);
    (y, length.next_multiple_of(LANES))
}

/// A box of targets on the way down: its sums so far at its points, if there are any, and the boxes of sources that it
/// has not met.
struct Visit {
    place: Place,
    sums: Option<Vec<f64>>,
    sources: Vec<Place>,
}

/// The targets of one box, down to their results.
struct Downward<'a, 'b, S> {
    boxes: &'a Boxes<'b, S>,
    root: Place,
    results: &'a mut [f64],
}

impl<S: Sum> Downward<'_, '_, S> {
    fn way(&self, place: Place, source: Place) -> Way {
        let (boxes, sum) = (self.boxes, self.boxes.sum);
        let [ends_here, ends_there] = [place, source].map(|place| place.level == boxes.depth);
        // A document does not meet itself: its own boxes are taken apart.
        if source.number == place.number >> (place.level - source.level.min(place.level)) && source.level <= place.level
        {
            return match (source.level == place.level, ends_here) {
                (true, true) => Way::Now { by_documents: true, at_documents: true },
                (true, false) => Way::Later,
                (false, _) => Way::ByHalves,
            };
        }
        let (targets, sources) = (boxes.span(place), boxes.span(source));
        let t = sources.minus(targets);
        match sum.constant(t) {
            Some(Constant::Zero) => return Way::Not,
            Some(Constant::Values(_)) => return Way::Counted,
            None => {}
        }
        let (here, there) = (sum.smooth(targets.width(), t), sum.smooth(sources.width(), t));
        if !there && !ends_there && (here || ends_here || sources.width() >= targets.width()) {
            Way::ByHalves
        } else if !here && !ends_here {
            Way::Later
        } else {
            Way::Now { by_documents: !there, at_documents: !here }
        }
    }
}

impl<S: Sum> Kernel for Downward<'_, '_, S> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (boxes, sum) = (self.boxes, self.boxes.sum);
        let first = boxes.documents(self.root).start;
        let mut scratch = Scratch::new(sum);
        let mut at_documents = vec![0.0; sum.sums() * LEAF];
        let everything = Place { level: 0, number: 0 };
        let mut visits = vec![Visit { place: self.root, sums: None, sources: vec![everything] }];
        while let Some(Visit { place, sums, mut sources }) = visits.pop() {
            let (span, documents) = (boxes.span(place), boxes.documents(place));
            let (y, width) = filled(&boxes.y[documents.clone()]);
            let y = &y[..width];
            let points = boxes.chebyshev.of(span);
            let mut at_points = sums.unwrap_or_else(|| vec![0.0; sum.sums() * POINTS]);
            let is_leaf = place.level == boxes.depth;
            let at_documents = &mut at_documents[..if is_leaf { sum.sums() * width } else { 0 }];
            at_documents.fill(0.0);
            let mut later = Vec::new();
            while let Some(source) = sources.pop() {
                match self.way(place, source) {
                    Way::Not => {}
                    Way::ByHalves => sources.extend(source.halves()),
                    Way::Later => later.push(source),
                    Way::Counted => scratch.count::<FMA>(boxes, source, span, &mut at_points),
                    Way::Now { by_documents, at_documents: false } => {
                        scratch.meet::<FMA>(boxes, source, by_documents, &points, false, &mut at_points);
                    }
                    Way::Now { by_documents, at_documents: true } => {
                        scratch.meet::<FMA>(boxes, source, by_documents, y, source == place, at_documents);
                    }
                }
            }
            if is_leaf {
                interpolate::<FMA, LEAF>(&boxes.chebyshev, span, &at_points, y, at_documents);
                let width = sum.results();
                let results = &mut self.results[(documents.start - first) * width..(documents.end - first) * width];
                sum.finish(documents, at_documents, results);
            } else {
                for half in place.halves() {
                    let points = boxes.chebyshev.of(boxes.span(half));
                    let mut sums = vec![0.0; at_points.len()];
                    interpolate::<FMA, POINTS>(&boxes.chebyshev, span, &at_points, &points, &mut sums);
                    visits.push(Visit { place: half, sums: Some(sums), sources: later.clone() });
                }
            }
        }
    }
}

/// Numbers on the way from sources to targets.
struct Scratch {
    weights: Vec<f64>,
    values: Vec<f64>,
}

impl Scratch {
    fn new(sum: &impl Sum) -> Self {
        Self { weights: vec![0.0; sum.weights() * LEAF], values: vec![0.0; sum.functions() * LEAF] }
    }

    /// Adds what a box of sources sends to targets at `y`; `own` if these are its own documents.
    #[inline(always)]
    fn meet<const FMA: bool>(
        &mut self,
        boxes: &Boxes<impl Sum>,
        source: Place,
        by_documents: bool,
        y: &[f64],
        own: bool,
        sums: &mut [f64],
    ) {
        let (sum, points) = (boxes.sum, boxes.chebyshev.of(boxes.span(source)));
        let (from, weights) = if by_documents {
            let documents = boxes.documents(source);
            let weights = &mut self.weights[..sum.weights() * documents.len()];
            sum.weigh(documents.clone(), weights);
            (&boxes.y[documents], &*weights)
        } else {
            (&points[..], boxes.weights_of(source))
        };
        let values = &mut self.values[..sum.functions() * y.len()];
        let mut differences = [0.0; LEAF];
        let differences = &mut differences[..y.len()];
        for (j, from) in from.iter().enumerate() {
            for (difference, y) in differences.iter_mut().zip(y) {
                *difference = from - y;
            }
            sum.evaluate::<FMA>(differences, values);
            if own {
                values.iter_mut().skip(j).step_by(y.len()).for_each(|value| *value = 0.0);
            }
            sum.add::<FMA>(values, |w| weights[w * (weights.len() / sum.weights()) + j], sums);
        }
    }

    /// Adds what a box of sources sends to the points of targets in `span`, where the functions are constant.
    #[inline(always)]
    fn count<const FMA: bool>(&mut self, boxes: &Boxes<impl Sum>, source: Place, span: Span, sums: &mut [f64]) {
        let (sum, weights) = (boxes.sum, boxes.weights_of(source));
        if let Some(Constant::Values(constants)) = sum.constant(boxes.span(source).minus(span)) {
            let values = &mut self.values[..sum.functions() * POINTS];
            for (values, &constant) in values.chunks_exact_mut(POINTS).zip(constants) {
                values.fill(constant);
            }
            sum.add::<FMA>(values, |w| weights[w * POINTS..][..POINTS].iter().sum(), sums);
        }
    }
}

/// The results of every document of a list with scores `y` in descending order.
pub fn results(target: Target, sum: &impl Sum, y: &[f64]) -> Vec<f64> {
    let boxes = Boxes::new(target, sum, y);
    let level = boxes.depth.min(TASK_LEVEL);
    let mut results = vec![0.0; y.len() * sum.results()];
    let (mut rest, mut tasks) = (results.as_mut_slice(), Vec::new());
    for number in 0..1 << level {
        let root = Place { level, number };
        let (results, others) = rest.split_at_mut(boxes.documents(root).len() * sum.results());
        rest = others;
        tasks.push(Downward { boxes: &boxes, root, results });
    }
    for_each(tasks, y.len() * PAIRS_PER_DOCUMENT * sum.functions(), |task| dispatch(target, task));
    results
}

/// Adds sums that are known at the points of a box at other numbers in it.
#[inline(always)]
fn interpolate<const FMA: bool, const N: usize>(
    chebyshev: &Chebyshev,
    span: Span,
    at_points: &[f64],
    y: &[f64],
    sums: &mut [f64],
) {
    let polynomials = Polynomials::<N>::new::<FMA>(span, y);
    for (at_points, sums) in at_points.chunks_exact(POINTS).zip(sums.chunks_exact_mut(y.len())) {
        let mut coefficients = [0.0; POINTS];
        for (row, &at_point) in chebyshev.transposed.iter().zip(at_points) {
            for (coefficient, value) in coefficients.iter_mut().zip(row) {
                *coefficient = value.fma::<FMA>(at_point, *coefficient);
            }
        }
        for (coefficient, polynomial) in coefficients.into_iter().zip(&polynomials.0) {
            for (sum, value) in sums.iter_mut().zip(polynomial) {
                *sum = coefficient.fma::<FMA>(*value, *sum);
            }
        }
    }
}

/// The sums of documents that are no sources themselves, at `y`.
pub fn sums_at(target: Target, sum: &impl Sum, sources: &[f64], y: &[f64]) -> Vec<f64> {
    let boxes = Boxes::new(target, sum, sources);
    let mut sums = vec![0.0; y.len() * sum.sums()];
    let tasks = y.chunks(LEAF).zip(sums.chunks_mut(LEAF * sum.sums())).collect();
    for_each(tasks, y.len() * PAIRS_PER_DOCUMENT * sum.functions(), |(y, sums)| {
        dispatch(target, Alone { boxes: &boxes, y, sums });
    });
    sums
}

/// Sums of targets that are met one by one.
struct Alone<'a, 'b, S> {
    boxes: &'a Boxes<'b, S>,
    y: &'a [f64],
    sums: &'a mut [f64],
}

impl<S: Sum> Kernel for Alone<'_, '_, S> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (boxes, sum) = (self.boxes, self.boxes.sum);
        let mut scratch = Scratch::new(sum);
        let mut at_points = vec![0.0; sum.sums() * POINTS];
        for (&y, sums) in self.y.iter().zip(self.sums.chunks_exact_mut(sum.sums())) {
            let span = Span { low: y, high: y };
            at_points.fill(0.0);
            let mut sources = vec![Place { level: 0, number: 0 }];
            while let Some(source) = sources.pop() {
                let there = boxes.span(source);
                let t = there.minus(span);
                match sum.constant(t) {
                    Some(Constant::Zero) => {}
                    Some(Constant::Values(_)) => scratch.count::<FMA>(boxes, source, span, &mut at_points),
                    None => {
                        let by_documents = !sum.smooth(there.width(), t);
                        if by_documents && source.level < boxes.depth {
                            sources.extend(source.halves());
                        } else {
                            scratch.meet::<FMA>(boxes, source, by_documents, &[y], false, sums);
                        }
                    }
                }
            }
            for (sum, counted) in sums.iter_mut().zip(at_points.chunks_exact(POINTS)) {
                *sum += counted[0];
            }
        }
    }
}
