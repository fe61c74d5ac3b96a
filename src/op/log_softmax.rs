//! `log_softmax`: logarithms of the probabilities of documents (listwise losses).

use burn::{
    backend::{Backend, Dispatch, tensor::FloatTensor},
    tensor::Tensor,
};

use super::{array::Array, backend::Pairwise, execution::uses_tensor_path, shape::assert_same};

/// `x_i - log sum_j exp(x_j)` over the documents of each list, 0 at padding.
///
/// Differentiable in `x`.
///
/// # Shapes
/// - `x`, `mask` (1 for a document, 0 for padding), output: `[batch, documents]`
///
/// # Panics
/// Inputs of different shapes.
#[track_caller]
pub fn log_softmax(x: Tensor<2>, mask: Tensor<2>) -> Tensor<2> {
    assert_same("log_softmax", ("x", &x), &[("mask", &mask)]);
    let (x, mask) = (x.into_dispatch(), mask.detach().into_dispatch());
    Tensor::from_dispatch(if uses_tensor_path() {
        definition::<Dispatch>(x, mask)
    } else {
        Dispatch::masked_log_softmax(x, mask)
    })
}

/// The tensor definition.
pub(super) fn definition<B: Backend>(x: FloatTensor<B>, mask: FloatTensor<B>) -> FloatTensor<B> {
    let (x, mask) = (Array::<B>(x), Array::<B>(mask));
    let shifted = x.clone() - mask.select_or(x, f64::from(f32::MIN)).detach().largest(1).unsqueeze(1);
    // A list of padding alone has no sum: keep its logarithm finite.
    let total = (mask.select(shifted.clone()).exp() * mask.clone()).sum(1) + mask.largest(1).equals_zero();
    mask.select(shifted - total.log().unsqueeze(1)).0
}

/// Gradient with respect to `x`, from the output: `g_i - exp(out_i) sum_j g_j` over the documents.
pub(super) fn gradient<B: Backend>(
    out: FloatTensor<B>,
    mask: FloatTensor<B>,
    gradient: FloatTensor<B>,
) -> FloatTensor<B> {
    let (out, mask) = (Array::<B>(out), Array::<B>(mask));
    let g = Array::<B>(gradient) * mask.clone();
    let sum = g.clone().sum(1).unsqueeze(1);
    (g - out.exp() * mask * sum).0
}
