//! Computes the mean loss of the training queries and its derivatives with respect to the scores.
//!
//! Automatic differentiation gives the first derivatives of any loss. A loss may also provide second derivatives
//! ([`About::curvature`](crate::loss::About::curvature)), and the leaves then take Newton steps, as in LambdaMART.

use std::sync::Arc;

use burn::tensor::{DType, Device};

use super::config::{NAME, Steps};
use crate::data::batch::Keep;
use crate::learner::prelude::*;
use crate::learner::shared::checks::ask_pairs;
use crate::learner::shared::flat_loss::FlatLoss;
use crate::loss::curvature::{self, Curved};
use crate::loss::{degenerate_queries, idle_queries};
use crate::measure::deviation_of;

/// The mean loss over the queries with at least two different labels, or over all that have something to learn if a
/// teacher or a loss of values also learns from equal labels.
pub(super) struct Objective<'a> {
    /// The loss that is averaged over queries.
    pub(super) loss: Arc<dyn RankingLoss>,
    data: &'a RankingDataset,
    /// The number of queries over which the loss is averaged.
    pub(super) queries: f64,
    /// Computes first derivatives by automatic differentiation; `None` for Newton steps, for which the loss gives its
    /// derivatives.
    flat: Option<FlatLoss>,
    /// The method that computes the value of a leaf.
    pub(super) steps: Steps,
}

impl<'a> Objective<'a> {
    pub(super) fn new(
        loss: Arc<dyn RankingLoss>,
        steps: Steps,
        data: &'a RankingDataset,
        device: &Device,
    ) -> Result<Self> {
        // A teacher may tell documents of one label apart, and a loss of values learns from any label.
        let any = !data.teacher.is_empty() || degenerate_queries(&*loss, &[0.0], &[0, 1])?.is_empty();
        let keep = if any { Keep::All } else { Keep::TwoLabels };
        let flat = (steps != Steps::Newton).then(|| FlatLoss::new(data, keep, DType::F32, device)).transpose();
        let flat = flat.map_err(|error| LearnerError::data(NAME, error))?;
        ask_pairs(&*loss, flat.iter().flat_map(FlatLoss::shapes), DType::F32, device)?;
        let queries = if any {
            data.queries() - idle_queries(&*loss, &data.labels, &data.teacher, &data.offsets)?.len()
        } else {
            (0..data.queries()).filter(|&query| data.has_two_labels(query)).count()
        } as f64;
        Ok(Self { loss, data, queries, flat, steps })
    }

    /// Replaces the loss, for example with one that has a different temperature.
    pub(super) fn set_loss(&mut self, loss: Arc<dyn RankingLoss>) -> Result<()> {
        if self.steps == Steps::Newton && loss.about().curvature.is_none() {
            let reason = format!("{} has second derivatives only at some values of its parameters", loss.about().name);
            return Err(LearnerError::solver(NAME, reason));
        }
        self.loss = loss;
        Ok(())
    }

    /// Returns the mean loss over the queries, given the score of each document.
    pub(super) fn value(&self, scores: &[f64]) -> f64 {
        match &self.flat {
            None => self.derivatives(scores).0,
            Some(flat) => flat.value(&*self.loss, scores) / self.queries,
        }
    }

    /// Returns the mean loss over the queries, and the derivatives of the sum of the losses with respect to each score.
    pub(super) fn derivatives(&self, scores: &[f64]) -> (f64, Derivatives) {
        let (sum, derivatives) = match (&self.flat, self.loss.about().curvature) {
            (None, Some(curved)) => self.second_order(curved, scores),
            (Some(flat), _) => {
                let (sum, gradient) = flat.value_and_gradient(&*self.loss, scores);
                (sum, Derivatives { curvature: vec![1.0; gradient.len()], gradient })
            }
            (None, None) => unreachable!("a loss that is set has second derivatives where the first one has"),
        };
        (sum / self.queries, derivatives)
    }

    fn second_order(&self, curved: &dyn Curved, scores: &[f64]) -> (f64, Derivatives) {
        let of_query = |query: usize| {
            let documents = self.data.range(query);
            let weights = self.data.document_weights.get(documents.clone());
            let labels = self.data.query_labels(query);
            match self.data.teacher.get(documents.clone()) {
                Some(teacher) => curved.taught(labels, teacher, &scores[documents], weights),
                None => curved.derivatives(labels, &scores[documents], weights),
            }
        };
        let own = own(self.data.queries(), self.data.group());
        let found = parallel::map(own, of_query);
        let all = |of: fn(&curvature::Derivatives) -> &[f64]| {
            self.data.group().gather_numbers(found.iter().map(of).collect::<Vec<&[f64]>>().concat())
        };
        let losses = all(|query| std::slice::from_ref(&query.loss));
        let (gradient, curvature) = (all(|query| &query.gradient), all(|query| &query.curvature));
        (losses.into_iter().sum(), Derivatives { gradient, curvature })
    }
}

