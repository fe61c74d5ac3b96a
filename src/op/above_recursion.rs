//! `above_recursion`: the expectation of a function of a document's rank times a sum or product over the documents
//! above it, under noisy scores, trial by trial (softrank-directness, section III, treats only the rank).

use burn::tensor::Tensor;

use super::{
    call::Call,
    cpu::{AboveRecursion, ScoreNoise},
    path::run,
    shape::{assert_alike, assert_type},
};

/// `out_i = a_i E[f(R_i) A_i]`, where the rank `R_i`, counted from 0, is the number of documents above `i`, `f` is a function
/// of each list that `values` gives, 0 beyond the last, and `A_i` is 1, or `b_i` plus the sum of `b_j` over the documents above, or
/// the product of `1 - b_j` over them; 0 at padding.
///
/// Each document `j != i` stands above `i` independently, with the chance of a [`Comparison`](super::Comparison); the
/// expectation is averaged over the comparisons of the noise. [`above_expectation`](super::above_expectation()) is the
/// same for sums of exponentials, at less cost.
///
/// Differentiable only in `x`. Documents with `a_i = 0` are skipped: O(Q k n) time for each other document, for `k`
/// ranks that count and `Q` comparisons; on the CPU, in `f32`, O(k n) for all of them under exact noise. Memory is
/// O(n + k sqrt n) for each thread on the CPU, outside the memory budget. It is O(k sqrt n) for each row on a GPU, and
/// O(n + k sqrt n) for each row elsewhere. As many rows as the memory budget allows are computed at a time.
///
/// # Shapes
/// - `x`, `a`, `b` (from 0 to 1 for the product; 0 at padding), `mask` (1 for a document, 0 for padding), output:
///   `[batch, documents]`
/// - `values`: `[batch, ranks]`; entries beyond the number of documents are ignored
///
/// # Panics
/// Inputs differ in shape or type, or `values` has another number of lists.
#[track_caller]
pub fn above_recursion(
    x: Tensor<2>,
    a: Tensor<2>,
    b: Tensor<2>,
    mask: Tensor<2>,
    values: Tensor<2>,
    recursion: &AboveRecursion,
) -> Tensor<2> {
    assert_alike("above_recursion", ("x", &x), &[("a", &a), ("b", &b), ("mask", &mask)]);
    let ([batch, documents], [lists, ranks]) = (x.dims(), values.dims());
    assert!(lists == batch, "above_recursion: values of {lists} lists for {batch}");
    assert_type("above_recursion", ("x", &x), ("values", &values));
    // No document has a rank of n or more.
    let ranks = ranks.min(documents);
    if ranks == 0 || recursion.noise == ScoreNoise::Mixture(Vec::new()) {
        return x.zeros_like();
    }
    let values = values.narrow(1, 0, ranks);
    let [x, a, b, mask, values] = [x, a.detach(), b.detach(), mask, values.detach()].map(Tensor::into_dispatch);
    run(Call::AboveRecursion { x, a, b, mask, values, recursion: recursion.clone() })
}
