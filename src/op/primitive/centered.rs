//! [`centered`](crate::op::centered()), the scores of a list without a common offset, and
//! [`in_spreads`](crate::op::in_spreads()), which also divides them by their spread.

use super::*;
use crate::execution::with_tensor_path;
use crate::op::cpu::{EQUAL, FLOOR, SHORT};

/// For each list, subtracts the score nearest to 0 from all scores. Padded places become 0.
///
/// Differentiable in `x`.
///
/// # Shapes
/// - `x`, `mask` and the output have the shape `[batch, documents]`. The mask is 1 for documents and 0 for padding.
///
/// # Panics
/// Panics if the inputs differ in shape or type.
#[track_caller]
pub fn centered(x: Tensor<2>, mask: Tensor<2>) -> Tensor<2> {
    assert_alike("centered", ("x", &x), &[("mask", &mask)]);
    Centered { divisor: Divisor::One }.run([x, mask.detach()])
}

/// Divides [`centered`](fn@centered) scores by the spread of their list, and by `max(8 / n, 1)^power` if the list has
/// `n` documents. The spread is the standard deviation, but at least 0.3, or 1 if the scores are equal.
///
/// Differentiable in `x`. No gradient passes through the spread, unless `is_differentiated`.
///
/// # Shapes
/// - `x`, `mask` and the output have the shape `[batch, documents]`. The mask is 1 for documents and 0 for padding.
///
/// # Panics
/// Panics if the inputs differ in shape or type.
#[track_caller]
pub fn in_spreads(x: Tensor<2>, mask: Tensor<2>, power: u32, is_differentiated: bool) -> Tensor<2> {
    assert_alike("in_spreads", ("x", &x), &[("mask", &mask)]);
    let centered = Centered { divisor: Divisor::Spread { power, is_differentiated } };
    let inputs = [x, mask.detach()];
    // The gradient of the primitive does not pass through the spread.
    if is_differentiated { with_tensor_path(|| centered.run(inputs)) } else { centered.run(inputs) }
}

/// The inputs are the scores and the mask. With a spread, a second output holds the divisor of each list, `[batch, 1]`.
#[derive(Clone, Debug)]
pub struct Centered {
    pub divisor: Divisor,
}

impl Primitive for Centered {
    fn definition<B: Backend>(&self, inputs: Arrays<B>) -> Arrays<B> {
        let [x, mask] = exactly(inputs);
        let centered = mask.select(x.clone() - x.nearest_to_zero(&mask));
        let Divisor::Spread { power, is_differentiated } = self.divisor else {
            return vec![centered];
        };
        let count = mask.clone().sum(1);
        let count = count.select_or(count.clone(), 1.0).unsqueeze(1);
        let seen = if is_differentiated { centered.clone() } else { centered.clone().detach() };
        let divisor = spread(seen, mask, count.clone());
        let divisor = if power == 0 { divisor } else { divisor * of_short_list(count, power) };
        vec![centered / divisor.clone(), divisor]
    }

    fn definition_gradient<B: Backend>(&self, inputs: Arrays<B>, saved: Arrays<B>, g: Array<B>) -> Arrays<B> {
        let [_, mask] = exactly(inputs);
        let divided = saved.into_iter().fold(g, |g, divisor| g * divisor.recip());
        vec![mask.select(divided)]
    }

    #[cfg(feature = "_cube")]
    fn gpu(&self, inputs: &[&CubeTensor]) -> Outputs {
        gpu::centered(first(inputs), self.divisor)
    }

    #[cfg(feature = "_cube")]
    fn gpu_gradient(&self, inputs: &[&CubeTensor], saved: &[&CubeTensor], g: &CubeTensor) -> Outputs {
        gpu::centered_gradient(inputs[1], saved.first().copied(), g)
    }

    fn shapes(&self, [batch, documents]: [usize; 2]) -> Vec<Vec<usize>> {
        let shapes = vec![vec![batch, documents], vec![batch, 1]];
        shapes.into_iter().take(if self.divisor == Divisor::One { 1 } else { 2 }).collect()
    }
}

/// Returns the spread of the scores in each list, `[B, 1]`, given the centered scores and the numbers of documents.
fn spread<B: Backend>(centered: Array<B>, mask: Array<B>, count: Array<B>) -> Array<B> {
    let mean = centered.clone().sum(1).unsqueeze(1) / count.clone();
    let deviation = (centered - mean) * mask;
    let variance = (deviation.clone() * deviation).sum(1).unsqueeze(1) / count;
    // The variance is replaced before the root, because the root has an infinite slope at 0.
    variance.one_below(EQUAL).sqrt().at_least(FLOOR)
}

/// Returns the factor `max(8 / n, 1)^power` of each list, `[B, 1]`, given the numbers of documents, `[B, 1]`. The
/// factor is exactly 1 for 8 or more documents.
fn of_short_list<B: Backend>(count: Array<B>, power: u32) -> Array<B> {
    let ratio = (count.recip() * SHORT).at_least(1.0);
    // Products instead of `powi` keep 1 exactly 1 on every backend.
    (1..power).fold(ratio.clone(), |product, _| product * ratio.clone())
}
