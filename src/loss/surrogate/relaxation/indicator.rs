//! Soft indicators: `h_ij = softmax_i(-(s_i - s_d(j))^2 / sigma)` in place of "document i is at rank j", where `d(j)`
//! is the document at rank `j` (smoothrank, section 4). Not differentiable where scores tie; ties are broken by
//! position.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::relaxed::{Indicators, Relaxation, Relaxed};
use super::soft_sort::at_ranks_by_distance;
use crate::loss::error::{self, LossError};
use crate::loss::lists::Lists;
use crate::loss::smoothing::{Sharper, Smoothing};
use crate::op::indicator_sum;

/// Soft indicators. The surrogate tends to the measure as `sigma` tends to 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Indicator {
    /// Smoothing, in squared scores, above 0.
    pub sigma: f64,
}

impl Relaxation for Indicator {
    fn name(&self) -> &'static str {
        "indicator"
    }

    fn check(&self, loss: &'static str) -> Result<(), LossError> {
        error::positive(loss, "sigma", self.sigma)?;
        Ok(())
    }

    fn smoothing(&self) -> Option<Smoothing> {
        Some(Smoothing { parameter: "sigma", sharper: Sharper::Smaller })
    }

    fn short_list_power(&self) -> i32 {
        1
    }

    fn with_parameter(&self, parameter: &str, value: f64) -> Option<Arc<dyn Relaxation>> {
        match parameter {
            "sigma" => Some(Arc::new(Self { sigma: value })),
            _ => None,
        }
    }

    fn relax(&self, lists: &Lists, _sample: usize) -> Relaxed {
        let (scores, mask, sigma) = (lists.scores.clone(), lists.mask.clone(), self.sigma);
        let at_ranks = move |values| indicator_sum(scores.clone(), values, mask.clone(), sigma);
        let all = lists.clone();
        let matrix = move || at_ranks_by_distance(&all, usize::MAX, |distance| distance.square() * (-1.0 / sigma));
        Relaxed::Indicators(Indicators::new(lists, at_ranks).with_matrix(matrix))
    }
}
