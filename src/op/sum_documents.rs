//! `sum_documents`: the sum of each list.

use burn::tensor::Tensor;

use super::{call::Call, path::run};

/// The sum of each list of `x`, which is 0 at padding. On Flex and in `f32` or `f64`, padding changes no bit of it.
///
/// Differentiable in `x`.
///
/// # Shapes
/// - `x`: `[batch, documents]`
/// - output: `[batch]`
pub fn sum_documents(x: Tensor<2>) -> Tensor<1> {
    run(Call::SumDocuments { x: x.into_dispatch() })
}
