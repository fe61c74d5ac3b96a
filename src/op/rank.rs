//! `rank`: ranks by counting comparisons, since tensors on GPUs have no fast sort; kernels sort long lists.

use burn::tensor::Tensor;

use super::{call::Call, path::run, shape::assert_alike};

/// 1-based rank of each document by descending `x`, ties by index; padded documents come last. Carries no gradient.
///
/// # Shapes
/// - `x`, `mask` (1 for a document, 0 for padding), output (same float type): `[batch, documents]`
///
/// # Panics
/// Inputs of different shapes or types.
#[track_caller]
pub fn rank(x: Tensor<2>, mask: Tensor<2>) -> Tensor<2> {
    assert_alike("rank", ("x", &x), &[("mask", &mask)]);
    let (x, mask) = (x.detach().into_dispatch(), mask.detach().into_dispatch());
    run(Call::Rank { x, mask })
}
