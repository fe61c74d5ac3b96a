//! Computes the loss of the queries in one optimizer step, and the gradients of their mean loss. Each shard is computed
//! in parts, and the gradients are added in the order of shards and parts.

use std::sync::Arc;

use burn::module::{Module, ModuleVisitor, Param, ParamId};
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::{Device, FloatDType, Tensor, TensorData};

use super::batches::Batches;
use crate::data::RankingBatch;
use crate::device::count_read;
use crate::loss::{Change, Lists, RankingLoss};
use crate::scorer::{Scorer, noise_seeds};
use crate::seed::seed_for;

/// The queries of one optimizer step, and the numbers from which the seeds of its dropout and noise are derived.
pub(super) struct TrainingStep<'a> {
    pub(super) batches: &'a Batches<'a>,
    pub(super) queries: &'a [usize],
    /// The seed of the fit.
    pub(super) run: u64,
    /// The epoch, counted from 1.
    pub(super) epoch: usize,
    /// The index of the step in its epoch, starting at 0.
    pub(super) index: usize,
}

/// The sum of the losses of some queries, `[1]`, detached from the autodiff graph. The gradients are the contribution
/// of these queries to the gradients of the step's mean loss.
type Sum = (Tensor<1>, GradientsParams);

impl TrainingStep<'_> {
    /// Returns the sum of the losses of the step's queries, `[1]`, and the gradients of their mean loss, multiplied by
    /// `scale`. Repeated calls with the same model give the same result.
    pub(super) fn gradients(&self, model: &RankingModel, scale: f64) -> Sum {
        let sums = self.batches.own.clone().map(|shard| self.of_shard(model, shard, scale));
        let sum = match self.batches.data.group().count() {
            1 => added(model, sums.flatten()),
            _ => {
                let own =
                    sums.map(|sum| sum.map_or(Vec::new(), |(loss, grads)| to_bytes(model, loss, grads))).collect();
                let all = self.batches.data.group().gather_all(own);
                let there = all.iter().filter(|bytes| !bytes.is_empty());
                added(model, there.map(|bytes| from_bytes(model, bytes)))
            }
        };
        sum.unwrap_or_else(|| (Tensor::zeros([1], &model.devices()[0].clone().inner()), GradientsParams::new()))
    }

    /// Returns the losses and gradients of one shard, or `None` if the step uses no query of this shard.
    fn of_shard(&self, model: &RankingModel, shard: usize, scale: f64) -> Option<Sum> {
        let queries = self.queries.len();
        let drawn_by =
            |seed: u64| if self.batches.shards.count() == 1 { seed } else { seed_for(seed, "shard", shard as u64) };
        let dropout = seed_for(self.run, "dropout", self.epoch as u64);
        let seed = drawn_by(seed_for(dropout, "step", self.index as u64));
        let noise = seed_for(self.run, "input", self.epoch as u64);
        let parts = self.batches.parts(shard, self.queries).enumerate().map(|(part, batch)| {
            let seeds = [seed_for(seed, "part", part as u64), noise];
            match drawn(&*model.loss, drawn_by(self.run), self.epoch, self.index, part) {
                None => model.part(batch, seeds, queries, scale),
                Some(loss) => RankingModel { loss: loss.into(), ..model.clone() }.part(batch, seeds, queries, scale),
            }
        });
        added(model, parts)
    }
}

/// Adds losses and gradients in the given order, or returns `None` if there are none.
fn added(model: &RankingModel, mut sums: impl Iterator<Item = Sum>) -> Option<Sum> {
    let (mut loss, grads) = sums.next()?;
    let Some((next_loss, next_grads)) = sums.next() else { return Some((loss, grads)) };
    let mut sum = GradientsAccumulator::new();
    sum.accumulate(model, grads);
    sum.accumulate(model, next_grads);
    loss = loss + next_loss;
    for (next_loss, next_grads) in sums {
        sum.accumulate(model, next_grads);
        loss = loss + next_loss;
    }
    Some((loss, sum.grads()))
}

