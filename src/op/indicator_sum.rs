//! `indicator_sum`: soft indicators of SmoothRank (smoothrank, section 3), one-dimensional softmax attention.

use burn::tensor::{Tensor, activation::softmax};

use super::differences;

/// `out_i = sum_j a_j softmax_j(-(x_j - x_i)^2 / sigma)`, the softmax taken over the documents with `mask = 1`.
///
/// Differentiable in `x` and `a`.
///
/// # Shapes
/// - `x`, `a`, `mask` (1 for a document, 0 for padding), output: `[batch, documents]`
pub fn indicator_sum(x: Tensor<2>, a: Tensor<2>, mask: Tensor<2>, sigma: f64) -> Tensor<2> {
    let logits = differences(&x).powi_scalar(2) / (-sigma);
    let padded = mask.lower_elem(0.5).unsqueeze_dim::<3>(1).expand(logits.shape());
    let h = softmax(logits.mask_fill(padded, f32::NEG_INFINITY), 2);
    (h * a.unsqueeze_dim::<3>(1)).sum_dim(2).squeeze_dim(2)
}
