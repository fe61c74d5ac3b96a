//! The tensor definition of [`step_sum`](crate::op::step_sum()) and its gradient.

use burn::backend::{Backend, tensor::FloatTensor};

use super::{array::Array, rows::by_rows};
use crate::op::cpu::Step;

impl Step {
    /// Returns the step, `phi(t)`.
    fn value<B: Backend>(self, t: Array<B>) -> Array<B> {
        match self {
            Step::Logistic => t.sigmoid(),
            // This is (1 + tanh t) / 2 without the cancellation at t << 0.
            Step::Tanh => (t * 2.0).sigmoid(),
            Step::Erf => (t.erf() + 1.0) * 0.5,
            Step::Arctan => t.atan() / std::f64::consts::PI + 0.5,
            Step::Laplace => {
                let below = (-t.clone()).above(0.0);
                // The absolute value would have the derivative 0 at 0.
                let distance = t * (-below.clone() * 2.0 + 1.0);
                let small = (-distance).exp() * 0.5;
                small.clone() * below.clone() + (-small + 1.0) * (-below + 1.0)
            }
        }
    }

    /// Returns the slope `phi'(t)`, which is the same at `t` and `-t`.
    fn slope<B: Backend>(self, t: Array<B>) -> Array<B> {
        match self {
            Step::Logistic => t.clone().sigmoid() * (-t).sigmoid(),
            Step::Tanh => Step::Logistic.slope(t * 2.0) * 2.0,
            Step::Erf => (-t.square()).exp() * (0.5 * std::f64::consts::FRAC_2_SQRT_PI),
            Step::Arctan => (t.square() + 1.0).recip() / std::f64::consts::PI,
            Step::Laplace => (-t.abs()).exp() * 0.5,
        }
    }
}

/// The tensor definition.
pub fn value<B: Backend>(x: FloatTensor<B>, v: FloatTensor<B>, alpha: f64, step: Step) -> FloatTensor<B> {
    let (x, v) = (Array::<B>(x), Array::<B>(v));
    let [out] = by_rows(&x, |rows| [(step.value(x.differences(rows) * alpha) * v.columns()).sum(2)]);
    out.0
}

/// Returns the gradient with respect to `x`. The gradient at document `k` is `alpha sum_j phi'_kj (v_k g_j - g_k v_j)`,
/// which needs only the pairs of row `k`.
pub fn gradient<B: Backend>(
    x: FloatTensor<B>,
    v: FloatTensor<B>,
    gradient: FloatTensor<B>,
    alpha: f64,
    step: Step,
) -> FloatTensor<B> {
    let (x, v, g) = (Array::<B>(x), Array::<B>(v), Array::<B>(gradient));
    let [to_x] = by_rows(&x, |rows| {
        let slope = step.slope(x.differences(rows) * alpha);
        // Subtract before adding, so the terms of a document with itself and with its ties cancel exactly.
        let exchange = v.rows(rows).column() * g.columns() - g.rows(rows).column() * v.columns();
        [(slope * exchange).sum(2) * alpha]
    });
    to_x.0
}
