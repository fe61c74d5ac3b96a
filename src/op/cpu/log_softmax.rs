//! The fused kernel of [`log_softmax`](crate::op::log_softmax()). One pass finds the maximum of the scores, one adds
//! their exponentials, and one shifts the scores.

use super::dispatch::{Kernel, dispatch, target};
use super::each_list::each_list;
use super::real::Real;
use super::sum::{largest, sum};

struct Value<'a, T> {
    x: &'a [T],
    mask: &'a [T],
    out: &'a mut [T],
}

impl<T: Real> Kernel for Value<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Self { x, mask, out } = self;
        let Some(last) = (0..x.len()).rev().find(|&i| mask[i] > T::ZERO) else { return };
        // Padding at the end is not visited, so sums have the same bits with any amount of padding.
        let (x, mask, out) = (&x[..=last], &mask[..=last], &mut out[..=last]);
        for ((out, &x_i), &mask) in out.iter_mut().zip(x).zip(mask) {
            *out = if mask > T::ZERO { x_i } else { x[last] };
        }
        let highest = largest(out, x[last]);
        for ((out, &x), &mask) in out.iter_mut().zip(x).zip(mask) {
            let e = (x - highest).exponential::<FMA>();
            *out = if mask > T::ZERO { e } else { T::ZERO };
        }
        let total = T::from_f64(sum(out).to_f64().ln());
        for ((out, &x), &mask) in out.iter_mut().zip(x).zip(mask) {
            *out = if mask > T::ZERO { x - highest - total } else { T::ZERO };
        }
    }
}

/// Returns `x_i - log sum_j exp(x_j)` for lists of `n` documents, or 0 at padding.
pub fn log_softmax<T: Real>(x: &[T], mask: &[T], n: usize) -> Vec<T> {
    let target = target();
    each_list([x, mask], n, x.len(), T::ZERO, |_, [x, mask], out| dispatch(target, Value { x, mask, out }))
}

struct Gradient<'a, T> {
    out: &'a [T],
    mask: &'a [T],
    g: &'a [T],
    to_x: &'a mut [T],
}

impl<T: Real> Kernel for Gradient<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Self { out, mask, g, to_x } = self;
        let Some(last) = (0..out.len()).rev().find(|&i| mask[i] > T::ZERO) else { return };
        let (out, mask, to_x) = (&out[..=last], &mask[..=last], &mut to_x[..=last]);
        for ((to_x, &g), &mask) in to_x.iter_mut().zip(g).zip(mask) {
            *to_x = if mask > T::ZERO { g } else { T::ZERO };
        }
        let total = sum(to_x);
        for ((to_x, &out), &mask) in to_x.iter_mut().zip(out).zip(mask) {
            let flow = *to_x - out.exponential::<FMA>() * total;
            *to_x = if mask > T::ZERO { flow } else { T::ZERO };
        }
    }
}

/// Returns the gradient of [`log_softmax`] with respect to `x`, from its output and the gradient of that output.
pub fn log_softmax_gradient<T: Real>(out: &[T], mask: &[T], g: &[T], n: usize) -> Vec<T> {
    let target = target();
    each_list([out, mask, g], n, out.len(), T::ZERO, |_, [out, mask, g], to_x| {
        dispatch(target, Gradient { out, mask, g, to_x });
    })
}
