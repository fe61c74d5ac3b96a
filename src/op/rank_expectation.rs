//! `rank_expectation`: expected discounts under the Poisson-binomial rank of SoftRank (softrank-directness, section
//! III), through the probability generating function, O(M n^2) time.

use burn::tensor::Tensor;

use super::{
    above_expectation::above_expectation,
    cpu::{Above, AboveExpectation, Comparison, ExponentialTerm, ScoreNoise},
    shape::assert_alike,
};

/// `out_i = sum_m c_m prod_{j != i} (1 + m_j pi_ji (z_m - 1))` with
/// `pi_ji = (1 + erf((x_j - x_i) / (2 sigma))) / 2`, the probability that `j` beats `i`; 0 at padding. It is
/// [`above_expectation`](super::above_expectation()) of [`Above::Nothing`].
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
    assert_alike("rank_expectation", ("x", &x), &[("mask", &mask)]);
    let noise = ScoreNoise::one(Comparison::independent(sigma));
    let expectation = AboveExpectation { noise, terms: terms.to_vec(), above: Above::Nothing };
    above_expectation(x, mask.clone(), mask.clone(), mask, &expectation)
}
