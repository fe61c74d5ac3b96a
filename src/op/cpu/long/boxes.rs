//! Computes sums over all pairs of a long list, in O(n) after a sort, for functions of the difference of two scores.
//! The algorithm is a one-dimensional fast multipole method (Greengard and Rokhlin 1987) with Chebyshev points (Fong
//! and Darve 2009).
//!
//! The sorted documents are halved repeatedly into boxes. A function that is smooth over a box is determined by its
//! values at a few Chebyshev points of the box. The documents of a box can therefore be replaced by [`POINTS`] weighted
//! points. The weights of the points follow from the weights of the box's two halves. In the other direction, the sums
//! at the points of a box of targets are interpolated to the points of its halves. Two boxes are summed through their
//! points if the function is smooth over both. For a box over which it is not smooth, the documents themselves are
//! summed. Boxes over which the function is not smooth are halved, down to single documents. Where the function is
//! constant to full precision, only the sum of the weights is needed.
//!
//! A function is smooth over a box if the interpolation error is small relative to the values of the function there
//! ([`Sum::smooth`]). The sum of a document far above all others is therefore as precise as the other sums. The boxes
//! depend only on the scores, and all terms of a target are added by one thread. Results are therefore identical bit
//! for bit with any number of threads.

use std::ops::Range;

pub use super::tree::Span;
use super::tree::{LANES, LEAF, POINTS, Place, Tree, interpolate};
use crate::execution::Target;
use crate::op::cpu::{
    dispatch::{Kernel, dispatch},
    lists::for_each,
};

/// The level of the tree at which the targets are divided among threads, one task per box.
const TASK_LEVEL: u32 = 6;

/// The cost of one document and one function, expressed as a number of pairs.
const PAIRS_PER_DOCUMENT: usize = 100;

/// Functions of the difference `t = y_source - y_target`, each summed over all sources for each target.
///
/// An array for several documents or points has one row for each weight, function or sum.
pub trait Sum: Sync {
    fn sizes(&self) -> Sizes;

    /// Writes the weights of the source documents at `places`.
    fn weigh(&self, places: Range<usize>, weights: &mut [f64]);

    /// Writes the value of each function at each of the differences `t`.
    fn evaluate<const FMA: bool>(&self, t: &[f64], values: &mut [f64]);

    /// Adds the terms of one source to the sums. `values` holds the function values of the source, and `weight(w)` is
    /// its weight with index `w`.
    fn add<const FMA: bool>(&self, values: &[f64], weight: impl Fn(usize) -> f64, sums: &mut [f64]);

    /// Turns the sums of the documents at `places` into results, stored document by document. Each row of `sums` may be
    /// longer than `places`, because it is filled to whole vectors.
    fn finish(&self, places: Range<usize>, sums: &[f64], results: &mut [f64]);

    /// Returns whether [`POINTS`] points determine the functions over a box of this width, for differences within
    /// `span`.
    fn smooth(&self, width: f64, span: Span) -> bool;

    /// Returns the values of the functions if they do not change over the span.
    fn constant(&self, span: Span) -> Option<Constant<'_>>;

    /// Returns whether the term that pairs a target with itself may be summed with its box and subtracted afterwards.
    /// The subtraction is accurate if the other terms of the sum are about as large.
    fn subtracts_itself(&self) -> bool {
        false
    }
}

/// The numbers of weights, functions, sums and results of a [`Sum`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// The number of weights of a source document.
    pub weights_per_source: usize,
    /// The number of functions of the score difference.
    pub functions: usize,
    /// The number of sums for each target document.
    pub sums_per_target: usize,
    /// The number of results for each target document.
    pub results_per_target: usize,
}

/// The values of functions that do not depend on the difference of scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Constant<'a> {
    Zero,
    /// The value of every function.
    Values(&'a [f64]),
}

/// A sorted list of sources in boxes, and the functions to sum over them.
struct Boxes<'a, S> {
    sum: &'a S,
    tree: Tree<'a>,
    /// The weights at the Chebyshev points of each box, by level, box and weight.
    weights: Vec<Vec<f64>>,
}

impl<'a, S: Sum> Boxes<'a, S> {
    fn new(target: Target, sum: &'a S, y: &'a [f64]) -> Self {
        let tree = Tree::new(y);
        let weights =
            tree.weights(target, sum.sizes().weights_per_source, |places, weights| sum.weigh(places, weights));
        Self { sum, tree, weights }
    }

    #[inline(always)]
    fn weights_of(&self, of: Place) -> &[f64] {
        let size = self.sum.sizes().weights_per_source * POINTS;
        &self.weights[of.level as usize][of.number * size..][..size]
    }
}

