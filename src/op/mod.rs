//! The primitives, which are sums over one list. Nearly every loss is composed of primitives in a few lines. Most of
//! the time is spent in sums over pairs of documents. Every backend therefore computes these sums with fused kernels or
//! in chunks of rows. With sums this fast, the backend's own operations would take most of the running time. Some of
//! these operations are therefore implemented as primitives, too.
//!
//! | primitive | value for document i |
//! |---|---|
//! | [`step_sum`] | `sum_j v_j phi(alpha (x_j - x_i))` |
//! | [`counted_step_sum`] | the same of some documents, 1/2 of the others |
//! | [`above_expectation`] | `a_i E[D(R_i) A_i]`, `A_i` a sum or a product over the documents above `i` in SoftRank, or 1 |
//! | [`above_recursion`] | the same for any function of the first ranks, another for each list |
//! | [`rank_expectation`] | the first with `a_i = A_i = 1`: `sum_m c_m prod_{j != i} (1 + pi_ji (z_m - 1))`, `pi_ji` the chance that `j` beats `i` |
//! | [`rank_recursion`] | the second with `a_i = A_i = 1`: `sum_r D_r p_i(r)`, `p_i` the distribution of the rank of `i` |
//! | [`indicator_sum`] | `sum_j a_j softmax_j(-(x_j - x_i)^2 / sigma)` |
//! | [`neural_sort_sum`] | for rank r: `sum_j P_rj v_j`, `P` NeuralSort's matrix, scaled by Sinkhorn or not |
//! | [`pair_loss`] | `sum_j w_ij l(x_i - x_j)` |
//! | [`rank`] | `1 + #{j ahead of i}`, by comparison, no gradient |
//! | [`at_rank`] | `table[rank_i - 1]`, no gradient |
//! | [`log_softmax`] | `x_i - log sum_j exp(x_j)` |
//! | [`log2_discount`] | `1 / log2(1 + p_i)` |
//! | [`exp2`] | `2^x_i`, no gradient |
//! | [`ideal_dcg`] | one value per list: the largest sum of gains times discounts, no gradient |
//!
//! Inputs are two-dimensional, `[batch, documents]`, and finite even at padding. All inputs of a call must have the
//! same shape. If the shapes differ, the call panics before it computes anything, and its message names both shapes.
//!
//! Some losses compute most of their result by the backend's own operations instead of primitives. Some losses store
//! tensors over pairs, `[B, N, N]`, which do not count toward the memory budget. The section "Limits" of
//! ARCHITECTURE.md lists the losses that store tensors over pairs.

// The layers, each below the one before: the functions, a call, the backend that computes it, the primitives with their
// definitions, and the kernels.
mod functions;
mod path;
pub(crate) mod shape;

mod backend;
mod call;

mod primitive;

#[cfg_attr(not(any(feature = "flex", test)), allow(dead_code, unused_imports))]
mod cpu;
// Launches hand raw buffers to the device.
#[cfg(feature = "_cube")]
#[allow(unsafe_code)]
mod gpu;
#[cfg(test)]
mod tests;

pub use crate::execution::{Execution, Instructions, InstructionsError, PrimitivePath, SumPath, with_tensor_path};
#[cfg(feature = "flex")]
pub(crate) use backend::{Stored, tensor};
pub use cpu::Distance;
#[cfg(feature = "flex")]
pub(crate) use cpu::Real;
#[cfg(test)]
pub(crate) use cpu::box_cases::scattered;
pub use cpu::{
    Above, AboveExpectation, AboveRecursion, Comparison, ExponentialTerm, NeuralSortMatrix, PairLoss, ScoreNoise, Step,
};
pub(crate) use cpu::{PairDerivatives, PairWeight as SlicePairWeight, pair_derivatives};
pub use functions::{
    PairWeight, above_expectation, above_recursion, at_rank, counted_step_sum, exp2, ideal_dcg, indicator_sum,
    log_softmax, log2_discount, neural_sort_sum, pair_loss, rank, rank_expectation, rank_recursion, step_sum,
};
pub(crate) use functions::{asked, differences, distance_sum, noisy_rank_recursion};
pub(crate) use path::{BeyondBudget, beyond_budget};
