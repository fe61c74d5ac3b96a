//! `distance_sum`: the sum of the distances of a document's score from all others, which NeuralSort needs.

use burn::tensor::Tensor;

use super::{call::Call, path::run, shape::assert_alike};

/// `out_i = sum_j |x_i - x_j|` over the documents with `mask = 1`; 0 at padding.
///
/// Differentiable in `x`; two equal scores add 0 to the gradient. O(n^2) time, in chunks of rows within the memory
/// budget, forward and backward.
///
/// # Shapes
/// - `x`, `mask` (1 for a document, 0 for padding), output: `[batch, documents]`
///
/// # Panics
/// Inputs of different shapes or types.
#[track_caller]
pub(crate) fn distance_sum(x: Tensor<2>, mask: Tensor<2>) -> Tensor<2> {
    assert_alike("distance_sum", ("x", &x), &[("mask", &mask)]);
    let (x, mask) = (x.into_dispatch(), mask.into_dispatch());
    run(Call::DistanceSum { x, mask })
}
