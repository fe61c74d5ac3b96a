//! Computes the products and the sums over the documents above. [`above_expectation`](super::above_expectation) and its
//! gradient are computed from them.

use burn::backend::{TensorMetadata, ops::FloatTensorOps};
use burn::tensor::FloatDType;
use burn_cubecl::CubeBackend;
use burn_cubecl::cubecl::{self, prelude::*};
use burn_cubecl::tensor::CubeTensor;

use super::members::Row;
use super::noise::Comparison;
use super::real::probability;
use super::tile::{Place, ROWS, SLICES};
use crate::op::cpu::{Above, Real};

/// The number of columns in a tile, whose trials are in shared memory at the same time.
pub(super) const TILE: usize = 16;

/// The smallest value that a factor of a product may have.
pub(super) const SMALLEST: f32 = <f32 as Real>::SMALLEST_FACTOR;

/// Returns the tensor `b` that the kernels read. If only the rank matters, this tensor is 0, so that every factor
/// `1 - b` is 1.
pub(super) fn contributed(b: &CubeTensor, above: Above) -> CubeTensor {
    match above {
        Above::Nothing => CubeBackend::float_zeros(b.shape(), &b.device, FloatDType::F32),
        Above::Sum | Above::Product => b.clone(),
    }
}

/// Returns the factor by which a document above, whose number is `b`, changes the product. The factor is `1 - b`, or 1
/// for a sum.
#[cube]
pub(super) fn passes(b: f32, #[comptime] sum: bool) -> f32 {
    if comptime!(sum) { f32::new(1.0f32) } else { 1.0f32 - b }
}

/// Shared memory for the trials of a tile of columns against the rows of a cube. For each pair, the memory holds the
/// probability that the column is above the row, and the probability that it is not. For each column, the memory also
/// holds the number `b`.
#[derive(CubeType)]
pub(super) struct Scratch {
    pub ahead: Shared<[f32]>,
    pub behind: Shared<[f32]>,
    pub tile_b: Shared<[f32]>,
}

/// Visits all columns. For each term of the unit, multiplies the factors of the columns into `products` and adds the
/// shares of the columns to `sums`. The array `terms` holds `own * SLICES` bases, followed by the same number of gaps
/// `1 - z_m` and the same number of coefficients. All units of a cube must call this function together, since it waits
/// for them.
#[cube]
pub(super) fn meet(
    x: &[f32],
    b: &[f32],
    order: &[u32],
    terms: &[f32],
    place: Place,
    row: Row,
    comparison: Comparison,
    scratch: &mut Scratch,
    products: &mut Array<f32>,
    sums: &mut Array<f32>,
    #[comptime] own: usize,
    #[comptime] sum: bool,
) {
    for start in range_stepped(0, row.visited, TILE) {
        let length = min(row.visited - start, TILE);
        for j in range_stepped(place.slice, length, SLICES) {
            let other = place.list + order[row.columns + start + j] as usize;
            let beats = probability((x[other] - row.x) * comparison.rate - comparison.shift);
            scratch.ahead[j * ROWS + place.lane] = select(other != row.cell, beats.of, 0.0f32);
            scratch.behind[j * ROWS + place.lane] = select(other != row.cell, beats.against, 1.0f32);
            if place.lane == 0 {
                scratch.tile_b[j] = b[other];
            }
        }
        sync_cube();
        for j in 0..length {
            let ahead = scratch.ahead[j * ROWS + place.lane];
            let behind = scratch.behind[j * ROWS + place.lane];
            let b = scratch.tile_b[j];
            let left = passes(b, sum);
            #[unroll]
            for term in 0..own {
                let m = place.slice + term * SLICES;
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
