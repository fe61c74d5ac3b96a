//! Approximate positions, `p_x = 1 + sum_{y != x} phi(alpha (s_y - s_x))` (approximation-framework, equation 20).

use std::sync::Arc;

use burn::config::Config;

use super::relaxed::{PairSteps, Positions, Relaxation, Relaxed};
use crate::loss::error::{self, LossError};
use crate::loss::lists::Lists;
use crate::loss::smoothing::{Sharper, Smoothing};
use crate::loss::temperature::{Temperature, TemperatureUnit};
use crate::op::Step;

/// The relaxation that replaces ranks with approximate positions. The surrogate tends to the measure as `alpha` and
/// `beta` grow (Theorems 3 to 6).
#[derive(Config, Debug, Copy, PartialEq)]
#[non_exhaustive]
pub struct Approximate {
    /// The steepness `alpha` of the approximate positions; must be above 0.
    pub temperature: Temperature,
    /// The steepness of the truncation function of section 4.3, which smooths cut-offs and comparisons. It must be
    /// above 0.
    #[config(default = 10.0)]
    pub beta: f64,
    /// The smooth step function `phi` of the approximate positions.
    #[config(default = "Step::Logistic")]
    pub step: Step,
}

impl Relaxation for Approximate {
    fn name(&self) -> &'static str {
        "approximate"
    }

    fn check(&self, loss: &'static str) -> Result<(), LossError> {
        error::positive(loss, "alpha", self.temperature.value)?;
        error::positive(loss, "beta", self.beta)?;
        Ok(())
    }

    fn smoothing(&self) -> Option<Smoothing> {
        Some(Smoothing { parameter: "alpha", sharper: Sharper::Larger })
    }

    fn temperature_unit(&self) -> TemperatureUnit {
        self.temperature.unit
    }

    fn with_parameter(&self, parameter: &str, value: f64) -> Option<Arc<dyn Relaxation>> {
        match parameter {
            "alpha" => Some(Arc::new(Self { temperature: self.temperature.with_value(value), ..*self })),
            "beta" => Some(Arc::new(Self { beta: value, ..*self })),
            _ => None,
        }
    }

    fn relax(&self, lists: &Lists, _sample: usize) -> Relaxed {
        // A position is a sum of steps between scores, so a pair is such a step.
        let pairs = PairSteps { by: lists.scores.clone(), steepness: self.temperature.value, step: self.step };
        let positions = Positions::new(lists.approximate_positions(self.temperature.value, self.step), self.beta);
        Relaxed::Positions(positions.with_pairs(pairs))
    }
}
