//! `rank_recursion`: expected discounts under the Poisson-binomial rank of SoftRank (softrank-directness, section
//! III), by its recursion over documents, O(k n^2) time for the first `k` ranks.

use burn::tensor::{Tensor, TensorData};

use super::{
    above_recursion::above_recursion,
    call::Call,
    cpu::{Above, AboveRecursion, Comparison, ScoreNoise},
    path::run,
    shape::assert_alike,
};

/// `out_i = sum_{r < k} D_r p_i(r)`, `D` the `k` entries of `discounts` and `p_i` the distribution of the rank of `i`,
/// counted from 0: the number of successes in trials of the probabilities
/// `pi_ji = (1 + erf((x_j - x_i) / (2 sigma))) / 2` over the documents `j != i`; 0 at padding. It is
/// [`above_recursion`](super::above_recursion()) of [`Above::Nothing`].
///
/// Differentiable in `x`.
///
/// # Shapes
/// - `x`, `mask` (1 for a document, 0 for padding), output: `[batch, documents]`
///
/// # Panics
/// Inputs of different shapes or types.
#[track_caller]
pub fn rank_recursion(x: Tensor<2>, mask: Tensor<2>, sigma: f64, discounts: &[f64]) -> Tensor<2> {
    assert_alike("rank_recursion", ("x", &x), &[("mask", &mask)]);
    noisy_rank_recursion(x, mask.clone(), mask, &ScoreNoise::one(Comparison::independent(sigma)), discounts)
}

/// The mask of the documents with `counted` other than 0, where it is given.
pub(crate) fn asked(mask: &Tensor<2>, counted: Option<Tensor<2>>) -> Tensor<2> {
    match counted {
        Some(counted) => run(Call::Select { x: mask.clone().into_dispatch(), rows: counted.into_dispatch() }),
        None => mask.clone(),
    }
}

/// The same, averaged over the comparisons of `noise` and times `asked`, for the documents with `asked` other than 0; 0
/// for the others.
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
