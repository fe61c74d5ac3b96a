//! [`PairWeight`], the weight of a pair, generic over the type that holds a number per document.

use std::ops::Range;

use crate::op::cpu::real::Real;

/// The weight `w_ij` of a pair, which is 0 unless `y_i > y_j`. The type `V` holds one number per document: a tensor in
/// the public functions, a slice in the kernels.
#[derive(Debug, Clone, Copy)]
pub enum PairWeight<V> {
    /// The weight 1 for every pair.
    Unit,
    /// `w_ij = u_i`, a weight that depends only on the more relevant document.
    Document(V),
    /// `w_ij = |g_i - g_j| (absolute |d_i - d_j| + gap |D(|r_i - r_j|) - D(|r_i - r_j| + 1)|)` with
    /// `D(r) = 1/log2(1 + r)`, divided by an optional [`Distance`]. `absolute = 1, gap = 0` is LambdaRank, `0, 1` is
    /// NDCG-Loss2 of LambdaLoss, and `1, mu` is NDCG-Loss2++.
    Lambda {
        /// The gain of each document, divided by the ideal DCG.
        gain: V,
        /// The discount of each document at its rank, 0 below a cut-off.
        discount: V,
        /// The 1-based rank of each document.
        rank: V,
        /// The factor that multiplies the difference of discounts, `|d_i - d_j|`.
        absolute: f64,
        /// The factor that multiplies the discount step, which depends on the difference of ranks.
        gap: f64,
        /// The divisor of the weight, if there is one.
        distance: Option<Distance<V>>,
    },
}

/// The divisor `offset + |s_i - s_j|` of a pair's weight, in which the scores count as constants. LightGBM and XGBoost
/// divide LambdaRank's weights by the difference of scores, with an offset of 0.01.
#[derive(Debug, Clone, Copy)]
pub struct Distance<V> {
    /// The score of each document, a constant.
    pub scores: V,
    /// A positive number that is added to the difference of scores.
    pub offset: f64,
}

impl<V> PairWeight<V> {
    /// Applies `f` to each array over documents, in the order in which the fields are declared.
    pub fn map<W>(self, mut f: impl FnMut(V) -> W) -> PairWeight<W> {
        match self {
            Self::Unit => PairWeight::Unit,
            Self::Document(u) => PairWeight::Document(f(u)),
            Self::Lambda { gain, discount, rank, absolute, gap, distance } => PairWeight::Lambda {
                gain: f(gain),
                discount: f(discount),
                rank: f(rank),
                absolute,
                gap,
                distance: distance.map(|Distance { scores, offset }| Distance { scores: f(scores), offset }),
            },
        }
    }

    /// Returns a weight that borrows the arrays over documents.
    pub fn as_ref(&self) -> PairWeight<&V> {
        match self {
            Self::Unit => PairWeight::Unit,
            Self::Document(u) => PairWeight::Document(u),
            Self::Lambda { gain, discount, rank, absolute, gap, distance } => PairWeight::Lambda {
                gain,
                discount,
                rank,
                absolute: *absolute,
                gap: *gap,
                distance: distance.as_ref().map(|Distance { scores, offset }| Distance { scores, offset: *offset }),
            },
        }
    }
}

/// Writes LambdaRank's weights `|g_i - g_j| |d_i - d_j| absolute` for the pairs of document `i` with each of `others`.
#[inline(always)]
pub(in crate::op::cpu) fn swaps<T: Real>(
    gain: &[T],
    discount: &[T],
    absolute: f64,
    i: usize,
    others: Range<usize>,
    out: &mut [T],
) {
    let (g, d, absolute) = (gain[i], discount[i], T::from_f64(absolute));
    for ((out, &gain), &discount) in out.iter_mut().zip(&gain[others.clone()]).zip(&discount[others]) {
        *out = (gain - g).abs() * (discount - d).abs() * absolute;
    }
}

impl<T: Real> Distance<Vec<T>> {
    /// Divides the weights of the pairs of document `i` with each of `others` by `offset + |s_i - s_j|`.
    #[inline(always)]
    pub(in crate::op::cpu) fn divide(&self, i: usize, others: Range<usize>, weights: &mut [T]) {
        let (s, offset) = (self.scores[i], T::from_f64(self.offset));
        let scores = weights.iter_mut().zip(&self.scores[others]);
        scores.for_each(|(weight, &score)| *weight = *weight / (offset + (score - s).abs()));
    }
}

#[cfg(test)]
mod tests {
    use super::{Distance, PairWeight};

    #[test]
    fn values_taken_out_one_by_one_come_back_to_their_places() {
        let lambda =
            |distance| PairWeight::Lambda { gain: 1, discount: 2, rank: 3, absolute: 0.5, gap: 0.25, distance };
        let near = lambda(Some(Distance { scores: 4, offset: 0.01 }));
        for (weight, count) in [(PairWeight::Unit, 0), (PairWeight::Document(7), 1), (lambda(None), 3), (near, 4)] {
            let mut values = Vec::new();
            let emptied = weight.as_ref().map(|&value| values.push(value));
            assert_eq!(values.len(), count);
            let mut values = values.into_iter();
            let filled = emptied.map(|()| values.next());
            assert_eq!(format!("{filled:?}"), format!("{:?}", weight.map(Some)));
        }
    }
}
