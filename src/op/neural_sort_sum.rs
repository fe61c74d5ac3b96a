//! The values that NeuralSort finds at each rank (Grover et al., Stochastic optimization of sorting networks via
//! continuous relaxations). Sinkhorn's scaling is optional (Pobrotyn and Bialobrzeski, NeuralNDCG).

use burn::tensor::Tensor;

use super::{call::Call, cpu::NeuralSortMatrix, path::run, shape::assert_alike};

/// Returns `out_r = sum_j P_rj v_j` for the ranks `r` of each list, from the first rank, where `P` is a
/// [`NeuralSortMatrix`]. The output is 0 beyond the requested ranks and beyond the documents of the list.
///
/// The function is differentiable in `x` and `v`, where two equal scores add 0 to the gradient of their distance. The
/// computation needs O(iterations n^2) time. NeuralSort keeps the factors of the columns for each iteration and
/// recomputes the factors of the rows. The CPU therefore needs O(iterations n) memory, and other backends need the
/// memory of their chunks of rows.
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
