//! Differences of all pairs of a list, for losses that are computed from them.

use burn::tensor::Tensor;

/// Returns `x_j - x_i` for every ordered pair, `[B, N]` to `[B, N (i), N (j)]`.
pub(crate) fn differences(x: &Tensor<2>) -> Tensor<3> {
    let columns: Tensor<3> = x.clone().unsqueeze_dim(1);
    let rows: Tensor<3> = x.clone().unsqueeze_dim(2);
    columns - rows
}
