//! The logarithms of a softmax over the documents of a list, which listwise losses need.

use burn::tensor::Tensor;

use super::{call::Call, path::run, shape::assert_alike};

/// Returns `x_i - log sum_j exp(x_j)` over the documents of each list, or 0 at padding.
///
/// Differentiable in `x`.
///
/// # Shapes
/// - `x`, `mask` and the output have the shape `[batch, documents]`. The mask is 1 for documents and 0 for padding.
///
/// # Panics
/// Panics if the inputs differ in shape or type.
#[track_caller]
pub fn log_softmax(x: Tensor<2>, mask: Tensor<2>) -> Tensor<2> {
    assert_alike("log_softmax", ("x", &x), &[("mask", &mask)]);
    let (x, mask) = (x.into_dispatch(), mask.detach().into_dispatch());
    run(Call::LogSoftmax { x, mask })
}