/// The largest leaf value, in standard deviations of a query's scores. A leaf has this value if all its slopes have the
/// same sign. A Newton step on the logistic loss of a pair has the same length if both scores are equal.
const SPREADS: f64 = 2.0;

/// The minimum weight of a document relative to the mean weight, which keeps the total weight of every leaf above 0.
const LEAST: f64 = 1e-4;

/// The upper limit of the standard deviation of a query's scores. Without this limit, the scores would grow
/// exponentially over the rounds and overflow.
const LARGEST_SPREAD: f64 = 1e3;

/// The first and second derivatives of the loss with respect to each score, to which a tree is fitted.
#[derive(Debug, Clone, Default)]
pub(super) struct Derivatives {
    /// The first derivative `d loss / d score` of each document.
    pub gradient: Vec<f64>,
    /// The second derivative of each document, which is above 0, and equals 1 for all documents in a least-squares fit.
    pub curvature: Vec<f64>,
}

impl Derivatives {
    /// Replaces the curvatures so that a Newton step gives the leaf values of `Steps::Balance`:
    ///
    /// `-sum_i g_i / (sum_i (|g_i| + LEAST) / T_i)`, where `T_i` is [`SPREADS`] times the standard deviation of the
    /// scores in the query of document `i`.
    ///
    /// The leaf moves by up to `T_i` if all slopes have the same sign, and does not move if the slopes add up to 0. The
    /// sizes of the slopes serve as weights, scaled to a mean of 1. A sum of weights is therefore comparable to a
    /// number of documents.
    pub(super) fn balanced(&self, data: &RankingDataset, scores: &[f64]) -> Self {
        let total: f64 = self.gradient.iter().map(|slope| slope.abs()).sum();
        let factor = if total > 0.0 { self.gradient.len() as f64 / total } else { 1.0 };
        let mut curvature = Vec::with_capacity(self.gradient.len());
        for query in 0..data.queries() {
            let documents = data.range(query);
            let reach = SPREADS * spread(&scores[documents.clone()]);
            curvature.extend(self.gradient[documents].iter().map(|slope| (factor * slope.abs() + LEAST) / reach));
        }
        Self { gradient: self.gradient.iter().map(|slope| factor * slope).collect(), curvature }
    }
}

