//! Minimizes the bound for any scorer, by Adam steps on `1/2 ||w - w_0||^2 + C / m sum_q loss_q`. Here `w_0` are the
//! initial parameters, and `loss_q` is the bound that the configuration selects (hinge, margin hinge, logistic or
//! exponential). The problem need not be convex, so no duality gap is known. The result is the parameters with the
//! lowest objective of all steps.

use super::PermuRankConfig;
use super::working_sets::{Bound, WorkingSets};
use crate::data::RankingBatch;
use crate::learner::prelude::*;
use crate::learner::shared::flat_scorer::FlatScorer;

const FIRST_MOMENT: f64 = 0.9;
const SECOND_MOMENT: f64 = 0.999;

/// The bound for a scorer of any kind, with derivatives from automatic differentiation.
pub(super) struct NetworkBound<'a> {
    network: FlatScorer,
    /// The initial parameters `w_0`.
    center: Vec<f64>,
    /// One batch for each query of the dataset, on the training device.
    batches: Vec<RankingBatch>,
    config: &'a PermuRankConfig,
}

impl<'a> NetworkBound<'a> {
    pub(super) fn new(scorer: Scorer, config: &'a PermuRankConfig, job: Job) -> Self {
        let Job { train: data, context, .. } = job;
        let network = FlatScorer::new(scorer, &context.device);
        let training = context.device.clone().autodiff();
        let batches = (0..data.queries()).map(|query| RankingBatch::assemble(data, &[query], &training)).collect();
        Self { center: network.parameters(), network, batches, config }
    }

    /// Returns the objective and its derivative with respect to each parameter.
    fn objective(&self, sets: &WorkingSets, cost: f64, parameters: &[f64]) -> (f64, Vec<f64>) {
        let loss = self.config.loss();
        let mut away = parameters.to_vec();
        add_scaled(&mut away, -1.0, &self.center);
        let mut value = 0.0;
        let mut gradient = vec![0.0; parameters.len()];
        let scorer = self.network.training_scorer(parameters);
        for query in &sets.queries {
            let batch = &self.batches[query.index];
            let scores = scorer.forward(batch.features.clone(), batch.mask.clone());
            let output = loss.forward(scores, &query.set);
            value += output.to_data().iter::<f64>().sum::<f64>();
            FlatScorer::add_gradients(&scorer, &output.backward(), &mut gradient);
        }
        let share = cost / sets.queries.len() as f64;
        gradient.iter_mut().zip(&away).for_each(|(g, a)| *g = share * *g + a);
        (share * value + 0.5 * dot(&away, &away), gradient)
    }
}

impl Bound for NetworkBound<'_> {
    fn start(&self) -> Vec<f64> {
        self.center.clone()
    }

    fn begin(&mut self, _: &WorkingSets) {}

    fn minimize(&mut self, sets: &WorkingSets, cost: f64, start: &[f64]) -> Result<Solved, String> {
        let mut parameters = start.to_vec();
        let mut first = vec![0.0; parameters.len()];
        let mut second = vec![0.0; parameters.len()];
        let mut best: Option<(f64, Vec<f64>)> = None;
        for step in 1..=self.config.gradient_steps {
            let (value, gradient) = self.objective(sets, cost, &parameters);
            if best.as_ref().is_none_or(|(lowest, _)| value < *lowest) {
                best = Some((value, parameters.clone()));
            }
            let [unbias_first, unbias_second] =
                [FIRST_MOMENT, SECOND_MOMENT].map(|moment| 1.0 - moment.powi(step as i32));
            for (place, g) in gradient.into_iter().enumerate() {
                first[place] = FIRST_MOMENT * first[place] + (1.0 - FIRST_MOMENT) * g;
                second[place] = SECOND_MOMENT * second[place] + (1.0 - SECOND_MOMENT) * g * g;
                let scale = (second[place] / unbias_second).sqrt() + 1e-8;
                parameters[place] -= self.config.learning_rate * first[place] / unbias_first / scale;
            }
        }
        let last = self.objective(sets, cost, &parameters).0;
        if !last.is_finite() {
            return Err("the bound is no longer finite: lower learner.learning_rate".to_owned());
        }
        let (objective, weights) = match best {
            Some((lowest, parameters)) if lowest <= last => (lowest, parameters),
            _ => (last, parameters),
        };
        Ok(Solved { weights, objective, gap: None, converged: true, failure: None, figures: Vec::new() })
    }

    fn scores(&self, parameters: &[f64], data: &RankingDataset) -> Vec<f64> {
        self.network.scores(parameters, data)
    }

    fn model(&self, parameters: &[f64]) -> Model {
        self.network.model(parameters)
    }
}
