//! How losses are computed: [`Execution`] sets memory, instructions and path of a thread, and [`Step`] is the step of
//! approximate positions.
//!
//! Nearly every loss is composed of primitives in a few lines. A primitive is a sum over one list; most of them are
//! sums over pairs of documents, in which most of the time is spent. Every backend therefore computes them with fused
//! kernels or in chunks of rows. With sums this fast, the backend's own operations would take most of the running time.
//! Some of these operations are therefore implemented as primitives, too.
//!
//! Some losses compute most of their result by the backend's own operations instead of primitives. Some losses store
//! tensors over pairs, `[B, N, N]`, which do not count toward the memory budget; `docs/reference/limits.md` lists them.

// The layers, each below the one before: the backends, a call, which they compute, the primitives with their functions
// and definitions, and the kernels.
mod backend;
mod call;

pub(crate) mod primitive;

#[cfg_attr(not(any(feature = "flex", test)), allow(dead_code, unused_imports))]
pub(crate) mod cpu;
// Launches hand raw buffers to the device.
#[cfg(feature = "_cube")]
#[allow(unsafe_code)]
mod gpu;

#[cfg(test)]
mod example_cases;
#[cfg(test)]
mod tests;

use burn::tensor::Tensor;

pub use crate::execution::{Execution, Instructions};
#[cfg(feature = "flex")]
pub(crate) use backend::flex::{Stored, tensor};
pub(crate) use backend::{BeyondBudget, beyond_budget};
#[cfg(feature = "flex")]
pub(crate) use cpu::Real;
pub use cpu::Step;
#[cfg(test)]
pub(crate) use cpu::box_cases::scattered;
pub(crate) use cpu::{
    Above, AboveExpectation, AboveRecursion, Comparison, Distance, ExponentialTerm, NeuralSortMatrix, PairDerivatives,
    PairLoss, PairWeight as SlicePairWeight, SHORTEST_GRADIENT, ScoreNoise, pair_derivatives,
};
pub(crate) use primitive::{above_recursion::noisy_rank_recursion, elementwise::mask_of_counted, functions::*};

/// Returns the differences `x_j - x_i` of a tensor `[B, N]` for all pairs, as a tensor `[B, N (i), N (j)]`.
pub(crate) fn differences(x: &Tensor<2>) -> Tensor<3> {
    let columns: Tensor<3> = x.clone().unsqueeze_dim(1);
    let rows: Tensor<3> = x.clone().unsqueeze_dim(2);
    columns - rows
}

/// Returns `sum_j |x_i - x_j|` over the documents with `mask = 1`, for losses that store tensors over pairs anyway.
pub(crate) fn distances(x: &Tensor<2>, mask: &Tensor<2>) -> Tensor<2> {
    (differences(x).abs() * mask.clone().unsqueeze_dim::<3>(1)).sum_dim(2).squeeze_dim(2)
}
