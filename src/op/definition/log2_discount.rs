//! The tensor definition of [`log2_discount`](crate::op::log2_discount()) and its gradient.

use std::f64::consts::LN_2;

use burn::backend::{Backend, tensor::FloatTensor};

use super::array::Array;

/// The tensor definition.
pub fn value<B: Backend>(positions: FloatTensor<B>) -> FloatTensor<B> {
    (Array::<B>(B::float_log1p(positions)).recip() * LN_2).0
}

/// Returns the gradient with respect to the positions, which is `-g d^2 / ((1 + p) ln 2)` with the discounts `d`.
pub fn gradient<B: Backend>(
    positions: FloatTensor<B>,
    out: FloatTensor<B>,
    gradient: FloatTensor<B>,
) -> FloatTensor<B> {
    let slope = Array::<B>(out).square() / (Array::<B>(positions) + 1.0);
    (Array::<B>(gradient) * slope * -LN_2.recip()).0
}
