//! `step_sum`: smoothed counts of the documents ahead (approximation-framework, section 4).

use burn::tensor::Tensor;

use super::{
    call::{Call, Tensors},
    cpu::Step,
    path::run,
    shape::assert_alike,
};

/// `out_i = sum_j v_j phi(alpha (x_j - x_i))`, the term `j = i` (`v_i / 2`) included.
///
/// Differentiable in `x` and `v`.
///
/// # Shapes
/// - `x`, `v`, output: `[batch, documents]`; give padded documents `v = 0`.
///
/// # Panics
/// Inputs of different shapes or types.
#[track_caller]
pub fn step_sum(x: Tensor<2>, v: Tensor<2>, alpha: f64, step: Step) -> Tensor<2> {
    assert_alike("step_sum", ("x", &x), &[("v", &v)]);
    let (x, v) = (x.into_dispatch(), v.into_dispatch());
    run(Call::StepSum { x, v, rows: Tensors::None, alpha, step })
}

/// [`step_sum`] of the documents with `counted` other than 0; 1/2, the step at 0, in place of the others. Where few count,
/// it is that much faster on the CPU.
///
/// Differentiable in `x` and `v`.
///
/// # Shapes
/// - `x`, `v`, `counted`, output: `[batch, documents]`; give padded documents `v = 0`.
///
/// # Panics
/// Inputs of different shapes or types.
#[track_caller]
pub fn counted_step_sum(x: Tensor<2>, v: Tensor<2>, counted: Tensor<2>, alpha: f64, step: Step) -> Tensor<2> {
    assert_alike("counted_step_sum", ("x", &x), &[("v", &v), ("counted", &counted)]);
    let [x, v, counted] = [x, v, counted].map(Tensor::into_dispatch);
    run(Call::StepSum { x, v, rows: Tensors::One(counted), alpha, step })
}
