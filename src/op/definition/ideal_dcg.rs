//! The discounted sum of gains in descending order. See [`ideal_dcg`](crate::op::ideal_dcg()).

use burn::backend::{Backend, tensor::FloatTensor};

use super::{array::Array, at_rank, rank};

/// The tensor definition: the discounts at the ranks by gain.
pub fn value<B: Backend>(gains: FloatTensor<B>, mask: FloatTensor<B>, discounts: Vec<f64>) -> FloatTensor<B> {
    let ranks = rank::value::<B>(gains.clone(), mask.clone());
    discounted::<B>(gains, mask, at_rank::value::<B>(ranks, discounts))
}

/// The sum of gains times discounts at the ranks of their documents.
pub fn discounted<B: Backend>(
    gains: FloatTensor<B>,
    mask: FloatTensor<B>,
    discounts: FloatTensor<B>,
) -> FloatTensor<B> {
    (Array::<B>(gains) * Array::<B>(discounts) * Array::<B>(mask)).sum(1).0
}
