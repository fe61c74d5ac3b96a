//! A [`Sum`] over [boxes](super::boxes) that applies the same function to each of several weights.

use std::marker::PhantomData;
use std::ops::Range;

use super::boxes::{Constant, Counts, Span, Sum};
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

/// The sums `sum_j w_j f(y_j - y_i)` over the other documents, for `W` weights. The closure `finish(place, sums)` turns
/// the `W` sums of a document into `R` results.
pub struct Convolution<F, Finish, const W: usize, const R: usize> {
    weights: [Vec<f64>; W],
    finish: Finish,
    function: PhantomData<F>,
}

impl<F, Finish, const W: usize, const R: usize> Convolution<F, Finish, W, R>
where
    F: Function,
    Finish: Fn(usize, [f64; W]) -> [f64; R] + Sync,
{
    /// The weights of the documents, in the order of descending scores.
    pub fn new(weights: [Vec<f64>; W], finish: Finish) -> Self {
        Self { weights, finish, function: PhantomData }
    }
}

impl<F, Finish, const W: usize, const R: usize> Sum for Convolution<F, Finish, W, R>
where
    F: Function,
    Finish: Fn(usize, [f64; W]) -> [f64; R] + Sync,
{
    #[inline(always)]
    fn counts(&self) -> Counts {
        Counts { weights: W, functions: 1, sums: W, results: R }
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
        for (i, (place, results)) in places.zip(results.chunks_exact_mut(R)).enumerate() {
            results.copy_from_slice(&(self.finish)(place, std::array::from_fn(|w| sums[w * width + i])));
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
