//! A dense layer, `x W + b` with or without `max(0, ..)`, as one operation: fused on Flex, burn's own elsewhere.
//!
//! burn writes the product, adds the bias into a second array and takes the maximum into a third, and copies what it
//! transposes for the gradients. Fused, each block of documents goes through all of it while it is in the cache.

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

/// The function that follows the sum of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    /// Nothing.
    Sum,
    /// `max(0, sum)`
    Rectified,
}

/// Computes a layer of every document.
///
/// Differentiable in `x` and in the parameters.
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

/// burn's `Linear` layer, `x W + b`. For an `x` of 16 bits the parameters are cast to its type.
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

/// The fused layer. `None` on another backend, in another type than `f32` and `f64`, without bias, and if the thread
/// asks for tensor definitions.
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
