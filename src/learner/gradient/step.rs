//! One step of training: the loss of its queries and the gradients of their mean, computed in parts.

use burn::module::Module;
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::Tensor;

use super::batches::Batches;
use super::model::{RankingModel, TrainingBatch};
use super::noise::drawn;
use crate::seed::seed_for;

/// The queries of a step, and what its random draws follow from.
pub(super) struct TrainingStep<'a> {
    pub(super) batches: &'a Batches<'a>,
    pub(super) queries: &'a [usize],
    /// Seed of the run.
    pub(super) run: u64,
    /// From 1.
    pub(super) epoch: usize,
    /// Place of the step in its epoch, from 0.
    pub(super) index: usize,
    /// Seed of dropout in the epoch.
    pub(super) dropout: u64,
}

impl TrainingStep<'_> {
    /// Sum of the losses of the queries, `[1]` without graph, and `scale` times the gradients of their mean. The same model
    /// gives the same result again.
    pub(super) fn gradients(&self, model: &RankingModel, scale: f64) -> (Tensor<1>, GradientsParams) {
        let queries = self.queries.len();
        let seed = seed_for(self.dropout, "step", self.index as u64);
        let noise = seed_for(self.run, "input", self.epoch as u64);
        let mut parts = self.batches.parts(self.queries).enumerate().map(|(part, batch)| {
            let item = TrainingBatch { batch, seed: seed_for(seed, "part", part as u64), noise };
            match drawn(model.loss(), self.run, self.epoch, self.index, part) {
                None => model.part(&item, queries, scale),
                Some(loss) => model.clone().with_loss(loss.into()).part(&item, queries, scale),
            }
        });
        let Some((mut loss, mut grads)) = parts.next() else {
            let zero = Tensor::zeros([1], &model.devices()[0].clone().inner());
            return (zero, GradientsParams::new());
        };
        if let Some((next_loss, next_grads)) = parts.next() {
            let mut sum = GradientsAccumulator::new();
            sum.accumulate(model, grads);
            sum.accumulate(model, next_grads);
            loss = loss + next_loss;
            for (next_loss, next_grads) in parts {
                sum.accumulate(model, next_grads);
                loss = loss + next_loss;
            }
            grads = sum.grads();
        }
        (loss, grads)
    }
}
