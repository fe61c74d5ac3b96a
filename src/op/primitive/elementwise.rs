//! Primitives of one document each: [`at_rank`](crate::op::at_rank()), [`exp2`](crate::op::exp2()),
//! [`log2_discount`](crate::op::log2_discount()), and the choice of the documents that count.

use std::f64::consts::LN_2;

use burn::backend::{Backend, TensorMetadata, get_or_init_device_settings, tensor::FloatTensor};
use burn::tensor::{Shape, TensorData};

use super::{Floats, Primitive, array::Array, exactly, first};
use crate::op::cpu::{self, Real};

/// Looks up a value for each rank, without a gradient.
#[derive(Clone, Debug)]
pub struct AtRank {
    pub table: Vec<f64>,
}

/// Gathers the values of `table` at the ranks.
pub fn at_rank<B: Backend>(ranks: FloatTensor<B>, table: Vec<f64>) -> FloatTensor<B> {
    let (device, dtype) = (ranks.device(), ranks.dtype());
    let shape = ranks.shape();
    let length = table.len();
    let table = B::float_from_data(TensorData::new(table, [1, length]).convert_dtype(dtype), &device);
    let table = B::float_expand(table, Shape::from([shape[0], length]));
    let index = (Array::<B>(ranks) - 1.0).0;
    B::float_gather(1, table, B::float_into_int(index, get_or_init_device_settings::<B>(&device).int_dtype))
}

impl Primitive for AtRank {
    const DIFFERENTIATED: usize = 0;
    const IS_COMPOSED: bool = true;

    fn definition<B: Backend>(&self, inputs: Floats<B>) -> Floats<B> {
        let [ranks] = exactly(inputs);
        vec![at_rank::<B>(ranks, self.table.clone())]
    }

    fn cpu<T: Real>(&self, inputs: &[&[T]], _: usize) -> Option<Vec<Vec<T>>> {
        Some(vec![cpu::at_rank(inputs[0], &self.table)])
    }
}

/// Powers of two, without a gradient.
#[derive(Clone, Debug)]
pub struct Exp2;

impl Primitive for Exp2 {
    const DIFFERENTIATED: usize = 0;
    const IS_COMPOSED: bool = true;

    fn definition<B: Backend>(&self, inputs: Floats<B>) -> Floats<B> {
        let [x] = exactly(inputs);
        let ones = B::float_ones(x.shape(), &x.device(), x.dtype().into());
        vec![B::float_powf(B::float_add(ones.clone(), ones), x)]
    }

    fn cpu<T: Real>(&self, inputs: &[&[T]], _: usize) -> Option<Vec<Vec<T>>> {
        Some(vec![cpu::exp2(inputs[0])])
    }
}

/// The discount of NDCG at positions, `d = 1 / log2(1 + p)`.
#[derive(Clone, Debug)]
pub struct Log2Discount;

impl Primitive for Log2Discount {
    const IS_COMPOSED: bool = true;

    fn definition<B: Backend>(&self, inputs: Floats<B>) -> Floats<B> {
        let [positions] = exactly(inputs);
        vec![(Array::<B>(B::float_log1p(positions)).recip() * LN_2).0]
    }

    /// Returns the gradient with respect to the positions, which is `-g d^2 / ((1 + p) ln 2)`.
    fn definition_gradient<B: Backend>(&self, inputs: Floats<B>, saved: Floats<B>, g: FloatTensor<B>) -> Floats<B> {
        let ([positions], [out]) = (exactly(inputs), exactly(saved));
        let slope = Array::<B>(out).square() / (Array::<B>(positions) + 1.0);
        vec![(Array::<B>(g) * slope * -LN_2.recip()).0]
    }

    fn cpu<T: Real>(&self, inputs: &[&[T]], _: usize) -> Option<Vec<Vec<T>>> {
        Some(vec![cpu::log2_discount(inputs[0])])
    }

    fn saved<V>(&self, outputs: Vec<V>) -> Vec<V> {
        outputs
    }
}

/// Keeps the first input where the second is nonzero, and replaces every other value with 0, even NaN.
#[derive(Clone, Debug)]
pub struct Select;

impl Primitive for Select {
    const DIFFERENTIATED: usize = 0;
    const IS_COMPOSED: bool = true;

    fn definition<B: Backend>(&self, inputs: Floats<B>) -> Floats<B> {
        let [x, rows] = exactly(inputs);
        vec![Array::<B>(rows).select_or(Array(x), 0.0).0]
    }

    fn cpu<T: Real>(&self, inputs: &[&[T]], _: usize) -> Option<Vec<Vec<T>>> {
        let [x, rows] = first(inputs);
        Some(vec![cpu::select(x, rows)])
    }
}
