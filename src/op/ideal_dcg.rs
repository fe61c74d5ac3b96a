//! The largest sum of discounted gains over all orders of a list, by which NDCG divides.

use burn::tensor::Tensor;

use super::{
    call::Call,
    path::run,
    shape::{assert_alike, assert_entry_per_rank},
};

/// Returns `max over orders of sum_i gains_i discounts[rank(i) - 1]` for each list. If the discounts never increase,
/// the order of descending gains has the largest sum. The result carries no gradient.
///
/// # Shapes
/// - `gains` and `mask` have the shape `[batch, documents]`. The mask is 1 for documents and 0 for padding.
/// - `discounts` has one value for each of the `documents` ranks.
/// - The output has the shape `[batch]`.
///
/// # Panics
/// Panics if inputs differ in shape or type, or if there is not one discount per rank.
#[track_caller]
pub fn ideal_dcg(gains: Tensor<2>, mask: Tensor<2>, discounts: Vec<f64>) -> Tensor<1> {
    assert_alike("ideal_dcg", ("gains", &gains), &[("mask", &mask)]);
    assert_entry_per_rank("ideal_dcg", ("discounts", &discounts), ("gains", &gains));
    let (gains, mask) = (gains.detach().into_dispatch(), mask.detach().into_dispatch());
    run(Call::IdealDcg { x: gains, mask, discounts })
}
