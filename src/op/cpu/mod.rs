//! Fused CPU kernels: value and analytic gradient of every primitive without any array of pairs.
//!
//! Every kernel keeps one shape, which compilers vectorise on any instruction set: for each document `j`, one loop over
//! a contiguous tile of rows `i`. Rows depend on their own tile and on the order of the documents only, and partial
//! sums over rows are added in order, so a result has the same bits with any number of threads; padding is dropped
//! before the loops, so it has the same bits with any padding. A score that is NaN makes its whole list NaN, as it
//! does in the tensor definitions, so that a run that has diverged shows it.
//!
//! Sums over all pairs of a long list that are convolutions with a decaying function take O(n log n) instead, in
//! [walks](walk) along the sorted list; sums of other smooth functions do in [boxes] of it. Expectations under exact noise
//! take [levels], lists of any length.
//!
//! A kernel is compiled for every instruction set of [`Instructions`](crate::execution::Instructions), and those with a
//! fused multiply-add give the same bits. Logarithms and arc tangents that are not the polynomials of `real.rs` are
//! those of the system's library.

mod above_boxes;
#[cfg(test)]
mod above_cases;
mod above_expectation;
mod above_levels;
mod above_recursion;
mod at_rank;
mod beats;
#[cfg(test)]
pub(super) mod box_cases;
mod boxes;
mod by_label;
mod choice;
mod columns;
mod convolution;
// Calls code for instructions that were found at run time.
#[allow(unsafe_code)]
mod dispatch;
mod each_list;
mod elementwise;
mod ideal_dcg;
mod indicator_boxes;
mod indicator_sum;
mod levels;
mod list;
mod log_softmax;
mod neural_sort;
mod neural_sort_matrix;
mod noisy_list;
mod order;
mod pair_derivatives;
mod pair_loss;
mod pair_walk;
mod pair_weight;
mod pair_window;
mod parallel;
mod parameters;
mod rank;
mod rank_boxes;
mod rank_expectation;
mod rank_recursion;
mod rank_steps;
mod real;
mod recurrence;
mod recursion_boxes;
mod recursion_levels;
mod score_noise;
mod step_boxes;
mod step_sum;
mod step_walk;
mod sum;
mod tiles;
mod tree;
mod trial;
mod trials;
mod walk;

pub use above_expectation::{Inputs as AboveInputs, above_expectation, above_expectation_gradient};
pub use above_recursion::{above_recursion, above_recursion_gradient};
pub use at_rank::at_rank;
pub use elementwise::{exp2, log2_discount, select};
pub use ideal_dcg::ideal_dcg;
pub use indicator_sum::{Inputs as IndicatorInputs, indicator_sum, indicator_sum_gradient};
#[cfg(feature = "_cube")]
pub use levels::STEP as NOISE_STEP;
pub use log_softmax::{log_softmax, log_softmax_gradient};
pub use neural_sort::{neural_sort_sum, neural_sort_sum_gradient};
pub use pair_derivatives::{PairDerivatives, pair_derivatives};
pub use pair_loss::{pair_loss, pair_loss_gradient};
pub use pair_weight::{Distance, PairWeight};
pub use parameters::{
    Above, AboveExpectation, AboveRecursion, Comparison, ExponentialTerm, NeuralSortMatrix, PairLoss, ScoreNoise, Step,
};
pub use rank::rank;
pub use rank_expectation::{rank_expectation, rank_expectation_gradient};
pub use rank_recursion::{rank_recursion, rank_recursion_gradient};
#[cfg(feature = "_cube")]
pub use real::Coefficients;
pub use real::Real;
#[cfg(feature = "_cube")]
pub use score_noise::RANGE as NOISE_RANGE;
pub use step_sum::{step_sum, step_sum_gradient};
