//! The differences of scores for all pairs of a list, for losses that store such an array.

use burn::tensor::Tensor;

/// Returns the differences `x_j - x_i` of a tensor `[B, N]` for all pairs, as a tensor `[B, N (i), N (j)]`.
pub(crate) fn differences(x: &Tensor<2>) -> Tensor<3> {
    let columns: Tensor<3> = x.clone().unsqueeze_dim(1);
    let rows: Tensor<3> = x.clone().unsqueeze_dim(2);
    columns - rows
}
