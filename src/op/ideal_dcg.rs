//! `ideal_dcg`: the largest discounted sum of gains that any order of a list reaches.

use burn::tensor::Tensor;

use super::{
    call::Call,
    path::run,
    shape::{assert_alike, assert_entry_per_rank},
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
/// Inputs of different shapes or types, discounts of another number.
#[track_caller]
pub fn ideal_dcg(gains: Tensor<2>, mask: Tensor<2>, discounts: Vec<f64>) -> Tensor<1> {
    assert_alike("ideal_dcg", ("gains", &gains), &[("mask", &mask)]);
    assert_entry_per_rank("ideal_dcg", ("discounts", &discounts), ("gains", &gains));
    let (gains, mask) = (gains.detach().into_dispatch(), mask.detach().into_dispatch());
    run(Call::IdealDcg { x: gains, mask, discounts })
}
