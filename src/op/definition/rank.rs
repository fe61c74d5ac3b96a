//! The tensor definition of [`rank`](crate::op::rank()), which counts the documents ahead of each document.

use burn::backend::{Backend, tensor::FloatTensor};

use super::{array::Array, rows::by_rows};

/// The tensor definition.
pub fn value<B: Backend>(x: FloatTensor<B>, mask: FloatTensor<B>) -> FloatTensor<B> {
    let (x, mask) = (Array::<B>(x), Array::<B>(mask));
    let [_, documents] = x.dims();
    let index = x.indices(documents);
    let padding = -mask.clone() + 1.0;
    let [out] = by_rows(&x, |rows| {
        let d = x.differences(rows);
        let earlier = (-index.differences(rows)).above(0.0);
        let ahead = d.clone().above(0.0) + d.equals_zero() * earlier.clone();
        let document = (ahead * mask.columns()).sum(2);
        let padded = mask.clone().sum(1).unsqueeze(1) + (earlier * padding.columns()).sum(2);
        [document * mask.rows(rows) + padded * padding.rows(rows) + 1.0]
    });
    out.0
}
