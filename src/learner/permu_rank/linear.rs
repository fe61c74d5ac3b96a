//! Minimizes the bound for a linear scorer. `F` is linear in the weights, so each round is a convex problem. Cutting
//! planes, which need a quadratic program, solve this problem to a given duality gap.

use super::PermuRankConfig;
use super::bounds::{PairAggregation, TypeTwoLoss};
use super::working_sets::{Bound, Query, WorkingSets};
use crate::learner::prelude::*;
use crate::learner::shared::share::linear_scores;
use crate::learner::solver::cutting_plane::{self, Risk};

/// The bound for a linear scorer, with the feature vector `Phi` of every permutation in the working sets.
pub(super) struct LinearBound<'a> {
    config: &'a PermuRankConfig,
    job: Job<'a>,
    queries: Vec<Features>,
}

/// For each permutation of a query, the feature vector `Phi`, whose product with the weights is `F`.
#[derive(Default)]
struct Features {
    perfect: Vec<Vec<f64>>,
    imperfect: Vec<Vec<f64>>,
}

impl<'a> LinearBound<'a> {
    pub(super) fn new(config: &'a PermuRankConfig, job: Job<'a>) -> Self {
        Self { config, job, queries: Vec::new() }
    }

    /// Returns the mean loss of the queries and its derivative with respect to the weights.
    fn risk(&self, sets: &WorkingSets, weights: &[f64]) -> Risk {
        let loss = self.config.loss();
        let of = |(features, query): (&Features, &Query)| features.risk(loss, query.set.measure_losses(), weights);
        let parts = parallel::map(self.queries.iter().zip(&sets.queries), of);
        let share = 1.0 / parts.len() as f64;
        let mut mean = Risk { value: 0.0, slope: vec![0.0; weights.len()] };
        for part in parts {
            mean.value += share * part.value;
            add_scaled(&mut mean.slope, share, &part.slope);
        }
        mean
    }
}

impl Bound for LinearBound<'_> {
    fn start(&self) -> Vec<f64> {
        vec![0.0; self.job.train.feature_count]
    }

    fn begin(&mut self, sets: &WorkingSets) {
        self.queries.clear();
        self.queries.resize_with(sets.queries.len(), Features::default);
    }

    fn minimize(&mut self, sets: &WorkingSets, cost: f64, start: &[f64]) -> Result<Solved, String> {
        let data = self.job.train;
        let extend = |(features, query): (&mut Features, &Query)| features.extend(data, query);
        parallel::for_each(self.queries.iter_mut().zip(&sets.queries), extend);
        let risk = |weights: &[f64]| self.risk(sets, weights);
        let PermuRankConfig { tolerance, max_steps, .. } = *self.config;
        cutting_plane::minimize(cost, start, &risk, tolerance, max_steps, &|| self.job.interrupted())
    }

    fn scores(&self, weights: &[f64], data: &RankingDataset) -> Vec<f64> {
        linear_scores(data, weights)
    }

    fn model(&self, weights: &[f64]) -> Model {
        linear_model(weights, 0.0, &self.job.context.device)
    }
}

impl Features {
    /// Computes `Phi` for the permutations that were added to the working sets since the last call.
    fn extend(&mut self, data: &RankingDataset, query: &Query) {
        let features = |order: &Vec<u32>| {
            let mut sum = vec![0.0; data.feature_count];
            for (document, coefficient) in query.set.coefficients(order).into_iter().enumerate() {
                let row = data.row(query.documents.start + document);
                sum.iter_mut().zip(row).for_each(|(s, &x)| *s += coefficient * f64::from(x));
            }
            sum
        };
        self.perfect.extend(query.set.perfect[self.perfect.len()..].iter().map(features));
        self.imperfect.extend(query.set.imperfect[self.imperfect.len()..].iter().map(features));
    }

