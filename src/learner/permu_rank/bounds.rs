//! Upper bounds on `1 - E` for a measure `E` in [0, 1]. They are computed from a few permutations of each query, which
//! form its working sets. PermuRank and SVM-MAP minimize these bounds. Section 4.2 of
//! [direct-optimization](crate::loss#papers) calls them type two bounds.
//!
//! A term compares a perfect permutation `p` with an imperfect permutation `q`, where `d = E(p) - E(q)` and
//! `m = F(p) - F(q)`:
//!
//! | bound | term |
//! |---|---|
//! | hinge | `d max(0, 1 - m)` |
//! | margin hinge | `max(0, d - m)` |
//! | logistic | `d log2(1 + exp(-m))` |
//! | exponential | `d exp(-m)` |
//!
//! The loss of a query is the largest of its terms, or their sum. By equation 11,
//! `F(p) = 1 / (n (n - 1)) sum_{k < l} z_kl (s_k - s_l)`. Here, `z_kl` is 1 if `p` ranks `k` ahead of `l`, and -1
//! otherwise. `F` is linear in the scores, so any scorer can be trained with these bounds. The score of the document at
//! position `r = 0 .. n - 1` has the coefficient `(n - 1 - 2 r) / (n (n - 1))`. By the paper's other definition of `F`,
//! the sum contains only pairs of documents with different levels, as in SVM-MAP. Then
//! `F(p) = 1 / |P| sum over (k, l) in P of z_kl (s_k - s_l)`, where `P` holds the pairs whose levels differ. With this
//! definition, the order of the documents within a level does not affect `F`.
//!
//! The coefficients of a permutation cost O(n), or O(n + L) with `L` levels, and each pair of permutations costs O(1).
//! A query has a loss of 0 if it has no perfect permutation, no imperfect permutation, or only one document.

use burn::tensor::{Tensor, TensorData, activation::softplus};
use serde::{Deserialize, Serialize};

/// An upper bound on `d [[m <= 0]]` for a perfect and an imperfect permutation (section 4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TypeTwoBound {
    /// `d max(0, 1 - m)`
    #[default]
    Hinge,
    /// `max(0, d - m)`
    MarginHinge,
    /// `d log2(1 + exp(-m))`
    Logistic,
    /// `d exp(-m)`
    Exponential,
}

impl TypeTwoBound {
    /// Returns the value of the bound at `d` and `m`, and its derivative with respect to `m`.
    pub(crate) fn at(self, d: f64, m: f64) -> (f64, f64) {
        let hinge = |missing: f64, weight: f64| if missing > 0.0 { (weight * missing, -weight) } else { (0.0, 0.0) };
        match self {
            TypeTwoBound::Hinge => hinge(1.0 - m, d),
            TypeTwoBound::MarginHinge => hinge(d - m, 1.0),
            TypeTwoBound::Logistic => {
                // ln(1 + e^-m), without overflow.
                let log = (-m.abs()).exp().ln_1p() + (-m).max(0.0);
                let unit = d * std::f64::consts::LOG2_E;
                (unit * log, -unit / (1.0 + m.exp()))
            }
            TypeTwoBound::Exponential => (d * (-m).exp(), -d * (-m).exp()),
        }
    }
}

/// How the loss of a query combines the bounds for its pairs of a perfect and an imperfect permutation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PairAggregation {
    /// The largest term.
    Max,
    /// The sum of the terms (equation 7).
    Sum,
    /// The sum of the terms divided by the number of perfect permutations (PermuRank, section 5.2).
    #[default]
    SumPerPerfect,
}

/// The working sets of one query: its perfect and its imperfect permutations. A permutation lists the indices of all
/// documents, from the first rank to the last.
#[derive(Debug, Clone)]
pub(crate) struct PermutationSet {
    documents: usize,
    perfect_measure: f64,
    /// The level of each document, if `F` sums only over pairs with different levels.
    pub(super) levels: Option<Vec<u32>>,
    /// The perfect permutations, in the order of insertion.
    pub(super) perfect: Vec<Vec<u32>>,
    /// The imperfect permutations, in the order of insertion.
    pub(super) imperfect: Vec<Vec<u32>>,
    imperfect_measures: Vec<f64>,
}

