//! [`rank`](crate::op::rank()), which the definition computes by counting the documents ahead, and
//! [`ideal_dcg`](crate::op::ideal_dcg()).

use super::*;

/// Returns the 1-based rank of each document by descending `x`. Equal scores are ranked by index, and padding comes
/// last. The result carries no gradient.
///
/// # Shapes
/// - `x`, `mask` and the output have the shape `[batch, documents]` and the same float type. The mask is 1 for
///   documents and 0 for padding.
///
/// # Panics
/// Panics if the inputs differ in shape or type.
#[track_caller]
pub fn rank(x: Tensor<2>, mask: Tensor<2>) -> Tensor<2> {
    assert_alike("rank", ("x", &x), &[("mask", &mask)]);
    Rank.run([x.detach(), mask.detach()])
}

/// Returns `max over orders of sum_i gains_i discounts[rank(i) - 1]` for each list. If the discounts never increase,
/// the order of descending gains has the largest sum. The result carries no gradient.
///
/// # Shapes
/// - `gains` and `mask` have the shape `[batch, documents]`. The mask is 1 for documents and 0 for padding.
/// - `discounts` has one value for each of the `documents` ranks.
/// - The output has the shape `[batch]`.
///
/// # Panics
/// Panics if inputs differ in shape or type, or if there is not one discount per rank.
#[track_caller]
pub fn ideal_dcg(gains: Tensor<2>, mask: Tensor<2>, discounts: Vec<f64>) -> Tensor<1> {
    assert_alike("ideal_dcg", ("gains", &gains), &[("mask", &mask)]);
    assert_entry_per_rank("ideal_dcg", ("discounts", &discounts), ("gains", &gains));
    IdealDcg { discounts }.run([gains.detach(), mask.detach()])
}

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
