//! Kernel PCA replaces the features of each document with principal components of a Gaussian kernel. A linear scorer of
//! these components is a non-linear scorer of the features (smoothrank, section 6).
//!
//! Some documents serve as landmarks: `K` is their kernel matrix, `e_c` are its largest eigenvalues, and `u_c` are the
//! corresponding eigenvectors. Component `c` of a document is `u_c . k(x) / sqrt(e_c)`. If all components are kept, the
//! inner product of the components of two landmarks equals the value of the kernel for these landmarks. Preparing the
//! components costs O(landmarks^3), and each document costs O(landmarks x (features + components)).

use nalgebra::{DMatrix, DVector, SymmetricEigen};
use rand::seq::index;

use crate::learner::prelude::*;
use crate::memory::product;
use crate::ranker::{KernelExpansion, kernels};

/// The number of matrices of the kernel matrix's size that are in memory at once, including the matrices in the
/// eigenvalue solver.
const COPIES: usize = 4;

/// Eigenvalues below this fraction of the largest eigenvalue are ignored as rounding errors.
const NEGLIGIBLE: f64 = 1e-10;

/// The map from features to kernel components.
pub(super) struct KernelMap {
    feature_count: usize,
    landmarks: Vec<f32>,
    gamma: f64,
    /// `[landmarks x components]`
    projection: DMatrix<f64>,
}

impl KernelMap {
    /// Checks that there is enough free memory for the kernel matrix of the landmarks and for the components of all
    /// documents. The landmarks are drawn from the training data.
    ///
    /// # Errors
    /// [`Refusal`] if kernel PCA needs more memory than is free.
    pub(super) fn ask_memory(job: Job, landmarks: usize, components: usize) -> Result<(), Refusal> {
        let documents: usize = job.sets().map(|(_, data)| data.documents()).sum();
        let landmarks = landmarks.min(job.train.documents());
        let kernels = product([landmarks, landmarks, size_of::<f64>(), COPIES]);
        let mapped = product([documents, components.min(landmarks), size_of::<f32>(), 2]);
        let what = format!("kernel PCA of {landmarks} landmarks");
        let advice = "lower learner.kernel_landmarks, or learner.kernel_components";
        Refusal::ask_memory("learner.kernel_landmarks", what, kernels.saturating_add(mapped), advice)
    }

    /// Draws at most `landmarks` documents of `data` as landmarks, and keeps at most `components` components.
    pub(super) fn new(data: &RankingDataset, landmarks: usize, components: usize, gamma: f64, seed: u64) -> Self {
        let mut random = random_for(seed, "kernel landmarks", 0);
        let count = landmarks.min(data.documents());
        let mut drawn = index::sample(&mut random, data.documents(), count).into_vec();
        drawn.sort_unstable();
        let landmarks: Vec<f32> = drawn.iter().flat_map(|&document| data.row(document).iter().copied()).collect();
        let kernels = |row| kernels(row, &landmarks, gamma).collect::<Vec<f64>>();
        let rows = parallel::map(landmarks.chunks_exact(data.feature_count), kernels).concat();
        let eigen = SymmetricEigen::new(DMatrix::from_row_slice(count, count, &rows));
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by(|&a, &b| eigen.eigenvalues[b].total_cmp(&eigen.eigenvalues[a]));
        let least = NEGLIGIBLE * eigen.eigenvalues[order[0]];
        let columns: Vec<DVector<f64>> = order
            .into_iter()
            .take(components)
            .filter(|&component| eigen.eigenvalues[component] > least)
            .map(|component| eigen.eigenvectors.column(component) / eigen.eigenvalues[component].sqrt())
            .collect();
        Self { feature_count: data.feature_count, landmarks, gamma, projection: DMatrix::from_columns(&columns) }
    }

    /// Returns a copy of `data` in which each document has its kernel components in place of its features.
    pub(super) fn map(&self, data: &RankingDataset) -> RankingDataset {
        let components = self.projection.ncols();
        let of = |row: &[f32]| {
            let kernels = DVector::from_iterator(self.projection.nrows(), kernels(row, &self.landmarks, self.gamma));
            self.projection.tr_mul(&kernels).iter().map(|&value| value as f32).collect::<Vec<f32>>()
        };
        let features = parallel::map(data.features.to_slice().chunks_exact(self.feature_count), of).concat();
        let mut mapped = RankingDataset { features: features.into(), feature_count: components, ..data.clone() };
        mapped.share_with(data.group());
        mapped
    }

    /// Returns a scorer that reads the original features and gives the same scores as a linear scorer of the components
    /// with these weights.
    pub(super) fn expansion(&self, weights: &[f64]) -> KernelExpansion {
        let coefficients = &self.projection * DVector::from_column_slice(weights);
        let coefficients = coefficients.iter().copied().collect();
        KernelExpansion::new(self.feature_count, self.landmarks.clone(), coefficients, self.gamma)
            .expect("one coefficient a landmark, and gamma is checked")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::testing;

    #[test]
    fn inner_products_of_landmarks_are_their_kernels() {
        let data = testing::random(2, 10, 3, 6);
        let map = KernelMap::new(&data, 20, 20, 0.7, 1);
        let mapped = map.map(&data);
        for document in 0..20 {
            let expected: Vec<f64> = kernels(data.row(document), data.features.to_slice(), 0.7).collect();
            for (other, expected) in expected.into_iter().enumerate() {
                let product = |(&a, &b): (&f32, &f32)| f64::from(a) * f64::from(b);
                let found: f64 = mapped.row(document).iter().zip(mapped.row(other)).map(product).sum();
                assert!((found - expected).abs() < 1e-4, "{document} {other}: {found} {expected}");
            }
        }
    }

    #[test]
    fn components_are_shared_as_the_features_are() {
        let data = testing::random(2, 10, 3, 6);
        let map = KernelMap::new(&data, 20, 20, 0.7, 1);
        crate::distributed::testing::in_processes(2, |group| {
            assert_eq!(map.map(&testing::shared(&data, group)).group().count(), 2);
        });
    }

    #[test]
    fn the_expansion_scores_as_the_weights_do() {
        let data = testing::random(2, 10, 3, 6);
        let map = KernelMap::new(&data, 12, 5, 0.7, 1);
        let mapped = map.map(&data);
        assert_eq!(mapped.feature_count, 5);
        let weights = [1.0, -0.5, 2.0, 0.1, -3.0];
        let direct = crate::learner::shared::share::linear_scores(&mapped, &weights);
        for (found, expected) in map.expansion(&weights).scores(data.features.to_slice()).iter().zip(direct) {
            assert!((found - expected).abs() < 1e-4);
        }
    }
}
