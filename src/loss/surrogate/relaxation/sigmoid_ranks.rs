//! Sigmoid ranks: `r_i = 1 + sum_{j != i} T_ij`, `T_ij = sigmoid((s_j - s_i) / sigma)` (smoothrank, equations 4, 5 and
//! 9). Where two documents are compared, `T_ij` is the comparison itself, not a sigmoid of the ranks.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::relaxed::{PairSteps, Positions, Relaxation, Relaxed};
use crate::loss::error::{self, LossError};
use crate::loss::lists::Lists;
use crate::loss::smoothing::{Sharper, Smoothing};
use crate::op::Step;

/// Sigmoid ranks. With `diagonal = 1` the surrogate tends to the measure as `sigma` tends to 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SigmoidRanks {
    /// Smoothing, in scores, above 0.
    pub sigma: f64,
    /// The own term `T_ii` of a document, in [0, 1]: 1 for the exact indicator, 0.5 as printed in the paper.
    #[serde(default = "one")]
    pub diagonal: f64,
}

fn one() -> f64 {
    1.0
}

impl SigmoidRanks {
    /// Sigmoid ranks with the exact indicator of a document at or above itself.
    pub fn new(sigma: f64) -> Self {
        Self { sigma, diagonal: 1.0 }
    }
}

impl Relaxation for SigmoidRanks {
    fn name(&self) -> &'static str {
        "sigmoid_ranks"
    }

    fn check(&self, loss: &'static str) -> Result<(), LossError> {
        if !(0.0..=1.0).contains(&self.diagonal) {
            return Err(LossError::parameter(loss, "diagonal", self.diagonal, "a number from 0 to 1"));
        }
        error::positive(loss, "sigma", self.sigma)?;
        Ok(())
    }

    fn smoothing(&self) -> Option<Smoothing> {
        Some(Smoothing { parameter: "sigma", sharper: Sharper::Smaller })
    }

    fn with_parameter(&self, parameter: &str, value: f64) -> Option<Arc<dyn Relaxation>> {
        match parameter {
            "sigma" => Some(Arc::new(Self { sigma: value, ..*self })),
            "diagonal" => Some(Arc::new(Self { diagonal: value, ..*self })),
            _ => None,
        }
    }

    fn relax(&self, lists: &Lists, _sample: usize) -> Relaxed {
        let steepness = 1.0 / self.sigma;
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
