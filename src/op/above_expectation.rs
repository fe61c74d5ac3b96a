//! The expectation of a discounted rank, times a sum or product over the documents above, under noisy scores. The
//! discount follows section III of softrank-directness; the sum or product serves measures that compare two documents.

use burn::tensor::Tensor;

use super::{
    call::Call,
    cpu::{AboveExpectation, ScoreNoise},
    path::run,
    shape::assert_alike,
};

/// Returns `out_i = a_i E[A_i D(R_i)]`, or 0 at padding. The rank `R_i`, counted from 0, is the number of documents
/// above `i`, and its discount is `D(r) = sum_m c_m z_m^r`. The factor `A_i` is 1, or `b_i` plus the sum of `b_j` over
/// the documents above, or the product of `1 - b_j` over them.
///
/// Each document `j != i` ranks above `i` independently, with the probability `pi_ji` of a
/// [`Comparison`](super::Comparison). The expectation is averaged over the comparisons of `noise`. The CPU integrates
/// exact noise by a different method. For one comparison, let `f_jm = 1 + pi_ji (z_m - 1)`. Then
///
/// - the expectation with a sum is `sum_m c_m (b_i + sum_j b_j pi_ji z_m / f_jm) prod_j f_jm`,
/// - the expectation with a product is `sum_m c_m prod_j (1 + pi_ji (z_m (1 - b_j) - 1))`; setting `b = 0` leaves only
///   the discount.
///
/// Only `x` is differentiable. Documents with `a_i = 0` are skipped. Every other document needs O(Q M n) time for `M`
/// terms and `Q` comparisons. On the CPU in `f32`, exact noise needs only O(M n) time per document. The CPU needs O(n)
/// memory; other backends need the memory of their chunks of rows. A function of only the rank keeps `M` numbers per
/// document for the gradient.
///
/// # Shapes
/// - `x`, `a`, `b`, `mask` and the output have the shape `[batch, documents]`. For a product, `b` must be from 0 to 1;
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
