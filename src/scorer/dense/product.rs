//! Computes matrix products with the `gemm` crate. All pointers passed to the crate stay within their slices. On Flex,
//! burn uses the same crate for its own products.

// This module passes pointers to the crate.
#![allow(unsafe_code)]

use gemm::Parallelism;

use crate::op::Real;

/// A matrix that is stored row by row.
#[derive(Clone, Copy)]
pub struct Matrix<'a, T> {
    values: &'a [T],
    /// The numbers of rows and columns.
    shape: [usize; 2],
    /// The distances in `values` to the next row and to the next column.
    steps: [usize; 2],
}

impl<'a, T> Matrix<'a, T> {
    /// Creates a matrix from `values`, with `columns` values in each row. There must be at least one column.
    pub fn new(values: &'a [T], columns: usize) -> Self {
        assert!(columns > 0 && values.len().is_multiple_of(columns));
        Self { values, shape: [values.len() / columns, columns], steps: [columns, 1] }
    }

    /// Returns the transposed matrix, which shares the values.
    pub fn transposed(self) -> Self {
        let ([rows, columns], [to_row, to_column]) = (self.shape, self.steps);
        Self { shape: [columns, rows], steps: [to_column, to_row], ..self }
    }
}

/// Writes `left * right` to `out` row by row, or adds it to the values in `out`. The product runs on the calling
/// thread.
///
/// # Panics
/// Panics if the shapes do not match.
pub fn multiply<T: Real>(left: Matrix<T>, right: Matrix<T>, out: &mut [T], add: bool) {
    let ([rows, inner], [right_rows, columns]) = (left.shape, right.shape);
    assert!(inner == right_rows && out.len() == rows * columns);
    // No slice is longer than `isize::MAX`.
    let [left_steps, right_steps] = [left.steps, right.steps].map(|steps| steps.map(|step| step as isize));
    let (to_column, to_row) = (1, columns as isize);
    // SAFETY: each matrix lies within its slice by construction, and the output does so by the assertion above. The
    // output is borrowed mutably, so it overlaps with neither matrix.
    unsafe {
        gemm::gemm(
            rows,
            columns,
            inner,
            out.as_mut_ptr(),
            to_column,
            to_row,
            add,
            left.values.as_ptr(),
            left_steps[1],
            left_steps[0],
            right.values.as_ptr(),
            right_steps[1],
            right_steps[0],
            T::ONE,
            T::ONE,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}