/// The way in which a box of sources is added to a box of targets.
enum Way {
    /// Adds nothing, because the functions are 0.
    Not,
    /// Halves the box of sources and decides again.
    ByHalves,
    /// Postpones the sources until the box of targets is halved.
    Later,
    /// Adds the sources now. `by_documents` and `at_documents` select documents instead of Chebyshev points, for the
    /// sources and the targets respectively.
    Now { by_documents: bool, at_documents: bool },
    /// Adds only the weights of the sources, because the functions are constant.
    Counted,
}

/// Extends the scores of a smallest box to whole vectors with copies of the last score, and also returns the new
/// length.
#[inline(always)]
fn filled(documents: &[f64]) -> ([f64; LEAF], usize) {
    let mut y = [documents[documents.len() - 1]; LEAF];
    let length = documents.len().min(LEAF);
    y[..length].copy_from_slice(&documents[..length]);
    (y, length.next_multiple_of(LANES))
}

/// A box of targets that remains to be visited, on the way from the root of the tree to its smallest boxes. The visit
/// carries the sums at the points of the box, and the boxes of sources that these sums do not yet include.
struct Visit {
    place: Place,
    sums: Option<Vec<f64>>,
    sources: Vec<Place>,
    /// Whether the sums include the term that pairs each target with itself, which must then be subtracted.
    with_own: bool,
}

/// Computes the results of the targets in the box `root`, from the root of the tree of sources down to the smallest
/// boxes.
struct Downward<'a, 'b, S> {
    boxes: &'a Boxes<'b, S>,
    root: Place,
    results: &'a mut [f64],
}

impl<S: Sum> Downward<'_, '_, S> {
    fn way(&self, place: Place, source: Place) -> Way {
        let (boxes, sum) = (self.boxes, self.boxes.sum);
        let [ends_here, ends_there] = [place, source].map(|place| place.level == boxes.tree.depth);
        if source.contains(place) {
            return Way::ByHalves;
        }
        let (targets, sources) = (boxes.tree.span(place), boxes.tree.span(source));
        let t = sources.minus(targets);
        match sum.constant(t) {
            Some(Constant::Zero) => return Way::Not,
            Some(Constant::Values(_)) if source != place || sum.subtracts_itself() => return Way::Counted,
            Some(Constant::Values(_)) | None => {}
        }
        let (here, there) = (sum.smooth(targets.width(), t), sum.smooth(sources.width(), t));
        if source == place {
            // A document is not paired with itself. Unless its term may be subtracted again, its own box is split.
            return match (ends_here, here && sum.subtracts_itself()) {
                (true, _) => Way::Now { by_documents: true, at_documents: true },
                (false, true) => Way::Now { by_documents: false, at_documents: false },
                (false, false) => Way::Later,
            };
        }
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
        let first = boxes.tree.documents(self.root).start;
        let mut scratch = Scratch::new(sum);
        let mut at_documents = vec![0.0; sum.sizes().sums_per_target * LEAF];
        let everything = Place { level: 0, number: 0 };
        let mut visits = vec![Visit { place: self.root, sums: None, sources: vec![everything], with_own: false }];
        while let Some(Visit { place, sums, mut sources, mut with_own }) = visits.pop() {
            let (span, documents) = (boxes.tree.span(place), boxes.tree.documents(place));
            let (y, width) = filled(&boxes.tree.y[documents.clone()]);
            let y = &y[..width];
            let points = boxes.tree.points(place);
            let mut at_points = sums.unwrap_or_else(|| vec![0.0; sum.sizes().sums_per_target * POINTS]);
            let is_leaf = place.level == boxes.tree.depth;
            let at_documents = &mut at_documents[..if is_leaf { sum.sizes().sums_per_target * width } else { 0 }];
            at_documents.fill(0.0);
            let mut later = Vec::new();
            while let Some(source) = sources.pop() {
                let way = self.way(place, source);
                let to_points = matches!(way, Way::Counted | Way::Now { at_documents: false, .. });
                with_own |= source == place && to_points;
                match way {
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
                interpolate::<FMA, LEAF>(&boxes.tree.chebyshev, span, &at_points, y, at_documents);
                if with_own {
                    scratch.take_off::<FMA>(sum, documents.clone(), at_documents);
                }
                let width = sum.sizes().results_per_target;
                let results = &mut self.results[(documents.start - first) * width..(documents.end - first) * width];
                sum.finish(documents, at_documents, results);
            } else {
                for half in place.halves() {
                    let points = boxes.tree.points(half);
                    let mut sums = vec![0.0; at_points.len()];
                    interpolate::<FMA, POINTS>(&boxes.tree.chebyshev, span, &at_points, &points, &mut sums);
                    visits.push(Visit { place: half, sums: Some(sums), sources: later.clone(), with_own });
                }
            }
        }
    }
}

/// Temporary arrays for the sums over a box of sources.
struct Scratch {
    weights: Vec<f64>,
    values: Vec<f64>,
}

impl Scratch {
    fn new(sum: &impl Sum) -> Self {
        Self {
            weights: vec![0.0; sum.sizes().weights_per_source * LEAF],
            values: vec![0.0; sum.sizes().functions * LEAF],
        }
    }

