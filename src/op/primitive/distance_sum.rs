//! [`distance_sum`](crate::op::distance_sum()), the distances of a score from all others.

use burn::backend::{Backend, tensor::FloatTensor};
#[cfg(feature = "_cube")]
use burn_cubecl::tensor::CubeTensor;

#[cfg(feature = "_cube")]
use super::first;
use super::{Floats, Primitive, array::Array, exactly, rows::by_rows};
#[cfg(feature = "_cube")]
use crate::op::gpu;

/// The inputs are the scores and the mask.
#[derive(Clone, Debug)]
pub struct DistanceSum;

impl Primitive for DistanceSum {
    fn definition<B: Backend>(&self, inputs: Floats<B>) -> Floats<B> {
        let [x, mask] = exactly(inputs);
        vec![value::<B>(x, mask)]
    }

    fn definition_gradient<B: Backend>(&self, inputs: Floats<B>, _: Floats<B>, g: FloatTensor<B>) -> Floats<B> {
        let [x, mask] = exactly(inputs);
        vec![gradient::<B>(x, mask, g)]
    }

    #[cfg(feature = "_cube")]
    fn gpu(&self, inputs: &[&CubeTensor]) -> Option<Vec<CubeTensor>> {
        let [x, mask] = first(inputs);
        Some(vec![gpu::distance_sum(x, mask)?])
    }

    #[cfg(feature = "_cube")]
    fn gpu_gradient(&self, inputs: &[&CubeTensor], _: &[&CubeTensor], g: &CubeTensor) -> Option<CubeTensor> {
        let [x, mask] = first(inputs);
        gpu::distance_sum_gradient(x, mask, g)
    }
}

/// The tensor definition.
pub fn value<B: Backend>(x: FloatTensor<B>, mask: FloatTensor<B>) -> FloatTensor<B> {
    let (x, mask) = (Array::<B>(x), Array::<B>(mask));
    let [out] = by_rows(&x, |rows| [(x.differences(rows).abs() * mask.columns()).sum(2) * mask.rows(rows)]);
    out.0
}

/// Returns the gradient with respect to `x`. The gradient at document `i` is `sum_j sign(x_i - x_j) (g_i + g_j)` over
/// the documents, with `sign(0) = 0`.
pub fn gradient<B: Backend>(x: FloatTensor<B>, mask: FloatTensor<B>, gradient: FloatTensor<B>) -> FloatTensor<B> {
    let (x, mask) = (Array::<B>(x), Array::<B>(mask));
    let g = Array::<B>(gradient) * mask.clone();
    let [to_x] = by_rows(&x, |rows| {
        let above = x.differences(rows);
        let sign = (-above.clone()).above(0.0) - above.above(0.0);
        let both = (g.columns() + g.rows(rows).column()) * mask.columns();
        [(sign * both).sum(2) * mask.rows(rows)]
    });
    to_x.0
}
