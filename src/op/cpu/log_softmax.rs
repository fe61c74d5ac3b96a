//! The fused kernel of [`log_softmax`](crate::op::log_softmax()). One pass finds the maximum of the scores, one adds
//! their exponentials, and one shifts the scores.

use super::dispatch::{Kernel, dispatch, target};
use super::lists::each_list;
use super::real::{Real, largest, sum};

struct Value<'a> {
    x: &'a [f32],
    mask: &'a [f32],
    out: &'a mut [f32],
}

impl Kernel for Value<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Self { x, mask, out } = self;
        let Some(last) = (0..x.len()).rev().find(|&i| mask[i] > 0.0) else { return };
        // Padding at the end is not visited, so sums have the same bits with any amount of padding.
        let (x, mask, out) = (&x[..=last], &mask[..=last], &mut out[..=last]);
        for ((out, &x_i), &mask) in out.iter_mut().zip(x).zip(mask) {
            *out = if mask > 0.0 { x_i } else { x[last] };
        }
        let highest = largest(out, x[last]);
        for ((out, &x), &mask) in out.iter_mut().zip(x).zip(mask) {
            let e = (x - highest).exponential::<FMA>();
            *out = if mask > 0.0 { e } else { 0.0 };
        }
        let total = f64::from(sum(out)).ln() as f32;
        for ((out, &x), &mask) in out.iter_mut().zip(x).zip(mask) {
            *out = if mask > 0.0 { x - highest - total } else { 0.0 };
        }
    }
}

/// Returns `x_i - log sum_j exp(x_j)` for lists of `n` documents, or 0 at padding.
pub fn log_softmax(x: &[f32], mask: &[f32], n: usize) -> Vec<f32> {
    let target = target();
    each_list([x, mask], n, x.len(), 0.0, |_, [x, mask], out| dispatch(target, Value { x, mask, out }))
}

struct Gradient<'a> {
    out: &'a [f32],
    mask: &'a [f32],
    g: &'a [f32],
    to_x: &'a mut [f32],
}

impl Kernel for Gradient<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Self { out, mask, g, to_x } = self;
        let Some(last) = (0..out.len()).rev().find(|&i| mask[i] > 0.0) else { return };
        let (out, mask, to_x) = (&out[..=last], &mask[..=last], &mut to_x[..=last]);
        for ((to_x, &g), &mask) in to_x.iter_mut().zip(g).zip(mask) {
            *to_x = if mask > 0.0 { g } else { 0.0 };
        }
        let total = sum(to_x);
        for ((to_x, &out), &mask) in to_x.iter_mut().zip(out).zip(mask) {
            let flow = *to_x - out.exponential::<FMA>() * total;
            *to_x = if mask > 0.0 { flow } else { 0.0 };
        }
    }
}

/// Returns the gradient of [`log_softmax`] with respect to `x`, from its output and the gradient of that output.
pub fn log_softmax_gradient(out: &[f32], mask: &[f32], g: &[f32], n: usize) -> Vec<f32> {
    let target = target();
    each_list([out, mask, g], n, out.len(), 0.0, |_, [out, mask, g], to_x| {
        dispatch(target, Gradient { out, mask, g, to_x });
    })
}
