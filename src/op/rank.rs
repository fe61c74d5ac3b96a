//! The rank of each document, computed by counting the documents ahead; kernels sort long lists instead.

use burn::tensor::Tensor;

use super::{call::Call, path::run, shape::assert_alike};

/// Returns the 1-based rank of each document by descending `x`. Equal scores are ranked by index, and padding comes
/// last. The result carries no gradient.
///
/// # Shapes
/// - `x`, `mask` and the output have the shape `[batch, documents]` and the same float type. The mask is 1 for
///   documents and 0 for padding.
///
/// # Panics
/// Panics if the inputs differ in shape or type.
#[track_caller]
pub fn rank(x: Tensor<2>, mask: Tensor<2>) -> Tensor<2> {
    assert_alike("rank", ("x", &x), &[("mask", &mask)]);
    let (x, mask) = (x.detach().into_dispatch(), mask.detach().into_dispatch());
    run(Call::Rank { x, mask })
}
