//! Noise in the loss (Gumbel draws), drawn anew for each part of each step.
//!
//! A loss with noise is a function of its seed. The seeds follow from run, epoch, step and part, so that a resumed fit
//! draws what an uninterrupted one does; within a part each query has noise of its own, by its row.

use std::sync::Arc;

use crate::json::Value;

use crate::loss::{LossError, LossSpec, RankingLoss};
use crate::seed::seed_for;

/// A loss with noise in one epoch.
pub(super) struct Noise {
    loss: LossSpec,
    seed: u64,
}

impl Noise {
    /// `None` for a loss without noise. The loss's own seed tells draws apart that the run's seed does not.
    pub(super) fn of_epoch(loss: &LossSpec, seed: u64, epoch: usize) -> Result<Option<Self>, LossError> {
        let parameters = loss.resolved()?;
        let number = |name: &str| parameters.get(name).and_then(Value::as_u64);
        let own = number("seed").filter(|_| number("gumbel_samples").is_some_and(|samples| samples > 0));
        Ok(own.map(|own| Self { loss: loss.clone(), seed: seed_for(seed, "gumbel", epoch as u64) ^ own }))
    }

    /// The loss of a part of a step.
    pub(super) fn draw(&self, step: usize, part: usize) -> Result<Arc<dyn RankingLoss>, LossError> {
        let seed = seed_for(seed_for(self.seed, "step", step as u64), "part", part as u64);
        Ok(self.loss.with("noise_by_row", true).with("seed", seed).build()?.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_differ_by_run_epoch_step_part_and_seed_and_nothing_else() {
        let noisy = LossSpec::new("softmax_cross_entropy").with("gumbel_samples", 2);
        let drawn = |loss: &LossSpec, seed, epoch, step, part| {
            // A loss shows its parameters.
            format!("{:?}", Noise::of_epoch(loss, seed, epoch).unwrap().unwrap().draw(step, part).unwrap())
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
    fn a_loss_without_noise_has_none_to_draw() {
        for name in ["softmax_cross_entropy", "approx_ndcg"] {
            assert!(Noise::of_epoch(&LossSpec::new(name), 7, 1).unwrap().is_none(), "{name}");
        }
    }
}
