//! Primitives of one document each: [`at_rank`](crate::op::at_rank()), [`exp2`](crate::op::exp2()),
//! [`log2_discount`](crate::op::log2_discount()), and the choice of the documents that count.

use std::f64::consts::LN_2;

use burn::backend::Backend;

use super::{Arrays, Primitive, array::Array, exactly, first};
use crate::op::cpu::{self, Real};
#[cfg(feature = "_cube")]
use crate::op::gpu::{self, CubeTensor, Outputs};

/// Looks up a value for each rank, without a gradient.
#[derive(Clone, Debug)]
pub struct AtRank {
    pub table: Vec<f64>,
}

impl Primitive for AtRank {
    const DIFFERENTIATED: usize = 0;

    fn definition<B: Backend>(&self, inputs: Arrays<B>) -> Arrays<B> {
        let [ranks] = exactly(inputs);
        vec![ranks.look_up(self.table.clone())]
    }

    fn cpu<T: Real>(&self, inputs: &[&[T]], _: usize) -> Option<Vec<Vec<T>>> {
        Some(vec![cpu::at_rank(inputs[0], &self.table)])
    }

    #[cfg(feature = "_cube")]
    fn gpu(&self, inputs: &[&CubeTensor]) -> Outputs {
        gpu::at_rank(inputs[0], &self.table)
    }
}

/// Powers of two, without a gradient.
#[derive(Clone, Debug)]
pub struct Exp2;

impl Primitive for Exp2 {
    const DIFFERENTIATED: usize = 0;
    const IS_COMPOSED: bool = true;

    fn definition<B: Backend>(&self, inputs: Arrays<B>) -> Arrays<B> {
        let [x] = exactly(inputs);
        vec![x.power_of_two()]
    }

    fn cpu<T: Real>(&self, inputs: &[&[T]], _: usize) -> Option<Vec<Vec<T>>> {
        Some(vec![cpu::map(inputs[0], cpu::Function::Exp2)])
    }
}

/// The discount of NDCG at positions, `d = 1 / log2(1 + p)`.
#[derive(Clone, Debug)]
pub struct Log2Discount;

impl Primitive for Log2Discount {
    const IS_COMPOSED: bool = true;
    const SAVED_FROM: usize = 0;

    fn definition<B: Backend>(&self, inputs: Arrays<B>) -> Arrays<B> {
        let [positions] = exactly(inputs);
        vec![positions.log_1p().recip() * LN_2]
    }

    /// Returns the gradient with respect to the positions, which is `-g d^2 / ((1 + p) ln 2)`.
    fn definition_gradient<B: Backend>(&self, inputs: Arrays<B>, saved: Arrays<B>, g: Array<B>) -> Arrays<B> {
        let ([positions], [out]) = (exactly(inputs), exactly(saved));
        vec![g * (out.square() / (positions + 1.0)) * -LN_2.recip()]
    }

    fn cpu<T: Real>(&self, inputs: &[&[T]], _: usize) -> Option<Vec<Vec<T>>> {
        Some(vec![cpu::map(inputs[0], cpu::Function::Log2Discount)])
    }
}

/// Keeps the first input where the second is nonzero, and replaces every other value with 0, even NaN.
#[derive(Clone, Debug)]
pub struct Select;

impl Primitive for Select {
    const DIFFERENTIATED: usize = 0;
    const IS_COMPOSED: bool = true;

    fn definition<B: Backend>(&self, inputs: Arrays<B>) -> Arrays<B> {
        let [x, rows] = exactly(inputs);
        vec![rows.select(x)]
    }

    fn cpu<T: Real>(&self, inputs: &[&[T]], _: usize) -> Option<Vec<Vec<T>>> {
        let [x, rows] = first(inputs);
        Some(vec![cpu::select(x, rows)])
    }
}
