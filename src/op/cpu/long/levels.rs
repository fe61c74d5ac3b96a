//! A grid over the noisy score of a document, shared by all documents of a list. The points of the grid are called
//! levels. With levels, expectations under [exact noise](crate::op::cpu::ScoreNoise::Exact) need time proportional to
//! the length of the list.
//!
//! If the noisy score of a document is `u`, document `j` ranks above it with probability `Phi(y_j - u)`, for scores in
//! standard deviations. The probability depends on the level `u`, but not on the document that is ranked, so it is
//! computed once per level. The result at a level includes all documents; each document removes its own contribution.
//! The average over `u` is computed by the trapezoidal rule with step `h` and weights `h phi(u - y_i)`. The error falls
//! faster than any power of `h`. A document farther than [`REACH`] from a level counts as above or below it with
//! probability 1. Each document is within reach of at most `2 REACH / h` levels, so no cost grows with the square of
//! the list.

use std::ops::Range;

use super::walk::Sorted;
use crate::op::cpu::{lists::for_each, parameters::noise_step, ranks::trial::beats};

/// The distance from a level, in standard deviations, beyond which a document is above or below it with probability 1.
/// The error of this probability is at most 5e-17.
const REACH: f64 = 8.3;

/// The largest number of parts into which the levels of a list are split, and the fewest documents per part. Threads
/// may compute different parts at the same time.
const PARTS: usize = 16;
const PART: usize = 256;

/// The density of standard normal noise at 0, `1 / sqrt(2 pi)`.
pub const DENSITY: f64 = 0.5 * std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2;

/// A grid of levels over the scores of a list.
pub struct Levels {
    /// The scores in standard deviations, in descending order.
    y: Vec<f64>,
    /// The distance between two neighboring levels.
    pub step: f64,
}

/// Levels that follow each other without a gap, around documents whose scores are close together. Levels are measured
/// from the highest document near them, so they stay precise even if the rest of the list is far away.
#[derive(Debug, Clone, PartialEq)]
struct Segment {
    anchor: f64,
    levels: Range<u64>,
}

impl Segment {
    /// Returns the difference between a score and a level.
    #[inline(always)]
    fn distance(&self, y: f64, level: u64, step: f64) -> f64 {
        (y - self.anchor) + (level as f64 * step - REACH)
    }
}

/// A group of levels, which one thread computes.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    segments: Vec<Segment>,
    /// The number of documents that are above the first level with probability 1.
    pub above: usize,
}

impl Levels {
    /// Creates levels for the scores `y`, which must be in standard deviations and descending.
    pub fn new(y: Vec<f64>) -> Self {
        let step = noise_step(y.len());
        Self { y, step }
    }

    /// Returns the place of the first document that is not above the level with probability 1. The search starts at
    /// place `first`.
    #[inline(always)]
    fn first_around(&self, first: usize, segment: &Segment, level: u64) -> usize {
        first + self.y[first..].iter().take_while(|y| segment.distance(**y, level, self.step) > REACH).count()
    }

    /// Returns the place of the first document that is below the level with probability 1. The search starts at place
    /// `first`.
    #[inline(always)]
    fn first_below(&self, first: usize, segment: &Segment, level: u64) -> usize {
        first + self.y[first..].iter().take_while(|y| segment.distance(**y, level, self.step) >= -REACH).count()
    }

    /// Returns the levels within reach of any ranked document. A document is ranked if `is_row` holds for its place.
    fn segments(&self, is_row: impl Fn(usize) -> bool) -> Vec<Segment> {
        let mut segments: Vec<Segment> = Vec::new();
        let mut last = f64::INFINITY;
        for (_, &y) in self.y.iter().enumerate().filter(|(place, _)| is_row(*place)) {
            if last - y > 2.0 * REACH {
                segments.push(Segment { anchor: y, levels: 0..0 });
            }
            if let Some(segment) = segments.last_mut() {
                segment.levels.end = ((segment.anchor - y + 2.0 * REACH) / self.step).ceil() as u64;
            }
            last = y;
        }
        segments
    }

