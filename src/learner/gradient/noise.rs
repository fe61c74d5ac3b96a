//! Draws the random noise of a loss (Gumbel noise). Each part of each step has new noise.
//!
//! The value of a noisy loss is a function of a seed. The seed depends on the run, epoch, step and part, so a resumed
//! fit draws the same noise as an uninterrupted one. Within a part, each row of the batch has different noise.

use crate::loss::{Change, RankingLoss};
use crate::seed::seed_for;

/// Returns a loss with the noise for one part of a step, or `None` if the loss has no noise. The noise also depends on
/// the seed in the loss's own configuration.
pub(super) fn drawn(
    loss: &dyn RankingLoss,
    run: u64,
    epoch: usize,
    step: usize,
    part: usize,
) -> Option<Box<dyn RankingLoss>> {
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
