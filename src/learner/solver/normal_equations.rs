//! Solves weighted least squares with an L2 penalty in closed form.

use nalgebra::{Cholesky, DMatrix, DMatrixView, DMatrixViewMut, DVector, Dyn};
use serde::{Deserialize, Serialize};

use crate::data::RankingDataset;
use crate::data::shards::own;
use crate::refusal::Refusal;
use crate::text::counted;
use crate::{memory, parallel};

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
    sums: Sums,
    means: DVector<f64>,
    target_mean: f64,
    /// The number `sum_d c_d (t_d - target_mean)^2`.
    target_variance: f64,
}

/// The sums of the equations over the documents `d`, with the centered rows `z_d = c_d^(1/2) (x_d - mean)` and the
/// centered targets `u_d = c_d^(1/2) (t_d - target_mean)`.
#[derive(Debug, Clone)]
enum Sums {
    /// The products of all pairs of features, `sum_d z_d z_d^T`, and the vector `sum_d z_d u_d`.
    OfFeatures { products: DMatrix<f64>, moments: DVector<f64> },
    /// With fewer documents than features: the rows `[documents, features]`, their products `[documents, documents]`,
    /// and the targets. The solution is `Z^T a`, where `(Z Z^T + lambda) a = u`.
    OfDocuments { rows: DMatrix<f64>, products: DMatrix<f64>, targets: DVector<f64> },
}

/// The fixed number of documents in one block of the sums, which makes results independent of the number of threads.
const BLOCK: usize = 1024;

/// The maximum number of blocks that are computed in parallel before their sums are added up.
const BLOCKS_AT_ONCE: usize = 32;

/// The maximum memory, in bytes, of the blocks that are computed in parallel, unless a single block needs more.
const BYTES_AT_ONCE: u64 = 256 << 20;

/// The number of columns of the products that are computed without asking whether to stop.
const COLUMNS: usize = 256;

/// The number of matrices with one row and one column per feature that are in memory besides the blocks.
const COPIES: usize = 4;

/// Returns the number of blocks to compute in parallel if each block is a square matrix with `columns` columns.
fn blocks_at_once(columns: usize) -> usize {
    let bytes = memory::product([columns, columns, size_of::<f64>()]).max(1);
    ((BYTES_AT_ONCE / bytes) as usize).clamp(1, BLOCKS_AT_ONCE)
}

/// The documents of a regression, with their targets and weights.
struct Documents<'a> {
    data: &'a RankingDataset,
    targets: &'a [f64],
    weights: &'a [f64],
    total: f64,
    means: DVector<f64>,
    target_mean: f64,
}

impl<'a> Documents<'a> {
    fn new(data: &'a RankingDataset, targets: &'a [f64], weights: &'a [f64], intercept: bool) -> Self {
        let (group, features) = (data.group(), data.feature_count);
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
        Self { data, targets, weights, total, means, target_mean }
    }

    /// Returns the centered rows of some documents, with their centered targets in one more column.
    fn rows(&self, documents: &[usize]) -> DMatrix<f64> {
        DMatrix::from_fn(documents.len(), self.means.len() + 1, |row, feature| {
            let d = documents[row];
            let centered = match self.data.row(d).get(feature) {
                Some(&x) => f64::from(x) - self.means[feature],
                None => self.targets[d] - self.target_mean,
            };
            (self.weights[d] / self.total).sqrt() * centered
        })
    }

    /// Returns the products of all pairs of columns of the rows, or `None` when `stop` returns true. The sums are taken
    /// over all documents in parallel blocks. If the data are shared, each process computes some columns, so all sums
    /// are added in the same order as in a single process.
    fn products(&self, stop: &(dyn Fn() -> bool + Sync)) -> Option<DMatrix<f64>> {
        let (group, columns) = (self.data.group(), self.means.len() + 1);
        let own = own(columns, group);
        let block_sums = |documents: &[usize]| {
            let rows = self.rows(documents);
            let mut sums = DMatrix::zeros(columns, own.len());
            parallel::for_each(sums.as_mut_slice().chunks_mut(COLUMNS * columns).enumerate(), |(chunk, sums)| {
                let (first, count) = (own.start + chunk * COLUMNS, sums.len() / columns);
                if !stop() {
                    sums.copy_from_slice(rows.tr_mul(&rows.columns(first, count)).as_slice());
                }
            });
            sums
        };
        let mut sums = DMatrix::zeros(columns, own.len());
        let documents: Vec<usize> = (0..self.data.documents()).collect();
        for several in documents.chunks(BLOCK * blocks_at_once(columns)) {
            parallel::map(several.chunks(BLOCK), block_sums).iter().for_each(|block| sums += block);
            if group.agree(stop()) {
                return None;
            }
        }
        Some(DMatrix::from_vec(columns, columns, group.gather_numbers(sums.as_slice().to_vec())))
    }
}

impl NormalEquations {
    /// Checks that there is enough free memory for the products of all pairs of features, or of documents if there are
    /// fewer of these.
    ///
    /// # Errors
    /// [`Refusal`] if the products need more memory than is free.
    pub fn ask_memory(data: &RankingDataset) -> Result<(), Refusal> {
        let (documents, features) = (data.documents(), data.feature_count);
        let (of, copies) = match documents < features {
            true => (counted(documents, "document"), COPIES * features / documents.max(1)),
            false => (counted(features, "feature"), COPIES + blocks_at_once(features + 1)),
        };
        let size = documents.min(features) + 1;
        let bytes = memory::product([size, size, size_of::<f64>(), copies]);
        let what = format!("a matrix of the products of {of}");
        let advice = "lower the number of features, or let gradient learn a linear scorer";
        Refusal::ask_memory("learner", what, bytes, advice)
    }

