//! The factors of positions of one tree ensemble. Each tree is followed by a Newton step on every factor, with the
//! derivatives to which the tree was fitted, as in LightGBM.

use std::borrow::Cow;

use super::objective::Derivatives;
use crate::data::Positions;

/// What LightGBM adds to every curvature, so that a position without any does not move.
const LEAST_CURVATURE: f64 = 0.001;

/// The factors of all positions so far.
pub(super) struct Factors<'a> {
    positions: &'a Positions,
    counts: Vec<usize>,
    l2: f64,
    pub(super) values: Vec<f64>,
}

impl<'a> Factors<'a> {
    /// Starts with factors of 0.
    pub(super) fn new(positions: &'a Positions, l2: f64) -> Self {
        let counts = positions.counts();
        Self { positions, l2, values: vec![0.0; counts.len()], counts }
    }

    /// Returns the scores that the loss sees: each with the factor of its document's position added.
    pub(super) fn added_to<'b>(&self, scores: &'b [f64]) -> Cow<'b, [f64]> {
        let of = self.positions.of_documents();
        scores.iter().zip(of).map(|(score, &position)| score + self.values[position as usize]).collect()
    }

    /// Takes a step: `b[p] += rate (-sum g - l2 b[p] n) / (|-sum h - l2 n| + .001)`, where the sums are over the `n`
    /// documents at position `p`, and `g` and `h` are the derivatives of the loss.
    pub(super) fn step(&mut self, rate: f64, derivatives: &Derivatives) {
        let (mut slopes, mut curvatures) = (vec![0.0; self.values.len()], vec![0.0; self.values.len()]);
        let of = self.positions.of_documents().iter();
        for ((&position, gradient), curvature) in of.zip(&derivatives.gradient).zip(&derivatives.curvature) {
            slopes[position as usize] -= gradient;
            curvatures[position as usize] -= curvature;
        }
        for (place, factor) in self.values.iter_mut().enumerate() {
            let penalty = self.l2 * self.counts[place] as f64;
            let slope = slopes[place] - penalty * *factor;
            *factor += rate * slope / ((curvatures[place] - penalty).abs() + LEAST_CURVATURE);
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;
    use crate::data::RankingDataset;
    use crate::learner::boosted_trees::BoostedTreesConfig;
    use crate::learner::entry::{LearnerConfig, Parts, RankingLearner};
    use crate::learner::{Job, PositionConfig, testing};
    use crate::loss::LossSpec;

    const L2: f64 = 0.3;

    fn data() -> RankingDataset {
        let data = testing::random(20, 8, 3, 5);
        let names = (0..data.documents()).map(|document| format!("p{}", document * 7 % 8 % 5));
        data.with_positions(Positions::new(names)).unwrap()
    }

    fn config(rounds: usize) -> BoostedTreesConfig {
        let position = Some(PositionConfig::Additive { l2: L2 });
        BoostedTreesConfig { rounds, min_documents: 5, leaves: 5, position, ..BoostedTreesConfig::default() }
    }

    #[test]
    fn a_step_by_hand() {
        let positions = Positions::new(["a", "b", "a"]);
        let mut factors = Factors::new(&positions, 0.5);
        factors.values = vec![2.0, -1.0];
        let derivatives = Derivatives { gradient: vec![1.0, -2.0, 0.5], curvature: vec![0.25, 1.0, 0.75] };
        factors.step(0.1, &derivatives);
        // a: (-1.5 - .5 * 2 * 2) / (|-1 - 1| + .001); b: (2 + .5) / (|-1 - .5| + .001).
        let expected = [2.0 + 0.1 * -3.5 / 2.001, -1.0 + 0.1 * 2.5 / 1.501];
        assert!(factors.values.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-15));
        assert_eq!(&factors.added_to(&[0.0; 3])[..], [expected[0], expected[1], expected[0]]);
    }

    /// After each tree, the factors are the formula applied to the derivatives to which the tree was fitted. The loss
    /// gives these derivatives at the scores of the earlier trees and the earlier factors.
    #[test]
    fn factors_after_each_tree_follow_the_derivatives_of_that_tree() {
        let data = data();
        let loss = LossSpec::new("lambda_ndcg");
        let fitted = |rounds: usize| {
            let mut context = testing::context(None);
            context.selection.round = Some(rounds);
            let learner = config(rounds).check(&Parts::default().with_loss(&loss)).unwrap();
            learner.fit(Job::new(&data, None, &context)).unwrap()
        };
        let built = config(1).check(&Parts::default().with_loss(&loss)).unwrap().loss.built;
        let (names, of) = (data.positions.names(), data.positions.of_documents());
        let (mut factors, mut scores) = (vec![0.0; names.len()], vec![0.0; data.documents()]);
        for round in 1..=6 {
            let seen: Vec<f64> = scores.iter().zip(of).map(|(score, &p)| score + factors[p as usize]).collect();
            let mut sums = vec![(0.0, 0.0, 0.0); names.len()];
            for query in 0..data.queries() {
                let range = data.range(query);
                let curved = built.about().curvature.unwrap();
                let found = curved.derivatives(data.query_labels(query), &seen[range.clone()], None);
                for (place, document) in range.enumerate() {
                    let sum = &mut sums[of[document] as usize];
                    *sum = (sum.0 + found.gradient[place], sum.1 + found.curvature[place], sum.2 + 1.0);
                }
            }
            for (factor, (lambda, hessian, n)) in factors.iter_mut().zip(sums) {
                *factor += 0.1 * (-lambda - L2 * *factor * n) / (f64::abs(-hessian - L2 * n) + 0.001);
            }
            let fit = fitted(round);
            for found in &fit.positions {
                let place = names.iter().position(|name| *name == found.position).unwrap();
                assert!((found.factor - factors[place]).abs() < 1e-9, "round {round}: {found:?} {}", factors[place]);
            }
            let crate::ranker::Model::Trees(trees) = &fit.model else { panic!("trees") };
            scores = trees.scores_together(&data);
            assert_eq!(trees.trees(), round);
        }
    }

    #[test]
    fn factors_are_resumed_and_shared() {
        let data = data();
        let some = BoostedTreesConfig { subsample: 0.6, colsample: 0.7, seeds: Some(2), ..config(7) };
        for (config, loss) in [(config(7), "lambda_ndcg"), (some.clone(), "lambda_ndcg"), (some, "list_net")] {
            let learner = config.check(&Parts::default().with_loss(LossSpec::new(loss))).unwrap();
            testing::assert_reproducible(&learner, &data, &data, 3);
            testing::assert_same_in_processes(&learner, &data, &data, 3);
        }
    }

    #[test]
    fn no_surrogate_stands_beside_a_measure_of_scores_without_factors() {
        for (position, expected) in [(None, 2), (config(1).position, 0)] {
            let config = BoostedTreesConfig { position, ..config(1) };
            let learner = config.check(&Parts::default().with_loss(LossSpec::new("approx_ndcg"))).unwrap();
            let fitted = learner.fit(Job::new(&data(), None, &testing::context(None))).unwrap();
            let figures = fitted.history[0].figures.iter();
            let found = figures.filter(|(name, _)| ["surrogate", "exact_learnable"].contains(&name.as_str())).count();
            assert_eq!(found, expected, "{:?}", fitted.history[0]);
        }
    }

    /// Every first document is clicked, whatever its features are.
    #[test]
    fn clicks_that_follow_positions_are_explained_by_factors() {
        let mut data = data();
        data.labels = (0..data.documents()).map(|document| if document % 8 == 0 { 1.0 } else { 0.0 }).collect();
        let names = (0..data.documents()).map(|document| (document % 8 + 1).to_string());
        let data = data.with_positions(Positions::new(names)).unwrap();
        for loss in ["lambda_ndcg", "approx_ndcg", "list_net"] {
            let spread = |position: Option<PositionConfig>| {
                let config = BoostedTreesConfig { position, ..config(20) };
                let learner = config.check(&Parts::default().with_loss(LossSpec::new(loss))).unwrap();
                let fitted = learner.fit(Job::new(&data, None, &testing::context(None))).unwrap();
                let scores = fitted.model.predict(&data, &Device::flex());
                let clicked: f32 = scores.iter().step_by(8).sum();
                (clicked / 20.0 - scores.iter().sum::<f32>() / 160.0, fitted.positions)
            };
            let (with, factors) = spread(Some(PositionConfig::Additive { l2: 0.0 }));
            assert!(factors[1..].iter().all(|other| other.factor < factors[0].factor), "{loss}: {factors:?}");
            assert!(loss != "lambda_ndcg" || with.abs() < spread(None).0, "{loss}: {with}");
        }
    }
}
