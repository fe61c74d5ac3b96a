//! Computes the loss of the queries in one optimizer step, and the gradients of their mean loss. Each shard is computed
//! in parts, and the gradients are added in the order of shards and parts.

use burn::module::Module;
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::Tensor;

use super::batches::Batches;
use super::exchange::{from_bytes, to_bytes};
use super::model::RankingModel;
use crate::loss::{Change, RankingLoss};
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
    /// The seed from which the dropout masks of the epoch are drawn.
    pub(super) dropout: u64,
}

/// The sum of the losses of some queries, `[1]`, detached from the autodiff graph. The gradients are the contribution
/// of these queries to the gradients of the step's mean loss.
type Sum = (Tensor<1>, GradientsParams);

impl TrainingStep<'_> {
    /// Returns the sum of the losses of the step's queries, `[1]`, and the gradients of their mean loss, multiplied by
    /// `scale`. Repeated calls with the same model give the same result.
    pub(super) fn gradients(&self, model: &RankingModel, scale: f64) -> Sum {
        let sums = self.batches.own().map(|shard| self.of_shard(model, shard, scale));
        let sum = match self.batches.data().group().count() {
            1 => added(model, sums.flatten()),
            _ => {
                let own =
                    sums.map(|sum| sum.map_or(Vec::new(), |(loss, grads)| to_bytes(model, loss, grads))).collect();
                let all = self.batches.data().group().gather_all(own);
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
            |seed: u64| if self.batches.shards().count() == 1 { seed } else { seed_for(seed, "shard", shard as u64) };
        let seed = drawn_by(seed_for(self.dropout, "step", self.index as u64));
        let noise = seed_for(self.run, "input", self.epoch as u64);
        let parts = self.batches.parts(shard, self.queries).enumerate().map(|(part, batch)| {
            let seeds = [seed_for(seed, "part", part as u64), noise];
            match drawn(model.loss(), drawn_by(self.run), self.epoch, self.index, part) {
                None => model.part(batch, seeds, queries, scale),
                Some(loss) => model.clone().with_loss(loss.into()).part(batch, seeds, queries, scale),
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
        assert!(first.contains("noise_by_row: true"), "{first}");
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
