//! Expectations under noisy scores: any function of the rank of a document, times a sum or product over the documents
//! ranked above it. The expectation is computed by SoftRank's recursion over the documents. Section III of
//! softrank-directness states the recursion for a function of the rank alone.

use burn::tensor::Tensor;

use super::{
    call::Call,
    cpu::{AboveRecursion, ScoreNoise},
    path::run,
    shape::{assert_alike, assert_type},
};

/// Returns `out_i = a_i E[A_i f(R_i)]`, or 0 at padding. The rank `R_i`, counted from 0, is the number of documents
/// above `i`. Each list has its own function `f`. The argument `values` gives its values at the first ranks; at later
/// ranks, `f` is 0. The factor `A_i` is 1, or `b_i` plus the sum of `b_j` over the documents above `i`, or the product
/// of `1 - b_j` over these documents.
///
/// Each document `j != i` ranks above `i` independently, with the probability of a [`Comparison`](super::Comparison).
/// The expectation is averaged over the comparisons of the noise. If `f` is a sum of exponentials,
/// [`above_expectation`](super::above_expectation()) computes the same expectation in less time.
///
/// Only `x` is differentiable. Documents with `a_i = 0` are skipped. Each of the remaining documents takes O(Q k n)
/// time, for `k` ranks with a value and `Q` comparisons. Under exact noise, the CPU needs only O(k n) time per document
/// in `f32`. Each CPU thread needs O(n + k sqrt n) memory, which does not count toward the memory budget. For each row
/// that is computed at the same time, a GPU needs O(k sqrt n) memory, and other backends need O(n + k sqrt n). The
/// memory budget limits how many rows are computed at the same time.
///
/// # Shapes
/// - `x`, `a`, `b`, `mask` and the output have the shape `[batch, documents]`. For a product, `b` must be in `[0, 1]`;
///   at padding, it must be 0. The mask is 1 for documents and 0 for padding.
/// - `values` has the shape `[batch, ranks]`, and entries beyond the number of documents are ignored.
///
/// # Panics
/// Panics if inputs differ in shape or type, or if `values` has a different number of lists.
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
