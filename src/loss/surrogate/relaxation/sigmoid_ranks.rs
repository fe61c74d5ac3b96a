//! Sigmoid ranks, `r_i = 1 + sum_{j != i} T_ij` with `T_ij = sigmoid((s_j - s_i) / sigma)` (smoothrank, equations 4, 5
//! and 9). The comparison of two documents is `T_ij` itself, not a sigmoid of the difference between their ranks.

use std::sync::Arc;

use burn::config::Config;

use super::relaxed::{PairSteps, Positions, Relaxation, Relaxed};
use crate::loss::error::{self, LossError};
use crate::loss::lists::Lists;
use crate::loss::smoothing::{Sharper, Smoothing};
use crate::loss::temperature::{Temperature, TemperatureUnit};
use crate::op::Step;

/// The relaxation that replaces ranks with sigmoid ranks. With `diagonal = 1`, the surrogate tends to the measure as
/// `sigma` tends to 0.
#[derive(Config, Debug, Copy, PartialEq)]
#[non_exhaustive]
pub struct SigmoidRanks {
    /// The smoothing `sigma`, above 0.
    pub temperature: Temperature,
    /// A document's own term `T_ii`, from 0 to 1. With 1, the indicator is exact; 0.5 is the value in the paper.
    #[config(default = 1.0)]
    pub diagonal: f64,
}

impl Relaxation for SigmoidRanks {
    fn name(&self) -> &'static str {
        "sigmoid_ranks"
    }

    fn check(&self, loss: &'static str) -> Result<(), LossError> {
        if !(0.0..=1.0).contains(&self.diagonal) {
            return Err(LossError::parameter(loss, "diagonal", self.diagonal, "a number from 0 to 1"));
        }
        error::positive(loss, "sigma", self.temperature.value)?;
        Ok(())
    }

    fn smoothing(&self) -> Option<Smoothing> {
        Some(Smoothing { parameter: "sigma", sharper: Sharper::Smaller })
    }

    fn temperature_unit(&self) -> TemperatureUnit {
        self.temperature.unit
    }

    fn with_parameter(&self, parameter: &str, value: f64) -> Option<Arc<dyn Relaxation>> {
        match parameter {
            "sigma" => Some(Arc::new(Self { temperature: self.temperature.with_value(value), ..*self })),
            "diagonal" => Some(Arc::new(Self { diagonal: value, ..*self })),
            _ => None,
        }
    }

    fn relax(&self, lists: &Lists, _sample: usize) -> Relaxed {
        let steepness = 1.0 / self.temperature.value;
        Relaxed::Positions(Positions {
            positions: lists.approximate_positions(steepness, Step::Logistic),
            cutoff: steepness,
            order: lists.scores.clone(),
            comparison: steepness,
            own: self.diagonal,
            pairs: PairSteps { by: lists.scores.clone(), steepness, step: Step::Logistic },
        })
    }
}
