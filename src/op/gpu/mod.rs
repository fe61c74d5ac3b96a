//! Kernels for GPUs in CubeCL, one source for CUDA, ROCm, Metal, Vulkan and WebGPU.
//!
//! Values are computed in `f32`. A tensor of another type, and a device that cannot run a kernel, gets `None`, for which
//! the backend takes the tensor definition and its analytic gradient in row chunks; the log says so once. Nothing is
//! stored for a pair, nothing is added atomically: see [`tile`].
//!
//! The kernels are those of burn's `CubeBackend`. burn's default features wrap it in kernel fusion, as a type that no
//! crate can ask for; so our GPU features turn fusion on, there is one type, and `backend/fusion.rs` brings the kernels
//! to it.

mod indicator_sum;
mod launch;
mod pair_loss;
mod rank;
mod rank_expectation;
mod real;
mod step_sum;
mod tile;

pub use indicator_sum::{indicator_sum, indicator_sum_gradient};
pub use pair_loss::{pair_loss, pair_loss_gradient};
pub use rank::rank;
pub use rank_expectation::{rank_expectation, rank_expectation_gradient};
pub use step_sum::{step_sum, step_sum_gradient};
