//! [`pad`](crate::op::pad::pad()) by copying lists.

use std::ops::Range;

use super::real::Real;

/// The lists of `x` as rows of `width` places.
pub fn pad<T: Real>(x: &[T], lists: &[Range<usize>], width: usize) -> Vec<T> {
    let mut out = vec![T::ZERO; lists.len() * width];
    for (out, list) in out.chunks_exact_mut(width).zip(lists) {
        out[..list.len()].copy_from_slice(&x[list.clone()]);
    }
    out
}

/// Gradient of [`pad`] in `x`, of so many documents.
pub fn pad_gradient<T: Real>(g: &[T], lists: &[Range<usize>], width: usize, documents: usize) -> Vec<T> {
    let mut to_x = vec![T::ZERO; documents];
    for (g, list) in g.chunks_exact(width).zip(lists) {
        to_x[list.clone()].copy_from_slice(&g[..list.len()]);
    }
    to_x
}
