//! Factors large symmetric matrices in blocks, in parallel, and stops between blocks where it is asked to.

use nalgebra::{Cholesky, DMatrix, DMatrixView, DMatrixViewMut, Dyn};
use rayon::prelude::*;

/// The number of columns that are factored at a time. A matrix of one block is factored as nalgebra does it.
const BLOCK: usize = 256;

/// Returns the factorization of a symmetric matrix, of which only the lower triangle is read. Returns `None` if the
/// matrix is not positive definite in double precision, or when `stop` returns true. Results do not depend on the number
/// of threads.
pub(super) fn cholesky(mut matrix: DMatrix<f64>, stop: &dyn Fn() -> bool) -> Option<Cholesky<f64, Dyn>> {
    let size = matrix.nrows();
    for start in (0..size).step_by(BLOCK) {
        if stop() {
            return None;
        }
        let end = (start + BLOCK).min(size);
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
        trailing.par_chunks_mut(BLOCK * size).enumerate().for_each(|(block, columns)| {
            let (first, width) = (block * BLOCK, columns.len() / size);
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
    use nalgebra::DVector;

    use super::*;

    #[test]
    fn several_blocks_solve_what_one_does() {
        let size = 2 * BLOCK + 31;
        let root = DMatrix::from_fn(size, size, |row, column| ((row * 37 + column * 91) % 17) as f64 - 8.0);
        let matrix = &root * root.transpose() + DMatrix::identity(size, size) * 50.0;
        let expected = DVector::from_fn(size, |row, _| (row % 7) as f64 - 3.0);
        let solution = cholesky(matrix.clone(), &|| false).unwrap().solve(&(&matrix * &expected));
        assert!((solution - expected).amax() < 1e-8);
        assert!(cholesky(-matrix.clone(), &|| false).is_none() && cholesky(matrix, &|| true).is_none());
    }
}
