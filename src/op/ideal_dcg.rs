//! `ideal_dcg`: the largest discounted sum of gains that any order of a list reaches.

use burn::{
    backend::{Backend, Dispatch, tensor::FloatTensor},
    tensor::Tensor,
};

use super::{
    array::Array,
    at_rank,
    backend::Pairwise,
    execution::uses_tensor_path,
    rank,
    shape::{assert_entry_per_rank, assert_same},
};

/// `max over orders of sum_i gains_i discounts[rank(i) - 1]` of each list, which descending gains reach when discounts
/// do not rise. Carries no gradient.
///
/// # Shapes
/// - `gains`, `mask` (1 for a document, 0 for padding): `[batch, documents]`
/// - `discounts`: one per rank, as many as documents
/// - output: `[batch]`
///
/// # Panics
/// Inputs of different shapes, discounts of another number.
#[track_caller]
pub fn ideal_dcg(gains: Tensor<2>, mask: Tensor<2>, discounts: Vec<f64>) -> Tensor<1> {
    assert_same("ideal_dcg", ("gains", &gains), &[("mask", &mask)]);
    assert_entry_per_rank("ideal_dcg", ("discounts", &discounts), ("gains", &gains));
    let (gains, mask) = (gains.detach().into_dispatch(), mask.detach().into_dispatch());
    Tensor::from_dispatch(if uses_tensor_path() {
        definition::<Dispatch>(gains, mask, discounts)
    } else {
        Dispatch::ideal_dcg(gains, mask, discounts)
    })
}

/// The tensor definition: the discounts at the ranks by gain. Of definitions alone, so that it runs on a backend that
/// knows nothing of this crate.
pub(super) fn definition<B: Backend>(
    gains: FloatTensor<B>,
    mask: FloatTensor<B>,
    discounts: Vec<f64>,
) -> FloatTensor<B> {
    let ranks = rank::definition::<B>(gains.clone(), mask.clone());
    discounted::<B>(gains, mask, at_rank::definition::<B>(ranks, discounts))
}

/// The same with the backend's own primitives, which may be fused.
pub(super) fn by_primitives<B: Pairwise>(
    gains: FloatTensor<B>,
    mask: FloatTensor<B>,
    discounts: Vec<f64>,
) -> FloatTensor<B> {
    let discounts = B::at_rank(B::rank(gains.clone(), mask.clone()), discounts);
    discounted::<B>(gains, mask, discounts)
}

fn discounted<B: Backend>(gains: FloatTensor<B>, mask: FloatTensor<B>, discounts: FloatTensor<B>) -> FloatTensor<B> {
    (Array::<B>(gains) * Array::<B>(discounts) * Array::<B>(mask)).sum(1).0
}
