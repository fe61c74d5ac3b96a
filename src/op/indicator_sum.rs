//! The soft indicators of SmoothRank (smoothrank, section 3), computed as one-dimensional softmax attention.

use burn::tensor::Tensor;

use super::{call::Call, path::run, shape::assert_alike};

/// Returns `out_i = sum_j a_j softmax_j(-(x_j - x_i)^2 / sigma)`, or 0 at padding. The softmax covers the documents
/// with `mask = 1`.
///
/// The function is differentiable in `x` and `a`.
///
/// # Shapes
/// - `x`, `a`, `mask` and the output have the shape `[batch, documents]`. The mask is 1 for documents and 0 for
///   padding.
///
/// # Panics
/// Panics if the inputs differ in shape or type.
#[track_caller]
pub fn indicator_sum(x: Tensor<2>, a: Tensor<2>, mask: Tensor<2>, sigma: f64) -> Tensor<2> {
    assert_alike("indicator_sum", ("x", &x), &[("a", &a), ("mask", &mask)]);
    let (x, a, mask) = (x.into_dispatch(), a.into_dispatch(), mask.into_dispatch());
    run(Call::IndicatorSum { x, a, mask, sigma })
}
