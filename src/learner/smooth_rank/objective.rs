//! The objective of SmoothRank, for a linear scorer of the features or of kernel components, and for any other scorer
//! with gradients from automatic differentiation.

use burn::tensor::{DType, Device};

use super::NAME;
use super::kernel::KernelMap;
use crate::data::batch::{BatchPlannerConfig, Keep};
use crate::data::{BatchPlanner, RankingBatch};
use crate::learner::prelude::*;
use crate::learner::shared::checks::ask_training;
use crate::learner::shared::flat_loss::{CELLS, FlatLoss};
use crate::learner::shared::flat_scorer::FlatScorer;
use crate::loss::Reduction;

/// Computes the scores and the training losses of a scorer with given weights.
pub(super) trait Objective {
    /// Returns the sum of the losses over training queries, and its derivative with respect to each weight.
    fn value_and_gradient(&self, weights: &[f64], loss: &dyn RankingLoss) -> (f64, Vec<f64>);

    /// Returns the score of every training or validation document.
    fn scores(&self, weights: &[f64], set: Set) -> Vec<f64>;

    /// Returns the model with the given weights.
    fn model(&self, weights: &[f64]) -> Model;
}

/// The objective for a linear scorer.
pub(super) struct LinearObjective<'a> {
    /// The training data, with kernel components instead of features if there is a kernel.
    pub(super) train: Cow<'a, RankingDataset>,
    validation: Option<Cow<'a, RankingDataset>>,
    kernel: Option<KernelMap>,
    losses: FlatLoss,
    device: Device,
}

impl<'a> LinearObjective<'a> {
    pub(super) fn new(
        train: Cow<'a, RankingDataset>,
        validation: Option<Cow<'a, RankingDataset>>,
        kernel: Option<KernelMap>,
        device: &Device,
    ) -> Result<Self> {
        let losses =
            FlatLoss::new(&train, Keep::All, DType::F64, device).map_err(|error| LearnerError::data(NAME, error))?;
        Ok(Self { train, validation, kernel, losses, device: device.clone() })
    }
}

impl Objective for LinearObjective<'_> {
    fn value_and_gradient(&self, weights: &[f64], loss: &dyn RankingLoss) -> (f64, Vec<f64>) {
        let share = Share::new(&self.train);
        let (value, slopes) = self.losses.value_and_gradient(loss, &share.all_scores(weights));
        (value, share.weighted_features(&slopes[share.documents()]))
    }

    fn scores(&self, weights: &[f64], set: Set) -> Vec<f64> {
        let data = match (set, &self.validation) {
            (Set::Validation, Some(data)) => data,
            _ => &self.train,
        };
        Share::new(data).all_scores(weights)
    }

    fn model(&self, weights: &[f64]) -> Model {
        match &self.kernel {
            None => linear_model(weights, 0.0, &self.device),
            Some(kernel) => Model::Kernel(kernel.expansion(weights)),
        }
    }
}

/// The objective for a scorer of any kind.
pub(super) struct NetworkObjective<'a> {
    pub(super) network: FlatScorer,
    /// The batches that this process computes.
    batches: Vec<RankingBatch>,
    job: Job<'a>,
}

impl<'a> NetworkObjective<'a> {
    pub(super) fn new(scorer: &ScorerConfig, job: Job<'a>) -> Result<Self> {
        let Job { train, context, .. } = job;
        let training = context.device.clone().autodiff();
        let plan = BatchPlanner::with(train, &BatchPlannerConfig::in_order(CELLS), 0)
            .map_err(|error| LearnerError::data(NAME, error))?;
        ask_training(scorer, job, plan.shapes(), "the length of lists")?;
        let scorer = scorer.init(train.feature_count, seed_for(context.seed, NAME, 0), &context.device)?;
        let network = FlatScorer::new(scorer, &context.device);
        let plan = plan.epoch(0);
        let own = &plan[own(plan.len(), train.group())];
        let batches = own.iter().map(|queries| RankingBatch::assemble(train, queries, &training)).collect();
        Ok(Self { network, batches, job })
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
        for sum in self.job.train.group().gather_numbers(sums).chunks_exact(1 + weights.len()) {
            value += sum[0];
            gradient.iter_mut().zip(&sum[1..]).for_each(|(gradient, slope)| *gradient += slope);
        }
        (value, gradient)
    }

    fn scores(&self, weights: &[f64], set: Set) -> Vec<f64> {
        let data = match (set, self.job.validation) {
            (Set::Validation, Some(data)) => data,
            _ => self.job.train,
        };
        self.network.scores(weights, data)
    }

    fn model(&self, weights: &[f64]) -> Model {
        self.network.model(weights)
    }
}