impl PermutationSet {
    /// Creates empty working sets for a query with `documents` documents, with an `F` that sums over all pairs.
    /// `perfect_measure` is the measure of a perfect permutation, which is 1 for a normalized measure.
    pub(crate) fn new(documents: usize, perfect_measure: f64) -> Self {
        let (perfect, imperfect, imperfect_measures) = (Vec::new(), Vec::new(), Vec::new());
        Self { documents, perfect_measure, levels: None, perfect, imperfect, imperfect_measures }
    }

    /// Returns the coefficient of each document's score in `F(order)`, indexed by document.
    pub(crate) fn coefficients(&self, order: &[u32]) -> Vec<f64> {
        self.levels.as_ref().map_or_else(|| score_coefficients(order), |levels| level_score_coefficients(order, levels))
    }

    /// Returns whether `F` of this permutation is a different function of the scores from `F` of every permutation in
    /// `set`.
    fn is_new(&self, order: &[u32], set: &[Vec<u32>]) -> bool {
        match self.levels {
            None => set.iter().all(|other| other != order),
            Some(_) => {
                let own = self.coefficients(order);
                set.iter().all(|other| self.coefficients(other) != own)
            }
        }
    }

    /// Adds a perfect permutation. Returns false if the set already contains this permutation, or another whose `F` is
    /// the same function of the scores.
    pub(crate) fn insert_perfect(&mut self, order: Vec<u32>) -> bool {
        let is_new = self.is_new(&order, &self.perfect);
        if is_new {
            self.perfect.push(order);
        }
        is_new
    }

    /// Adds an imperfect permutation, whose measure is given. Returns false if the set already contains this
    /// permutation, or another whose `F` is the same function of the scores.
    pub(crate) fn insert_imperfect(&mut self, order: Vec<u32>, measure: f64) -> bool {
        let is_new = self.is_new(&order, &self.imperfect);
        if is_new {
            self.imperfect.push(order);
            self.imperfect_measures.push(measure);
        }
        is_new
    }

    /// Returns `E(p) - E(q)` for each imperfect permutation `q`, where `p` is a perfect one.
    pub(crate) fn measure_losses(&self) -> impl Iterator<Item = f64> {
        self.imperfect_measures.iter().map(|measure| self.perfect_measure - measure)
    }

    /// Returns whether there is no perfect permutation, no imperfect permutation, or only one document.
    pub(crate) fn is_empty(&self) -> bool {
        self.perfect.is_empty() || self.imperfect.is_empty() || self.documents < 2
    }
}

/// Returns the coefficient of each document's score in `F(order)`, indexed by document. The coefficient of a single
/// document is 0.
pub(crate) fn score_coefficients(order: &[u32]) -> Vec<f64> {
    let n = order.len() as f64;
    let mut coefficients = vec![0.0; order.len()];
    if order.len() > 1 {
        for (position, &document) in order.iter().enumerate() {
            coefficients[document as usize] = (n - 1.0 - 2.0 * position as f64) / (n * (n - 1.0));
        }
    }
    coefficients
}

/// Returns the coefficient of each document's score in `F(order)`, indexed by document. `F` sums only over pairs of
/// documents with different `levels`. If all documents have the same level, all coefficients are 0.
pub(crate) fn level_score_coefficients(order: &[u32], levels: &[u32]) -> Vec<f64> {
    let levels_count = levels.iter().max().map_or(0, |&highest| highest as usize + 1);
    let mut below = vec![0i64; levels_count];
    levels.iter().for_each(|&level| below[level as usize] += 1);
    let n = order.len() as i64;
    // Twice the number of pairs of different levels.
    let pairs = n * n - below.iter().map(|count| count * count).sum::<i64>();
    let mut coefficients = vec![0.0; order.len()];
    let mut above = vec![0i64; levels_count];
    for (position, &document) in order.iter().enumerate() {
        let own = levels[document as usize] as usize;
        below[own] -= 1;
        let others_below = n - 1 - position as i64 - below[own];
        let others_above = position as i64 - above[own];
        above[own] += 1;
        if pairs > 0 {
            coefficients[document as usize] = 2.0 * (others_below - others_above) as f64 / pairs as f64;
        }
    }
    coefficients
}

