//! The tensor definition of [`indicator_sum`](crate::op::indicator_sum()) and its gradient.

use burn::backend::{Backend, tensor::FloatTensor};

use super::{array::Array, rows::by_rows};

/// Returns the kernel `exp(-(x_j - x_i)^2 / sigma)` for some rows `i` and every document `j`, with 0 for padding. Since
/// the largest kernel of a row is 1 (at `j = i`), the softmax works without subtracting a maximum.
fn kernel<B: Backend>(x: &Array<B>, mask: &Array<B>, rows: (usize, usize), sigma: f64) -> Array<B> {
    (x.differences(rows).square() / -sigma).exp() * mask.columns()
}

/// The tensor definition. The second output holds the denominators of the softmax.
pub fn value<B: Backend>(
    x: FloatTensor<B>,
    a: FloatTensor<B>,
    mask: FloatTensor<B>,
    sigma: f64,
) -> (FloatTensor<B>, FloatTensor<B>) {
    let (x, a, mask) = (Array::<B>(x), Array::<B>(a), Array::<B>(mask));
    let [out, total] = by_rows(&x, |rows| {
        let kernel = kernel(&x, &mask, rows, sigma);
        let document = mask.rows(rows);
        // A padded row has no members, so its denominator must be kept away from 0.
        let total = kernel.clone().sum(2) - document.clone() + 1.0;
        [(kernel * a.columns()).sum(2) / total.clone() * document, total]
    });
    (out.0, total.0)
}

/// The results of [`value`], which the gradient needs.
pub struct Forward<B: Backend> {
    /// The softmax sum of each document.
    pub out: FloatTensor<B>,
    /// The denominator of each softmax.
    pub total: FloatTensor<B>,
}

/// Returns the gradient with respect to `x`. With `q_i = g_i / total_i` and the kernel `k`, the gradient at document
/// `k` is `2 / sigma sum_j k_kj (x_j - x_k) (q_k (a_j - out_k) + q_j (a_k - out_j))`.
pub fn gradient<B: Backend>(
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