    /// Splits the levels within reach of ranked documents into parts of about equal size, from the highest level down.
    /// There is at most one part per [`PART`] documents.
    pub fn parts(&self, is_row: impl Fn(usize) -> bool) -> Vec<Part> {
        let segments = self.segments(is_row);
        let total: u64 = segments.iter().map(|segment| segment.levels.end).sum();
        let most = total.div_ceil((self.y.len() / PART).clamp(1, PARTS) as u64).max(1);
        let (mut parts, mut left, mut above) = (Vec::new(), 0, 0);
        for segment in segments {
            let mut start = 0;
            while start < segment.levels.end {
                if left == 0 {
                    above = self.first_around(above, &segment, start);
                    parts.push(Part { segments: Vec::new(), above });
                    left = most;
                }
                let end = segment.levels.end.min(start + left);
                left -= end - start;
                if let Some(part) = parts.last_mut() {
                    part.segments.push(Segment { levels: start..end, ..segment });
                }
                start = end;
            }
        }
        parts
    }

    /// Runs `of_part` on each part and returns the sum of the results for each document, added in the order of the
    /// parts. A part computes one number for each document within reach of the part's levels. The numbers are in sorted
    /// order. The cost is estimated as `work` pairs for each combination of a document and a level within its reach.
    pub fn summed<S: Send>(
        &self,
        parts: Vec<(Part, S)>,
        work: usize,
        of_part: impl Fn(Part, S, &mut [f64]) + Sync + Send,
    ) -> Vec<f64> {
        let around = |part: &Part| match part.segments.last() {
            Some(last) => part.above..self.first_below(part.above, last, last.levels.end - 1),
            None => 0..0,
        };
        let documents: Vec<Range<usize>> = parts.iter().map(|(part, _)| around(part)).collect();
        let mut sums: Vec<Vec<f64>> = documents.iter().map(|documents| vec![0.0; documents.len()]).collect();
        let tasks = parts.into_iter().zip(&mut sums).collect();
        let levels_per_document = (2.0 * REACH / self.step) as usize;
        for_each(tasks, self.y.len() * levels_per_document * work, |((part, with), sums)| of_part(part, with, sums));
        let mut out = vec![0.0; self.y.len()];
        for (documents, sums) in documents.into_iter().zip(sums) {
            for (out, sum) in out[documents].iter_mut().zip(sums) {
                *out += sum;
            }
        }
        out
    }

    /// Returns a walk over the levels of a part.
    pub fn walk(&self, part: Part) -> Walk<'_> {
        Walk {
            levels: self,
            places: part.above..part.above,
            segments: part.segments.into_iter(),
            segment: Segment { anchor: 0.0, levels: 0..0 },
            level: 0,
            around: Around::default(),
        }
    }
}

/// The documents within reach of a level, in sorted order.
#[derive(Default)]
pub struct Around {
    /// The probability that each document is above the level; `behind` holds the complement.
    pub ahead: Vec<f64>,
    pub behind: Vec<f64>,
    /// The normal density `phi(y_j - u)` of each document.
    pub density: Vec<f64>,
    /// The distance `y_j - u` of each document from the level.
    pub distance: Vec<f64>,
}

/// The current level of a walk over the levels of a part.
pub struct Walk<'a> {
    levels: &'a Levels,
    segments: std::vec::IntoIter<Segment>,
    segment: Segment,
    level: u64,
    /// The places of the documents within reach of the level; all documents before them are above the level with
    /// probability 1.
    pub places: Range<usize>,
    pub around: Around,
}

impl Walk<'_> {
    /// Moves to the next level, or returns false if there are no more levels.
    #[inline(always)]
    pub fn next(&mut self) -> bool {
        self.level = loop {
            if let Some(level) = self.segment.levels.next() {
                break level;
            }
            let Some(next) = self.segments.next() else { return false };
            self.segment = next;
        };
        let start = self.levels.first_around(self.places.start, &self.segment, self.level);
        self.places = start..self.levels.first_below(self.places.end.max(start), &self.segment, self.level);
        true
    }

    /// Computes the probabilities of the documents within reach of the current level.
    #[inline(always)]
    pub fn meet<const FMA: bool>(&mut self) {
        let Self { levels, segment, level, places, around, .. } = self;
        let Around { ahead, behind, density, distance } = around;
        for values in [&mut *ahead, behind, density, distance] {
            values.resize(places.len(), 0.0);
        }
        let chances = ahead.iter_mut().zip(behind).zip(density).zip(distance);
        for ((((ahead, behind), density), distance), &y) in chances.zip(&levels.y[places.clone()]) {
            *distance = segment.distance(y, *level, levels.step);
            let (beats, loses, bell) = beats::<f64, FMA>(*distance * std::f64::consts::FRAC_1_SQRT_2);
            (*ahead, *behind, *density) = (beats, loses, bell * DENSITY);
        }
    }
}

