//! The meaning of every primitive, in tensor operations that any burn backend has: its value, and its analytic gradient
//! where it has one. What holds an array of pairs is computed in chunks of rows within the memory budget.
//!
//! Definitions call definitions only, never the primitives of a backend, so that they run on a backend that knows
//! nothing of this crate.

pub mod above_expectation;
pub mod above_recursion;
pub mod array;
pub mod at_rank;
pub mod distance_sum;
pub mod exp2;
pub mod ideal_dcg;
pub mod indicator_sum;
pub mod log2_discount;
pub mod log_softmax;
pub mod neural_sort_sum;
pub mod pair_loss;
pub mod rank;
pub mod rank_expectation;
pub mod rank_recursion;
pub mod rows;
pub mod step_sum;
