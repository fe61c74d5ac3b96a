//! A [`Sum`] over [boxes](super::boxes) that applies the same function to each of several weights.

use std::marker::PhantomData;
use std::ops::Range;

use super::boxes::{Constant, Sizes, Span, Sum, results};
use crate::execution::Target;
use crate::op::cpu::real::Real;

/// A function of the difference `t` of two scores.
pub trait Function: Sync {
    fn value<const FMA: bool>(t: f64) -> f64;

    /// See [`Sum::smooth`].
    fn smooth(width: f64, span: Span) -> bool;

    /// See [`Sum::constant`].
    fn constant(_: Span) -> Option<Constant<'static>> {
        None
    }
}

/// The sums `sum_j w_j f(y_j - y_i)` over the other documents, for `W` weights of the documents in the order of
/// descending scores.
pub struct Convolution<'a, F, const W: usize> {
    weights: [&'a [f64]; W],
    function: PhantomData<F>,
}

impl<'a, F: Function, const W: usize> Convolution<'a, F, W> {
    pub fn new(weights: [&'a [f64]; W]) -> Self {
        Self { weights, function: PhantomData }
    }

    /// Returns the `W` sums of each document, whose scores `y` descend.
    pub fn sums(&self, target: Target, y: &[f64]) -> Vec<[f64; W]> {
        results(target, self, y).as_chunks().0.to_vec()
    }
}

impl<F: Function, const W: usize> Sum for Convolution<'_, F, W> {
    #[inline(always)]
    fn sizes(&self) -> Sizes {
        Sizes { weights_per_source: W, functions: 1, sums_per_target: W, results_per_target: W }
    }

    #[inline(always)]
    fn weigh(&self, places: Range<usize>, weights: &mut [f64]) {
        for (out, weights) in weights.chunks_exact_mut(places.len()).zip(&self.weights) {
            out.copy_from_slice(&weights[places.clone()]);
        }
    }

    #[inline(always)]
    fn evaluate<const FMA: bool>(&self, t: &[f64], values: &mut [f64]) {
        for (value, &t) in values.iter_mut().zip(t) {
            *value = F::value::<FMA>(t);
        }
    }

    #[inline(always)]
    fn add<const FMA: bool>(&self, values: &[f64], weight: impl Fn(usize) -> f64, sums: &mut [f64]) {
        for (w, sums) in sums.chunks_exact_mut(values.len()).enumerate() {
            let weight = weight(w);
            for (sum, &value) in sums.iter_mut().zip(values) {
                *sum = value.fma::<FMA>(weight, *sum);
            }
        }
    }

    #[inline(always)]
    fn finish(&self, places: Range<usize>, sums: &[f64], results: &mut [f64]) {
        let width = sums.len() / W;
        for (i, results) in results.chunks_exact_mut(W).take(places.len()).enumerate() {
            results.iter_mut().enumerate().for_each(|(w, result)| *result = sums[w * width + i]);
        }
    }

    fn smooth(&self, width: f64, span: Span) -> bool {
        F::smooth(width, span)
    }

    fn constant(&self, span: Span) -> Option<Constant<'_>> {
        F::constant(span)
    }
}

/// The distance from 0, in either direction, beyond which `exp(-t^2)` counts as 0. Such a value is too small for `f32`.
pub const BELL_REACH: f64 = 10.2;

/// Returns whether the points of a box of this width determine a function that decays like `exp(-t^2)`. The relative
/// error must be at most 1e-7 up to the distance `farthest` from the peak. At distance `farthest`, the function changes
/// by the factor `exp(width farthest)` on either side of the middle of the box.
pub fn bell_is_smooth(width: f64, farthest: f64) -> bool {
    width <= 1.25 && width * farthest.min(BELL_REACH) <= 3.75
}

/// The function `exp(-t^2)`.
pub struct Bell;

impl Function for Bell {
    #[inline(always)]
    fn value<const FMA: bool>(t: f64) -> f64 {
        (-t * t).exponential::<FMA>()
    }

    fn smooth(width: f64, span: Span) -> bool {
        bell_is_smooth(width, span.farthest())
    }

    fn constant(span: Span) -> Option<Constant<'static>> {
        (span.nearest() >= BELL_REACH).then_some(Constant::Zero)
    }
}

/// The function `t exp(-t^2)`.
pub struct Pull;

impl Function for Pull {
    #[inline(always)]
    fn value<const FMA: bool>(t: f64) -> f64 {
        t * Bell::value::<FMA>(t)
    }

    fn smooth(width: f64, span: Span) -> bool {
        Bell::smooth(width, span)
    }

    fn constant(span: Span) -> Option<Constant<'static>> {
        Bell::constant(span)
    }
}
