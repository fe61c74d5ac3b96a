//! Computes `distance_sum`, which NeuralSort needs, on a GPU.

use burn_cubecl::cubecl::{self, prelude::*};
use burn_cubecl::tensor::CubeTensor;

use super::launch::{compute_one, start};
use super::tile::{SLICES, UNITS, in_tile, place, sum_of_row};

/// Computes `m_i sum_j m_j |x_i - x_j|` for each row `i`.
#[cube(launch)]
fn values(x: &[f32], mask: &[f32], out: &mut [f32], lists: usize, documents: usize) {
    let place = place(lists, documents);
    let mut tile_x = Shared::<[f32]>::new_slice(UNITS);
    let mut tile_mask = Shared::<[f32]>::new_slice(UNITS);
    let mut sums = Shared::<[f32]>::new_slice(UNITS);
    let cell = place.list + place.row;
    let row = x[cell];
    let mut sum = 0.0f32;
    for start in range_stepped(0, documents, UNITS) {
        if start + place.unit < documents {
            tile_x[place.unit] = x[place.list + start + place.unit];
            tile_mask[place.unit] = mask[place.list + start + place.unit];
        }
        sync_cube();
        let mut partial = 0.0f32;
        for j in range_stepped(place.slice, in_tile(documents, start), SLICES) {
            partial = fma(tile_mask[j], (tile_x[j] - row).abs(), partial);
        }
        sum += partial;
        sync_cube();
    }
    let sum = sum_of_row(sum, place, &mut sums);
    if place.exists && place.slice == 0 {
        out[cell] = sum * mask[cell];
    }
}

/// Computes `m_k sum_j m_j sign(x_k - x_j) (m_k g_k + m_j g_j)` for each row `k`, with `sign(0) = 0`.
#[cube(launch)]
fn gradients(x: &[f32], mask: &[f32], g: &[f32], to_x: &mut [f32], lists: usize, documents: usize) {
    let place = place(lists, documents);
    let mut tile_x = Shared::<[f32]>::new_slice(UNITS);
    let mut tile_mask = Shared::<[f32]>::new_slice(UNITS);
    let mut tile_g = Shared::<[f32]>::new_slice(UNITS);
    let mut sums = Shared::<[f32]>::new_slice(UNITS);
    let cell = place.list + place.row;
    let row = x[cell];
    let row_g = g[cell] * mask[cell];
    let mut sum = 0.0f32;
    for start in range_stepped(0, documents, UNITS) {
        if start + place.unit < documents {
            let cell = place.list + start + place.unit;
            tile_x[place.unit] = x[cell];
            tile_mask[place.unit] = mask[cell];
            tile_g[place.unit] = g[cell] * mask[cell];
        }
        sync_cube();
        let mut partial = 0.0f32;
        for j in range_stepped(place.slice, in_tile(documents, start), SLICES) {
            let both = (row_g + tile_g[j]) * tile_mask[j];
            partial += select(row > tile_x[j], both, select(row < tile_x[j], -both, 0.0f32));
        }
        sum += partial;
        sync_cube();
    }
    let sum = sum_of_row(sum, place, &mut sums);
    if place.exists && place.slice == 0 {
        to_x[cell] = sum * mask[cell];
    }
}

/// Returns `sum_j |x_i - x_j|` over the documents, or 0 at padding.
pub fn distance_sum(x: &CubeTensor, mask: &CubeTensor) -> Option<CubeTensor> {
    compute_one("distance_sum", x, mask, 3, |batch| {
        let out = batch.per_document();
        start!(batch.cubes(), values::launch, [x, mask], [&out]);
        out
    })
}

/// Returns the gradient of [`distance_sum`] with respect to `x`, given the gradient of its output.
pub fn distance_sum_gradient(x: &CubeTensor, mask: &CubeTensor, gradient: &CubeTensor) -> Option<CubeTensor> {
    compute_one("gradient of distance_sum", x, mask, 4, |batch| {
        let to_x = batch.per_document();
        start!(batch.cubes(), gradients::launch, [x, mask, gradient], [&to_x]);
        to_x
    })
}
