//! Expected discounts under SoftRank, where noise on the scores makes the rank random (softrank-directness, section
//! III). Computing the distribution of the rank, one document after another, takes O(k n^2) time for the first `k`
//! ranks.

use burn::tensor::{Tensor, TensorData};

use super::{
    above_recursion::above_recursion,
    call::Call,
    cpu::{Above, AboveRecursion, Comparison, ScoreNoise},
    path::run,
    shape::assert_alike,
};

/// Returns `out_i = sum_{r < k} D_r p_i(r)`, or 0 at padding. Here `D_r` are the `k` entries of `discounts`, and `p_i`
/// is the distribution of the rank of document `i`, counted from 0. The rank is the number of documents `j != i` that
/// beat `i`, each with the probability `pi_ji = (1 + erf((x_j - x_i) / (2 sigma))) / 2`. The function is
/// [`above_recursion`](super::above_recursion()) with [`Above::Nothing`], for a single comparison.
///
/// Differentiable in `x`.
///
/// # Shapes
/// - `x`, `mask` and the output have the shape `[batch, documents]`. The mask is 1 for documents and 0 for padding.
///
/// # Panics
/// Panics if the inputs differ in shape or type.
#[track_caller]
pub fn rank_recursion(x: Tensor<2>, mask: Tensor<2>, sigma: f64, discounts: &[f64]) -> Tensor<2> {
    assert_alike("rank_recursion", ("x", &x), &[("mask", &mask)]);
    noisy_rank_recursion(x, mask.clone(), mask, &ScoreNoise::one(Comparison::independent(sigma)), discounts)
}

/// Returns the mask without the documents where `counted`, if given, is 0.
pub(crate) fn asked(mask: &Tensor<2>, counted: Option<Tensor<2>>) -> Tensor<2> {
    match counted {
        Some(counted) => run(Call::Select { x: mask.clone().into_dispatch(), rows: counted.into_dispatch() }),
        None => mask.clone(),
    }
}

/// Computes [`rank_recursion`] averaged over the comparisons of `noise`, and multiplies the result by `asked`. Where
/// `asked` is 0, the document is skipped and receives 0.
#[track_caller]
pub(crate) fn noisy_rank_recursion(
    x: Tensor<2>,
    asked: Tensor<2>,
    mask: Tensor<2>,
    noise: &ScoreNoise,
    discounts: &[f64],
) -> Tensor<2> {
    // No document has a rank of n or more.
    let [batch, documents] = x.dims();
    let ranks = discounts.len().min(documents);
    let values = TensorData::new(discounts[..ranks].to_vec(), [1, ranks]);
    let values = Tensor::<2>::from_data(values, (&x.device(), x.dtype())).repeat_dim(0, batch);
    let recursion = AboveRecursion { noise: noise.clone(), above: Above::Nothing };
    above_recursion(x, asked, mask.clone(), mask, values, &recursion)
}
