//! `log2_discount`: the discount of NDCG at real positions (approximation-framework, equation 21).

use std::f64::consts::LN_2;

use burn::{
    backend::{Backend, Dispatch, tensor::FloatTensor},
    tensor::Tensor,
};

use super::{array::Array, backend::Pairwise, execution::uses_tensor_path};

/// `1 / log2(1 + p)` at each place.
///
/// Differentiable in the positions.
///
/// # Shapes
/// - `positions` (above 0), output: `[batch, documents]`
pub fn log2_discount(positions: Tensor<2>) -> Tensor<2> {
    let positions = positions.into_dispatch();
    Tensor::from_dispatch(if uses_tensor_path() {
        definition::<Dispatch>(positions)
    } else {
        Dispatch::log2_discount(positions)
    })
}

/// The tensor definition.
pub(super) fn definition<B: Backend>(positions: FloatTensor<B>) -> FloatTensor<B> {
    (Array::<B>(B::float_log1p(positions)).recip() * LN_2).0
}

/// Gradient with respect to the positions: with `d` the discounts, `-g d^2 / ((1 + p) ln 2)`.
pub(super) fn gradient<B: Backend>(
    positions: FloatTensor<B>,
    out: FloatTensor<B>,
    gradient: FloatTensor<B>,
) -> FloatTensor<B> {
    let slope = Array::<B>(out).square() / (Array::<B>(positions) + 1.0);
    (Array::<B>(gradient) * slope * -LN_2.recip()).0
}
