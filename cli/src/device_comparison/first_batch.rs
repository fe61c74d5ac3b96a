//! Compares a loss and its gradient on one batch with the double-precision results on the CPU, and reports the largest
//! errors.
//!
//! Rounding errors grow from step to step until two devices end with different rankers. So the quality of rankers does
//! not show whether a kernel is wrong or only rounds differently. The error on one batch with given scores
//! distinguishes wrong kernels from rounding.

use burn::nn::loss::Reduction;
use burn::tensor::{DType, Device, Tensor, TensorData};
use burn_rank::data::{RankingBatch, RankingDataset};
use burn_rank::learner::LearnerError;
use burn_rank::loss::RankingLoss;
use burn_rank::workbench::host;
use burn_rank::workbench::op::with_tensor_path;
use serde::{Deserialize, Serialize};

use super::Result;
use crate::experiment::ExperimentConfig;

/// For batches with more document pairs, tensor operations would need more than half a GiB, so kernels compute the
/// reference values instead.
const MOST_PAIRS: usize = 5_000_000;

/// The errors of a loss and its gradient on a device, relative to the largest component of the double-precision result.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FirstBatchError {
    /// Error of the loss.
    pub loss: f64,
    /// The largest error of any component of the gradient.
    pub gradient: f64,
}

impl FirstBatchError {
    /// Returns the larger of the two errors.
    pub fn largest(self) -> f64 {
        // NaN is an error, too.
        if self.loss.is_nan() || self.gradient.is_nan() { f64::INFINITY } else { self.loss.max(self.gradient) }
    }

    /// Measures the errors on one batch of normalized training queries. An untrained scorer computes the scores on the
    /// CPU, so every device gets the same scores. Returns `None` for learners without a loss or a scorer.
    ///
    /// # Errors
    /// Returns an error if the loss or the scorer cannot be built.
    pub fn measure(config: &ExperimentConfig, queries: &RankingDataset, device: &Device) -> Result<Option<Self>> {
        let (Some(scorer), Some(loss)) = (&config.scorer, &config.loss) else { return Ok(None) };
        let loss = loss.build().map_err(LearnerError::from)?;
        let all: Vec<usize> = (0..queries.queries()).collect();
        let batch = RankingBatch::assemble(queries, &all, &host());
        let scorer = scorer.init(queries.feature_count, config.seed, &host()).map_err(LearnerError::from)?;
        let scores = scorer.forward(batch.features, batch.mask.clone());
        let shape = scores.dims();
        let numbers = |tensor: Tensor<2>| tensor.into_data().iter::<f64>().collect::<Vec<f64>>();
        let mask = batch.mask.into_data();
        let lists = Lists { shape, scores: numbers(scores), labels: numbers(batch.labels), mask };
        let exact = lists.exact(&*loss);
        let found = lists.explain(&*loss, DType::F32, device);
        Ok(Some(Self { loss: relative(&[exact.0], &[found.0]), gradient: relative(&exact.1, &found.1) }))
    }
}

/// Lists of one batch.
struct Lists {
    shape: [usize; 2],
    scores: Vec<f64>,
    labels: Vec<f64>,
    mask: TensorData,
}

impl Lists {
    /// Returns the loss and its gradient in double precision on the CPU. Tensor operations compute the values, so a
    /// wrong CPU kernel is also detected. A batch whose pairs do not fit into memory uses the kernels instead.
    fn exact(&self, loss: &dyn RankingLoss) -> (f64, Vec<f64>) {
        let explain = || self.explain(loss, DType::F64, &host());
        let [lists, documents] = self.shape;
        if lists * documents * documents > MOST_PAIRS { explain() } else { with_tensor_path(explain) }
    }

    /// Returns the mean loss of the lists, and its gradient.
    fn explain(&self, loss: &dyn RankingLoss, dtype: DType, device: &Device) -> (f64, Vec<f64>) {
        let device = device.clone().autodiff();
        let tensor =
            |values: &[f64]| Tensor::<2>::from_data(TensorData::new(values.to_vec(), self.shape), (&device, dtype));
        let scores = tensor(&self.scores).require_grad();
        let mask = Tensor::from_data(self.mask.clone(), &device);
        let value = loss.forward(scores.clone(), tensor(&self.labels), mask, Reduction::Mean);
        let number: f64 = value.to_data().iter::<f64>().sum();
        let gradients = value.backward();
        let gradient = scores.grad(&gradients).map(|of| of.into_data().iter::<f64>().collect());
        (number, gradient.unwrap_or_else(|| vec![0.0; self.scores.len()]))
    }
}

/// Returns the largest difference between the values, divided by the largest component of `exact` unless that is 0.
fn relative(exact: &[f64], found: &[f64]) -> f64 {
    let largest = |values: &mut dyn Iterator<Item = f64>| {
        values.fold(0.0, |most: f64, value| if value.is_nan() { value } else { most.max(value.abs()) })
    };
    let size = largest(&mut exact.iter().copied());
    let error = largest(&mut exact.iter().zip(found).map(|(exact, found)| found - exact));
    if exact.iter().zip(found).any(|(exact, found)| (found - exact).is_nan()) {
        return f64::NAN;
    }
    if size > 0.0 { error / size } else { error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_shares_of_the_largest_component() {
        assert_eq!(relative(&[2.0, -4.0], &[2.0, -5.0]), 0.25);
        assert_eq!(relative(&[0.0], &[0.5]), 0.5);
        assert!(relative(&[1.0, 2.0], &[f64::NAN, 2.0]).is_nan());
        assert_eq!(FirstBatchError { loss: 0.0, gradient: f64::NAN }.largest(), f64::INFINITY);
    }
}