/// Returns a loss with the noise for one part of a step, or `None` if the loss has no noise. The noise also depends on
/// the seed in the loss's own configuration. A resumed fit draws the same noise as an uninterrupted one. Within a part,
/// each row of the batch has different noise.
fn drawn(loss: &dyn RankingLoss, run: u64, epoch: usize, step: usize, part: usize) -> Option<Box<dyn RankingLoss>> {
    let of_epoch = seed_for(run, "gumbel", epoch as u64);
    let seed = |own| seed_for(seed_for(of_epoch ^ own, "step", step as u64), "part", part as u64);
    loss.changed(Change::Noise(&seed)).unwrap_or_else(|error| panic!("noise never fails: {error}"))
}

/// The identifier of the factors of positions. It is the same in every fit, so that the saved state of an optimizer
/// fits the parameter of a resumed fit.
const FACTORS: u64 = 0x706f_7369_7469_6f6e;

/// A scorer and the loss that trains it.
#[derive(Module, Debug)]
pub(super) struct RankingModel {
    /// The scorer that is trained.
    pub(super) scorer: Scorer,
    #[module(skip)]
    pub(super) loss: Arc<dyn RankingLoss>,
    /// The number type in which the layers of the scorer compute during training, or `None` for the type of the
    /// features.
    #[module(skip)]
    pub(super) layers: Option<FloatDType>,
    /// The factors of positions, `[positions]`, if training uses positions.
    pub(super) positions: Option<Param<Tensor<1>>>,
    /// The penalty on squared factors.
    #[module(skip)]
    pub(super) l2: f64,
}

impl RankingModel {
    /// Returns the factors of positions, read back from the device; empty if training does not use positions.
    pub(super) fn factors(&self) -> Vec<f64> {
        let Some(factors) = &self.positions else { return Vec::new() };
        count_read();
        factors.val().without_autodiff().into_data().iter::<f64>().collect()
    }

    /// Sets the factors of positions.
    pub(super) fn set_factors(&mut self, factors: &[f64], device: &Device) {
        let values: Vec<f32> = factors.iter().map(|&factor| factor as f32).collect();
        let tensor = Tensor::from_data(TensorData::new(values, [factors.len()]), device);
        let (_, tensor, mapper) = Param::from_tensor(tensor).consume();
        self.positions = Some(Param::from_mapped_value(ParamId::from(FACTORS), tensor, mapper));
    }

    /// Returns the weighted sum of the losses in one part of a step and the penalty on the factors of positions, `[1]`,
    /// detached from the autodiff graph. Also returns the gradients of this sum, multiplied by `scale / queries`, where
    /// `queries` counts all queries of the step. Dropout masks are drawn from `seed`, and the noise on the features
    /// from `noise`. The noise of a query does not depend on the other queries of its batch.
    pub(super) fn part(
        &self,
        batch: RankingBatch,
        [seed, noise]: [u64; 2],
        queries: usize,
        scale: f64,
    ) -> (Tensor<1>, GradientsParams) {
        let RankingBatch { features, labels, mask, document_weights, query_weights, teacher, positions, .. } = batch;
        let numbers = batch.queries;
        let noise = noise_seeds(noise, numbers);
        let scores = self.scorer.forward_training_clean(features, mask.clone(), seed, &noise, self.layers);
        let factors = self.positions.as_ref().zip(positions).map(|(factors, positions)| {
            let factors = factors.val().select(0, positions.flatten::<1>(0, 1)).reshape(scores.dims());
            factors.mask_fill(mask.clone().bool_not(), 0.0)
        });
        let scores = match &factors {
            Some(factors) => scores + factors.clone(),
            None => scores,
        };
        let mut lists = Lists::padded(scores, labels, mask);
        if let Some(weights) = document_weights {
            lists = lists.with_document_weights(weights);
        }
        if let Some((scores, has)) = teacher {
            lists = lists.with_teacher_where(scores, has);
        }
        let mut losses = lists.losses(&*self.loss);
        if let Some(weights) = query_weights {
            let weights = weights.cast(losses.dtype());
            losses = losses * weights;
        }
        let mut sum = losses.sum();
        if let Some(factors) = factors.filter(|_| self.l2 > 0.0) {
            sum = sum + factors.square().sum() * (self.l2 / 2.0);
        }
        let grads = GradientsParams::from_grads((sum.clone() / queries as f64 * scale).backward(), self);
        (sum.without_autodiff(), grads)
    }
}

