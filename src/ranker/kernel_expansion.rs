//! `KernelExpansion` is a model whose score is a weighted sum of Gaussian kernels.
//!
//! The score of a document `x` is `s(x) = sum_l a_l exp(-gamma ||x - x_l||^2)`, summed over landmark documents `x_l`.
//! Scoring a document costs O(landmarks x features).

use super::error::ModelError;
use crate::{interleaved, parallel};

/// The number of documents that a thread scores at a time.
const ROWS: usize = 64;

/// A kernel expansion, which scores a document by `s(x) = sum_l a_l exp(-gamma ||x - x_l||^2)`.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelExpansion {
    pub(super) feature_count: usize,
    /// Row-major.
    pub(super) landmarks: Vec<f32>,
    /// One per landmark.
    pub(super) coefficients: Vec<f64>,
    /// The inverse squared width of the kernel.
    pub(super) gamma: f64,
}

impl KernelExpansion {
    /// Creates a kernel expansion. `landmarks` is row-major, with one row of `feature_count` values for each
    /// coefficient.
    ///
    /// # Errors
    /// Returns [`ModelError`] if the number of landmark values is wrong, or if `gamma` is not a finite number above 0.
    pub fn new(
        feature_count: usize,
        landmarks: Vec<f32>,
        coefficients: Vec<f64>,
        gamma: f64,
    ) -> Result<Self, ModelError> {
        let (values, count) = (landmarks.len(), coefficients.len());
        if feature_count == 0 || values != count * feature_count {
            let expected = format!("{count} coefficients x {feature_count} features");
            return Err(ModelError(format!("kernel expansion: {values} landmark values, expected {expected}")));
        }
        if !(gamma > 0.0 && gamma.is_finite()) {
            return Err(ModelError(format!("kernel expansion: gamma = {gamma}, expected a finite number above 0")));
        }
        Ok(Self { feature_count, landmarks, coefficients, gamma })
    }

    /// Returns the score of every row of `features`, a row-major matrix.
    pub fn scores(&self, features: &[f32]) -> Vec<f64> {
        let score = |row: &[f32]| {
            let kernels = kernels(row, &self.landmarks, self.gamma);
            kernels.zip(&self.coefficients).map(|(kernel, coefficient)| coefficient * kernel).sum()
        };
        let of_rows = |rows: &[f32]| rows.chunks_exact(self.feature_count).map(score).collect::<Vec<f64>>();
        parallel::map(features.chunks(ROWS * self.feature_count), of_rows).concat()
    }
}

/// Computes `exp(-gamma ||row - x_l||^2)` for each landmark.
pub(crate) fn kernels<'a>(row: &'a [f32], landmarks: &'a [f32], gamma: f64) -> impl Iterator<Item = f64> + 'a {
    landmarks.chunks_exact(row.len()).map(move |landmark| {
        let square = |feature: usize| (f64::from(row[feature]) - f64::from(landmark[feature])).powi(2);
        (-gamma * interleaved::sum(row.len(), square)).exp()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_sums_of_gaussians() {
        let expansion = KernelExpansion::new(2, vec![0.0, 0.0, 1.0, 2.0], vec![2.0, -1.0], 0.5).unwrap();
        // Squared distances 1 and 4, then 5 and 0.
        let expected = [2.0 * (-0.5f64).exp() - (-2.0f64).exp(), 2.0 * (-2.5f64).exp() - 1.0];
        for (found, expected) in expansion.scores(&[1.0, 0.0, 1.0, 2.0]).iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn arrays_that_do_not_fit_are_refused() {
        let error = KernelExpansion::new(2, vec![0.0; 3], vec![1.0; 2], 1.0).unwrap_err();
        assert_eq!(error.to_string(), "kernel expansion: 3 landmark values, expected 2 coefficients x 2 features");
        let error = KernelExpansion::new(1, vec![0.0], vec![1.0], 0.0).unwrap_err();
        assert_eq!(error.to_string(), "kernel expansion: gamma = 0, expected a finite number above 0");
    }
}
