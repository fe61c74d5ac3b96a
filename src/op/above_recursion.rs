//! The expectation of any function of a rank, times a sum or product over the documents above, under noisy scores. A
//! recursion over the documents computes the expectation; section III of softrank-directness covers only the rank.

use burn::tensor::Tensor;

use super::{
    call::Call,
    cpu::{AboveRecursion, ScoreNoise},
    path::run,
    shape::{assert_alike, assert_type},
};

/// Returns `out_i = a_i E[A_i f(R_i)]`, or 0 at padding. The rank `R_i`, counted from 0, is the number of documents
/// above `i`. Each list has its own function `f`, given by `values` and 0 beyond the last one. The factor `A_i` is 1,
/// or `b_i` plus the sum of `b_j` over the documents above, or the product of `1 - b_j` over them.
///
/// Each document `j != i` ranks above `i` independently, with the probability of a [`Comparison`](super::Comparison).
/// The expectation is averaged over the comparisons of the noise. [`above_expectation`](super::above_expectation())
/// computes the same expectation at less cost if `f` is a sum of exponentials.
///
/// Only `x` is differentiable. Documents with `a_i = 0` are skipped. Every other document needs O(Q k n) time, where
/// `k` ranks have a value and there are `Q` comparisons. On the CPU in `f32`, exact noise needs only O(k n) time per
/// document. Each CPU thread needs O(n + k sqrt n) memory, outside the memory budget. A GPU needs O(k sqrt n) memory
/// per row, and other backends need O(n + k sqrt n). As many rows are computed at once as the memory budget allows.
///
/// # Shapes
/// - `x`, `a`, `b`, `mask` and the output have the shape `[batch, documents]`. For a product, `b` must be from 0 to 1;
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
