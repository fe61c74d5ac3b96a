//! `neural_sort_sum`: values found at each rank by NeuralSort (Grover et al., Stochastic optimization of sorting networks
//! via continuous relaxations), with Sinkhorn's scaling (Pobrotyn and Bialobrzeski, NeuralNDCG).

use burn::tensor::Tensor;

use super::{call::Call, cpu::NeuralSortMatrix, path::run, shape::assert_alike};

/// `out_r = sum_j P_rj v_j` for the ranks `r` of each list, the first rank first, `P` a [`NeuralSortMatrix`]; 0 beyond
/// the requested ranks and beyond the documents of the list.
///
/// Differentiable in `x` and `v`; two equal scores add 0 to the gradient of their distance. O(iterations n^2) time. The
/// factors of the columns are kept for each iteration and the factors of the rows are computed again. So the CPU takes
/// O(iterations n) memory, and other backends the memory of the chunks of rows.
///
/// # Shapes
/// - `x`, `v`, `mask` (1 for a document, 0 for padding), output: `[batch, documents]`
///
/// # Panics
/// Inputs of different shapes or types.
#[track_caller]
pub fn neural_sort_sum(x: Tensor<2>, v: Tensor<2>, mask: Tensor<2>, sort: NeuralSortMatrix) -> Tensor<2> {
    assert_alike("neural_sort_sum", ("x", &x), &[("v", &v), ("mask", &mask)]);
    if x.dims().contains(&0) || sort.ranks == 0 {
        return x.zeros_like();
    }
    let [x, v, mask] = [x, v, mask].map(Tensor::into_dispatch);
    run(Call::NeuralSortSum { x, v, mask, sort })
}
