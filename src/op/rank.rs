//! `rank`: ranks by counting comparisons, since GPU backends have no fast sort.

use burn::{
    backend::{Backend, Dispatch, tensor::FloatTensor},
    tensor::Tensor,
};

use super::{
    array::{Array, by_rows},
    backend::Pairwise,
    execution::uses_tensor_path,
    shape::assert_same,
};

/// 1-based rank of each document by descending `x`, ties by index; padded documents come last. Carries no gradient.
///
/// # Shapes
/// - `x`, `mask` (1 for a document, 0 for padding), output (same float type): `[batch, documents]`
///
/// # Panics
/// Inputs of different shapes.
#[track_caller]
pub fn rank(x: Tensor<2>, mask: Tensor<2>) -> Tensor<2> {
    assert_same("rank", ("x", &x), &[("mask", &mask)]);
    let (x, mask) = (x.detach().into_dispatch(), mask.detach().into_dispatch());
    Tensor::from_dispatch(if uses_tensor_path() { definition::<Dispatch>(x, mask) } else { Dispatch::rank(x, mask) })
}

/// The tensor definition.
pub(super) fn definition<B: Backend>(x: FloatTensor<B>, mask: FloatTensor<B>) -> FloatTensor<B> {
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
