//! Expectations under noisy scores: a discount at the rank of a document, times a sum or product over the documents
//! ranked above it. The discount is SoftRank's (softrank-directness, section III). The sum or product allows
//! measures in which two documents interact.

use burn::tensor::Tensor;

use super::{
    call::Call,
    cpu::{AboveExpectation, ScoreNoise},
    path::run,
    shape::assert_alike,
};

/// Returns `out_i = a_i E[A_i D(R_i)]`, or 0 at padding. The rank `R_i`, counted from 0, is the number of documents
/// above `i`, and its discount is `D(r) = sum_m c_m z_m^r`. The factor `A_i` is 1, or `b_i` plus the sum of `b_j` over
/// the documents above `i`, or the product of `1 - b_j` over these documents.
///
/// Each document `j != i` ranks above `i` independently, with the probability `pi_ji` of a
/// [`Comparison`](super::Comparison). The expectation is averaged over the comparisons of `noise`. For exact noise in
/// `f32`, the CPU integrates over levels of the noisy score instead of a mixture of comparisons. For one comparison,
/// let `f_jm = 1 + pi_ji (z_m - 1)`. Then the expectations are:
///
/// - with a sum, `sum_m c_m (b_i + sum_j b_j pi_ji z_m / f_jm) prod_j f_jm`;
/// - with a product, `sum_m c_m prod_j (1 + pi_ji (z_m (1 - b_j) - 1))`, where `b = 0` leaves only the discount.
///
/// Only `x` is differentiable. Documents with `a_i = 0` are skipped. Each of the remaining documents takes O(Q M n)
/// time, for `M` terms and `Q` comparisons. Under exact noise, the CPU needs only O(M n) time per document in `f32`.
/// The CPU needs O(n) memory; other backends compute as many rows at once as the memory budget allows. If only the rank
/// matters, `M` numbers per document are stored for the gradient.
///
/// # Shapes
/// - `x`, `a`, `b`, `mask` and the output have the shape `[batch, documents]`. For a product, `b` must be in `[0, 1]`;
///   at padding, it must be 0. The mask is 1 for documents and 0 for padding.
///
/// # Panics
/// Panics if the inputs differ in shape or type.
#[track_caller]
pub fn above_expectation(
    x: Tensor<2>,
    a: Tensor<2>,
    b: Tensor<2>,
    mask: Tensor<2>,
    expectation: &AboveExpectation,
) -> Tensor<2> {
    assert_alike("above_expectation", ("x", &x), &[("a", &a), ("b", &b), ("mask", &mask)]);
    if expectation.terms.is_empty() || expectation.noise == ScoreNoise::Mixture(Vec::new()) || x.dims()[1] == 0 {
        return x.zeros_like();
    }
    let [x, a, b, mask] = [x, a.detach(), b.detach(), mask].map(Tensor::into_dispatch);
    run(Call::AboveExpectation { x, a, b, mask, expectation: expectation.clone() })
}
