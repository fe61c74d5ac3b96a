//! Counts of the documents ahead, smoothed by a step function of the score difference (approximation-framework, section
//! 4).

use burn::tensor::Tensor;

use super::{
    call::{Call, Tensors},
    cpu::Step,
    path::run,
    shape::assert_alike,
};

/// Returns `out_i = sum_j v_j phi(alpha (x_j - x_i))`. The sum includes the document itself, which adds `v_i / 2`.
///
/// The function is differentiable in `x` and `v`.
///
/// # Shapes
/// - `x`, `v` and the output have the shape `[batch, documents]`. Padded documents must have `v = 0`.
///
/// # Panics
/// Panics if the inputs differ in shape or type.
#[track_caller]
pub fn step_sum(x: Tensor<2>, v: Tensor<2>, alpha: f64, step: Step) -> Tensor<2> {
    assert_alike("step_sum", ("x", &x), &[("v", &v)]);
    let (x, v) = (x.into_dispatch(), v.into_dispatch());
    run(Call::StepSum { x, v, rows: Tensors::None, alpha, step })
}

/// Computes [`step_sum`] only for documents where `counted` is nonzero. Documents where `counted` is 0 receive 1/2. On
/// the CPU, the time is proportional to the number of counted documents.
///
/// The function is differentiable in `x` and `v`.
///
/// # Shapes
/// - `x`, `v`, `counted` and the output have the shape `[batch, documents]`. Padded documents must have `v = 0`.
///
/// # Panics
/// Panics if the inputs differ in shape or type.
#[track_caller]
pub fn counted_step_sum(x: Tensor<2>, v: Tensor<2>, counted: Tensor<2>, alpha: f64, step: Step) -> Tensor<2> {
    assert_alike("counted_step_sum", ("x", &x), &[("v", &v), ("counted", &counted)]);
    let [x, v, counted] = [x, v, counted].map(Tensor::into_dispatch);
    run(Call::StepSum { x, v, rows: Tensors::One(counted), alpha, step })
}
