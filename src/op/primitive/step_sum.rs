//! [`step_sum`](crate::op::step_sum()), a smooth count of the documents ahead.

use super::*;

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
    StepSum { alpha, step }.run([x, v])
}

/// Computes [`step_sum`](fn@step_sum) only for documents where `counted` is nonzero. Documents where `counted` is 0
/// receive 1/2. On the CPU, the time is proportional to the number of counted documents.
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
    StepSum { alpha, step }.run([x, v, counted])
}

/// The inputs are the scores and the values, and optionally the documents whose sums are computed; the others receive
/// 1/2.
#[derive(Clone, Debug)]
pub struct StepSum {
    pub alpha: f64,
    pub step: Step,
}

impl Primitive for StepSum {
    const DIFFERENTIATED: usize = 2;

    fn definition<B: Backend>(&self, mut inputs: Arrays<B>) -> Arrays<B> {
        let counted = inputs.drain(2..).next();
        let [x, v] = exactly(inputs);
        let step = |rows| self.step.value(x.differences(rows) * self.alpha);
        let [sums] = by_rows(&x, |rows| [(step(rows) * v.columns()).sum(2)]);
        vec![match counted {
            Some(counted) => counted.select_or(sums, 0.5),
            None => sums,
        }]
    }

    /// The gradient with respect to `x` at document `k` is `alpha sum_j phi'_kj (v_k g_j - g_k v_j)`, which needs only
    /// the pairs of row `k`.
    fn definition_gradient<B: Backend>(&self, mut inputs: Arrays<B>, _: Arrays<B>, g: Array<B>) -> Arrays<B> {
        inputs.truncate(2);
        let [x, v] = exactly(inputs);
        let to_x = by_rows(&x, |rows| {
            let slope = self.step.slope(x.differences(rows) * self.alpha);
            // Subtract before adding, so the terms of a document with itself and with its ties cancel exactly.
            let exchange = v.rows(rows).column() * g.columns() - g.rows(rows).column() * v.columns();
            [(slope * exchange).sum(2) * self.alpha]
        });
        to_x.into()
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
    fn gpu(&self, inputs: &[&CubeTensor]) -> Outputs {
        gpu::step_sum(first(inputs), inputs.get(2).copied(), self.alpha, self.step)
    }

    #[cfg(feature = "_cube")]
    fn gpu_gradient(&self, inputs: &[&CubeTensor], _: &[&CubeTensor], g: &CubeTensor) -> Outputs {
        gpu::step_sum_gradient(first(inputs), g, self.alpha, self.step)
    }

    /// The gradient `sum_i g_i phi(alpha (x_j - x_i))` is the same sum for negated scores.
    fn transposed<B: Backend>(&self, mut inputs: Arrays<B>, _: Arrays<B>, g: Array<B>) -> Transposed<B> {
        Some((vec![-inputs.swap_remove(0), g], None))
    }

    fn counted<'a, V>(&self, inputs: &'a [V]) -> Option<&'a V> {
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
