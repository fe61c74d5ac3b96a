//! For each document, the sum of the distances of its score from all other scores. NeuralSort needs this sum.

use burn::tensor::Tensor;

use super::{call::Call, path::run, shape::assert_alike};

/// Returns `out_i = sum_j |x_i - x_j|` over the documents with `mask = 1`, or 0 at padding.
///
/// The function is differentiable in `x`; the distance between two equal scores has the gradient 0. The value and the
/// gradient take O(n^2) time, and are computed in chunks of rows that fit into the memory budget.
///
/// # Shapes
/// - `x`, `mask` and the output have the shape `[batch, documents]`. The mask is 1 for documents and 0 for padding.
///
/// # Panics
/// Panics if the inputs differ in shape or type.
#[track_caller]
pub(crate) fn distance_sum(x: Tensor<2>, mask: Tensor<2>) -> Tensor<2> {
    assert_alike("distance_sum", ("x", &x), &[("mask", &mask)]);
    let (x, mask) = (x.into_dispatch(), mask.into_dispatch());
    run(Call::DistanceSum { x, mask })
}
