//! Soft indicators `h_ij = softmax_i(-(s_i - s_d(j))^2 / sigma)` in place of "document i is at rank j", where `d(j)` is
//! the document at rank `j` (smoothrank, section 4). Soft indicators have no derivative where scores tie; ties are
//! broken by position.

use std::sync::Arc;

use burn::config::Config;

use super::relaxed::{Indicators, Relaxation, Relaxed};
use super::soft_sort::at_ranks_by_distance;
use crate::loss::error::{self, LossError};
use crate::loss::lists::Lists;
use crate::loss::smoothing::{Sharper, Smoothing};
use crate::loss::temperature::{Temperature, TemperatureUnit};
use crate::op::indicator_sum;

/// The relaxation that replaces exact ranks with soft indicators. The surrogate tends to the measure as `sigma` tends
/// to 0.
#[derive(Config, Debug, Copy, PartialEq)]
#[non_exhaustive]
pub struct Indicator {
    /// The smoothing `sigma`, above 0, measured in squared scores or in variances of a list's scores.
    pub temperature: Temperature,
}

impl Relaxation for Indicator {
    fn name(&self) -> &'static str {
        "indicator"
    }

    fn check(&self, loss: &'static str) -> Result<(), LossError> {
        error::positive(loss, "sigma", self.temperature.value)?;
        Ok(())
    }

    fn smoothing(&self) -> Option<Smoothing> {
        Some(Smoothing { parameter: "sigma", sharper: Sharper::Smaller })
    }

    fn temperature_unit(&self) -> TemperatureUnit {
        self.temperature.unit
    }

    fn short_list_power(&self) -> u32 {
        1
    }

    fn with_parameter(&self, parameter: &str, value: f64) -> Option<Arc<dyn Relaxation>> {
        match parameter {
            "sigma" => Some(Arc::new(Self { temperature: self.temperature.with_value(value) })),
            _ => None,
        }
    }

    fn relax(&self, lists: &Lists, _sample: usize) -> Relaxed {
        let (scores, mask, sigma) = (lists.scores.clone(), lists.mask.clone(), self.temperature.value);
        let at_ranks = move |values| indicator_sum(scores.clone(), values, mask.clone(), sigma);
        let all = lists.clone();
        let matrix = move || at_ranks_by_distance(&all, usize::MAX, |distance| distance.square() * (-1.0 / sigma));
        Relaxed::Indicators(Indicators::new(lists, at_ranks).with_matrix(matrix))
    }
}
