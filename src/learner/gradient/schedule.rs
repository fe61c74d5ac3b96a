//! Configures burn's learning-rate schedules. A schedule multiplies the learning rate by a factor that changes over the
//! steps.

use burn::lr_scheduler::LrSchedulerConfig;
use burn::lr_scheduler::cosine::CosineAnnealingLrSchedulerConfig;
use burn::lr_scheduler::exponential::ExponentialLrSchedulerConfig;
use burn::lr_scheduler::linear::LinearLrSchedulerConfig;
use burn::lr_scheduler::module_lr_scheduler::{ModuleLrScheduler, ModuleLrSchedulerConfig};
use burn::lr_scheduler::noam::NoamLrSchedulerConfig;
use burn::lr_scheduler::sequential::SequentialLrSchedulerConfig;
use burn::lr_scheduler::step::StepLrSchedulerConfig;

use crate::json::tagged;
use crate::learner::error::Result;
use crate::learner::shared::checks::{at_least, parameter, rate, require, share};

tagged! {
    "ScheduleConfig"
    /// The schedule of the learning rate, chosen by the key `kind`. The factor changes with every optimizer step,
    /// whereas lengths are given in epochs.
    #[derive(Default)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum ScheduleConfig {
        /// Keeps the learning rate constant.
        #[default]
        Constant,
        /// Lowers the learning rate along a cosine, from its initial value to `floor` times this value. The cosine ends
        /// one step after the last step of the fit.
        Cosine {
            /// The share of the initial learning rate at which the schedule ends.
            #[serde(default)]
            floor: f64,
        },
        /// Lowers the learning rate linearly, from its initial value to `floor` times this value. The line ends one
        /// step after the last step of the fit.
        Linear {
            /// The share of the initial learning rate at which the schedule ends.
            #[serde(default)]
            floor: f64,
        },
        /// Multiplies the learning rate by `factor` over the course of each epoch.
        Exponential {
            /// The ratio of the learning rates at the end and at the start of an epoch.
            factor: f64,
        },
        /// Multiplies the learning rate by `factor` after every `epochs` epochs.
        Step {
            /// The number of epochs between two reductions of the learning rate.
            epochs: usize,
            /// The factor by which each reduction multiplies the learning rate.
            factor: f64,
        },
        /// Raises the learning rate linearly for `warmup` epochs, then lowers it in inverse proportion to the square
        /// root of the step number.
        Noam {
            /// The number of epochs in which the learning rate rises.
            warmup: usize,
        },
    }
}

impl ScheduleConfig {
    /// Checks the settings. Also rejects a warm-up that takes all epochs, or that precedes a schedule with its own.
    pub(super) fn check(&self, warmup: Option<usize>, epochs: usize) -> Result<()> {
        match *self {
            Self::Constant => {}
            Self::Cosine { floor } | Self::Linear { floor } => rate("schedule.floor", floor)?,
            Self::Exponential { factor } => share("schedule.factor", factor)?,
            Self::Step { epochs, factor } => {
                at_least("schedule.epochs", epochs, 1)?;
                share("schedule.factor", factor)?;
            }
            Self::Noam { warmup } => at_least("schedule.warmup", warmup, 1)?,
        }
        let Some(warmup) = warmup else { return Ok(()) };
        at_least("warmup", warmup, 1)?;
        let own = matches!(self, Self::Noam { .. });
        require("warmup", warmup, !own, "none with the schedule \"noam\", which has its own")?;
        require("warmup", warmup, warmup < epochs, format_args!("less than learner.epochs, which is {epochs}"))
    }

    /// Builds a learning-rate scheduler for `epochs` epochs of `steps` steps each. With a warm-up, the factors first
    /// rise linearly to 1, over `warmup` epochs.
    pub(super) fn build(&self, warmup: Option<usize>, epochs: usize, steps: usize) -> Result<ModuleLrScheduler> {
        let schedule = match warmup {
            None => self.factors(epochs, steps),
            Some(warmup) => {
                let rise = warmup.saturating_mul(steps);
                let first = match rise {
                    1 => LrSchedulerConfig::Constant(1.0),
                    _ => LinearLrSchedulerConfig::new(1.0 / rise as f64, 1.0, rise - 1).into(),
                };
                let then = self.factors(epochs.saturating_sub(warmup), steps);
                SequentialLrSchedulerConfig::new(vec![first, then], vec![rise]).into()
            }
        };
        ModuleLrSchedulerConfig::new(schedule)
            .init()
            .map_err(|reason| parameter("schedule", format!("{self:?}"), reason))
    }