    /// Computes the sums over all documents, given the targets and weights of the documents. Returns `None` when `stop`
    /// returns true. In a group of processes, `stop` must return true only if the first one was asked to stop.
    ///
    /// Without an intercept, all means are replaced by 0.
    pub fn new(
        data: &RankingDataset,
        targets: &[f64],
        weights: &[f64],
        intercept: bool,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Option<Self> {
        let documents = Documents::new(data, targets, weights, intercept);
        let features = data.feature_count;
        let (sums, target_variance) = if data.documents() < features {
            let all: Vec<usize> = (0..data.documents()).collect();
            let rows = documents.rows(&all);
            let targets: DVector<f64> = rows.column(features).into_owned();
            let rows = rows.remove_column(features);
            let variance = targets.norm_squared();
            (Sums::OfDocuments { products: &rows * rows.transpose(), rows, targets }, variance)
        } else {
            let sums = documents.products(stop)?;
            let products = sums.view((0, 0), (features, features)).into_owned();
            let moments = sums.view((0, features), (features, 1)).column(0).into_owned();
            (Sums::OfFeatures { products, moments }, sums[(features, features)])
        };
        let Documents { means, target_mean, .. } = documents;
        Some(Self { sums, means, target_mean, target_variance })
    }

    /// Returns the solution. Returns `None` if lambda is so small that rounding errors make the Cholesky factorization
    /// fail, or when `stop` returns true.
    pub fn solve(&self, lambda: f64, stop: &dyn Fn() -> bool) -> Option<LinearSolution> {
        let factored = |products: &DMatrix<f64>| {
            let mut penalized = products.clone();
            penalized.set_diagonal(&products.diagonal().add_scalar(lambda));
            cholesky(penalized, stop)
        };
        let weights = match &self.sums {
            Sums::OfFeatures { products, moments } => factored(products)?.solve(moments),
            Sums::OfDocuments { rows, products, targets } => rows.tr_mul(&factored(products)?.solve(targets)),
        };
        let bias = self.target_mean - self.means.dot(&weights);
        Some(LinearSolution { weights: weights.as_slice().to_vec(), bias })
    }

    /// Returns the objective for the weights `w`, with the best intercept for these weights.
    pub fn objective(&self, weights: &[f64], lambda: f64) -> f64 {
        let w = DVector::from_column_slice(weights);
        let errors = match &self.sums {
            Sums::OfFeatures { products, moments } => {
                w.dot(&(products * &w)) - 2.0 * w.dot(moments) + self.target_variance
            }
            Sums::OfDocuments { rows, targets, .. } => (rows * &w - targets).norm_squared(),
        };
        errors + lambda * w.norm_squared()
    }
}

/// The number of columns that are factored at a time. A matrix of one block is factored as nalgebra does it.
const FACTORED: usize = 256;

/// Factors a symmetric matrix, of which only the lower triangle is read, in parallel blocks. Returns `None` if the
/// matrix is not positive definite in double precision, or when `stop` returns true. Results do not depend on the
/// number of threads.
fn cholesky(mut matrix: DMatrix<f64>, stop: &dyn Fn() -> bool) -> Option<Cholesky<f64, Dyn>> {
    let size = matrix.nrows();
    for start in (0..size).step_by(FACTORED) {
        if stop() {
            return None;
        }
        let end = (start + FACTORED).min(size);
        let corner = Cholesky::new(matrix.view((start, start), (end - start, end - start)).into_owned())?.unpack();
        matrix.view_mut((start, start), (end - start, end - start)).copy_from(&corner);
        // The rows below, times the inverse of the transposed corner.
        let mut below = matrix.view((end, start), (size - end, end - start)).into_owned();
        for column in 0..end - start {
            let (done, mut next) = below.columns_range_pair_mut(0..column, column);
            next.gemv(-1.0, &done, &corner.row(column).columns(0, column).transpose(), 1.0);
            next /= corner[(column, column)];
        }
        matrix.view_mut((end, start), (size - end, end - start)).copy_from(&below);
        let (_, trailing) = matrix.as_mut_slice().split_at_mut(end * size);
        parallel::for_each(trailing.chunks_mut(FACTORED * size).enumerate(), |(block, columns)| {
            let (first, width) = (block * FACTORED, columns.len() / size);
            let mut columns = DMatrixViewMut::from_slice(columns, size, width);
            let rows: DMatrixView<f64> = below.rows(first, size - end - first);
            let mut lower = columns.rows_range_mut(end + first..);
            lower.gemm(-1.0, &rows, &rows.rows(0, width).transpose(), 1.0);
        });
    }
    Some(Cholesky::pack_dirty(matrix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_blocks_solve_what_one_does() {
        let size = 2 * FACTORED + 31;
        let root = DMatrix::from_fn(size, size, |row, column| ((row * 37 + column * 91) % 17) as f64 - 8.0);
        let matrix = &root * root.transpose() + DMatrix::identity(size, size) * 50.0;
        let expected = DVector::from_fn(size, |row, _| (row % 7) as f64 - 3.0);
        let solution = cholesky(matrix.clone(), &|| false).unwrap().solve(&(&matrix * &expected));
        assert!((solution - expected).amax() < 1e-8);
        assert!(cholesky(-matrix.clone(), &|| false).is_none() && cholesky(matrix, &|| true).is_none());
    }
}
