//! `log_softmax`: logarithms of the probabilities of documents (listwise losses).

use burn::tensor::Tensor;

use super::{call::Call, path::run, shape::assert_alike};

/// `x_i - log sum_j exp(x_j)` over the documents of each list, 0 at padding.
///
/// Differentiable in `x`.
///
/// # Shapes
/// - `x`, `mask` (1 for a document, 0 for padding), output: `[batch, documents]`
///
/// # Panics
/// Inputs of different shapes or types.
#[track_caller]
pub fn log_softmax(x: Tensor<2>, mask: Tensor<2>) -> Tensor<2> {
    assert_alike("log_softmax", ("x", &x), &[("mask", &mask)]);
    let (x, mask) = (x.into_dispatch(), mask.detach().into_dispatch());
    run(Call::LogSoftmax { x, mask })
}
