//! Computes the products and sums over the documents above that the rows of
//! [`above_expectation`](super::above_expectation) need.

use burn::backend::{TensorMetadata, ops::FloatTensorOps};
use burn::tensor::FloatDType;
use burn_cubecl::CubeBackend;
use burn_cubecl::cubecl::{self, prelude::*};
use burn_cubecl::tensor::CubeTensor;

use super::members::{Members, visited};
use super::noise::Comparison;
use super::real::probability;
use super::tile::{Place, ROWS, SLICES};
use crate::op::cpu::{Above, Real};

/// The number of documents in a tile.
pub(super) const TILE: usize = 16;

/// The lower bound of a factor in a product.
pub(super) const SMALLEST: f32 = <f32 as Real>::SMALLEST_FACTOR;

/// Returns the contributions `b` of the documents. A function of only the rank receives zeros, which make a product of
/// ones.
pub(super) fn contributed(b: &CubeTensor, above: Above) -> CubeTensor {
    match above {
        Above::Nothing => CubeBackend::float_zeros(b.shape(), &b.device, FloatDType::F32),
        Above::Sum | Above::Product => b.clone(),
    }
}

/// Returns the factor that a document above a row, with the value `b`, leaves: 1 in a sum, `1 - b` in a product.
#[cube]
pub(super) fn passes(b: f32, #[comptime] sum: bool) -> f32 {
    if comptime!(sum) { f32::new(1.0f32) } else { 1.0f32 - b }
}

/// The trials of a tile in shared memory. For each column and row, the scratch memory holds the probability that the
/// column beats the row, and its complement. The scratch memory also holds the value of each column.
#[derive(CubeType)]
pub(super) struct Scratch {
    pub ahead: Shared<[f32]>,
    pub behind: Shared<[f32]>,
    pub tile_b: Shared<[f32]>,
}

/// The row of a unit, and the columns that it is compared with.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(super) struct Row {
    /// The index of the row in the batch.
    pub cell: usize,
    /// The index of the first document of the list in the batch.
    pub list: usize,
    /// The first entry of the columns in `order`.
    pub columns: usize,
    /// The number of columns to visit, the same for all rows of a cube.
    pub visited: usize,
    pub slice: usize,
    pub lane: usize,
}

#[cube]
pub(super) fn row(order: &[u32], place: Place, members: Members) -> Row {
    Row {
        cell: place.list + order[members.rows + place.row] as usize,
        list: place.list,
        columns: members.columns,
        visited: visited(place, members),
        slice: place.slice,
        lane: place.lane,
    }
}

/// Multiplies the factors of all columns into `products` and adds their shares to `sums`, for the terms of the unit.
/// `terms` holds bases, gaps `1 - z_m` and coefficients, `own * SLICES` of each. Every unit of the cube must call it.
#[cube]
pub(super) fn meet(
    x: &[f32],
    b: &[f32],
    order: &[u32],
    terms: &[f32],
    row: Row,
    comparison: Comparison,
    scratch: &mut Scratch,
    products: &mut Array<f32>,
    sums: &mut Array<f32>,
    #[comptime] own: usize,
    #[comptime] sum: bool,
) {
    let row_x = x[row.cell];
    for start in range_stepped(0, row.visited, TILE) {
        let length = min(row.visited - start, TILE);
        for j in range_stepped(row.slice, length, SLICES) {
            let other = row.list + order[row.columns + start + j] as usize;
            let beats = probability((x[other] - row_x) * comparison.rate - comparison.shift);
            scratch.ahead[j * ROWS + row.lane] = select(other != row.cell, beats.of, 0.0f32);
            scratch.behind[j * ROWS + row.lane] = select(other != row.cell, beats.against, 1.0f32);
            if row.lane == 0 {
                scratch.tile_b[j] = b[other];
            }
        }
        sync_cube();
        for j in 0..length {
            let ahead = scratch.ahead[j * ROWS + row.lane];
            let behind = scratch.behind[j * ROWS + row.lane];
            let b = scratch.tile_b[j];
            let left = passes(b, sum);
            #[unroll]
            for term in 0..own {
                let m = row.slice + term * SLICES;
                let whole = terms[m];
                let base = whole * left;
                let loss = ahead * fma(whole, 1.0f32 - left, terms[comptime!(own * SLICES) + m]);
                let factor = max(fma(ahead, base, behind), comptime!(SMALLEST));
                let large = fma(-products[term], loss, products[term]);
                products[term] = select(loss < 0.5f32, large, products[term] * factor);
                if comptime!(sum) {
                    sums[term] += ahead * b * base / factor;
                }
            }
        }
        sync_cube();
    }
}
