//! Solves weighted least squares with an L2 penalty in closed form.

use nalgebra::{Cholesky, DMatrix, DVector};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::data::RankingDataset;
use crate::data::shards::own;
use crate::memory;
use crate::op::Execution;
use crate::refusal::Refusal;

/// The weights and the intercept that solve a ridge regression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinearSolution {
    /// One weight per feature.
    pub weights: Vec<f64>,
    /// The intercept.
    pub bias: f64,
}

/// The normal equations of weighted least squares, which can be solved for any penalty lambda.
#[derive(Debug, Clone)]
pub struct NormalEquations {
    /// The matrix `sum_d c_d (x_d - mean) (x_d - mean)^T`.
    products: DMatrix<f64>,
    /// The vector `sum_d c_d (x_d - mean) (t_d - target_mean)`.
    moments: DVector<f64>,
    means: DVector<f64>,
    target_mean: f64,
    /// The number `sum_d c_d (t_d - target_mean)^2`.
    target_variance: f64,
}

/// The fixed number of documents in one block of the sums, which makes results independent of the number of threads.
const BLOCK: usize = 1024;

/// The maximum number of blocks that are computed in parallel before their sums are added up.
const BLOCKS_AT_ONCE: usize = 32;

/// The maximum memory, in bytes, of the blocks that are computed in parallel, unless a single block needs more.
const BYTES_AT_ONCE: u64 = 256 << 20;

/// The number of matrices with one row and one column per feature that are in memory besides the blocks.
const COPIES: usize = 4;

/// Returns the number of blocks to compute in parallel if each block is a square matrix with `columns` columns.
fn blocks_at_once(columns: usize) -> usize {
    let bytes = memory::product([columns, columns, size_of::<f64>()]).max(1);
    ((BYTES_AT_ONCE / bytes) as usize).clamp(1, BLOCKS_AT_ONCE)
}

impl NormalEquations {
    /// Checks that there is enough free memory for the products of all pairs of features. `features` is the number of
    /// features.
    ///
    /// # Errors
    /// [`Refusal`] if the products need more memory than is free.
    pub fn ask_memory(features: usize) -> Result<(), Refusal> {
        let copies = COPIES + blocks_at_once(features + 1);
        let bytes = memory::product([features + 1, features + 1, size_of::<f64>(), copies]);
        let what = format!("a matrix of the products of {features} features");
        Refusal::ask_memory(
            "learner",
            what,
            bytes,
            "lower the number of features, or let gradient learn a linear scorer",
        )
    }

    /// Computes the sums over all documents in parallel blocks, given the targets and weights of the documents. If
    /// the data are shared, each process computes some columns of the matrix. All sums are therefore added in
    /// the same order as in a single process.
    ///
    /// Without an intercept, all means are replaced by 0.
    pub fn new(data: &RankingDataset, targets: &[f64], weights: &[f64], intercept: bool) -> Self {
        let group = data.group();
        let features = data.feature_count;
        let total: f64 = weights.iter().sum();
        let mut means = DVector::zeros(features);
        let mut target_mean = 0.0;
        if intercept {
            let own = own(features, group);
            let mut of_own = vec![0.0; own.len()];
            for (d, &c) in weights.iter().enumerate() {
                target_mean += c / total * targets[d];
                let row = &data.row(d)[own.clone()];
                of_own.iter_mut().zip(row).for_each(|(mean, &x)| *mean += c / total * f64::from(x));
            }
            means = DVector::from_vec(group.gather_numbers(of_own));
        }
        // One more column holds the targets.
        let columns = features + 1;
        let own = own(columns, group);
        let block_sums = |documents: &[usize]| {
            let rows = DMatrix::from_fn(documents.len(), columns, |row, feature| {
                let d = documents[row];
                let centered = match data.row(d).get(feature) {
                    Some(&x) => f64::from(x) - means[feature],
                    None => targets[d] - target_mean,
                };
                (weights[d] / total).sqrt() * centered
            });
            rows.tr_mul(&rows.columns_range(own.clone()))
        };
        let mut sums = DMatrix::zeros(columns, own.len());
        let documents: Vec<usize> = (0..data.documents()).collect();
        for group in documents.chunks(BLOCK * blocks_at_once(columns)) {
            let blocks: Vec<DMatrix<f64>> =
                group.par_chunks(BLOCK).map(Execution::current().bind(block_sums)).collect();
            blocks.iter().for_each(|block| sums += block);
        }
        let sums = DMatrix::from_vec(columns, columns, group.gather_numbers(sums.as_slice().to_vec()));
        Self {
            products: sums.view((0, 0), (features, features)).into_owned(),
            moments: sums.view((0, features), (features, 1)).column(0).into_owned(),
            means,
            target_mean,
            target_variance: sums[(features, features)],
        }
    }

    /// Returns the solution, or `None` if lambda is so small that rounding errors make the Cholesky factorization fail.
    pub fn solve(&self, lambda: f64) -> Option<LinearSolution> {
        let size = self.products.nrows();
        let factor = Cholesky::new(&self.products + DMatrix::identity(size, size) * lambda)?;
        let weights = factor.solve(&self.moments);
        let bias = self.target_mean - self.means.dot(&weights);
        Some(LinearSolution { weights: weights.as_slice().to_vec(), bias })
    }

    /// Returns the objective for the weights `w`, with the best intercept for these weights.
    pub fn objective(&self, weights: &[f64], lambda: f64) -> f64 {
        let w = DVector::from_column_slice(weights);
        w.dot(&(&self.products * &w)) - 2.0 * w.dot(&self.moments) + self.target_variance + lambda * w.norm_squared()
    }
}
