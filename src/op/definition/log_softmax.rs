//! The tensor definition of [`log_softmax`](crate::op::log_softmax()) and its gradient.

use burn::backend::{Backend, tensor::FloatTensor};

use super::array::Array;

/// The tensor definition.
pub fn value<B: Backend>(x: FloatTensor<B>, mask: FloatTensor<B>) -> FloatTensor<B> {
    let (x, mask) = (Array::<B>(x), Array::<B>(mask));
    let shifted = x.clone() - mask.select_or(x, f64::from(f32::MIN)).detach().largest(1).unsqueeze(1);
    // A list of only padding has the sum 0, so its logarithm must be kept finite.
    let total = (mask.select(shifted.clone()).exp() * mask.clone()).sum(1) + mask.largest(1).equals_zero();
    mask.select(shifted - total.log().unsqueeze(1)).0
}

/// Returns the gradient with respect to `x`, which is `g_i - exp(out_i) sum_j g_j` with the sum over the documents of a
/// list.
pub fn gradient<B: Backend>(out: FloatTensor<B>, mask: FloatTensor<B>, gradient: FloatTensor<B>) -> FloatTensor<B> {
    let (out, mask) = (Array::<B>(out), Array::<B>(mask));
    let g = Array::<B>(gradient) * mask.clone();
    let sum = g.clone().sum(1).unsqueeze(1);
    (g - out.exp() * mask * sum).0
}