    /// Adds the terms of a box of sources to the sums at the scores `y`. With `own`, the targets are the sources, and
    /// no document is paired with itself.
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
        let (sum, points) = (boxes.sum, boxes.tree.points(source));
        let (from, weights) = if by_documents {
            let documents = boxes.tree.documents(source);
            let weights = &mut self.weights[..sum.sizes().weights_per_source * documents.len()];
            sum.weigh(documents.clone(), weights);
            (&boxes.tree.y[documents], &*weights)
        } else {
            (&points[..], boxes.weights_of(source))
        };
        let values = &mut self.values[..sum.sizes().functions * y.len()];
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
            sum.add::<FMA>(values, |w| weights[w * (weights.len() / sum.sizes().weights_per_source) + j], sums);
        }
    }

    /// Subtracts the term that pairs each document with itself from the document's sums.
    #[inline(always)]
    fn take_off<const FMA: bool>(&mut self, sum: &impl Sum, documents: Range<usize>, sums: &mut [f64]) {
        let (count, width) = (documents.len(), sums.len() / sum.sizes().sums_per_target);
        let weights = &mut self.weights[..sum.sizes().weights_per_source * count];
        sum.weigh(documents, weights);
        let values = &mut self.values[..sum.sizes().functions];
        sum.evaluate::<FMA>(&[0.0], values);
        let mut own = vec![0.0; sum.sizes().sums_per_target];
        for i in 0..count {
            own.fill(0.0);
            sum.add::<FMA>(values, |w| weights[w * count + i], &mut own);
            for (sums, own) in sums.chunks_exact_mut(width).zip(&own) {
                sums[i] -= own;
            }
        }
    }

    /// Adds the terms of a box of sources to the sums at the points of a box of targets. The functions must be constant
    /// over all differences between the two boxes.
    #[inline(always)]
    fn count<const FMA: bool>(&mut self, boxes: &Boxes<impl Sum>, source: Place, span: Span, sums: &mut [f64]) {
        let (sum, weights) = (boxes.sum, boxes.weights_of(source));
        if let Some(Constant::Values(constants)) = sum.constant(boxes.tree.span(source).minus(span)) {
            let values = &mut self.values[..sum.sizes().functions * POINTS];
            for (values, &constant) in values.chunks_exact_mut(POINTS).zip(constants) {
                values.fill(constant);
            }
            sum.add::<FMA>(values, |w| weights[w * POINTS..][..POINTS].iter().sum(), sums);
        }
    }
}

/// Returns the results of every document of a list whose scores `y` descend.
pub fn results(target: Target, sum: &impl Sum, y: &[f64]) -> Vec<f64> {
    let boxes = Boxes::new(target, sum, y);
    let level = boxes.tree.depth.min(TASK_LEVEL);
    let mut results = vec![0.0; y.len() * sum.sizes().results_per_target];
    let (mut rest, mut tasks) = (results.as_mut_slice(), Vec::new());
    for number in 0..1 << level {
        let root = Place { level, number };
        let (results, others) = rest.split_at_mut(boxes.tree.documents(root).len() * sum.sizes().results_per_target);
        rest = others;
        tasks.push(Downward { boxes: &boxes, root, results });
    }
    for_each(tasks, y.len() * PAIRS_PER_DOCUMENT * sum.sizes().functions, |task| dispatch(target, task));
    results
}

/// Returns the sums at the scores `y`, for documents that are not sources themselves.
pub fn sums_at(target: Target, sum: &impl Sum, sources: &[f64], y: &[f64]) -> Vec<f64> {
    let boxes = Boxes::new(target, sum, sources);
    let mut sums = vec![0.0; y.len() * sum.sizes().sums_per_target];
    let tasks = y.chunks(LEAF).zip(sums.chunks_mut(LEAF * sum.sizes().sums_per_target)).collect();
    for_each(tasks, y.len() * PAIRS_PER_DOCUMENT * sum.sizes().functions, |(y, sums)| {
        dispatch(target, Alone { boxes: &boxes, y, sums });
    });
    sums
}

/// Computes the sums at scores that are not in the list of sources.
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
        let mut at_points = vec![0.0; sum.sizes().sums_per_target * POINTS];
        for (&y, sums) in self.y.iter().zip(self.sums.chunks_exact_mut(sum.sizes().sums_per_target)) {
            let span = Span { low: y, high: y };
            at_points.fill(0.0);
            let mut sources = vec![Place { level: 0, number: 0 }];
            while let Some(source) = sources.pop() {
                let there = boxes.tree.span(source);
                let t = there.minus(span);
                match sum.constant(t) {
                    Some(Constant::Zero) => {}
                    Some(Constant::Values(_)) => scratch.count::<FMA>(boxes, source, span, &mut at_points),
                    None => {
                        let by_documents = !sum.smooth(there.width(), t);
                        if by_documents && source.level < boxes.tree.depth {
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
