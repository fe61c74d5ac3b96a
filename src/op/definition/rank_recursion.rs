//! The distribution of ranks, trial by trial. See [`rank_recursion`](crate::op::rank_recursion()): of
//! [`above_recursion`](super::above_recursion), with a product of nothing over the documents above.

use burn::backend::{Backend, TensorMetadata, tensor::FloatTensor};
use burn::tensor::TensorData;

use super::above_recursion::{self, Inputs};
use crate::op::cpu::{Above, AboveRecursion, Comparison, ScoreNoise};

fn inputs<B: Backend>(x: FloatTensor<B>, mask: FloatTensor<B>, discounts: &[f64]) -> Inputs<B> {
    let values = TensorData::new(discounts.to_vec(), [1, discounts.len()]).convert_dtype(x.dtype());
    let values = B::float_from_data(values, &x.device());
    Inputs { x, a: None, b: None, mask, values }
}

fn recursion(comparison: Comparison) -> AboveRecursion {
    AboveRecursion { noise: ScoreNoise::one(comparison), above: Above::Product }
}

/// The tensor definition.
pub fn value<B: Backend>(
    x: FloatTensor<B>,
    mask: FloatTensor<B>,
    comparison: Comparison,
    discounts: &[f64],
) -> FloatTensor<B> {
    above_recursion::value_of(inputs::<B>(x, mask, discounts), &recursion(comparison))
}

/// Gradient with respect to `x`.
pub fn gradient<B: Backend>(
    x: FloatTensor<B>,
    mask: FloatTensor<B>,
    gradient: FloatTensor<B>,
    comparison: Comparison,
    discounts: &[f64],
) -> FloatTensor<B> {
    above_recursion::gradient_of(inputs::<B>(x, mask, discounts), gradient, &recursion(comparison))
}