/// Returns the standard deviation of the scores of a query, at most [`LARGEST_SPREAD`], or 1 if all scores are equal up
/// to rounding. Unlike the spread in which losses measure their temperature, it has no floor: it is the length of a
/// step.
fn spread(scores: &[f64]) -> f64 {
    let deviation = deviation_of(scores.iter().copied());
    // The mean of equal scores may differ from them in its last digits.
    let largest = scores.iter().fold(0.0, |largest: f64, score| largest.max(score.abs()));
    if deviation <= 1e-12 * largest { 1.0 } else { deviation.clamp(1e-12, LARGEST_SPREAD) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::boosted_trees::BoostedTreesConfig;
    use crate::learner::entry::{LearnerConfig, Parts, RankingLearner};
    use crate::learner::shared::anneal::AnnealConfig;
    use crate::learner::shared::context::{Round, StopReason};
    use crate::learner::testing::dataset;
    use crate::learner::{Job, testing};
    use crate::loss::LossSpec;

    const SCORES: [f64; 9] = [0.5, 1.25, -0.25, 0.75, 3.0, 1.0, 0.5, -1.5, 0.0];

    fn data() -> RankingDataset {
        let row: &[f32] = &[0.0];
        dataset(
            1,
            &[
                &[(2.0, row), (0.0, row), (1.0, row), (0.0, row)],
                &[(1.0, row), (1.0, row)],
                &[(0.0, row), (1.0, row), (2.0, row)],
            ],
        )
    }

    #[test]
    fn the_gradient_is_that_of_the_value() {
        let weights = vec![1.0, 0.5, 2.0, 3.0, 1.0, 1.0, 0.0, 1.0, 4.0];
        assert_gradient(&data());
        assert_gradient(&data().with_document_weights(weights).unwrap());
    }

    fn assert_gradient(data: &RankingDataset) {
        for name in ["approx_ndcg", "rank_net"] {
            // In scores: the spread of scores would be held.
            let loss = LossSpec::new(name).with_default_temperature(None).unwrap().build().unwrap();
            let steps = if loss.about().curvature.is_some() { Steps::Newton } else { Steps::LineSearch };
            let objective = Objective::new(loss.into(), steps, data, &Device::flex()).unwrap();
            let (value, found) = objective.derivatives(&SCORES);
            assert!((value - objective.value(&SCORES)).abs() < 1e-6, "{name}");
            let mut scores = SCORES;
            scores[2] += 1e-2;
            let above = objective.value(&scores);
            scores[2] -= 2e-2;
            let difference = 2.0 * (above - objective.value(&scores)) / 2e-2;
            assert!((found.gradient[2] - difference).abs() < 1e-3, "{name}: {} {difference}", found.gradient[2]);
            assert_eq!(found.gradient[4..6], [0.0, 0.0]);
        }
    }

    fn config(anneal: AnnealConfig) -> BoostedTreesConfig {
        BoostedTreesConfig { rounds: 5, min_documents: 5, anneal: Some(anneal), ..BoostedTreesConfig::default() }
    }

    fn geometric(parameter: Option<&str>, from: f64, to: f64) -> AnnealConfig {
        AnnealConfig::Geometric { parameter: parameter.map(String::from), from, to, epochs: None }
    }

    #[test]
    fn equal_scores_have_the_spread_of_one_whatever_their_mean_is_rounded_to() {
        assert!(deviation_of([0.1; 3].into_iter()) > 0.0);
        for equal in [&[0.1; 3][..], &[0.0; 2], &[-7e20; 7], &[0.3, 0.1 + 0.2, 0.3]] {
            assert_eq!(spread(equal), 1.0, "{equal:?}");
        }
        assert_eq!([spread(&[1.0, 3.0]), spread(&[1e-9, -1e-9]), spread(&[1e9, -1e9])], [1.0, 1e-9, LARGEST_SPREAD]);
    }

    #[test]
    fn the_temperature_moves_over_the_rounds() {
        let data = testing::random(20, 8, 3, 5);
        // By the balance, and by Newton steps.
        for (anneal, loss, name) in [
            (geometric(None, 1.0, 16.0), LossSpec::new("approx_ndcg"), "alpha"),
            (geometric(None, 1.0, 16.0), LossSpec::parse("ap:approximate_positions"), "alpha"),
            (geometric(Some("sigma"), 1.0, 16.0), LossSpec::new("lambda_ndcg"), "sigma"),
        ] {
            let learner = config(anneal).check(&Parts::default().with_loss(&loss)).unwrap();
            let fitted = learner.fit(Job::new(&data, None, &testing::context(None))).unwrap();
            let moved: Vec<f64> = (fitted.history.iter().flat_map(|round| &round.figures))
                .filter(|(figure, _)| figure == name)
                .map(|(_, value)| *value)
                .collect();
            let expected = [1.0, 2.0, 4.0, 8.0, 16.0];
            assert!(moved.len() == 5 && moved.iter().zip(expected).all(|(m, e)| (m - e).abs() < 1e-9), "{moved:?}");
        }
    }

    /// At the smallest temperatures, no split gains enough.
    #[test]
    fn a_round_without_a_tree_ends_the_fit_only_at_the_end_of_the_schedule() {
        let data = testing::random(20, 8, 3, 5);
        let fit = |from, to, epochs| {
            let anneal = AnnealConfig::Geometric { parameter: Some("sigma".into()), from, to, epochs };
            let config = BoostedTreesConfig { min_gain: 1e-2, ..config(anneal) };
            let learner = config.check(&Parts::default().with_loss(LossSpec::new("lambda_ndcg"))).unwrap();
            if epochs.is_none() {
                testing::assert_reproducible(&learner, &data, &data, 2);
            }
            let fitted = learner.fit(Job::new(&data, None, &testing::context(None))).unwrap();
            let leaves = |round: &Round| round.figures.iter().find(|(name, _)| name == "leaves").unwrap().1;
            (fitted.history.iter().map(|round| leaves(round) > 1.0).collect::<Vec<bool>>(), fitted.stop)
        };
        let (grown, stop) = fit(1e-6, 1.0, None);
        assert_eq!((grown.len(), grown[0], grown[4], stop), (5, false, true, StopReason::Completed));
        assert_eq!(fit(1.0, 1e-6, Some(3)), (vec![true, false], StopReason::Converged));
    }

    #[test]
    fn annealed_fits_resume_to_the_same_bytes() {
        let data = testing::random(20, 8, 3, 5);
        let plateau = AnnealConfig::Plateau { parameter: None, from: 1.0, to: 8.0, factor: 2.0, patience: 1 };
        for anneal in [geometric(None, 1.0, 16.0), plateau] {
            let learner = config(anneal).check(&Parts::default().with_loss(LossSpec::new("approx_ndcg"))).unwrap();
            testing::assert_reproducible(&learner, &data, &data, 2);
        }
    }

    #[test]
    fn what_does_not_move_is_refused() {
        let message = |anneal, loss: &str| {
            config(anneal).check(&Parts::default().with_loss(LossSpec::new(loss))).unwrap_err().to_string()
        };
        assert_eq!(
            message(geometric(None, 1.0, 2.0), "list_net"),
            "learner.anneal.parameter = absent: expected a parameter of the loss `list_net`, which has no temperature"
        );
        assert_eq!(
            message(geometric(None, -1.0, 2.0), "approx_ndcg"),
            "learner.anneal.from = -1: expected a finite number above 0"
        );
        assert!(message(geometric(Some("alpah"), 1.0, 2.0), "approx_ndcg").contains("alpah"));
    }
}
