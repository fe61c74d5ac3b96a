//! [`PairWeight`], the weight of a pair, generic over the type that holds a number per document, and [`ByLabel`], one
//! list sorted by descending label, with the weights of its pairs.

use std::ops::Range;

use crate::op::cpu::{
    lists::{TILE, documents, gather},
    order::by_descending_value,
    real::Real,
};

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
    #[cfg(test)]
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
pub(super) fn swaps<T: Real>(
    [gain, discount]: [&[T]; 2],
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

/// The number of elements in the widest vector of any supported instruction set. Arrays are extended to a multiple of
/// this number, since a remainder of single elements would dominate short loops.
const LANES: usize = 16;

/// The role of a document in a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The more relevant document, whose partners have lower labels.
    Row,
    /// The less relevant document, whose partners have higher labels.
    Column,
}

impl Role {
    /// Returns which labels the partners of a document have. Labels are numbered from 0 for the lowest, and `level` is
    /// the label of the document.
    #[inline(always)]
    pub fn others(self, level: usize, count: usize) -> Range<usize> {
        match self {
            Self::Row => 0..level,
            Self::Column => level + 1..count,
        }
    }
}

/// One list sorted by descending label. The arrays of numbers are padded with zeros to whole blocks of [`LANES`].
pub struct ByLabel {
    pub members: Vec<usize>,
    pub x: Vec<f32>,
    pub weight: PairWeight<Vec<f32>>,
    /// For each document, the number of documents at the start of the list that have a higher label.
    pub above: Vec<usize>,
    /// The discount step `gap (D(r) - D(r + 1))` for each difference of ranks `r`; the entry for 0 repeats the entry
    /// for 1. The table is empty if the weight has no `gap`.
    steps: Vec<f32>,
}

impl ByLabel {
    pub fn new(x: &[f32], labels: &[f32], mask: &[f32], weight: PairWeight<&[f32]>) -> Self {
        let mut members = documents(mask);
        by_descending_value(&mut members, labels);
        let mut above = Vec::with_capacity(members.len());
        for (j, &member) in members.iter().enumerate() {
            let tied = j > 0 && labels[members[j - 1]] <= labels[member];
            above.push(if tied { above[j - 1] } else { j });
        }
        let weight = weight.map(|values| filled(gather(values, &members)));
        let steps = match &weight {
            PairWeight::Lambda { rank, gap, .. } if *gap != 0.0 => {
                let largest = rank.iter().fold(0.0, |largest, rank| rank.to_f64().max(largest));
                discount_steps(largest as usize + 1, *gap)
            }
            _ => Vec::new(),
        };
        Self { x: filled(gather(x, &members)), weight, above, steps, members }
    }

    pub fn pairs(&self) -> usize {
        self.above.iter().sum()
    }

    /// Returns the place at which each label begins in the sorted list, starting with the highest label.
    pub fn starts(&self) -> Vec<usize> {
        (0..self.above.len()).filter(|&j| self.above[j] == j).collect()
    }

    /// Returns the index of each document's label among the distinct labels, counted from 0 for the lowest label.
    pub fn level_of_each(&self) -> Vec<u32> {
        let starts = self.starts();
        let mut levels = vec![0; self.above.len()];
        for (label, &start) in starts.iter().enumerate() {
            levels[start..].fill((starts.len() - 1 - label) as u32);
        }
        levels
    }

    /// Returns, for each document, a factor shared by the weights of all pairs in which it is the more relevant
    /// document.
    pub fn row_weights(&self) -> Vec<f64> {
        let n = self.above.len();
        match &self.weight {
            PairWeight::Unit => vec![1.0; n],
            PairWeight::Document(u) => u[..n].iter().map(|u| u.to_f64()).collect(),
            PairWeight::Lambda { absolute, .. } => vec![*absolute; n],
        }
    }

    /// Writes the weights of the pairs of document `j` with `length` consecutive rows, which begin at row `start`. A
    /// row is the more relevant document of a pair. Fills the rest of the last vector with 0.
    #[inline(always)]
    pub fn weights<'a>(&self, j: usize, start: usize, length: usize, out: &'a mut [f32; TILE]) -> &'a mut [f32] {
        let out = &mut out[..length.next_multiple_of(LANES)];
        let rows = start..start + out.len();
        match &self.weight {
            PairWeight::Unit => out.fill(1.0),
            PairWeight::Document(u) => out.copy_from_slice(&u[rows]),
            PairWeight::Lambda { gain, discount, rank, absolute, distance, .. } => {
                swaps([gain, discount], *absolute, j, rows.clone(), out);
                if !self.steps.is_empty() {
                    let (g, r) = (gain[j], rank[j]);
                    for ((out, &gain), &rank) in out.iter_mut().zip(&gain[rows.clone()]).zip(&rank[rows.clone()]) {
                        let apart = (rank - r).abs().to_f64() as usize;
                        *out += (gain - g).abs() * self.steps[apart.min(self.steps.len() - 1)];
                    }
                }
                if let Some(distance) = distance {
                    distance.divide(j, rows, out);
                }
            }
        }
        out[length..].fill(0.0);
        out
    }
}

/// Pads `values` with zeros to whole blocks of [`LANES`].
pub fn filled<T: Real>(mut values: Vec<T>) -> Vec<T> {
    values.resize(values.len().next_multiple_of(LANES), T::ZERO);
    values
}

/// Returns the discount step `gap (D(r) - D(r + 1))` for each difference of ranks `r` below `ranks`, with
/// `D(r) = 1/log2(1 + r)`; `r = 0` counts as 1. The difference of discounts needs double precision.
pub fn discount_steps(ranks: usize, gap: f64) -> Vec<f32> {
    let discount = |r: f64| 1.0 / (1.0 + r).log2();
    (0..ranks).map(|r| r.max(1) as f64).map(|r| (gap * (discount(r) - discount(r + 1.0))) as f32).collect()
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
