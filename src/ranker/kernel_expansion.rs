//! `KernelExpansion` is a model whose score is a weighted sum of Gaussian kernels.
//!
//! The score of a document `x` is `s(x) = sum_l a_l exp(-gamma ||x - x_l||^2)`, summed over landmark documents `x_l`.
//! Scoring a document costs O(landmarks x features).

use rayon::prelude::*;

use crate::interleaved;

/// The reason why arrays do not form a kernel expansion.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// The number of landmark values is not the number of coefficients times the number of features.
    #[error("kernel expansion: {values} landmark values, expected {coefficients} coefficients x {features} features")]
    Shape {
        /// The number of values given for all landmarks together.
        values: usize,
        /// Number of coefficients.
        coefficients: usize,
        /// Number of features.
        features: usize,
    },
    /// `gamma` is not a finite number above 0.
    #[error("kernel expansion: gamma = {0}, expected a finite number above 0")]
    Gamma(f64),
}

/// A kernel expansion, which scores a document by `s(x) = sum_l a_l exp(-gamma ||x - x_l||^2)`.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelExpansion {
    feature_count: usize,
    landmarks: Vec<f32>,
    coefficients: Vec<f64>,
    gamma: f64,
}

impl KernelExpansion {
    /// Creates a kernel expansion. `landmarks` is row-major, with one row of `feature_count` values for each
    /// coefficient.
    ///
    /// # Errors
    /// Returns [`KernelError`] if the number of landmark values is wrong, or if `gamma` is not a finite number above 0.
    pub fn new(
        feature_count: usize,
        landmarks: Vec<f32>,
        coefficients: Vec<f64>,
        gamma: f64,
    ) -> Result<Self, KernelError> {
        if feature_count == 0 || landmarks.len() != coefficients.len() * feature_count {
            let (values, coefficients, features) = (landmarks.len(), coefficients.len(), feature_count);
            return Err(KernelError::Shape { values, coefficients, features });
        }
        if !(gamma > 0.0 && gamma.is_finite()) {
            return Err(KernelError::Gamma(gamma));
        }
        Ok(Self { feature_count, landmarks, coefficients, gamma })
    }

    /// Returns the number of features of a document.
    pub fn feature_count(&self) -> usize {
        self.feature_count
    }

    /// Returns the landmarks, row-major.
    pub fn landmarks(&self) -> &[f32] {
        &self.landmarks
    }

    /// Returns the coefficients, one per landmark.
    pub fn coefficients(&self) -> &[f64] {
        &self.coefficients
    }

    /// Returns the inverse squared width of the kernel.
    pub fn gamma(&self) -> f64 {
        self.gamma
    }

    /// Returns the score of every row of `features`, a row-major matrix.
    pub fn scores(&self, features: &[f32]) -> Vec<f64> {
        let score = |row: &[f32]| {
            let kernels = kernels(row, &self.landmarks, self.gamma);
            kernels.zip(&self.coefficients).map(|(kernel, coefficient)| coefficient * kernel).sum()
        };
        features.par_chunks_exact(self.feature_count).with_min_len(64).map(score).collect()
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
        assert_eq!(KernelExpansion::new(1, vec![0.0], vec![1.0], 0.0), Err(KernelError::Gamma(0.0)));
    }
}
