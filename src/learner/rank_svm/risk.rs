//! Computes the pair risk `sum_q omega_q sum_pairs l(t)`, its gradient and the curvature of the squared hinge.

use std::ops::Range;

use super::pairs::{Active, Levels};
use crate::learner::prelude::*;
use crate::learner::solver::cutting_plane::Risk;

/// How much each pair of documents counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PairWeighting {
    /// Every pair weighs 1.
    #[default]
    Pair,
    /// Each of the `m` queries has a total weight of `1 / m`, divided equally among its pairs.
    Query,
}

struct Query {
    /// The indices of the query's documents, counted from the first document of this process.
    places: Range<usize>,
    weight: f64,
    levels: Levels,
}

/// Computes the risk from the labels of each query, without storing pairs. Each process of the data's group holds some
/// queries, and every process gets the sums over all queries.
pub(super) struct PairRisk<'a> {
    share: Share<'a>,
    /// The queries of this process that have documents with different labels.
    queries: Vec<Query>,
}

impl<'a> PairRisk<'a> {
    pub(super) fn new(data: &'a RankingDataset, weighting: PairWeighting) -> Self {
        let share = Share::new(data);
        let of_query = |query: usize| {
            let levels = Levels::new(data.query_labels(query));
            Query { places: share.places(query), weight: 1.0, levels }
        };
        let all = share.queries.clone().map(of_query);
        let mut queries: Vec<Query> = all.filter(|query| query.levels.pairs() > 0.0).collect();
        if weighting == PairWeighting::Query {
            let count: f64 = share.gather(vec![queries.len() as f64]).iter().sum();
            queries.iter_mut().for_each(|query| query.weight = 1.0 / (count * query.levels.pairs()));
        }
        Self { share, queries }
    }

    /// Returns the hinge risk.
    pub(super) fn hinge(&self, weights: &[f64]) -> Risk {
        let scores = self.share.scores(weights);
        let (values, coefficients) = self.sum(&scores, &scores, |score, active, weight| {
            let missing = (1.0 - score) * active.below.count + active.below.sum;
            (weight * missing, weight * (active.above.count - active.below.count))
        });
        Risk { value: self.share.gather(values).iter().sum(), slope: self.share.weighted_features(&coefficients) }
    }

    /// Returns the risk with the squared hinge, `sum omega max(0, 1 - t)^2`, and the scores of this process's
    /// documents, at which it was computed.
    pub(super) fn squared_hinge(&self, weights: &[f64]) -> (Risk, Vec<f64>) {
        let scores = self.share.scores(weights);
        let (values, coefficients) = self.sum(&scores, &scores, |score, active, weight| {
            let behind = (1.0 - score) * active.below.count + active.below.sum;
            let ahead = (1.0 + score) * active.above.count - active.above.sum;
            let slope = 2.0 * weight * (ahead - behind);
            // (1 - t)^2 = (1 - t) - t (1 - t), and the second part sums to half of slope . score.
            (weight * behind + 0.5 * slope * score, slope)
        });
        let exact = |query: &Query| query.levels.squared_shortfalls(&scores[query.places.clone()]);
        let exact = parallel::map(&self.queries, exact);
        let of_query = self.queries.iter().zip(exact).zip(values);
        let values = of_query.map(|((query, exact), sum)| exact.map_or(sum, |exact| query.weight * exact)).collect();
        let value = self.share.gather(values).iter().sum();
        (Risk { value, slope: self.share.weighted_features(&coefficients) }, scores)
    }

    /// Returns the Hessian of the risk with the squared hinge at the scores `scores_at`, multiplied by `direction`.
    pub(super) fn curvature(&self, scores_at: &[f64], direction: &[f64]) -> Vec<f64> {
        let along = self.share.scores(direction);
        let (_, coefficients) = self.sum(scores_at, &along, |value, active, weight| {
            let count = active.below.count + active.above.count;
            (0.0, 2.0 * weight * (count * value - active.below.sum - active.above.sum))
        });
        self.share.weighted_features(&coefficients)
    }

