//! Primitives of one document each: [`at_rank`](crate::op::at_rank()), [`exp2`](crate::op::exp2()),
//! [`log2_discount`](crate::op::log2_discount()), and the choice of the documents that count.

use std::f64::consts::LN_2;

use super::*;

/// Returns `table[rank - 1]` for each rank. The result carries no gradient.
///
/// # Shapes
/// - `ranks` and the output have the shape `[batch, documents]` and the same float type. The ranks are whole numbers
///   from 1 to `documents`.
/// - `table` has one value for each of the `documents` ranks.
///
/// # Panics
/// Panics if the table does not have one entry per rank.
#[track_caller]
pub fn at_rank(ranks: Tensor<2>, table: Vec<f64>) -> Tensor<2> {
    assert_entry_per_rank("at_rank", ("table", &table), ("ranks", &ranks));
    AtRank { table }.run([ranks.detach()])
}

/// Returns `2^x` for each element `x`, without a gradient.
///
/// # Shapes
/// - `x` and the output have the shape `[batch, documents]`. Every result must be a normal floating-point number.
pub fn exp2(x: Tensor<2>) -> Tensor<2> {
    Exp2.run([x.detach()])
}

/// Returns `1 / log2(1 + p)` at each position `p`.
///
/// Differentiable in the positions.
///
/// # Shapes
/// - `positions` and the output have the shape `[batch, documents]`; the positions must be above 0.
pub fn log2_discount(positions: Tensor<2>) -> Tensor<2> {
    Log2Discount.run([positions])
}

/// Returns the mask without the documents where `counted`, if given, is 0.
pub(crate) fn mask_of_counted(mask: &Tensor<2>, counted: Option<Tensor<2>>) -> Tensor<2> {
    match counted {
        Some(counted) => Select.run([mask.clone(), counted]),
        None => mask.clone(),
    }
}

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
