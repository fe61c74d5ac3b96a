//! `step_sum`: smoothed counts of the documents ahead (approximation-framework, section 4).

use burn::{
    backend::{Backend, Dispatch, tensor::FloatTensor},
    tensor::Tensor,
};
use serde::{Deserialize, Serialize};

use super::{
    array::{Array, by_rows},
    backend::Pairwise,
    execution::uses_tensor_path,
    shape::assert_same,
};

/// A smooth step `phi`, rising from 0 to 1 with `phi(0) = 1/2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// `1 / (1 + exp(-t))`
    #[default]
    Logistic,
    /// `(1 + tanh t) / 2`
    Tanh,
    /// `(1 + erf t) / 2`
    Erf,
    /// `1/2 + arctan(t) / pi`
    Arctan,
}

impl Step {
    /// `phi(t)`
    fn value<B: Backend>(self, t: Array<B>) -> Array<B> {
        match self {
            Step::Logistic => t.sigmoid(),
            // (1 + tanh t) / 2 without the cancellation at t << 0.
            Step::Tanh => (t * 2.0).sigmoid(),
            Step::Erf => (t.erf() + 1.0) * 0.5,
            Step::Arctan => t.atan() / std::f64::consts::PI + 0.5,
        }
    }

    /// `phi'(t)`, an even function.
    fn slope<B: Backend>(self, t: Array<B>) -> Array<B> {
        match self {
            Step::Logistic => t.clone().sigmoid() * (-t).sigmoid(),
            Step::Tanh => Step::Logistic.slope(t * 2.0) * 2.0,
            Step::Erf => (-t.square()).exp() * (0.5 * std::f64::consts::FRAC_2_SQRT_PI),
            Step::Arctan => (t.square() + 1.0).recip() / std::f64::consts::PI,
        }
    }
}

/// `out_i = sum_j v_j phi(alpha (x_j - x_i))`, the term `j = i` (`v_i / 2`) included.
///
/// Differentiable in `x` and `v`.
///
/// # Shapes
/// - `x`, `v`, output: `[batch, documents]`; give padded documents `v = 0`.
///
/// # Panics
/// Inputs of different shapes.
#[track_caller]
pub fn step_sum(x: Tensor<2>, v: Tensor<2>, alpha: f64, step: Step) -> Tensor<2> {
    assert_same("step_sum", ("x", &x), &[("v", &v)]);
    let (x, v) = (x.into_dispatch(), v.into_dispatch());
    Tensor::from_dispatch(if uses_tensor_path() {
        definition::<Dispatch>(x, v, alpha, step)
    } else {
        Dispatch::step_sum(x, v, alpha, step)
    })
}

/// The tensor definition.
pub(super) fn definition<B: Backend>(x: FloatTensor<B>, v: FloatTensor<B>, alpha: f64, step: Step) -> FloatTensor<B> {
    let (x, v) = (Array::<B>(x), Array::<B>(v));
    let [out] = by_rows(&x, |rows| [(step.value(x.differences(rows) * alpha) * v.columns()).sum(2)]);
    out.0
}

/// Gradient with respect to `x`; row `k` needs only the pairs of row `k`: `alpha sum_j phi'_kj (v_k g_j - g_k v_j)`.
pub(super) fn gradient<B: Backend>(
    x: FloatTensor<B>,
    v: FloatTensor<B>,
    gradient: FloatTensor<B>,
    alpha: f64,
    step: Step,
) -> FloatTensor<B> {
    let (x, v, g) = (Array::<B>(x), Array::<B>(v), Array::<B>(gradient));
    let [to_x] = by_rows(&x, |rows| {
        let slope = step.slope(x.differences(rows) * alpha);
        // Differences before sums: the terms of a document with itself and with its ties cancel exactly.
        let exchange = v.rows(rows).column() * g.columns() - g.rows(rows).column() * v.columns();
        [(slope * exchange).sum(2) * alpha]
    });
    to_x.0
}

/// Gradient with respect to `v`: `sum_i g_i phi(alpha (x_j - x_i))`, the same sum over the reversed order.
pub(super) fn gradient_in_values<B: Pairwise>(
    x: FloatTensor<B>,
    gradient: FloatTensor<B>,
    alpha: f64,
    step: Step,
) -> FloatTensor<B> {
    B::step_sum(B::float_neg(x), gradient, alpha, step)
}