    /// Calls `term(value, active partners, query weight)` for each document. The result is the document's part of the
    /// risk and its coefficient in the gradient. Returns the risk of each query in this process, and the coefficient of
    /// each document.
    fn sum(
        &self,
        scores: &[f64],
        values: &[f64],
        term: impl Fn(f64, &Active, f64) -> (f64, f64) + Sync,
    ) -> (Vec<f64>, Vec<f64>) {
        let parts: Vec<Vec<(f64, f64)>> = parallel::map(&self.queries, |query| {
            let places = query.places.clone();
            let active = query.levels.active(&scores[places.clone()], &values[places.clone()]);
            active.iter().zip(&values[places]).map(|(active, &value)| term(value, active, query.weight)).collect()
        });
        let mut coefficients = vec![0.0; scores.len()];
        let mut risks = Vec::with_capacity(parts.len());
        for (query, part) in self.queries.iter().zip(parts) {
            risks.push(part.iter().map(|(risk, _)| risk).sum());
            for (place, (_, coefficient)) in query.places.clone().zip(part) {
                coefficients[place] = coefficient;
            }
        }
        (risks, coefficients)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::shared::share::linear_scores as scores;
    use crate::learner::testing;

    /// Computes the value and the gradient of a pair loss, pair by pair.
    fn explicit(
        data: &RankingDataset,
        weights: &[f64],
        query_weight: bool,
        loss: fn(f64) -> (f64, f64),
    ) -> (f64, Vec<f64>) {
        let scores = scores(data, weights);
        let mut value = 0.0;
        let mut gradient = vec![0.0; weights.len()];
        for query in 0..data.queries() {
            let pairs: Vec<(usize, usize)> = data
                .range(query)
                .flat_map(|i| data.range(query).map(move |j| (i, j)))
                .filter(|&(i, j)| data.labels[i] > data.labels[j])
                .collect();
            let weight = if query_weight { 1.0 / (2.0 * pairs.len() as f64) } else { 1.0 };
            for (i, j) in pairs {
                let (part, slope) = loss(scores[i] - scores[j]);
                value += weight * part;
                for (feature, g) in gradient.iter_mut().enumerate() {
                    *g += weight * slope * f64::from(data.row(i)[feature] - data.row(j)[feature]);
                }
            }
        }
        (value, gradient)
    }

    fn assert_close(found: &[f64], expected: &[f64]) {
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-10, "{found} is not {expected}");
        }
    }

    #[test]
    fn values_and_gradients_agree_with_explicit_pairs() {
        let data = testing::random(2, 12, 3, 5);
        let weights = [0.4, -1.1, 0.8];
        for weighting in [PairWeighting::Pair, PairWeighting::Query] {
            let risk = PairRisk::new(&data, weighting);
            let by_query = weighting == PairWeighting::Query;
            let hinge = risk.hinge(&weights);
            let (value, gradient) =
                explicit(&data, &weights, by_query, |t| ((1.0 - t).max(0.0), if t < 1.0 { -1.0 } else { 0.0 }));
            assert_close(&[hinge.value], &[value]);
            assert_close(&hinge.slope, &gradient);
            let (squared, _) = risk.squared_hinge(&weights);
            let (value, gradient) = explicit(&data, &weights, by_query, |t| {
                let missing = (1.0 - t).max(0.0);
                (missing * missing, -2.0 * missing)
            });
            assert_close(&[squared.value], &[value]);
            assert_close(&squared.slope, &gradient);
        }
    }

    #[test]
    fn pairs_close_to_the_margin_keep_their_digits() {
        // One pair a hair short of the margin, at scores of a million.
        let data = testing::dataset(1, &[&[(1.0, &[1e6 + 1.0]), (0.0, &[1e6])]]);
        let short = 1e-5;
        let (found, _) = PairRisk::new(&data, PairWeighting::Pair).squared_hinge(&[1.0 - short]);
        let t = (1e6 + 1.0) * (1.0 - short) - 1e6 * (1.0 - short);
        assert!((found.value / (1.0 - t).powi(2) - 1.0).abs() < 1e-9, "{}", found.value);
        assert!((found.value / (short * short) - 1.0).abs() < 1e-3, "{}", found.value);
    }

    #[test]
    fn the_curvature_is_the_change_of_the_gradient() {
        let data = testing::random(2, 12, 3, 6);
        let risk = PairRisk::new(&data, PairWeighting::Query);
        let (weights, direction, step) = ([0.4, -1.1, 0.8], [1.0, 0.5, -2.0], 1e-7);
        let (at, scores) = risk.squared_hinge(&weights);
        let moved: Vec<f64> = weights.iter().zip(&direction).map(|(w, d)| w + step * d).collect();
        let (after, _) = risk.squared_hinge(&moved);
        let product = risk.curvature(&scores, &direction);
        for (feature, expected) in product.iter().enumerate() {
            let difference = (after.slope[feature] - at.slope[feature]) / step;
            assert!((difference - expected).abs() < 1e-5, "{difference} is not {expected}");
        }
    }
}
