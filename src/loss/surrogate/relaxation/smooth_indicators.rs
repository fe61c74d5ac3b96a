//! SmoothI, which computes smooth indicators rank by rank, from the top.
//!
//! SmoothI replaces "document i is at rank r" with `I_r = softmax_i(alpha s_i prod_{q < r} (1 - I_q,i - delta))`
//! (Thonet et al., SmoothI: smooth rank indicators for differentiable IR measures). Once a document is found at a rank,
//! its factor is near `-delta`, so the document falls behind all remaining documents. The lowest score of a list is
//! subtracted from its scores, because the formula needs scores of 0 or above.
//!
//! Through `alpha`, each rank depends on all ranks above it, so a large `alpha` makes the gradient of a long list very
//! steep. Where `alpha s_i` is above 1000, the factor of document `i` is treated as constant, because the gradient
//! would overflow. Each rank multiplies the scores of the remaining documents by about `1 - delta`. A long list
//! therefore needs a cut-off or a large `alpha`. Each rank is computed after the rank above it, so the computation
//! graph is as deep as the number of ranks.

use std::sync::Arc;

use burn::config::Config;
use burn::tensor::Tensor;
use burn::tensor::activation::softmax;

use super::relaxed::{Indicators, Relaxation, Relaxed};
use crate::loss::error::{self, LossError};
use crate::loss::lists::Lists;
use crate::loss::smoothing::{Sharper, Smoothing};
use crate::loss::temperature::{Temperature, TemperatureUnit};

/// The approximate number of stored values per entry of the matrix, as measured by `burn-rank bench`.
const NUMBERS_PER_CELL: u64 = 22;

/// The relaxation that replaces exact ranks with smooth rank indicators. The surrogate tends to the measure as `alpha`
/// grows.
#[derive(Config, Debug, Copy, PartialEq)]
#[non_exhaustive]
pub struct SmoothIndicators {
    /// The steepness `alpha`, above 0.
    pub temperature: Temperature,
    /// The offset `delta`, above 0 and below 1/2, which moves documents already found behind all remaining documents.
    #[config(default = 0.1)]
    pub delta: f64,
    /// The number of top ranks that the measure needs; `None` means that it needs all ranks.
    pub top: Option<usize>,
}

/// The largest `alpha s_i` at which a gradient still passes through the factor of document `i`.
const STEEPEST: f64 = 1e3;

impl Relaxation for SmoothIndicators {
    fn name(&self) -> &'static str {
        "smooth_indicators"
    }

    fn check(&self, loss: &'static str) -> Result<(), LossError> {
        if !(self.delta > 0.0 && self.delta < 0.5) {
            return Err(LossError::parameter(loss, "delta", self.delta, "a number above 0 and below 0.5"));
        }
        error::positive(loss, "alpha", self.temperature.value)?;
        error::at_least_one(loss, "top", self.top)?;
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
            "delta" => Some(Arc::new(Self { delta: value, ..*self })),
            _ => None,
        }
    }

    fn numbers_held(&self, documents: usize) -> u64 {
        let rows = self.top.unwrap_or(documents).min(documents);
        NUMBERS_PER_CELL.saturating_mul((rows as u64).saturating_mul(documents as u64))
    }

    fn relax(&self, lists: &Lists, _sample: usize) -> Relaxed {
        let [_, n] = lists.scores.dims();
        let scores = lists.centered();
        let lowest = scores.clone().mask_fill(lists.padded.clone(), f32::MAX).min_dim(1).expand(scores.dims());
        let above = ((scores - lowest) * self.temperature.value).mask_fill(lists.padded.clone(), 0.0);
        let steep = above.clone().greater_elem(STEEPEST);
        let mut left = lists.mask.ones_like();
        let mut rows = Vec::new();
        for _ in 0..self.top.unwrap_or(n).min(n) {
            // The fill value is finite, so a list with only padding does not give 0 / 0.
            let factor = left.clone().mask_where(steep.clone(), left.clone().detach());
            let logits = (above.clone() * factor).mask_fill(lists.padded.clone(), -1e30);
            let row = softmax(logits, 1) * lists.mask.clone();
            left = left * (row.clone().neg() + (1.0 - self.delta));
            rows.push(row);
        }
        Relaxed::Indicators(Indicators::of_matrix(lists, Tensor::stack::<3>(rows, 1)))
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Device};

    use super::*;

    #[test]
    fn two_documents_are_worked_by_hand() {
        // Scores 1 and 0 from the lowest: sigmoid(2) at first; then the factor is 1 - sigmoid(2) - delta.
        let device = Device::flex();
        let scores = Tensor::<2>::from_data([[0.5f64, -0.5]], (&device, DType::F64));
        let lists = Lists::padded(scores.clone(), scores.zeros_like(), scores.ones_like().greater_elem(0.0));
        let relaxation = SmoothIndicators::new(Temperature::scores(2.0));
        let Relaxed::Indicators(Indicators { at_ranks, .. }) = relaxation.relax(&lists, 0) else {
            panic!("indicators")
        };
        let only_first = Tensor::<2>::from_data([[1.0f64, 0.0]], (&device, DType::F64));
        let found: Vec<f64> = at_ranks(only_first).into_data().iter().collect();
        let sigmoid = |t: f64| 1.0 / (1.0 + (-t).exp());
        let first = sigmoid(2.0);
        let second = sigmoid(2.0 * (0.9 - first));
        assert!((found[0] - first).abs() < 1e-12 && (found[1] - second).abs() < 1e-12, "{found:?}");
    }
}
