//! [`ideal_dcg`](crate::op::ideal_dcg()), which the definition computes by ranking the gains instead of sorting them.

use burn::backend::{Backend, tensor::FloatTensor};

use super::{Floats, Primitive, array::Array, elementwise::at_rank, exactly, first, rank};
use crate::op::cpu::{self, Real};

/// The inputs are the gains and the mask. The output has the shape `[batch]`.
#[derive(Clone, Debug)]
pub struct IdealDcg {
    pub discounts: Vec<f64>,
}

impl Primitive for IdealDcg {
    const DIFFERENTIATED: usize = 0;
    const IS_COMPOSED: bool = true;

    fn definition<B: Backend>(&self, inputs: Floats<B>) -> Floats<B> {
        self.composed::<B>(inputs, |gains, mask| rank::value::<B>(gains, mask))
    }

    fn cpu<T: Real>(&self, inputs: &[&[T]], _: usize) -> Option<Vec<Vec<T>>> {
        let [gains, mask] = first(inputs);
        Some(vec![cpu::ideal_dcg(gains, mask, &self.discounts)])
    }

    fn shapes(&self, [batch, _]: [usize; 2]) -> Vec<Vec<usize>> {
        vec![vec![batch]]
    }

    /// Looks up the discounts at the ranks of the gains.
    fn composed<B: Backend>(
        &self,
        inputs: Floats<B>,
        rank: impl FnOnce(FloatTensor<B>, FloatTensor<B>) -> FloatTensor<B>,
    ) -> Floats<B> {
        let [gains, mask] = exactly(inputs);
        let discounts = at_rank::<B>(rank(gains.clone(), mask.clone()), self.discounts.clone());
        vec![(Array::<B>(gains) * Array::<B>(discounts) * Array::<B>(mask)).sum(1).0]
    }
}
