//! Kernels for GPUs in CubeCL, one source for CUDA, ROCm, Metal, Vulkan and WebGPU.
//!
//! Values are computed in `f32`. A tensor of another type, and a device that cannot run a kernel, gets `None`, for
//! which the backend takes the tensor definition and its analytic gradient in row chunks; the log says so once. Nothing
//! is stored for a pair, nothing is added atomically: see [`tile`]. Kernels skip rows and columns that change nothing
//! in the result, if they can be many: see [`members`].
//!
//! Long lists are sorted, and sums of smooth functions taken in [`cells`] of the sorted list, in O(n log n). The device
//! says which lists do: see [`cells::choice`].
//!
//! A kernel starts in one frame: [`launch::compute`] asks whether the device can, and marks lists that have diverged,
//! and [`launch::start!`] hands tensors and numbers over. The functions of a pair are in [`functions`], by name.
//!
//! The kernels belong to burn's `CubeBackend`. burn's default features wrap it in kernel fusion, as a type that no
//! crate can ask for; so the GPU features of this crate turn fusion on, there is one type, and burn's macro brings the
//! kernels to it (`backend/primitives.rs`).

// A condition of compile time is not joined with one of run time, and an unrolled loop counts.
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
