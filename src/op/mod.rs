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

// The layers, each below the one before: the functions, a call, the backend that computes it, the primitives with their
// definitions, and the kernels.
pub(crate) mod functions;

mod backend;
mod call;

mod primitive;

#[cfg_attr(not(any(feature = "flex", test)), allow(dead_code, unused_imports))]
pub(crate) mod cpu;
// Launches hand raw buffers to the device.
#[cfg(feature = "_cube")]
#[allow(unsafe_code)]
mod gpu;
#[cfg(test)]
mod tests;

pub use crate::execution::{Execution, Instructions};
pub(crate) use backend::{BeyondBudget, beyond_budget};
#[cfg(feature = "flex")]
pub(crate) use backend::{Stored, tensor};
#[cfg(feature = "flex")]
pub(crate) use cpu::Real;
pub use cpu::Step;
#[cfg(test)]
pub(crate) use cpu::box_cases::scattered;
pub(crate) use cpu::{
    Above, AboveExpectation, AboveRecursion, Comparison, Distance, ExponentialTerm, NeuralSortMatrix, PairDerivatives,
    PairLoss, PairWeight as SlicePairWeight, ScoreNoise, pair_derivatives,
};
pub(crate) use functions::{
    PairWeight, above_expectation, above_recursion, at_rank, centered, counted_step_sum, differences, distances, exp2,
    ideal_dcg, in_spreads, indicator_sum, log_softmax, log2_discount, mask_of_counted, neural_sort_sum,
    noisy_rank_recursion, pair_loss, rank, step_sum, with_unit_gradient,
};
pub(crate) use primitive::unit_gradient::SHORTEST_GRADIENT;
