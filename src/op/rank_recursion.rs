//! `rank_recursion`: expected discounts under the Poisson-binomial rank of SoftRank (softrank-directness, section
//! III), by its recursion over documents, O(k n^2) time for the first `k` ranks.

use burn::tensor::{Tensor, TensorData};

use super::{
    above_recursion::above_recursion,
    backend::averages_exact_noise,
    call::{Call, Tensors},
    cpu::{Above, AboveRecursion, Comparison, ScoreNoise},
    path::run,
    shape::assert_alike,
};

/// `out_i = sum_{r < k} D_r p_i(r)`, `D` the `k` entries of `discounts` and `p_i` the distribution of the rank of `i`,
/// counted from 0: the number of successes in trials of the probabilities
/// `pi_ji = (1 + erf((x_j - x_i) / (2 sigma))) / 2` over the documents `j != i`; 0 at padding.
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
    compared_rank_recursion(x, mask, None, Comparison::independent(sigma), discounts)
}

/// The mask of the documents with `counted` other than 0, where it is given.
pub(crate) fn asked(mask: &Tensor<2>, counted: Option<Tensor<2>>) -> Tensor<2> {
    match counted {
        Some(counted) => counted.not_equal_elem(0.0).float().cast(mask.dtype()) * mask.clone(),
        None => mask.clone(),
    }
}

/// The same averaged over the comparisons of `noise`, of the documents with `counted` other than 0 where it is given; what
/// stands in place of the others has no meaning.
pub(crate) fn noisy_rank_recursion(
    x: Tensor<2>,
    mask: Tensor<2>,
    counted: Option<Tensor<2>>,
    noise: &ScoreNoise,
    discounts: &[f64],
) -> Tensor<2> {
    let [batch, documents] = x.dims();
    if noise.deviation().is_some() && averages_exact_noise(&x.clone().into_dispatch()) {
        let ranks = discounts.len();
        let values = TensorData::new(discounts.to_vec(), [1, ranks]);
        let values = Tensor::<2>::from_data(values, (&x.device(), x.dtype())).repeat_dim(0, batch);
        let recursion = AboveRecursion { noise: noise.clone(), above: Above::Product };
        return above_recursion(x, asked(&mask, counted), mask.zeros_like(), mask, values, &recursion);
    }
    let part = |&(weight, comparison): &(f64, Comparison)| {
        let discounts: Vec<f64> = discounts.iter().map(|discount| discount * weight).collect();
        compared_rank_recursion(x.clone(), mask.clone(), counted.clone(), comparison, &discounts)
    };
    noise.mixture(documents).iter().map(part).reduce(|sum, part| sum + part).unwrap_or_else(|| x.zeros_like())
}

/// The same under another comparison of documents, of those with `counted` other than 0 where it is given; a finite
/// number of no meaning in place of the others, 0 on the CPU.
pub(crate) fn compared_rank_recursion(
    x: Tensor<2>,
    mask: Tensor<2>,
    counted: Option<Tensor<2>>,
    comparison: Comparison,
    discounts: &[f64],
) -> Tensor<2> {
    // No document has a rank of n or more.
    let ranks = discounts.len().min(x.dims()[1]);
    if ranks == 0 {
        return x.zeros_like();
    }
    let rows = Tensors::new(counted.map(Tensor::into_dispatch));
    let (x, mask, discounts) = (x.into_dispatch(), mask.into_dispatch(), discounts[..ranks].to_vec());
    run(Call::RankRecursion { x, mask, rows, comparison, discounts })
}
