//! `indicator_sum`: soft indicators of SmoothRank (smoothrank, section 3), one-dimensional softmax attention.

use burn::{
    backend::{Backend, Dispatch, tensor::FloatTensor},
    tensor::Tensor,
};

use super::{
    array::{Array, by_rows},
    backend::Pairwise,
    execution::uses_tensor_path,
    shape::assert_same,
};

/// `out_i = sum_j a_j softmax_j(-(x_j - x_i)^2 / sigma)`, the softmax taken over the documents with `mask = 1`; 0 at
/// padding.
///
/// Differentiable in `x` and `a`.
///
/// # Shapes
/// - `x`, `a`, `mask` (1 for a document, 0 for padding), output: `[batch, documents]`
///
/// # Panics
/// Inputs of different shapes.
#[track_caller]
pub fn indicator_sum(x: Tensor<2>, a: Tensor<2>, mask: Tensor<2>, sigma: f64) -> Tensor<2> {
    assert_same("indicator_sum", ("x", &x), &[("a", &a), ("mask", &mask)]);
    let (x, a, mask) = (x.into_dispatch(), a.into_dispatch(), mask.into_dispatch());
    let (out, _) = if uses_tensor_path() {
        definition::<Dispatch>(x, a, mask, sigma)
    } else {
        Dispatch::indicator_sum(x, a, mask, sigma)
    };
    Tensor::from_dispatch(out)
}

/// `exp(-(x_j - x_i)^2 / sigma)` for the documents `j`: at most 1, and 1 at `j = i`, so that no row of a document
/// needs its maximum.
fn kernel<B: Backend>(x: &Array<B>, mask: &Array<B>, rows: (usize, usize), sigma: f64) -> Array<B> {
    (x.differences(rows).square() / -sigma).exp() * mask.columns()
}

/// The tensor definition: the sum and the denominator of its softmax.
pub(super) fn definition<B: Backend>(
    x: FloatTensor<B>,
    a: FloatTensor<B>,
    mask: FloatTensor<B>,
    sigma: f64,
) -> (FloatTensor<B>, FloatTensor<B>) {
    let (x, a, mask) = (Array::<B>(x), Array::<B>(a), Array::<B>(mask));
    let [out, total] = by_rows(&x, |rows| {
        let kernel = kernel(&x, &mask, rows, sigma);
        let document = mask.rows(rows);
        // A padded row has no member of its own: keep its denominator away from 0.
        let total = kernel.clone().sum(2) - document.clone() + 1.0;
        [(kernel * a.columns()).sum(2) / total.clone() * document, total]
    });
    (out.0, total.0)
}

/// What the forward pass of [`indicator_sum`] computed.
pub(super) struct Forward<B: Backend> {
    pub out: FloatTensor<B>,
    pub total: FloatTensor<B>,
}

/// Gradient with respect to `x`. With `q_i = g_i / total_i` and `k` the kernel, row `k` is
/// `2 / sigma sum_j k_kj (x_j - x_k) (q_k (a_j - out_k) + q_j (a_k - out_j))`.
pub(super) fn gradient<B: Backend>(
    x: FloatTensor<B>,
    a: FloatTensor<B>,
    mask: FloatTensor<B>,
    forward: Forward<B>,
    gradient: FloatTensor<B>,
    sigma: f64,
) -> FloatTensor<B> {
    let (x, a, mask) = (Array::<B>(x), Array::<B>(a), Array::<B>(mask));
    let out = Array::<B>(forward.out);
    let q = Array::<B>(gradient) * mask.clone() / Array::<B>(forward.total);
    let [to_x] = by_rows(&x, |rows| {
        let pull = kernel(&x, &mask, rows, sigma) * x.differences(rows);
        let own = (a.columns() - out.rows(rows).column()) * q.rows(rows).column();
        let others = (a.rows(rows).column() - out.columns()) * q.columns();
        [(pull * (own + others)).sum(2) * mask.rows(rows) * (2.0 / sigma)]
    });
    to_x.0
}

/// Gradient with respect to `a`: `sum_i q_i k_ij`, which is the same sum with `q` for `a`, since the kernel is
/// symmetric.
pub(super) fn gradient_in_values<B: Pairwise>(
    x: FloatTensor<B>,
    mask: FloatTensor<B>,
    total: FloatTensor<B>,
    gradient: FloatTensor<B>,
    sigma: f64,
) -> FloatTensor<B> {
    let q = Array::<B>(gradient) * Array(mask.clone()) / Array(total.clone());
    let (out, _) = B::indicator_sum(x, q.0, mask, sigma);
    (Array::<B>(out) * Array(total)).0
}
