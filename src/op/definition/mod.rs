//! The definition of every primitive, in tensor operations that every backend of burn supports. A definition computes
//! the value and, for differentiable primitives, the analytic gradient. Arrays over pairs are computed in chunks of
//! rows within the memory budget.
//!
//! A definition may call other definitions but no primitive of a backend, so it also runs on backends without
//! [`Primitives`](super::backend).

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
pub mod rows;
pub mod step_sum;
mod trials;

use burn::backend::{Backend, tensor::FloatTensor};

use self::array::Array;
use crate::op::call::{Call, Tensors};

/// Returns `out` with `fill` at the documents where `rows` is 0. Without `rows`, `out` is unchanged.
fn asked<B: Backend>(out: FloatTensor<B>, rows: &Tensors<B>, fill: f64) -> FloatTensor<B> {
    match rows.first() {
        Some(rows) => Array::<B>(rows.clone()).select_or(Array(out), fill).0,
        None => out,
    }
}

/// Returns the outputs of a call.
pub fn forward<B: Backend>(call: Call<B>) -> Tensors<B> {
    Tensors::One(match call {
        Call::StepSum { x, v, rows, alpha, step } => asked::<B>(step_sum::value::<B>(x, v, alpha, step), &rows, 0.5),
        Call::AboveExpectation { x, a, b, mask, expectation } => {
            return match expectation.of_independent_ranks() {
                Some(comparison) => {
                    let [out, products] = above_expectation::of_ranks::<B>(x, a, mask, comparison, &expectation.terms);
                    Tensors::Two(out, products)
                }
                None => Tensors::One(above_expectation::value::<B>(x, a, b, mask, &expectation)),
            };
        }
        Call::AboveRecursion { x, a, b, mask, values, recursion } => {
            above_recursion::value::<B>(x, a, b, mask, values, &recursion)
        }
        Call::IndicatorSum { x, a, mask, sigma } => {
            let (out, total) = indicator_sum::value::<B>(x, a, mask, sigma);
            return Tensors::Two(out, total);
        }
        Call::PairLoss { x, labels, mask, weight, loss } => {
            pair_loss::value::<B>(x, labels, mask, weight.as_ref().map(Clone::clone), loss)
        }
        Call::DistanceSum { x, mask } => distance_sum::value::<B>(x, mask),
        Call::NeuralSortSum { x, v, mask, sort } => neural_sort_sum::value::<B>(x, v, mask, &sort),
        Call::Rank { x, mask } => rank::value::<B>(x, mask),
        Call::AtRank { x, table } => at_rank::value::<B>(x, table),
        Call::Exp2 { x } => exp2::value::<B>(x),
        Call::Log2Discount { x } => log2_discount::value::<B>(x),
        Call::LogSoftmax { x, mask } => log_softmax::value::<B>(x, mask),
        Call::IdealDcg { x, mask, discounts } => ideal_dcg::value::<B>(x, mask, discounts),
        Call::Select { x, rows } => asked::<B>(x, &Tensors::One(rows), 0.0),
    })
}

/// Returns the gradient with respect to the first input, or with respect to both inputs for NeuralSort. `gradient` must
/// be 0 at documents whose sum is not computed ([`Call::rows`]). `saved` holds the outputs of the forward pass that
/// [`Call::saved`] selects.
pub fn backward<B: Backend>(call: Call<B>, saved: Tensors<B>, gradient: FloatTensor<B>) -> Tensors<B> {
    Tensors::One(match call {
        Call::StepSum { x, v, alpha, step, .. } => step_sum::gradient::<B>(x, v, gradient, alpha, step),
        Call::AboveExpectation { x, a, b, mask, expectation } => {
            above_expectation::gradient::<B>(x, a, b, mask, gradient, &expectation)
        }
        Call::AboveRecursion { x, a, b, mask, values, recursion } => {
            above_recursion::gradient::<B>(x, a, b, mask, values, gradient, &recursion)
        }
        Call::IndicatorSum { x, a, mask, sigma } => {
            let [out, total] = saved.into_array();
            indicator_sum::gradient::<B>(x, a, mask, indicator_sum::Forward { out, total }, gradient, sigma)
        }
        Call::PairLoss { x, labels, mask, weight, loss } => {
            pair_loss::gradient::<B>(x, labels, mask, weight.as_ref().map(Clone::clone), gradient, loss)
        }
        Call::DistanceSum { x, mask } => distance_sum::gradient::<B>(x, mask, gradient),
        Call::NeuralSortSum { x, v, mask, sort } => {
            let (to_x, to_v) = neural_sort_sum::gradient::<B>(x, v, mask, gradient, &sort);
            return Tensors::Two(to_x, to_v);
        }
        Call::Log2Discount { x } => {
            let [out] = saved.into_array();
            log2_discount::gradient::<B>(x, out, gradient)
        }
        Call::LogSoftmax { mask, .. } => {
            let [out] = saved.into_array();
            log_softmax::gradient::<B>(out, mask, gradient)
        }
        without @ (Call::Rank { .. }
        | Call::AtRank { .. }
        | Call::Exp2 { .. }
        | Call::IdealDcg { .. }
        | Call::Select { .. }) => unreachable!("{without:?} has no gradient"),
    })
}
