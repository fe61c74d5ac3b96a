//! GPU kernels in CubeCL, with one source for CUDA, ROCm, Metal, Vulkan and WebGPU.
//!
//! All values are computed in `f32`. For a tensor of another type, or a device that cannot run a kernel, the functions
//! return `None`. The backend then uses the tensor definition and its analytic gradient in chunks of rows, and the log
//! says so once. Nothing is stored for a pair and nothing is added atomically (see [`tile`]). Where many rows and
//! columns cannot change the result, kernels skip them (see [`members`]).
//!
//! Long lists are sorted, and sums of smooth functions are computed in [`cells`] of the sorted list, in O(n log n). The
//! device decides which lists are long (see [`cells::choice`]).
//!
//! All kernels start in the same way. [`launch::compute`] checks that the device can run the kernel, and marks lists
//! that have diverged. [`launch::start!`] passes the tensors and numbers. The functions of a pair of scores are named
//! types in [`functions`].
//!
//! The kernels belong to burn's `CubeBackend`. burn's default features wrap it in kernel fusion, and no crate can query
//! whether they do. The GPU features of this crate therefore turn fusion on, so there is only one type. burn's macro
//! connects the kernels to it (`backend/primitives.rs`).

// Compile-time and run-time conditions must not be joined, and unrolled loops need an index.
#![allow(clippy::collapsible_if, clippy::needless_range_loop)]

mod above_expectation;
mod above_products;
mod above_recursion;
mod cells;
mod distance_sum;
mod diverged;
mod functions;
mod indicator_sum;
mod launch;
mod members;
mod noise;
mod pair_loss;
mod rank;
mod rank_expectation;
mod rank_window;
mod real;
mod step_sum;
#[cfg(test)]
mod tests;
mod tile;

pub use above_expectation::{above_expectation, above_expectation_gradient};
pub use above_recursion::{above_recursion, above_recursion_gradient};
pub use distance_sum::{distance_sum, distance_sum_gradient};
pub use indicator_sum::{indicator_sum, indicator_sum_gradient};
pub use pair_loss::{pair_loss, pair_loss_gradient};
pub use rank::rank;
pub use rank_expectation::{rank_expectation, rank_expectation_gradient};
pub use step_sum::{step_sum, step_sum_gradient};
