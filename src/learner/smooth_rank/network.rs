//! The objective of SmoothRank for any scorer, with gradients from automatic differentiation.

use super::config::{NAME, Optimizer};
use super::descent::{self, Limits};
use super::objective::Objective;
use crate::data::shards::own;
use crate::data::{BatchPlanner, BatchPlannerConfig, RankingBatch, RankingDataset};
use crate::learner::error::LearnerError;
use crate::learner::shared::checks::ask_training;
use crate::learner::shared::context::FitContext;
use crate::learner::shared::flat_scorer::FlatScorer;
use crate::learner::shared::rounds::Set;
use crate::loss::{MseGainConfig, RankingLoss, Reduction};
use crate::measure::Gain;
use crate::ranker::Model;
use crate::scorer::ScorerConfig;
use crate::seed::seed_for;

/// The maximum number of document positions in one batch, including padding.
const CELLS: usize = 1 << 14;
/// The maximum number of steps of the regression, as a multiple of the maximum for one sigma. More steps are allowed
/// because the regression starts from random weights.
const REGRESSION_STEPS: usize = 5;

/// The objective for a scorer of any kind.
pub(super) struct NetworkObjective<'a> {
    network: FlatScorer,
    /// The batches that this process computes.
    batches: Vec<RankingBatch>,
    train: &'a RankingDataset,
    validation: Option<&'a RankingDataset>,
}

impl<'a> NetworkObjective<'a> {
    pub(super) fn new(
        scorer: &ScorerConfig,
        train: &'a RankingDataset,
        validation: Option<&'a RankingDataset>,
        context: &FitContext<'a>,
    ) -> Result<Self, LearnerError> {
        let training = context.device.clone().autodiff();
        let plan = BatchPlanner::new(train, &BatchPlannerConfig::in_order(CELLS), 0)
            .map_err(|error| LearnerError::Data { learner: NAME, reason: error.to_string() })?;
        ask_training(scorer, train, plan.shapes(), "the length of lists", context)?;
        let scorer = scorer.init(train.feature_count, seed_for(context.seed, NAME, 0), &context.device)?;
        let network = FlatScorer::new(scorer, &context.device);
        let plan = plan.epoch(0);
        let own = &plan[own(plan.len(), train.group())];
        let batches = own.iter().map(|queries| RankingBatch::assemble(train, queries, &training)).collect();
        Ok(Self { network, batches, train, validation })
    }

    /// Returns the weights with which the scorer predicts the gains best in the least-squares sense. The minimization
    /// starts from the initial weights of the scorer. SmoothRank starts from the returned weights. (If the scorer is
    /// linear, it starts from the ridge regression.)
    pub(super) fn regression(
        &self,
        gain: Gain,
        lambda: f64,
        optimizer: Optimizer,
        limits: Limits,
    ) -> Result<Vec<f64>, LearnerError> {
        let loss = MseGainConfig::new().with_gain(gain).init()?;
        let initial = self.network.parameters();
        let limits = Limits { steps: REGRESSION_STEPS * limits.steps, ..limits };
        Ok(descent::minimize(self, &loss, lambda, &initial, &initial, optimizer, limits)?.weights)
    }
}

impl Objective for NetworkObjective<'_> {
    fn value_and_gradient(&self, weights: &[f64], loss: &dyn RankingLoss) -> (f64, Vec<f64>) {
        let scorer = self.network.training_scorer(weights);
        // The value of each batch, and its gradient.
        let mut sums = Vec::new();
        for batch in &self.batches {
            let scores = scorer.forward(batch.features.clone(), batch.mask.clone());
            let output = loss.forward(scores, batch.labels.clone(), batch.mask.clone(), Reduction::Sum);
            sums.push(output.to_data().iter::<f64>().sum::<f64>());
            let start = sums.len();
            sums.resize(start + weights.len(), 0.0);
            FlatScorer::add_gradients(&scorer, &output.backward(), &mut sums[start..]);
        }
        let mut value = 0.0;
        let mut gradient = vec![0.0; weights.len()];
        for sum in self.train.group().gather_numbers(sums).chunks_exact(1 + weights.len()) {
            value += sum[0];
            gradient.iter_mut().zip(&sum[1..]).for_each(|(gradient, slope)| *gradient += slope);
        }
        (value, gradient)
    }

    fn scores(&self, weights: &[f64], set: Set) -> Vec<f64> {
        match (set, self.validation) {
            (Set::Validation, Some(data)) => self.network.scores(weights, data),
            _ => self.network.scores(weights, self.train),
        }
    }

    fn model(&self, weights: &[f64]) -> Model {
        self.network.model(weights)
    }
}
