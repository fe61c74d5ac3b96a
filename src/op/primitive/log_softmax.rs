//! [`log_softmax`](crate::op::log_softmax()) over the documents of a list.

use super::*;

/// Returns `x_i - log sum_j exp(x_j)` over the documents of each list, or 0 at padding.
///
/// Differentiable in `x`.
///
/// # Shapes
/// - `x`, `mask` and the output have the shape `[batch, documents]`. The mask is 1 for documents and 0 for padding.
///
/// # Panics
/// Panics if the inputs differ in shape or type.
#[track_caller]
pub fn log_softmax(x: Tensor<2>, mask: Tensor<2>) -> Tensor<2> {
    assert_alike("log_softmax", ("x", &x), &[("mask", &mask)]);
    LogSoftmax.run([x, mask.detach()])
}

/// The inputs are the scores and the mask.
#[derive(Clone, Debug)]
pub struct LogSoftmax;

impl Primitive for LogSoftmax {
    const SAVED_FROM: usize = 0;

    fn definition<B: Backend>(&self, inputs: Arrays<B>) -> Arrays<B> {
        let [x, mask] = exactly(inputs);
        let shifted = x.clone() - mask.select_or(x, f64::from(f32::MIN)).detach().largest(1).unsqueeze(1);
        // A list of only padding has the sum 0, so its logarithm must be kept finite.
        let total = (mask.select(shifted.clone()).exp() * mask.clone()).sum(1) + mask.largest(1).equals_zero();
        vec![mask.select(shifted - total.log().unsqueeze(1))]
    }

    /// The gradient with respect to `x` is `g_i - exp(out_i) sum_j g_j`, with the sum over the documents of a list.
    fn definition_gradient<B: Backend>(&self, inputs: Arrays<B>, saved: Arrays<B>, g: Array<B>) -> Arrays<B> {
        let ([_, mask], [out]) = (exactly(inputs), exactly(saved));
        let g = g * mask.clone();
        let sum = g.clone().sum(1).unsqueeze(1);
        vec![g - out.exp() * mask * sum]
    }

    fn cpu<T: Real>(&self, inputs: &[&[T]], n: usize) -> Option<Vec<Vec<T>>> {
        in_single(inputs, |inputs| vec![cpu::log_softmax(inputs[0], inputs[1], n)])
    }

    fn cpu_gradient<T: Real>(&self, inputs: &[&[T]], saved: &[&[T]], g: &[T], n: usize) -> Option<Vec<Vec<T>>> {
        in_single(&[saved[0], inputs[1], g], |inputs| {
            let [out, mask, g] = first(inputs);
            vec![cpu::log_softmax_gradient(out, mask, g, n)]
        })
    }

    #[cfg(feature = "_cube")]
    fn gpu(&self, inputs: &[&CubeTensor]) -> Outputs {
        gpu::log_softmax(first(inputs))
    }

    #[cfg(feature = "_cube")]
    fn gpu_gradient(&self, inputs: &[&CubeTensor], saved: &[&CubeTensor], g: &CubeTensor) -> Outputs {
        gpu::log_softmax_gradient([saved[0], inputs[1]], g)
    }
}
