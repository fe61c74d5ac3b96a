//! The tensor definition of [`ideal_dcg`](crate::op::ideal_dcg()), which ranks the gains instead of sorting them.

use burn::backend::{Backend, tensor::FloatTensor};

use super::{array::Array, at_rank, rank};

/// The tensor definition, which looks up the discounts at the ranks of the gains.
pub fn value<B: Backend>(gains: FloatTensor<B>, mask: FloatTensor<B>, discounts: Vec<f64>) -> FloatTensor<B> {
    let ranks = rank::value::<B>(gains.clone(), mask.clone());
    discounted::<B>(gains, mask, at_rank::value::<B>(ranks, discounts))
}

/// Returns the sum of gains times discounts for each list; `discounts` holds the discount of each document.
pub fn discounted<B: Backend>(
    gains: FloatTensor<B>,
    mask: FloatTensor<B>,
    discounts: FloatTensor<B>,
) -> FloatTensor<B> {
    (Array::<B>(gains) * Array::<B>(discounts) * Array::<B>(mask)).sum(1).0
}
