//! `above_expectation`: the expectation of a discount of a document's rank times a sum or product over the documents
//! above it, under noisy scores (softrank-directness, section III, for measures that compare two documents).

use burn::tensor::Tensor;

use super::{
    call::Call,
    cpu::{AboveExpectation, ScoreNoise},
    path::run,
    shape::assert_alike,
};

/// `out_i = a_i E[D(R_i) A_i]`, where the rank `R_i`, counted from 0, is the number of documents above `i`,
/// `D(r) = sum_m c_m z_m^r`, and `A_i` is 1, or `b_i` plus the sum of `b_j` over the documents above, or the product of
/// `1 - b_j` over them; 0 at padding.
///
/// Each document `j != i` stands above `i` independently, with the chance `pi_ji` of a
/// [`Comparison`](super::Comparison); the expectation is averaged over the comparisons of `noise`. The CPU averages
/// exact noise in another way. Given one comparison, with `f_jm = 1 + pi_ji (z_m - 1)`,
///
/// - the sum is `sum_m c_m (b_i + sum_j b_j pi_ji z_m / f_jm) prod_j f_jm`,
/// - the product is `sum_m c_m prod_j (1 + pi_ji (z_m (1 - b_j) - 1))`, and the same with `b = 0` is the discount alone.
///
/// Differentiable in `x` alone. Documents with `a_i = 0` are skipped: O(Q M n) time for each other document, for `M`
/// terms and `Q` comparisons; on the CPU, in `f32`, O(M n) for all of them under exact noise. Memory is O(n) on the
/// CPU, and elsewhere the memory of the chunks of rows. Only the discount without a sum or product keeps `M` numbers
/// per document for the gradient.
///
/// # Shapes
/// - `x`, `a`, `b` (from 0 to 1 for the product; 0 at padding), `mask` (1 for a document, 0 for padding), output:
///   `[batch, documents]`
///
/// # Panics
/// Inputs of different shapes or types.
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
