//! `rank_expectation`: expected discounts under the Poisson-binomial rank of SoftRank (softrank-directness, section
//! III), through the probability generating function, O(M n^2) time.

use burn::tensor::Tensor;

use super::{
    call::{Call, Tensors},
    cpu::ExponentialTerm,
    path::run,
    shape::assert_alike,
};

/// `out_i = sum_m c_m prod_{j != i} (1 + m_j pi_ji (z_m - 1))` with
/// `pi_ji = (1 + erf((x_j - x_i) / (2 sigma))) / 2`, the probability that `j` beats `i`; 0 at padding.
///
/// Differentiable in `x`.
///
/// # Shapes
/// - `x`, `mask` (1 for a document, 0 for padding), output: `[batch, documents]`
///
/// # Panics
/// Inputs of different shapes or types.
#[track_caller]
pub fn rank_expectation(x: Tensor<2>, mask: Tensor<2>, sigma: f64, terms: &[ExponentialTerm]) -> Tensor<2> {
    counted_rank_expectation(x, mask, None, sigma, terms)
}

/// The same of the documents with `counted` other than 0, which has the same bits wherever pairs are visited; a finite
/// number of no meaning in place of the others, 0 on the CPU. Where few count, it is that much faster on the CPU.
#[track_caller]
pub(crate) fn counted_rank_expectation(
    x: Tensor<2>,
    mask: Tensor<2>,
    counted: Option<Tensor<2>>,
    sigma: f64,
    terms: &[ExponentialTerm],
) -> Tensor<2> {
    assert_alike("rank_expectation", ("x", &x), &[("mask", &mask)]);
    if terms.is_empty() {
        return x.zeros_like();
    }
    let rows = Tensors::new(counted.map(Tensor::into_dispatch));
    let (x, mask, terms) = (x.into_dispatch(), mask.into_dispatch(), terms.to_vec());
    run(Call::RankExpectation { x, mask, rows, sigma, terms })
}