/// Encodes a loss, `[1]`, and the gradients of a model's parameters, to exchange them in a group. Numbers are stored as
/// 32-bit floats, in the order in which a module visits its parameters.
pub(super) fn to_bytes(model: &RankingModel, loss: Tensor<1>, grads: GradientsParams) -> Vec<u8> {
    let mut writer = Writer { grads, bytes: Vec::new() };
    writer.write(loss);
    model.visit(&mut writer);
    writer.bytes
}

/// Decodes the result of [`to_bytes`] for a model with the same parameters.
pub(super) fn from_bytes(model: &RankingModel, bytes: &[u8]) -> (Tensor<1>, GradientsParams) {
    let device = model.devices()[0].clone().inner();
    let mut reader = Reader { bytes, device, grads: GradientsParams::new() };
    let loss = reader.read([1]);
    model.visit(&mut reader);
    (loss, reader.grads)
}

struct Writer {
    grads: GradientsParams,
    bytes: Vec<u8>,
}

impl Writer {
    fn write<const D: usize>(&mut self, tensor: Tensor<D>) {
        count_read();
        self.bytes.extend(tensor.into_data().iter::<f32>().flat_map(f32::to_le_bytes));
    }
}

impl ModuleVisitor for Writer {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let gradient = self.grads.remove::<D>(param.id);
        self.bytes.push(gradient.is_some().into());
        if let Some(gradient) = gradient {
            self.write(gradient);
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    device: Device,
    grads: GradientsParams,
}

impl Reader<'_> {
    fn read<const D: usize>(&mut self, shape: [usize; D]) -> Tensor<D> {
        let (own, rest) = self.bytes.split_at(size_of::<f32>() * shape.iter().product::<usize>());
        self.bytes = rest;
        let values = own.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        Tensor::from_data(TensorData::new(values, shape), &self.device)
    }
}

impl ModuleVisitor for Reader<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let Some((is_there, rest)) = self.bytes.split_first() else { return };
        self.bytes = rest;
        if *is_there == 1 {
            let gradient = self.read(param.dims());
            self.grads.register::<D>(param.id, gradient);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::LossSpec;

    #[test]
    fn draws_differ_by_run_epoch_step_part_and_seed_and_nothing_else() {
        let noisy = LossSpec::new("softmax_cross_entropy").with("gumbel_samples", 2);
        let drawn = |loss: &LossSpec, run, epoch, step, part| {
            // The debug format of a loss shows its parameters.
            format!("{:?}", drawn(&*loss.build().unwrap(), run, epoch, step, part).unwrap())
        };
        let first = drawn(&noisy, 7, 1, 0, 0);
        assert!(first.contains(" by_row: true"), "{first}");
        assert_eq!(drawn(&noisy, 7, 1, 0, 0), first);
        for other in [
            drawn(&noisy, 8, 1, 0, 0),
            drawn(&noisy, 7, 2, 0, 0),
            drawn(&noisy, 7, 1, 1, 0),
            drawn(&noisy, 7, 1, 0, 1),
            drawn(&noisy.with("seed", 1), 7, 1, 0, 0),
        ] {
            assert_ne!(other, first);
        }
    }

    #[test]
    fn a_loss_without_noise_draws_none() {
        for name in ["softmax_cross_entropy", "approx_ndcg"] {
            assert!(drawn(&*LossSpec::new(name).build().unwrap(), 7, 1, 0, 0).is_none(), "{name}");
        }
    }
}
