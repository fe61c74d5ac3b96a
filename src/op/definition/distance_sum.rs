//! The tensor definition of [`distance_sum`](crate::op::distance_sum()) and its gradient.

use burn::backend::{Backend, tensor::FloatTensor};

use super::{array::Array, rows::by_rows};

/// The tensor definition.
pub fn value<B: Backend>(x: FloatTensor<B>, mask: FloatTensor<B>) -> FloatTensor<B> {
    let (x, mask) = (Array::<B>(x), Array::<B>(mask));
    let [out] = by_rows(&x, |rows| [(x.differences(rows).abs() * mask.columns()).sum(2) * mask.rows(rows)]);
    out.0
}

/// Returns the gradient with respect to `x`. The gradient at document `i` is `sum_j sign(x_i - x_j) (g_i + g_j)` over
/// the documents, with `sign(0) = 0`.
pub fn gradient<B: Backend>(x: FloatTensor<B>, mask: FloatTensor<B>, gradient: FloatTensor<B>) -> FloatTensor<B> {
    let (x, mask) = (Array::<B>(x), Array::<B>(mask));
    let g = Array::<B>(gradient) * mask.clone();
    let [to_x] = by_rows(&x, |rows| {
        let above = x.differences(rows);
        let sign = (-above.clone()).above(0.0) - above.above(0.0);
        let both = (g.columns() + g.rows(rows).column()) * mask.columns();
        [(sign * both).sum(2) * mask.rows(rows)]
    });
    to_x.0
}
