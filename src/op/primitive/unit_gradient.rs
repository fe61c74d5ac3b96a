//! [`with_unit_gradient`](crate::op::with_unit_gradient()), which replaces the gradient of a list's loss by one of
//! length 1.

use super::*;
use crate::op::cpu::SHORTEST_GRADIENT;

/// Returns the losses, whose gradient with respect to `x` is `gradient` divided by its length, or by 1e-6 if it is
/// shorter.
///
/// # Shapes
/// - `losses` and the output have the shape `[batch]`.
/// - `x`, `gradient` and `mask` have the shape `[batch, documents]`. The mask is 1 for documents and 0 for padding.
///
/// # Panics
/// Panics if the inputs differ in shape or type.
#[track_caller]
pub fn with_unit_gradient(losses: Tensor<1>, x: Tensor<2>, gradient: Tensor<2>, mask: Tensor<2>) -> Tensor<1> {
    assert_alike("with_unit_gradient", ("x", &x), &[("gradient", &gradient), ("mask", &mask)]);
    let losses = losses.detach().unsqueeze_dim::<2>(1);
    UnitGradient.run::<2>([x, gradient.detach(), mask.detach(), losses]).squeeze_dim(1)
}

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
        let [_, gradient, mask] = first(inputs);
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
