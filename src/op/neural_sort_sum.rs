//! Sums of values that NeuralSort's relaxed permutation assigns to each rank (Grover et al., Stochastic optimization of
//! sorting networks via continuous relaxations). Optionally, Sinkhorn's scaling is applied to the permutation (Pobrotyn
//! and Bialobrzeski, NeuralNDCG).

use burn::tensor::Tensor;

use super::{call::Call, cpu::NeuralSortMatrix, path::run, shape::assert_alike};

/// Returns `out_r = sum_j P_rj v_j` for each rank `r` of each list, where `P` is a [`NeuralSortMatrix`]. The output is
/// 0 after the last requested rank and after the last document of the list.
///
/// The function is differentiable in `x` and `v`; the distance between two equal scores has the gradient 0. The
/// computation needs O(iterations n^2) time. For each iteration of Sinkhorn's scaling, only the factors of the columns
/// are stored. The factors of the rows are recomputed. The CPU therefore needs O(iterations n) memory; other backends
/// compute as many rows at once as the memory budget allows.
///
/// # Shapes
/// - `x`, `v`, `mask` and the output have the shape `[batch, documents]`. The mask is 1 for documents and 0 for
///   padding.
///
/// # Panics
/// Panics if the inputs differ in shape or type.
#[track_caller]
pub fn neural_sort_sum(x: Tensor<2>, v: Tensor<2>, mask: Tensor<2>, sort: NeuralSortMatrix) -> Tensor<2> {
    assert_alike("neural_sort_sum", ("x", &x), &[("v", &v), ("mask", &mask)]);
    if x.dims().contains(&0) || sort.ranks == 0 {
        return x.zeros_like();
    }
    let [x, v, mask] = [x, v, mask].map(Tensor::into_dispatch);
    run(Call::NeuralSortSum { x, v, mask, sort })
}
