//! [`rank`](crate::op::rank()), which the definition computes by counting the documents ahead, and
//! [`ideal_dcg`](crate::op::ideal_dcg()).

use burn::backend::Backend;

use super::{
    Arrays, Primitive,
    array::{Array, by_rows},
    exactly, first,
};
use crate::op::cpu::{self, Real};
#[cfg(feature = "_cube")]
use crate::op::gpu::{self, CubeTensor, Outputs};

/// The inputs are the scores and the mask.
#[derive(Clone, Debug)]
pub struct Rank;

impl Primitive for Rank {
    const DIFFERENTIATED: usize = 0;

    fn definition<B: Backend>(&self, inputs: Arrays<B>) -> Arrays<B> {
        let [x, mask] = exactly(inputs);
        vec![ranks(x, mask)]
    }

    fn cpu<T: Real>(&self, inputs: &[&[T]], n: usize) -> Option<Vec<Vec<T>>> {
        let [x, mask] = first(inputs);
        Some(vec![cpu::rank(x, mask, n)])
    }

    #[cfg(feature = "_cube")]
    fn gpu(&self, inputs: &[&CubeTensor]) -> Outputs {
        gpu::rank(first(inputs))
    }
}

fn ranks<B: Backend>(x: Array<B>, mask: Array<B>) -> Array<B> {
    let [_, documents] = x.dims();
    let index = x.indices(documents);
    let padding = -mask.clone() + 1.0;
    let [out] = by_rows(&x, |rows| {
        let d = x.differences(rows);
        let earlier = (-index.differences(rows)).above(0.0);
        let ahead = d.clone().above(0.0) + d.equals_zero() * earlier.clone();
        let document = (ahead * mask.columns()).sum(2);
        let padded = mask.clone().sum(1).unsqueeze(1) + (earlier * padding.columns()).sum(2);
        [document * mask.rows(rows) + padded * padding.rows(rows) + 1.0]
    });
    out
}

/// The largest DCG of a list. The inputs are the gains and the mask. The output has the shape `[batch]`.
#[derive(Clone, Debug)]
pub struct IdealDcg {
    pub discounts: Vec<f64>,
}

/// The definition ranks the gains instead of sorting them.
impl Primitive for IdealDcg {
    const DIFFERENTIATED: usize = 0;

    fn definition<B: Backend>(&self, inputs: Arrays<B>) -> Arrays<B> {
        let [gains, mask] = exactly(inputs);
        let discounts = ranks(gains.clone(), mask.clone()).look_up(self.discounts.clone());
        vec![(gains * discounts * mask).sum(1)]
    }

    fn cpu<T: Real>(&self, inputs: &[&[T]], _: usize) -> Option<Vec<Vec<T>>> {
        let [gains, mask] = first(inputs);
        Some(vec![cpu::ideal_dcg(gains, mask, &self.discounts)])
    }

    fn shapes(&self, [batch, _]: [usize; 2]) -> Vec<Vec<usize>> {
        vec![vec![batch]]
    }

    #[cfg(feature = "_cube")]
    fn gpu(&self, inputs: &[&CubeTensor]) -> Outputs {
        gpu::ideal_dcg(first(inputs), &self.discounts)
    }
}
