//! GPU kernels, written once in CubeCL for CUDA, ROCm, Metal, Vulkan and WebGPU.
//!
//! All values are computed in `f32`. Each function returns `None` if the tensor has another type or the device cannot
//! run the kernel. The backend then computes the tensor definition in chunks of rows, and the log reports this once. No
//! kernel stores an array over pairs or adds numbers atomically (see [`tile`]). Kernels skip rows and columns that
//! cannot change the result, if there may be many of them (see [`members`]).
//!
//! All kernels are launched in the same way. [`launch::compute`] checks that the device can run the kernel. It also
//! sets the results of a list to NaN if one of its scores is not finite. [`launch::start!`] passes the tensors and
//! numbers. Functions of score differences are types.
//!
//! The kernels are implemented for burn's `CubeBackend`. By default, burn wraps this backend in kernel fusion, and a
//! crate cannot find out whether it does. The GPU features of this crate therefore always turn fusion on. A macro of
//! burn connects the kernels to the fused backend (`backend/mod.rs`).

// Compile-time and run-time conditions must not be joined, and unrolled loops need an index.
#![allow(clippy::collapsible_if, clippy::needless_range_loop)]

mod above_expectation;
mod above_recursion;
mod indicator_sum;
mod launch;
mod list;
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

// Imports for the kernels, which take them with `use super::*`.
use burn::backend::{TensorMetadata, ops::FloatTensorOps};
use burn_cubecl::cubecl::{self, prelude::*};
use launch::{Batch, Cubes, Part, compute, product, run, start, sum};
use members::{Row, Rule, collect_columns, order, row, send};
use noise::{Comparison, Kind, comparison, comparisons, numbers};
use real::{difference_of_products, exponential, is_counted, is_finite, probability, sigmoid};
use tile::{Place, ROWS, SLICES, STRIDE, UNITS, in_tile, place, place_in_part, sum_of_row};

use super::cpu::{Above, AboveExpectation, AboveRecursion, ExponentialTerm, Real};

pub use above_expectation::{above_expectation, above_expectation_gradient};
pub use above_recursion::{above_recursion, above_recursion_gradient};
pub use burn_cubecl::tensor::CubeTensor;
pub use indicator_sum::{indicator_sum, indicator_sum_gradient};
pub use launch::Outputs;
pub use list::*;
pub use pair_loss::{pair_loss, pair_loss_gradient};
pub use rank::rank;
pub use rank_expectation::{rank_expectation, rank_expectation_gradient};
pub use step_sum::{step_sum, step_sum_gradient};
