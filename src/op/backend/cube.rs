//! Implements the primitives on burn's `CubeBackend`. If the device has no kernel for a call or a number type, the
//! tensor definition computes the result.

use burn::backend::tensor::FloatTensor;
use burn_cubecl::CubeBackend;

use super::primitives::Primitives;
use crate::execution::Execution;
use crate::op::call::{Call, Tensors};
use crate::op::{definition, gpu};

/// Returns the outputs of a call, or `None` if the device has no kernel for it.
fn value(call: &Call<CubeBackend>) -> Option<Tensors<CubeBackend>> {
    let out = match call {
        Call::StepSum { x, v, rows, alpha, step } => gpu::step_sum(x, v, rows.first(), *alpha, *step),
        Call::AboveExpectation { x, a, b, mask, expectation } => {
            return match expectation.of_independent_ranks() {
                Some(comparison) => {
                    gpu::rank_expectation(x, a, mask, comparison.rate, &expectation.terms).map(Tensors::new)
                }
                None => gpu::above_expectation(x, a, b, mask, expectation).map(Tensors::One),
            };
        }
        Call::AboveRecursion { x, a, b, mask, values, recursion } => {
            gpu::above_recursion(x, a, b, mask, values, recursion)
        }
        Call::IndicatorSum { x, a, mask, sigma } => return gpu::indicator_sum(x, a, mask, *sigma).map(Tensors::new),
        Call::PairLoss { x, labels, mask, weight, loss } => gpu::pair_loss(x, labels, mask, weight.as_ref(), *loss),
        Call::DistanceSum { x, mask } => gpu::distance_sum(x, mask),
        Call::Rank { x, mask } => gpu::rank(x, mask),
        _ => None,
    };
    out.map(Tensors::One)
}

/// Returns the gradient of a call, or `None` if the device has no kernel for it.
fn gradient(
    call: &Call<CubeBackend>,
    saved: &Tensors<CubeBackend>,
    g: &FloatTensor<CubeBackend>,
) -> Option<Tensors<CubeBackend>> {
    let to_x = match call {
        Call::StepSum { x, v, alpha, step, .. } => gpu::step_sum_gradient(x, v, g, *alpha, *step),
        Call::AboveExpectation { x, a, b, mask, expectation } => match expectation.of_independent_ranks() {
            Some(comparison) => {
                let products = saved.first()?;
                gpu::rank_expectation_gradient(x, a, mask, products, g, comparison.rate, &expectation.terms)
            }
            None => gpu::above_expectation_gradient(x, a, b, mask, g, expectation),
        },
        Call::AboveRecursion { x, a, b, mask, values, recursion } => {
            gpu::above_recursion_gradient(x, a, b, mask, values, g, recursion)
        }
        Call::IndicatorSum { x, a, mask, sigma } => {
            let [out, total] = &saved.clone().into_array();
            gpu::indicator_sum_gradient(x, a, mask, [out, total], g, *sigma)
        }
        Call::PairLoss { x, labels, mask, weight, loss } => {
            gpu::pair_loss_gradient(x, labels, mask, weight.as_ref(), g, *loss)
        }
        Call::DistanceSum { x, mask } => gpu::distance_sum_gradient(x, mask, g),
        _ => None,
    };
    to_x.map(Tensors::One)
}

impl Primitives for CubeBackend {
    fn forward(call: Call<Self>, execution: Execution) -> Tensors<Self> {
        execution.scope(|| value(&call).unwrap_or_else(|| definition::forward(call)))
    }

    fn backward(
        call: Call<Self>,
        saved: Tensors<Self>,
        gradient: FloatTensor<Self>,
        execution: Execution,
    ) -> Tensors<Self> {
        execution.scope(|| {
            self::gradient(&call, &saved, &gradient).unwrap_or_else(|| definition::backward(call, saved, gradient))
        })
    }
}
