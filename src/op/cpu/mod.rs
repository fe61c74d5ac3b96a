//! Fused CPU kernels for the value and the analytic gradient of every primitive; none of them stores an array over
//! pairs.
//!
//! For each document `j`, a kernel loops over a contiguous tile of rows `i`. Compilers vectorize this loop for every
//! instruction set. The result of a row depends only on the other documents and their order. Partial sums over rows are
//! added in order. Results are therefore identical bit for bit with any number of threads. Padding is removed before
//! the loops, so it does not change a single bit of the results. As in the tensor definitions, a NaN score makes all
//! results of its list NaN, so that a diverged training run is noticed.
//!
//! | room | what it holds |
//! |---|---|
//! | here | the frames over lists and stripes ([`lists`]), numbers ([`real`]), kernels of one pass over a list |
//! | [`pairs`] | sums over pairs, O(n^2) |
//! | [`ranks`] | SoftRank's expectations over ranks, by its trials |
//! | [`long`] | the same of long lists, O(n log n): boxes, walks and levels |
//!
//! A kernel is compiled for every instruction set of [`Instructions`](crate::execution::Instructions). All instruction
//! sets with a fused multiply-add give the same bits. Logarithms and arc tangents that `real.rs` does not compute by a
//! polynomial come from the system's math library.

// The module calls code for instructions that were detected at run time.
#[allow(unsafe_code)]
mod dispatch;
mod elementwise;
mod lists;
mod log_softmax;
mod long;
mod order;
mod pairs;
mod parameters;
mod ranks;
mod real;

pub use elementwise::*;
pub use log_softmax::*;
#[cfg(test)]
pub use long::box_cases;
#[cfg(feature = "_cube")]
pub use long::levels::DENSITY;
pub use order::*;
pub use pairs::indicator_sum::{indicator_sum, indicator_sum_gradient};
pub use pairs::neural_sort::{neural_sort_sum, neural_sort_sum_gradient};
pub use pairs::pair_derivatives::{PairDerivatives, pair_derivatives};
pub use pairs::pair_loss::{pair_loss, pair_loss_gradient};
#[cfg(feature = "_cube")]
pub use pairs::pair_weight::discount_steps;
pub use pairs::pair_weight::{Distance, PairWeight};
pub use pairs::step_sum::{step_sum, step_sum_gradient};
pub use parameters::*;
pub use ranks::above_expectation::{above_expectation, above_expectation_gradient};
pub use ranks::above_recursion::{above_recursion, above_recursion_gradient};
#[cfg(feature = "_cube")]
pub use real::Coefficients;
pub use real::Real;
