//! Computes the mean loss of the training queries and its derivatives with respect to the scores.
//!
//! Automatic differentiation gives the first derivatives of any loss. A loss may also provide second derivatives
//! ([`About::curvature`](crate::loss::About::curvature)), and the leaves then take Newton steps, as in LambdaMART.

use std::sync::Arc;

use burn::tensor::{DType, Device};
use rayon::prelude::*;

use super::config::{NAME, Steps};
use super::derivatives::Derivatives;
use crate::data::shards::own;
use crate::data::{Keep, RankingDataset};
use crate::learner::error::LearnerError;
use crate::learner::shared::flat_loss::FlatLoss;
use crate::loss::{Curved, RankingLoss};
use crate::op::Execution;

/// The mean loss over the queries with at least two different labels.
pub(super) struct Objective<'a> {
    loss: Arc<dyn RankingLoss>,
    data: &'a RankingDataset,
    queries: f64,
    /// Computes first derivatives by automatic differentiation; `None` for Newton steps, for which the loss gives its
    /// derivatives.
    flat: Option<FlatLoss>,
    steps: Steps,
}

impl<'a> Objective<'a> {
    pub(super) fn new(
        loss: Arc<dyn RankingLoss>,
        steps: Steps,
        data: &'a RankingDataset,
        device: &Device,
    ) -> Result<Self, LearnerError> {
        let flat = match steps {
            Steps::Newton => None,
            Steps::Balance | Steps::LineSearch => Some(
                FlatLoss::new(data, Keep::TwoLabels, DType::F32, device)
                    .map_err(|error| LearnerError::Data { learner: NAME, reason: error.to_string() })?,
            ),
        };
        let queries = (0..data.queries()).filter(|&query| data.has_two_labels(query)).count() as f64;
        Ok(Self { loss, data, queries, flat, steps })
    }

    /// Returns the method that computes the value of a leaf.
    pub(super) fn steps(&self) -> Steps {
        self.steps
    }

    /// Returns the loss that the objective averages over queries.
    pub(super) fn loss(&self) -> &dyn RankingLoss {
        &*self.loss
    }

    /// Replaces the loss, for example with one that has a different temperature.
    pub(super) fn set_loss(&mut self, loss: Arc<dyn RankingLoss>) -> Result<(), LearnerError> {
        if self.steps == Steps::Newton && loss.about().curvature.is_none() {
            let reason = format!("{} has second derivatives at some values of its parameters only", loss.about().name);
            return Err(LearnerError::Solver { learner: NAME, reason });
        }
        self.loss = loss;
        Ok(())
    }

    /// Returns the number of queries over which the loss is averaged.
    pub(super) fn queries(&self) -> f64 {
        self.queries
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
            curved.derivatives(self.data.query_labels(query), &scores[documents], weights)
        };
        let own = own(self.data.queries(), self.data.group());
        let found: Vec<_> = own.into_par_iter().map(Execution::current().bind(of_query)).collect();
        let documents = found.iter().map(|query| query.gradient.len()).sum();
        let [gradient, curvature] = [0; 2].map(|_| Vec::with_capacity(documents));
        let (mut losses, mut all) = (Vec::with_capacity(found.len()), Derivatives { gradient, curvature });
        for mut query in found {
            losses.push(query.loss);
            all.gradient.append(&mut query.gradient);
            all.curvature.append(&mut query.curvature);
        }
        let [losses, gradient, curvature] =
            [losses, all.gradient, all.curvature].map(|own| self.data.group().gather_numbers(own));
        (losses.into_iter().sum(), Derivatives { gradient, curvature })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::testing::dataset;
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
}
