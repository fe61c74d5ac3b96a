//! Expected discounts under SoftRank, where noise on the scores makes the rank random (softrank-directness, section
//! III). The discount is a sum of `M` exponentials, so the generating function of the rank gives the expectations in
//! O(M n^2) time.

use burn::tensor::Tensor;

use super::{
    above_expectation::above_expectation,
    cpu::{Above, AboveExpectation, Comparison, ExponentialTerm, ScoreNoise},
    shape::assert_alike,
};

/// Returns `out_i = sum_m c_m prod_{j != i} (1 + m_j pi_ji (z_m - 1))`, or 0 at padding. The probability that `j` beats
/// `i` is `pi_ji = (1 + erf((x_j - x_i) / (2 sigma))) / 2`. The function is
/// [`above_expectation`](super::above_expectation()) with [`Above::Nothing`], for a single comparison.
///
/// Differentiable in `x`.
///
/// # Shapes
/// - `x`, `mask` and the output have the shape `[batch, documents]`. The mask is 1 for documents and 0 for padding.
///
/// # Panics
/// Panics if the inputs differ in shape or type.
#[track_caller]
pub fn rank_expectation(x: Tensor<2>, mask: Tensor<2>, sigma: f64, terms: &[ExponentialTerm]) -> Tensor<2> {
    assert_alike("rank_expectation", ("x", &x), &[("mask", &mask)]);
    let noise = ScoreNoise::one(Comparison::independent(sigma));
    let expectation = AboveExpectation { noise, terms: terms.to_vec(), above: Above::Nothing };
    above_expectation(x, mask.clone(), mask.clone(), mask, &expectation)
}