/// A list with exact noise, whose expectations are computed by levels. The documents are sorted by descending score.
/// The weight `a` of a document multiplies its expectation; its contribution `b` enters the expectations of the
/// documents below it.
pub struct NoisyList {
    sorted: Sorted,
    /// The levels for the scores of the list, in units of the standard deviation of the noise.
    pub levels: Levels,
    /// The weight of each document in sorted order. A document with weight 0 is not ranked, but still counts for the
    /// documents below it.
    pub a: Vec<f64>,
    pub b: Vec<f64>,
    deviation: f64,
}

impl NoisyList {
    pub fn new([x, a, b]: [&[f32]; 3], deviation: f64) -> Self {
        let sorted = Sorted::new(x);
        let levels = Levels::new(sorted.scaled(1.0 / deviation));
        let [a, b] = [a, b].map(|values| sorted.gather_exact(values));
        Self { sorted, levels, a, b, deviation }
    }

    /// Splits the levels into parts. Levels that no document with a nonzero weight can reach are left out.
    pub fn parts(&self) -> Vec<Part> {
        self.levels.parts(|place| self.a[place] != 0.0)
    }

    /// Returns the incoming gradient of each document times its weight, in sorted order.
    pub fn weighted(&self, g: &[f32]) -> Vec<f64> {
        let g = self.sorted.gather(g);
        g.iter().zip(&self.a).map(|(g, a)| if *a == 0.0 { 0.0 } else { f64::from(*g) * a }).collect()
    }

    /// Multiplies the expectation of each document by its weight, and writes the products to `out` in the original
    /// order.
    pub fn put_expectations(&self, sums: &[f64], out: &mut [f32]) {
        self.sorted.scatter(sums.iter().zip(&self.a).map(|(sum, a)| sum * a), out);
    }

    /// Divides the derivatives by the standard deviation, since they are with respect to scaled scores, and writes them
    /// to `to_x` in the original order.
    pub fn put_slopes(&self, sums: &[f64], to_x: &mut [f32]) {
        self.sorted.scatter(sums.iter().map(|sum| sum / self.deviation), to_x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the parts cover every level around a row exactly once, and that each part knows which documents are
    /// above its first level.
    #[test]
    fn parts_are_all_levels_around_rows() {
        let y: Vec<f64> = (0..2000).map(|i| 5e7 - f64::from(i / 2) * if i < 1000 { 0.001 } else { 40.0 }).collect();
        let levels = Levels::new(y);
        let is_row = |place: usize| place.is_multiple_of(3);
        let parts = levels.parts(is_row);
        assert!(parts.len() > 1 && parts.len() <= PARTS, "{}", parts.len());
        let mut covered: Vec<(f64, u64)> = Vec::new();
        let mut weights = vec![0.0; levels.y.len()];
        for part in parts {
            let mut walk = levels.walk(part.clone());
            let mut first = true;
            while walk.next() {
                walk.meet::<false>();
                assert!(!first || walk.places.start == part.above);
                first = false;
                covered.push((walk.segment.anchor, walk.level));
                let near = |y: f64| walk.segment.distance(y, walk.level, levels.step).abs() <= REACH;
                let found: Vec<usize> = (0..levels.y.len()).filter(|&place| near(levels.y[place])).collect();
                assert_eq!(found, walk.places.clone().collect::<Vec<_>>());
                for (place, density) in walk.places.clone().zip(&walk.around.density) {
                    weights[place] += levels.step * density;
                }
            }
        }
        assert!(covered.is_sorted_by(|a, b| a.0 > b.0 || (a.0 == b.0 && a.1 < b.1)));
        // The weights of the levels of a row add up to 1.
        assert!((0..levels.y.len()).filter(|place| is_row(*place)).all(|place| (weights[place] - 1.0).abs() < 1e-12));
    }
}