    /// Returns the loss of the query and its slope, from all pairs of a perfect permutation `b` and an imperfect
    /// permutation `r`. `losses` gives `d_r`, the measure lost by `r`, and `m = w . (Phi_b - Phi_r)`.
    fn risk(&self, loss: TypeTwoLoss, losses: impl Iterator<Item = f64>, weights: &[f64]) -> Risk {
        let score = |phi: &Vec<f64>| dot(phi, weights);
        let perfect: Vec<f64> = self.perfect.iter().map(score).collect();
        let mut slope = vec![0.0; weights.len()];
        let mut value = 0.0;
        if loss.aggregation == PairAggregation::Max {
            let mut steepest = (0, 0, 0.0);
            for ((place, phi), d) in self.imperfect.iter().enumerate().zip(losses) {
                let own = score(phi);
                for (other, f) in perfect.iter().enumerate() {
                    let (term, derivative) = loss.bound.at(d, f - own);
                    if term > value {
                        (value, steepest) = (term, (other, place, derivative));
                    }
                }
            }
            let (high, low, derivative) = steepest;
            add_scaled(&mut slope, derivative, &self.perfect[high]);
            add_scaled(&mut slope, -derivative, &self.imperfect[low]);
            return Risk { value, slope };
        }
        let share = match loss.aggregation {
            PairAggregation::SumPerPerfect => 1.0 / perfect.len() as f64,
            _ => 1.0,
        };
        let mut raise = vec![0.0; perfect.len()];
        for (phi, d) in self.imperfect.iter().zip(losses) {
            let own = score(phi);
            let mut lower = 0.0;
            for (place, f) in perfect.iter().enumerate() {
                let (term, derivative) = loss.bound.at(d, f - own);
                value += share * term;
                raise[place] += share * derivative;
                lower -= share * derivative;
            }
            add_scaled(&mut slope, lower, phi);
        }
        self.perfect.iter().zip(raise).for_each(|(phi, factor)| add_scaled(&mut slope, factor, phi));
        Risk { value, slope }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Device, Tensor, TensorData};

    use super::*;
    use crate::learner::permu_rank::Pairs;
    use crate::learner::permu_rank::bounds::TypeTwoBound;
    use crate::learner::shared::context::Selection;
    use crate::learner::testing;
    use crate::measure::Convention;

    /// Checks that the risk of every bound equals the loss that trains networks. Also checks the slope of the risk
    /// against differences of its values.
    #[test]
    fn the_risk_is_the_type_two_loss() {
        let data = testing::random(1, 9, 2, 3);
        let convention = Convention::preset("letor").unwrap();
        let selection = Selection { convention, ..Selection::best("ndcg".parse().unwrap()) };
        let bounds =
            [TypeTwoBound::Hinge, TypeTwoBound::MarginHinge, TypeTwoBound::Logistic, TypeTwoBound::Exponential];
        for pairs in [Pairs::All, Pairs::Different] {
            let mut sets = WorkingSets::new(&data, &selection, pairs).unwrap();
            for weights in [[0.0, 0.0], [1.0, 0.5], [-2.0, 1.0], [0.3, -3.0]] {
                sets.grow(&linear_scores(&data, &weights));
            }
            let query = &sets.queries[0];
            let mut features = Features::default();
            features.extend(&data, query);
            assert_eq!(features.perfect.len() > 1, pairs == Pairs::All);
            for bound in bounds {
                for aggregation in [PairAggregation::Max, PairAggregation::Sum, PairAggregation::SumPerPerfect] {
                    let loss = TypeTwoLoss { bound, aggregation };
                    let risk = |weights: &[f64]| features.risk(loss, query.set.measure_losses(), weights);
                    let weights = [0.4, 0.9];
                    let scores = TensorData::new(linear_scores(&data, &weights), [1, data.documents()]);
                    let scores = Tensor::from_data(scores, (&Device::flex(), DType::F64));
                    let expected = loss.forward(scores, &query.set).into_data().iter::<f64>().next().unwrap();
                    let found = risk(&weights);
                    let case = format!("{loss:?} {pairs:?}");
                    assert!((found.value - expected).abs() < 1e-6 * expected, "{case}: {} {expected}", found.value);
                    for (feature, slope) in found.slope.iter().enumerate() {
                        let at = |step: f64| {
                            let mut moved = weights;
                            moved[feature] += step;
                            risk(&moved).value
                        };
                        let numeric = (at(1e-6) - at(-1e-6)) / 2e-6;
                        assert!((slope - numeric).abs() < 1e-6, "{case}: {slope} {numeric}");
                    }
                }
            }
        }
    }
}
