//! Approximate positions: `p_x = 1 + sum_{y != x} phi(alpha (s_y - s_x))` (approximation-framework, equation 20).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::relaxed::{PairSteps, Positions, Relaxation, Relaxed};
use crate::loss::error::{self, LossError};
use crate::loss::lists::Lists;
use crate::loss::smoothing::{Sharper, Smoothing};
use crate::op::Step;

/// Approximate positions. The surrogate tends to the measure as `alpha` and `beta` grow (Theorems 3 to 6).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Approximate {
    /// Steepness of positions, above 0.
    pub alpha: f64,
    /// Steepness of cut-offs and comparisons, above 0 (the truncation function of section 4.3).
    pub beta: f64,
    /// Smooth step of the positions.
    #[serde(default)]
    pub step: Step,
}

impl Relaxation for Approximate {
    fn name(&self) -> &'static str {
        "approximate"
    }

    fn check(&self, loss: &'static str) -> Result<(), LossError> {
        error::positive(loss, "alpha", self.alpha)?;
        error::positive(loss, "beta", self.beta)?;
        Ok(())
    }

    fn smoothing(&self) -> Option<Smoothing> {
        Some(Smoothing { parameter: "alpha", sharper: Sharper::Larger })
    }

    fn with_parameter(&self, parameter: &str, value: f64) -> Option<Arc<dyn Relaxation>> {
        match parameter {
            "alpha" => Some(Arc::new(Self { alpha: value, ..*self })),
            "beta" => Some(Arc::new(Self { beta: value, ..*self })),
            _ => None,
        }
    }

    fn relax(&self, lists: &Lists, _sample: usize) -> Relaxed {
        // A position is a sum of steps between scores, so a pair is such a step.
        let pairs = PairSteps { by: lists.scores.clone(), steepness: self.alpha, step: self.step };
        let positions = Positions::new(lists.approximate_positions(self.alpha, self.step), self.beta);
        Relaxed::Positions(positions.with_pairs(pairs))
    }
}