/// Returns, for each row of coefficients, the weighted sum of the scores, `sum_d coefficient_d s_d`.
fn weighted_scores(scores: Tensor<2>, rows: impl ExactSizeIterator<Item = Vec<f64>>) -> Tensor<1> {
    let shape = [rows.len(), scores.dims()[1]];
    let options = (&scores.device(), scores.dtype());
    let matrix = Tensor::<2>::from_data(TensorData::new(rows.flatten().collect(), shape), options);
    (matrix * scores).sum_dim(1).squeeze_dim(1)
}

/// The loss of a query, computed from the perfect and imperfect permutations in its working sets.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TypeTwoLoss {
    /// The bound for a perfect and an imperfect permutation.
    pub bound: TypeTwoBound,
    /// How the loss of a query combines the bounds for its pairs of a perfect and an imperfect permutation.
    pub aggregation: PairAggregation,
}

impl TypeTwoLoss {
    /// Returns the loss of the query whose working sets are given.
    ///
    /// # Shapes
    /// - `scores`: `[1, documents]`, where the documents of `sets` come first, and further places are padding
    /// - output: `[1]`
    pub(crate) fn forward(&self, scores: Tensor<2>, sets: &PermutationSet) -> Tensor<1> {
        let options = (&scores.device(), scores.dtype());
        if sets.is_empty() {
            return Tensor::zeros([1], options);
        }
        let losses: Vec<f64> = sets.measure_losses().collect();
        let shape = [1, losses.len()];
        let d = Tensor::<2>::from_data(TensorData::new(losses, shape), options);
        let scores = scores.slice([0..1, 0..sets.documents]);
        let of =
            |orders: &[Vec<u32>]| weighted_scores(scores.clone(), orders.iter().map(|order| sets.coefficients(order)));
        let perfect: Tensor<2> = of(&sets.perfect).unsqueeze_dim(1);
        let imperfect: Tensor<2> = of(&sets.imperfect).unsqueeze_dim(0);
        let m = perfect - imperfect;
        let terms = match self.bound {
            TypeTwoBound::Hinge => d * (m.neg() + 1.0).clamp_min(0.0),
            TypeTwoBound::MarginHinge => (m.neg() + d).clamp_min(0.0),
            TypeTwoBound::Logistic => d * softplus(m.neg(), 1.0) * std::f64::consts::LOG2_E,
            TypeTwoBound::Exponential => d * m.neg().exp(),
        };
        match self.aggregation {
            PairAggregation::Max => terms.max(),
            PairAggregation::Sum => terms.sum(),
            PairAggregation::SumPerPerfect => terms.sum() * (1.0 / sets.perfect.len() as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Device};

    use super::*;
    use crate::testing::values;

    const BOUNDS: [TypeTwoBound; 4] =
        [TypeTwoBound::Hinge, TypeTwoBound::MarginHinge, TypeTwoBound::Logistic, TypeTwoBound::Exponential];

    fn scores(values: &[f64], device: &Device) -> Tensor<2> {
        Tensor::from_data(TensorData::new(values.to_vec(), [1, values.len()]), (device, DType::F64))
    }

    fn value(tensor: Tensor<1>) -> f64 {
        values(tensor)[0]
    }

    fn sets() -> PermutationSet {
        let mut sets = PermutationSet::new(3, 1.0);
        assert!(sets.insert_perfect(vec![0, 1, 2]));
        assert!(!sets.insert_perfect(vec![0, 1, 2]));
        assert!(sets.insert_imperfect(vec![2, 1, 0], 0.25));
        assert!(sets.insert_imperfect(vec![1, 0, 2], 0.5));
        sets
    }

    /// Computes `F` by its definition, equation (11).
    fn by_pairs(s: &[f64], order: &[u32]) -> f64 {
        let n = s.len();
        let position = |d: usize| order.iter().position(|&o| o as usize == d).unwrap();
        let mut sum = 0.0;
        for k in 0..n {
            for l in k + 1..n {
                sum += if position(k) < position(l) { s[k] - s[l] } else { s[l] - s[k] };
            }
        }
        sum / (n * (n - 1)) as f64
    }

    #[test]
    fn coefficients_equal_the_sum_over_pairs() {
        let s = [0.3, -1.2, 2.5, 0.9, -0.4];
        for order in [[0, 1, 2, 3, 4], [4, 2, 0, 1, 3], [2, 3, 0, 4, 1]] {
            let linear: f64 = score_coefficients(&order).iter().zip(&s).map(|(c, s)| c * s).sum();
            assert!((linear - by_pairs(&s, &order)).abs() < 1e-15);
        }
    }

    #[test]
    fn level_coefficients_equal_the_sum_over_pairs_of_different_levels() {
        let s = [0.3, -1.2, 2.5, 0.9, -0.4];
        let levels = [2, 0, 1, 0, 2];
        for order in [[0, 1, 2, 3, 4], [4, 2, 0, 1, 3], [2, 3, 0, 4, 1]] {
            let position = |d: usize| order.iter().position(|&o| o as usize == d).unwrap();
            let (mut sum, mut pairs) = (0.0, 0.0);
            for k in 0..5 {
                for l in (k + 1..5).filter(|&l| levels[k] != levels[l]) {
                    sum += if position(k) < position(l) { s[k] - s[l] } else { s[l] - s[k] };
                    pairs += 1.0;
                }
            }
            let coefficients = level_score_coefficients(&order, &levels);
            let linear: f64 = coefficients.iter().zip(&s).map(|(c, s)| c * s).sum();
            assert!((linear - sum / pairs).abs() < 1e-15);
        }
        assert_eq!(level_score_coefficients(&[1, 0], &[3, 3]), [0.0, 0.0]);
    }

    #[test]
    fn orders_that_differ_only_inside_a_level_are_the_same() {
        let mut sets = PermutationSet::new(3, 1.0);
        sets.levels = Some(vec![1, 1, 0]);
        assert!(sets.insert_perfect(vec![0, 1, 2]));
        assert!(!sets.insert_perfect(vec![1, 0, 2]));
        assert!(sets.insert_imperfect(vec![2, 1, 0], 0.5));
        assert!(!sets.insert_imperfect(vec![2, 0, 1], 0.5));
        assert!(sets.insert_imperfect(vec![1, 2, 0], 0.5));
    }

    #[test]
    fn the_sorted_order_has_the_largest_score() {
        let s = [0.3, -1.2, 2.5];
        let orders: Vec<Vec<u32>> =
            vec![vec![2, 0, 1], vec![0, 1, 2], vec![0, 2, 1], vec![1, 0, 2], vec![1, 2, 0], vec![2, 1, 0]];
        let coefficients = orders.iter().map(|order| score_coefficients(order));
        let f = values(weighted_scores(scores(&s, &Device::flex()), coefficients));
        assert!(f[1..].iter().all(|&other| other < f[0]), "{f:?}");
    }

    #[test]
    fn worked_values() {
        // s = (1, 0, -2): F(0 1 2) = (1 + 2) 2 / 6 = 1, F(2 1 0) = -1, F(1 0 2) = (2 . 0 + 0 . 1 + 2 . 2) / 6 = 2/3.
        // So m = (2, 1/3) and d = (3/4, 1/2).
        let expected = [
            (TypeTwoBound::Hinge, [0.0, 0.5 * (2.0 / 3.0)]),
            (TypeTwoBound::MarginHinge, [0.0, 0.5 - 1.0 / 3.0]),
            (TypeTwoBound::Logistic, [0.75 * (1.0 + (-2f64).exp()).log2(), 0.5 * (1.0 + (-1f64 / 3.0).exp()).log2()]),
            (TypeTwoBound::Exponential, [0.75 * (-2f64).exp(), 0.5 * (-1f64 / 3.0).exp()]),
        ];
        for (bound, terms) in expected {
            let loss = |aggregation| {
                let s = scores(&[1.0, 0.0, -2.0, f64::NAN], &Device::flex());
                value(TypeTwoLoss { bound, aggregation }.forward(s, &sets()))
            };
            assert!((loss(PairAggregation::Sum) - (terms[0] + terms[1])).abs() < 1e-12, "{bound:?}");
            assert!((loss(PairAggregation::Max) - terms[0].max(terms[1])).abs() < 1e-12, "{bound:?}");
            assert_eq!(loss(PairAggregation::Sum), loss(PairAggregation::SumPerPerfect));
        }
    }

    #[test]
    fn a_second_perfect_permutation_halves_the_weight_of_each() {
        let mut two = PermutationSet::new(2, 1.0);
        two.insert_perfect(vec![0, 1]);
        two.insert_perfect(vec![1, 0]);
        two.insert_imperfect(vec![1, 0], 0.0);
        let loss = TypeTwoLoss { bound: TypeTwoBound::Hinge, aggregation: PairAggregation::SumPerPerfect };
        // m = F(p) - F(q) = (s_0 - s_1, 0) = (0.5, 0), so the terms are 0.5 and 1.
        assert_eq!(value(loss.forward(scores(&[0.5, 0.0], &Device::flex()), &two)), 0.75);
    }

    #[test]
    fn every_bound_is_above_the_basic_loss() {
        // Theorem 2 on all orders of three documents: with the full sets, the loss is at least 1 - E of the sorted
        // order.
        let measure = |order: &[u32]| if order[0] == 0 { 1.0 } else { 1.0 / (1 + order[1]) as f64 / 2.0 };
        let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        let mut full = PermutationSet::new(3, 1.0);
        for order in orders {
            match measure(&order) {
                1.0 => full.insert_perfect(order.to_vec()),
                e => full.insert_imperfect(order.to_vec(), e),
            };
        }
        for s in [[0.1, 0.5, 0.2], [-3.0, 1.0, 2.0], [2.0, 1.0, 0.0], [0.0, 0.01, -0.01]] {
            let best = orders.iter().max_by(|a, b| by_pairs(&s, *a).total_cmp(&by_pairs(&s, *b))).unwrap();
            for bound in BOUNDS {
                let loss = TypeTwoLoss { bound, aggregation: PairAggregation::Max };
                let bounded = value(loss.forward(scores(&s, &Device::flex()), &full));
                assert!(bounded >= 1.0 - measure(best), "{bound:?} {s:?}: {bounded}");
            }
        }
    }

    #[test]
    fn gradients_agree_with_finite_differences() {
        let device = Device::flex().autodiff();
        let s = [0.4, 0.1, -0.3];
        for bound in BOUNDS {
            let loss = TypeTwoLoss { bound, aggregation: PairAggregation::Sum };
            let x = scores(&s, &device).require_grad();
            let gradients = loss.forward(x.clone(), &sets()).backward();
            let gradient = values(x.grad(&gradients).unwrap());
            for i in 0..3 {
                let at = |h: f64| {
                    let mut moved = s;
                    moved[i] += h;
                    value(loss.forward(scores(&moved, &Device::flex()), &sets()))
                };
                let numeric = (at(1e-6) - at(-1e-6)) / 2e-6;
                assert!((gradient[i] - numeric).abs() < 1e-8, "{bound:?} {i}: {} {numeric}", gradient[i]);
            }
        }
    }

    #[test]
    fn a_query_with_nothing_to_compare_has_loss_zero() {
        let empty = PermutationSet::new(3, 1.0);
        assert_eq!(value(TypeTwoLoss::default().forward(scores(&[1.0, 2.0, 3.0], &Device::flex()), &empty)), 0.0);
    }
}
