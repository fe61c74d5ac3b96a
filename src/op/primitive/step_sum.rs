//! [`step_sum`](crate::op::step_sum()), a smooth count of the documents ahead.

use burn::backend::{Backend, tensor::FloatTensor};
#[cfg(feature = "_cube")]
use burn_cubecl::tensor::CubeTensor;

use super::{Floats, Primitive, Transposed, array::Array, exactly, first, rows::by_rows};
use crate::op::cpu::{self, Real, Step};
#[cfg(feature = "_cube")]
use crate::op::gpu;

/// The inputs are the scores and the values, and optionally the documents whose sums are computed; the others receive
/// 1/2.
#[derive(Clone, Debug)]
pub struct StepSum {
    pub alpha: f64,
    pub step: Step,
}

impl Primitive for StepSum {
    const DIFFERENTIATED: usize = 2;

    fn definition<B: Backend>(&self, mut inputs: Floats<B>) -> Floats<B> {
        let rows = inputs.drain(2..).next();
        let [x, v] = exactly(inputs);
        let sums = value::<B>(x, v, self.alpha, self.step);
        vec![match rows {
            Some(rows) => Array::<B>(rows).select_or(Array(sums), 0.5).0,
            None => sums,
        }]
    }

    fn definition_gradient<B: Backend>(&self, mut inputs: Floats<B>, _: Floats<B>, g: FloatTensor<B>) -> Floats<B> {
        inputs.truncate(2);
        let [x, v] = exactly(inputs);
        vec![gradient::<B>(x, v, g, self.alpha, self.step)]
    }

    fn cpu<T: Real>(&self, inputs: &[&[T]], n: usize) -> Option<Vec<Vec<T>>> {
        let [x, v] = first(inputs);
        Some(vec![cpu::step_sum(x, v, inputs.get(2).copied(), n, self.alpha, self.step)])
    }

    fn cpu_gradient<T: Real>(&self, inputs: &[&[T]], _: &[&[T]], g: &[T], n: usize) -> Option<Vec<Vec<T>>> {
        let [x, v] = first(inputs);
        Some(vec![cpu::step_sum_gradient(x, v, g, n, self.alpha, self.step)])
    }

    #[cfg(feature = "_cube")]
    fn gpu(&self, inputs: &[&CubeTensor]) -> Option<Vec<CubeTensor>> {
        let [x, v] = first(inputs);
        Some(vec![gpu::step_sum(x, v, inputs.get(2).copied(), self.alpha, self.step)?])
    }

    #[cfg(feature = "_cube")]
    fn gpu_gradient(&self, inputs: &[&CubeTensor], _: &[&CubeTensor], g: &CubeTensor) -> Option<CubeTensor> {
        let [x, v] = first(inputs);
        gpu::step_sum_gradient(x, v, g, self.alpha, self.step)
    }

    /// The gradient `sum_i g_i phi(alpha (x_j - x_i))` is the same sum for negated scores.
    fn transposed<B: Backend>(
        &self,
        inputs: &[FloatTensor<B>],
        _: &[FloatTensor<B>],
        gradient: &FloatTensor<B>,
    ) -> Option<Transposed<B>> {
        Some((vec![B::float_neg(inputs[0].clone()), gradient.clone()], None))
    }

    fn rows<'a, V>(&self, inputs: &'a [V]) -> Option<&'a V> {
        inputs.get(2)
    }
}

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
