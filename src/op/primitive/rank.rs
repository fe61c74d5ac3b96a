//! [`rank`](crate::op::rank()), which the definition computes by counting the documents ahead.

use burn::backend::{Backend, tensor::FloatTensor};
#[cfg(feature = "_cube")]
use burn_cubecl::tensor::CubeTensor;

use super::{Floats, Primitive, array::Array, exactly, first, rows::by_rows};
use crate::op::cpu::{self, Real};
#[cfg(feature = "_cube")]
use crate::op::gpu;

/// The inputs are the scores and the mask.
#[derive(Clone, Debug)]
pub struct Rank;

impl Primitive for Rank {
    const DIFFERENTIATED: usize = 0;

    fn definition<B: Backend>(&self, inputs: Floats<B>) -> Floats<B> {
        let [x, mask] = exactly(inputs);
        vec![value::<B>(x, mask)]
    }

    fn cpu<T: Real>(&self, inputs: &[&[T]], n: usize) -> Option<Vec<Vec<T>>> {
        let [x, mask] = first(inputs);
        Some(vec![cpu::rank(x, mask, n)])
    }

    #[cfg(feature = "_cube")]
    fn gpu(&self, inputs: &[&CubeTensor]) -> Option<Vec<CubeTensor>> {
        let [x, mask] = first(inputs);
        Some(vec![gpu::rank(x, mask)?])
    }
}

/// The tensor definition.
pub fn value<B: Backend>(x: FloatTensor<B>, mask: FloatTensor<B>) -> FloatTensor<B> {
    let (x, mask) = (Array::<B>(x), Array::<B>(mask));
    let [_, documents] = x.dims();
    let index = x.indices(documents);
    let padding = -mask.clone() + 1.0;
    let [out] = by_rows(&x, |rows| {
        let d = x.differences(rows);
        let earlier = (-index.differences(rows)).above(0.0);
        let ahead = d.clone().above(0.0) + d.equals_zero() * earlier.clone();
        let document = (ahead * mask.columns()).sum(2);
        let padded = mask.clone().sum(1).unsqueeze(1) + (earlier * padding.columns()).sum(2);
        [document * mask.rows(rows) + padded * padding.rows(rows) + 1.0]
    });
    out.0
}