    fn factors(&self, epochs: usize, steps: usize) -> LrSchedulerConfig {
        let total = epochs.saturating_mul(steps);
        match *self {
            Self::Constant => LrSchedulerConfig::Constant(1.0),
            Self::Cosine { floor } => CosineAnnealingLrSchedulerConfig::new(1.0, total).with_min_lr(floor).into(),
            // Burn's line must end above 0.
            Self::Linear { floor } => LinearLrSchedulerConfig::new(1.0, floor.max(f64::MIN_POSITIVE), total).into(),
            Self::Exponential { factor } => {
                ExponentialLrSchedulerConfig::new(1.0, factor.powf(1.0 / steps as f64)).into()
            }
            Self::Step { epochs, factor } => {
                StepLrSchedulerConfig::new(1.0, epochs.saturating_mul(steps)).with_gamma(factor).into()
            }
            Self::Noam { warmup } => {
                let warmup = warmup.saturating_mul(steps);
                // Burn's factor is the factor of step 1 at an embedding of width 1. The peak comes at the end of the
                // rise.
                NoamLrSchedulerConfig::new((warmup as f64).sqrt()).with_warmup_steps(warmup).with_model_size(1).into()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factors(config: ScheduleConfig, epochs: usize, steps: usize) -> Vec<f64> {
        warmed_up(config, None, epochs, steps)
    }

    fn warmed_up(config: ScheduleConfig, warmup: Option<usize>, epochs: usize, steps: usize) -> Vec<f64> {
        let mut scheduler = config.build(warmup, epochs, steps).unwrap();
        (0..epochs * steps).map(|_| scheduler.step().base()).collect()
    }

    fn close(found: Vec<f64>, expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (f, e) in found.iter().zip(expected) {
            assert!((f - e).abs() < 1e-12, "{found:?} {expected:?}");
        }
    }

    #[test]
    fn a_warm_up_rises_along_a_line_and_the_schedule_has_what_is_left() {
        let linear = ScheduleConfig::Linear { floor: 0.0 };
        close(warmed_up(linear.clone(), Some(2), 4, 2), &[0.25, 0.5, 0.75, 1.0, 1.0, 0.75, 0.5, 0.25]);
        close(warmed_up(linear, Some(1), 3, 1), &[1.0, 1.0, 0.5]);
        close(warmed_up(ScheduleConfig::Constant, Some(1), 2, 2), &[0.5, 1.0, 1.0, 1.0]);
        let step = ScheduleConfig::Step { epochs: 1, factor: 0.5 };
        close(warmed_up(step, Some(1), 3, 2), &[0.5, 1.0, 1.0, 1.0, 0.5, 0.5]);
    }

    #[test]
    fn factors_are_those_of_the_formulas() {
        close(factors(ScheduleConfig::default(), 2, 1), &[1.0, 1.0]);
        close(factors(ScheduleConfig::Cosine { floor: 0.0 }, 2, 1), &[1.0, 0.5]);
        close(factors(ScheduleConfig::Linear { floor: 0.0 }, 2, 2), &[1.0, 0.75, 0.5, 0.25]);
        close(factors(ScheduleConfig::Exponential { factor: 0.25 }, 2, 2), &[1.0, 0.5, 0.25, 0.125]);
        close(factors(ScheduleConfig::Step { epochs: 1, factor: 0.5 }, 2, 2), &[1.0, 1.0, 0.5, 0.5]);
        close(factors(ScheduleConfig::Noam { warmup: 1 }, 2, 2), &[0.5, 1.0, (2f64 / 3.0).sqrt(), 0.5f64.sqrt()]);
    }
}
