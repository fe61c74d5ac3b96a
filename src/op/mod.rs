//! The primitives: sums over one list, of which nearly every loss is a short composition. Most of the time goes into
//! those over pairs; once these are fast, a backend's own operations would be the slowest part, hence the others.
//!
//! | primitive | value for document i |
//! |---|---|
//! | [`step_sum`] | `sum_j v_j phi(alpha (x_j - x_i))` |
//! | [`rank_expectation`] | `sum_m c_m prod_{j != i} (1 + pi_ji (z_m - 1))`, `pi_ji` the probability that `j` beats `i` |
//! | [`rank_recursion`] | `sum_r D_r p_i(r)`, `p_i` the distribution of the rank of `i` in SoftRank |
//! | [`indicator_sum`] | `sum_j a_j softmax_j(-(x_j - x_i)^2 / sigma)` |
//! | [`pair_loss`] | `sum_j w_ij l(x_i - x_j)` |
//! | [`rank`] | `1 + #{j ahead of i}`, by comparison, no gradient |
//! | [`at_rank`] | `table[rank_i - 1]`, no gradient |
//! | [`log_softmax`] | `x_i - log sum_j exp(x_j)` |
//! | [`log2_discount`] | `1 / log2(1 + p_i)` |
//! | [`exp2`] | `2^x_i`, no gradient |
//! | [`ideal_dcg`] | one value a list: the largest sum of gains times discounts, no gradient |
//!
//! Inputs are clean (finite at padded places) and 2-D, `[batch, documents]`.
//!
//! Some losses do their main work with the backend's own operations. `neural_ndcg`, `smooth_rr` in its general form and
//! [`sum_with_none_above`](crate::loss::MeasureContext::sum_with_none_above) hold tensors over pairs, `[B, N, N]`,
//! outside the memory budget; `list_mle` takes suffix sums over `[B, N]`.

mod array;
mod at_rank;
mod autodiff;
mod backend;
#[cfg(feature = "_cube")]
mod cube;
mod execution;
mod exp2;
// Unit tests run on Flex, whatever the features.
#[cfg(any(feature = "flex", test))]
mod flex;
mod ideal_dcg;
mod indicator_sum;
#[cfg(any(feature = "flex", feature = "_cube", test))]
#[cfg_attr(not(any(feature = "flex", test)), allow(dead_code, unused_imports))]
mod kernel;
mod log2_discount;
mod log_softmax;
mod pair_loss;
mod rank;
mod rank_expectation;
mod rank_recursion;
mod step_sum;

pub use at_rank::at_rank;
pub use execution::{memory_budget, set_memory_budget, with_tensor_path};
pub use exp2::exp2;
pub use ideal_dcg::ideal_dcg;
pub use indicator_sum::indicator_sum;
pub use log_softmax::log_softmax;
pub use log2_discount::log2_discount;
pub use pair_loss::{PairLoss, PairWeight, pair_loss};
pub use rank::rank;
pub use rank_expectation::{ExponentialTerm, rank_expectation};
pub use rank_recursion::rank_recursion;
pub use step_sum::{Step, step_sum};

use burn::tensor::Tensor;

/// `x_j - x_i` for every ordered pair: `[B, N]` to `[B, N (i), N (j)]`.
pub(crate) fn differences(x: &Tensor<2>) -> Tensor<3> {
    let columns: Tensor<3> = x.clone().unsqueeze_dim(1);
    let rows: Tensor<3> = x.clone().unsqueeze_dim(2);
    columns - rows
}
