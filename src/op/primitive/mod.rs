//! The primitives, one file each: the functions that losses call, parameters, the tensor definition with its gradient,
//! and the kernels that compute the same on CPUs and GPUs. [`Primitive`](interface::Primitive) says what a primitive
//! is.
//!
//! | function | value for document i |
//! |---|---|
//! | [`step_sum`](functions::step_sum) | `sum_j v_j phi(alpha (x_j - x_i))` |
//! | [`counted_step_sum`](functions::counted_step_sum) | the same of some documents, 1/2 of the others |
//! | [`above_expectation`](functions::above_expectation) | `a_i E[D(R_i) A_i]`, `A_i` a sum or a product over the documents above `i` in SoftRank, or 1 |
//! | [`above_recursion`](functions::above_recursion) | the same for any function of the first ranks, another for each list |
//! | [`indicator_sum`](functions::indicator_sum) | `sum_j a_j softmax_j(-(x_j - x_i)^2 / sigma)` |
//! | [`neural_sort_sum`](functions::neural_sort_sum) | for rank r: `sum_j P_rj v_j`, `P` NeuralSort's matrix, scaled by Sinkhorn or not |
//! | [`pair_loss`](functions::pair_loss) | `sum_j w_ij l(x_i - x_j)` |
//! | [`rank`](functions::rank) | `1 + #{j ahead of i}`, by comparison, no gradient |
//! | [`at_rank`](functions::at_rank) | `table[rank_i - 1]`, no gradient |
//! | [`log_softmax`](functions::log_softmax) | `x_i - log sum_j exp(x_j)` |
//! | [`centered`](functions::centered), [`in_spreads`](functions::in_spreads) | `x_i - c`, `(x_i - c) / spread`, with the score `c` that is nearest to 0 |
//! | [`with_unit_gradient`](functions::with_unit_gradient) | the losses, with a given gradient that is divided by its length |
//! | [`log2_discount`](functions::log2_discount) | `1 / log2(1 + p_i)` |
//! | [`exp2`](functions::exp2) | `2^x_i`, no gradient |
//! | [`ideal_dcg`](functions::ideal_dcg) | one value per list: the largest sum of gains times discounts, no gradient |
//!
//! Inputs of a function are two-dimensional, `[batch, documents]`, and finite even at padding. All inputs of a call
//! must have the same shape. If the shapes differ, the call panics before it computes anything, and its message names
//! both shapes.
//!
//! A definition uses tensor operations that every backend of burn supports. Arrays over pairs are computed in chunks of
//! rows within the memory budget. A definition may call other definitions but no primitive of a backend, so it also
//! runs on backends without kernels.

pub mod above_expectation;
pub mod above_recursion;
pub mod array;
pub mod centered;
pub mod elementwise;
pub mod indicator_sum;
pub mod interface;
pub mod log_softmax;
pub mod neural_sort_sum;
pub mod pair_loss;
pub mod rank;
pub mod step_sum;
pub mod unit_gradient;

// Imports for the primitives, which take them with `use super::*`.
use array::{Array, Rows, by_rows, chunks_of, in_chunks};
use burn::backend::Backend;
use burn::tensor::Tensor;
use interface::{Arrays, Primitive, Run, Transposed, exactly, first, in_single};

use super::cpu::{
    self, Above, AboveExpectation, AboveRecursion, Comparison, Distance, Divisor, ExponentialTerm, NeuralSortMatrix,
    PairLoss, Real, ScoreNoise, Step,
};
#[cfg(feature = "_cube")]
use super::gpu::{self, CubeTensor, Outputs};
use crate::shape::{assert_alike, assert_entry_per_rank, assert_type};

/// The functions of all primitives.
pub mod functions {
    pub use super::above_expectation::above_expectation;
    pub use super::above_recursion::above_recursion;
    pub use super::centered::{centered, in_spreads};
    pub use super::elementwise::{at_rank, exp2, log2_discount};
    pub use super::indicator_sum::indicator_sum;
    pub use super::log_softmax::log_softmax;
    pub use super::neural_sort_sum::neural_sort_sum;
    pub use super::pair_loss::{PairWeight, pair_loss};
    pub use super::rank::{ideal_dcg, rank};
    pub use super::step_sum::{counted_step_sum, step_sum};
    pub use super::unit_gradient::with_unit_gradient;
}

/// Declares [`Operation`], and `each!`, which runs an expression on the primitive that an operation holds.
macro_rules! operations {
    ($d:tt $($module:ident::$primitive:ident),* $(,)?) => {
        /// One of the primitives.
        #[derive(Clone, Debug)]
        pub enum Operation {
            $($primitive($module::$primitive),)*
        }

        /// The names of all primitives.
        #[cfg(test)]
        pub const PRIMITIVES: &[&str] = &[$(stringify!($primitive)),*];

        $(impl From<$module::$primitive> for Operation {
            fn from(primitive: $module::$primitive) -> Self {
                Self::$primitive(primitive)
            }
        })*

        macro_rules! each {
            ($d operation:expr, $d primitive:ident => $d run:expr) => {
                match $d operation {
                    $($crate::op::primitive::Operation::$primitive($d primitive) => $d run,)*
                }
            };
        }
    };
}

operations!($
    cpu::AboveExpectation,
    cpu::AboveRecursion,
    centered::Centered,
    elementwise::AtRank,
    elementwise::Exp2,
    elementwise::Log2Discount,
    elementwise::Select,
    indicator_sum::IndicatorSum,
    log_softmax::LogSoftmax,
    cpu::NeuralSortMatrix,
    pair_loss::PairSum,
    rank::IdealDcg,
    rank::Rank,
    step_sum::StepSum,
    unit_gradient::UnitGradient,
);
pub(super) use each;
