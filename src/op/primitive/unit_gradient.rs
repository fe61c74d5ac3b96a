//! [`with_unit_gradient`](crate::op::with_unit_gradient()), which replaces the gradient of a list's loss by one of
//! length 1.

use burn::backend::Backend;

use super::{Arrays, Primitive, array::Array, exactly};
use crate::op::cpu::Real;
#[cfg(feature = "_cube")]
use crate::op::gpu::{self, CubeTensor, Outputs};

/// The shortest gradient that is scaled to length 1. A shorter gradient is divided by this length instead of by its own
/// length.
pub const SHORTEST_GRADIENT: f64 = 1e-6;

/// The inputs are the scores, the gradient of each list's loss, the mask, and the losses, `[batch, 1]`. The output
/// holds the losses, `[batch, 1]`.
#[derive(Clone, Debug)]
pub struct UnitGradient;

impl Primitive for UnitGradient {
    /// Adds to the losses what is 0 but has the direction as its derivative.
    fn definition<B: Backend>(&self, inputs: Arrays<B>) -> Arrays<B> {
        let [x, gradient, mask, losses] = exactly(inputs);
        let moved = x.clone() - x.detach();
        vec![losses + (moved * direction(gradient, mask)).sum(1).unsqueeze(1)]
    }

    fn definition_gradient<B: Backend>(&self, inputs: Arrays<B>, _: Arrays<B>, g: Array<B>) -> Arrays<B> {
        let [_, gradient, mask, _] = exactly(inputs);
        vec![g * direction(gradient, mask)]
    }

    fn cpu<T: Real>(&self, inputs: &[&[T]], _: usize) -> Option<Vec<Vec<T>>> {
        Some(vec![inputs[3].to_vec()])
    }

    #[cfg(feature = "_cube")]
    fn gpu(&self, inputs: &[&CubeTensor]) -> Outputs {
        Some(vec![inputs[3].clone()])
    }

    #[cfg(feature = "_cube")]
    fn gpu_gradient(&self, inputs: &[&CubeTensor], _: &[&CubeTensor], g: &CubeTensor) -> Outputs {
        let [_, gradient, mask] = super::first(inputs);
        gpu::unit_gradient([gradient, mask], g)
    }

    fn shapes(&self, [batch, _]: [usize; 2]) -> Vec<Vec<usize>> {
        vec![vec![batch, 1]]
    }
}

/// Divides the gradient of each list by its length, or by 1e-6 if the length is smaller.
fn direction<B: Backend>(gradient: Array<B>, mask: Array<B>) -> Array<B> {
    // Gradients are divided by the largest first, so no square overflows.
    let largest = gradient.clone().abs().largest(1).unsqueeze(1);
    let largest = largest.select_or(largest.clone(), 1.0);
    let shares = gradient / largest.clone();
    let length = shares.clone().square().sum(1).unsqueeze(1).sqrt();
    shares / length.max(largest.recip() * SHORTEST_GRADIENT) * mask
}
