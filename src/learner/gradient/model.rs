//! Defines `RankingModel`, which combines a scorer with its loss for burn-train's `Learner` and `SupervisedTraining`.

use std::sync::Arc;

use burn::data::dataloader::batcher::Batcher;
use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Device, FloatDType, Tensor};
use burn::train::{InferenceStep, TrainOutput, TrainStep};

use crate::data::{RankingBatch, RankingDataset};
use crate::loss::{Lists, RankingLoss};
use crate::metric::{RankingInput, RankingOutput};
use crate::scorer::{Scorer, noise_seeds};
use crate::seed::seed_for;

/// A scorer and the loss that trains it.
#[derive(Module, Debug)]
pub struct RankingModel {
    /// The scorer that is trained.
    pub scorer: Scorer,
    #[module(skip)]
    loss: Arc<dyn RankingLoss>,
    /// The number type in which the layers of the scorer compute during training, or `None` for the type of the
    /// features.
    #[module(skip)]
    layers: Option<FloatDType>,
}

impl RankingModel {
    /// Combines a scorer with the loss that trains it.
    pub fn new(scorer: Scorer, loss: Arc<dyn RankingLoss>) -> Self {
        Self { scorer, loss, layers: None }
    }

    /// Returns the same model with layers that compute in the given type in training.
    pub(super) fn with_layers_in(self, layers: Option<FloatDType>) -> Self {
        Self { layers, ..self }
    }

    /// Returns the same scorer with another loss, for example one with a different temperature.
    pub fn with_loss(self, loss: Arc<dyn RankingLoss>) -> Self {
        Self { loss, ..self }
    }

    pub(super) fn loss(&self) -> &dyn RankingLoss {
        &*self.loss
    }

    /// Returns the training loss of each query, `[queries]`, and the scores, `[queries, documents]`.
    fn losses(&self, item: &TrainingBatch) -> (Tensor<1>, Tensor<2>) {
        let RankingBatch { features, labels, mask, document_weights, .. } = item.batch.clone();
        let noise = noise_seeds(item.noise, item.batch.queries.iter().copied());
        let scores = self.scorer.forward_training_clean(features, mask.clone(), item.seed, &noise, self.layers);
        let mut lists = Lists::padded(scores.clone(), labels, mask);
        if let Some(weights) = document_weights {
            lists = lists.with_document_weights(weights);
        }
        (lists.losses(&*self.loss), scores)
    }

    /// Returns the weighted sum of the losses in one part of a step, `[1]`, detached from the autodiff graph. Also
    /// returns the gradients of this sum, multiplied by `scale / queries`, where `queries` counts all queries of the
    /// step.
    pub(super) fn part(&self, item: &TrainingBatch, queries: usize, scale: f64) -> (Tensor<1>, GradientsParams) {
        let sum = weighted(self.losses(item).0, &item.batch).sum();
        let grads = GradientsParams::from_grads((sum.clone() / queries as f64 * scale).backward(), self);
        (sum.without_autodiff(), grads)
    }
}

/// Multiplies the loss of each query of a batch by the query's weight.
fn weighted(losses: Tensor<1>, batch: &RankingBatch) -> Tensor<1> {
    match &batch.query_weights {
        Some(weights) => losses.clone() * weights.clone().cast(losses.dtype()),
        None => losses,
    }
}

/// A batch with the seeds of its dropout and noise.
#[derive(Debug, Clone)]
pub struct TrainingBatch {
    /// Queries padded to one length.
    pub batch: RankingBatch,
    /// The seed of the dropout masks.
    pub seed: u64,
    /// The seed of the noise on the features. The noise of a query does not depend on the other queries of its batch.
    pub noise: u64,
}

/// Makes padded batches from the indices of queries, for burn's `DataLoaderBuilder`. Query weights multiply the losses
/// in the mean over a batch. [`RankingDataset::weighted_for_training`] scales the weights to a mean of 1. Weights of
/// documents are passed to the loss.
#[derive(Debug, Clone)]
pub struct RankingBatcher {
    data: Arc<RankingDataset>,
    seed: u64,
}

impl RankingBatcher {
    /// Creates a batcher of `data`, which must be normalized. Dropout and noise are drawn from `seed`.
    pub fn new(data: Arc<RankingDataset>, seed: u64) -> Self {
        Self { data, seed }
    }
}

impl Batcher<usize, TrainingBatch> for RankingBatcher {
    fn batch(&self, queries: Vec<usize>, device: &Device) -> TrainingBatch {
        let first = queries.first().copied().unwrap_or(0) as u64;
        let (seed, noise) = (seed_for(self.seed, "dropout", first), seed_for(self.seed, "input", first));
        TrainingBatch { batch: RankingBatch::assemble(&self.data, &queries, device), seed, noise }
    }
}

impl TrainStep for RankingModel {
    type Input = TrainingBatch;
    type Output = RankingOutput;

    fn step(&self, item: TrainingBatch) -> TrainOutput<RankingOutput> {
        let (losses, scores) = self.losses(&item);
        let grads = weighted(losses.clone(), &item.batch).mean().backward();
        let RankingBatch { labels, mask, .. } = item.batch;
        TrainOutput::new(self, grads, RankingOutput { losses, ranked: RankingInput::Lists { scores, labels, mask } })
    }
}

impl InferenceStep for RankingModel {
    type Input = TrainingBatch;
    type Output = RankingOutput;

    fn step(&self, item: TrainingBatch) -> RankingOutput {
        let RankingBatch { features, labels, mask, .. } = item.batch;
        let scores = self.scorer.forward_clean(features, mask.clone());
        let losses = self.loss.forward_no_reduction(scores.clone(), labels.clone(), mask.clone());
        RankingOutput { losses, ranked: RankingInput::Lists { scores, labels, mask } }
    }
}
