//! SoftSort replaces "document i is at rank r" with `softmax_i(-|s_i - s_d(r)| / sigma)`, where `d(r)` is the document
//! at rank `r`. This form with the absolute difference is from Prillo and Eisenschlos, SoftSort: a continuous
//! relaxation for the argsort operator. With the squared difference, SoftSort becomes the rank indicators of
//! `indicator.rs`. Ties are broken by position.

use std::sync::Arc;

use burn::config::Config;
use burn::tensor::Tensor;
use burn::tensor::activation::softmax;

use super::relaxed::{Indicators, Relaxation, Relaxed};
use crate::loss::error::{self, LossError};
use crate::loss::lists::{Lists, order_of_ranks};
use crate::loss::smoothing::{Sharper, Smoothing};
use crate::loss::temperature::{Temperature, TemperatureUnit};

/// The approximate number of stored values per entry of the matrix, as measured by `burn-rank bench`.
const NUMBERS_PER_CELL: u64 = 6;

/// The relaxation that replaces ranks with SoftSort's matrix. The surrogate tends to the measure as `sigma` tends to 0.
#[derive(Config, Debug, Copy, PartialEq)]
#[non_exhaustive]
pub struct SoftSort {
    /// The temperature `sigma`, above 0.
    pub temperature: Temperature,
    /// The number of top ranks that the measure needs; `None` means that it needs all ranks.
    pub top: Option<usize>,
}

impl Relaxation for SoftSort {
    fn name(&self) -> &'static str {
        "soft_sort"
    }

    fn check(&self, loss: &'static str) -> Result<(), LossError> {
        error::positive(loss, "sigma", self.temperature.value)?;
        error::at_least_one(loss, "top", self.top)?;
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
            "sigma" => Some(Arc::new(Self { temperature: self.temperature.with_value(value), ..*self })),
            _ => None,
        }
    }

    fn numbers_held(&self, documents: usize) -> u64 {
        let rows = self.top.unwrap_or(documents).min(documents);
        NUMBERS_PER_CELL.saturating_mul((rows as u64).saturating_mul(documents as u64))
    }

    fn relax(&self, lists: &Lists, _sample: usize) -> Relaxed {
        let top = self.top.unwrap_or(usize::MAX);
        let matrix = at_ranks_by_distance(lists, top, |distance| distance.abs() * (-1.0 / self.temperature.value));
        Relaxed::Indicators(Indicators::of_matrix(lists, matrix))
    }
}

/// Returns `softmax_i(logit(s_i - s_d(r)))` for the ranks `r` from 1 to `top`, `[batch, ranks, documents]`. The values
/// are 0 at padded documents.
pub(super) fn at_ranks_by_distance(lists: &Lists, top: usize, logit: impl FnOnce(Tensor<3>) -> Tensor<3>) -> Tensor<3> {
    let [_, n] = lists.scores.dims();
    let scores = lists.centered();
    let sorted = scores.clone().gather(1, order_of_ranks(lists.ranks())).narrow(1, 0, top.min(n));
    let (columns, rows) = (scores.unsqueeze_dim::<3>(1), sorted.unsqueeze_dim::<3>(2));
    softmax_over_documents(lists, logit(columns - rows))
}

/// Computes a softmax over the documents of a list, `[batch, ranks, documents]`. The values are 0 at padded documents.
pub(super) fn softmax_over_documents(lists: &Lists, logits: Tensor<3>) -> Tensor<3> {
    let padded = lists.padded.clone().unsqueeze_dim::<3>(1).expand(logits.dims());
    // The fill value is finite, so a row with only padding does not give 0 / 0.
    softmax(logits.mask_fill(padded, -1e30), 2) * lists.mask.clone().unsqueeze_dim::<3>(1)
}
