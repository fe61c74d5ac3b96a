//! A dense layer, `x W + b` with or without `max(0, ..)`, computed as a single operation. On Flex the layer runs as a
//! fused kernel; other backends run burn's own operations.
//!
//! burn's own layer writes the product, the sum with the bias and the maximum to separate arrays. For the gradients, it
//! copies transposed matrices. The fused kernel takes each block of documents through all steps while the block is in
//! the cache.

#[cfg(feature = "flex")]
mod backend;
#[cfg(feature = "flex")]
mod kernel;
#[cfg(feature = "flex")]
mod product;
#[cfg(test)]
mod tests;

use burn::nn::Linear;
use burn::tensor::{DType, Tensor, activation, module};

/// The function that follows the weighted sum of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    /// Nothing.
    Sum,
    /// `max(0, sum)`
    Rectified,
}

/// Computes a dense layer for every document.
///
/// The result is differentiable in `x` and in the parameters.
///
/// # Shapes
/// - `x`: `[.., inputs]`
/// - output: `[.., neurons]`
pub(super) fn dense<const D: usize>(layer: &Linear, x: Tensor<D>, output: Output) -> Tensor<D> {
    #[cfg(feature = "flex")]
    if let Some(out) = fused(layer, &x, output) {
        return out;
    }
    let sum = plain(layer, x);
    match output {
        Output::Sum => sum,
        Output::Rectified => activation::relu(sum),
    }
}

/// Computes burn's `Linear` layer, `x W + b`. If `x` has 16-bit numbers, the parameters are cast to its type.
///
/// # Shapes
/// The shapes of [`dense`].
pub(super) fn plain<const D: usize>(layer: &Linear, x: Tensor<D>) -> Tensor<D> {
    let dtype = x.dtype();
    if !matches!(dtype, DType::F16 | DType::BF16) {
        return layer.forward(x);
    }
    let bias = layer.bias.as_ref().map(|bias| bias.val().cast(dtype));
    module::linear(x, layer.weight.val().cast(dtype), bias)
}

/// Computes the fused layer. Returns `None` on backends other than Flex and for types other than `f32` and `f64`. Also
/// returns `None` if the layer has no bias, if an input is empty, or if the thread computes primitives by tensor
/// definitions.
#[cfg(feature = "flex")]
fn fused<const D: usize>(layer: &Linear, x: &Tensor<D>, output: Output) -> Option<Tensor<D>> {
    use crate::execution::{Execution, PrimitivePath};
    use backend::{Dense, runs_on};

    let bias = layer.bias.as_ref()?;
    let [inputs, neurons] = layer.weight.dims();
    let mut shape = x.dims();
    let rows = shape[..D - 1].iter().product::<usize>();
    let typed = matches!(x.dtype(), DType::F32 | DType::F64) && layer.weight.dtype() == x.dtype();
    let empty = rows * inputs * neurons == 0;
    if Execution::current().path() == PrimitivePath::Tensor || !typed || empty || shape[D - 1] != inputs {
        return None;
    }
    let x = x.clone().reshape([rows, inputs]).into_dispatch();
    if !runs_on(&x) {
        return None;
    }
    let (weight, bias) = (layer.weight.val().into_dispatch(), bias.val().into_dispatch());
    let out = Tensor::<2>::from_dispatch(burn::backend::Dispatch::dense(x, weight, bias, output == Output::Rectified));
    shape[D - 1] = neurons;
    Some(out.reshape(shape))
}
