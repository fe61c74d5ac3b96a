//! Computes [`indicator_sum`](crate::op::indicator_sum()) on a GPU, with one exponential per pair. The softmax
//! does not subtract a maximum. The largest exponent of a document is already 0, because its distance to itself is 0.

use burn_cubecl::cubecl::{self, prelude::*};
use burn_cubecl::tensor::CubeTensor;

use super::launch::{compute, compute_one, start};
use super::members::{Counting, members, order, visited};
use super::real::exponential;
use super::tile::{SLICES, UNITS, in_tile, place, sum_of_row};

/// For each row `i`, computes `total_i = sum_j k_ij` and `sum_j a_j k_ij / total_i` with
/// `k_ij = m_j exp(rate (x_j - x_i)^2)`. At padding, the softmax sum is 0 and the denominator `total_i` is at least 1.
#[cube(launch)]
fn values(
    x: &[f32],
    a: &[f32],
    mask: &[f32],
    order: &[u32],
    out: &mut [f32],
    total: &mut [f32],
    lists: usize,
    documents: usize,
    rate: f32,
) {
    let place = place(lists, documents);
    let members = members(order, place.list / documents, documents);
    let visited = visited(place, members);
    let mut tile_x = Shared::<[f32]>::new_slice(UNITS);
    let mut tile_a = Shared::<[f32]>::new_slice(UNITS);
    let mut tile_mask = Shared::<[f32]>::new_slice(UNITS);
    let mut sums = Shared::<[f32]>::new_slice(UNITS);
    let cell = place.list + order[members.rows + place.row] as usize;
    let row = x[cell];
    let mut weighted = 0.0f32;
    let mut plain = 0.0f32;
    for start in range_stepped(0, visited, UNITS) {
        if start + place.unit < visited {
            let cell = place.list + order[members.columns + start + place.unit] as usize;
            tile_x[place.unit] = x[cell];
            tile_a[place.unit] = a[cell];
            tile_mask[place.unit] = mask[cell];
        }
        sync_cube();
        let mut partial_weighted = 0.0f32;
        let mut partial_plain = 0.0f32;
        for j in range_stepped(place.slice, in_tile(visited, start), SLICES) {
            let d = tile_x[j] - row;
            let kernel = exponential(d * d * rate) * tile_mask[j];
            partial_weighted = fma(kernel, tile_a[j], partial_weighted);
            partial_plain += kernel;
        }
        weighted += partial_weighted;
        plain += partial_plain;
        sync_cube();
    }
    let weighted = sum_of_row(weighted, place, &mut sums);
    let plain = sum_of_row(plain, place, &mut sums);
    if place.exists && place.slice == 0 {
        let document = mask[cell];
        // A row of padding is paired with no document.
        let denominator = select(place.row < members.row_count, plain - document + 1.0f32, 1.0f32);
        out[cell] = weighted / denominator * document;
        total[cell] = denominator;
    }
}

/// For each row `k`, computes `-2 rate sum_j k_kj (x_j - x_k) (q_k (a_j - out_k) + q_j (a_k - out_j))` with
/// `q_i = m_i g_i / total_i`.
#[cube(launch)]
fn gradients(
    x: &[f32],
    a: &[f32],
    mask: &[f32],
    out: &[f32],
    total: &[f32],
    g: &[f32],
    order: &[u32],
    to_x: &mut [f32],
    lists: usize,
    documents: usize,
    rate: f32,
) {
    let place = place(lists, documents);
    let members = members(order, place.list / documents, documents);
    let visited = visited(place, members);
    let mut tile_x = Shared::<[f32]>::new_slice(UNITS);
    let mut tile_a = Shared::<[f32]>::new_slice(UNITS);
    let mut tile_mask = Shared::<[f32]>::new_slice(UNITS);
    let mut tile_out = Shared::<[f32]>::new_slice(UNITS);
    let mut tile_q = Shared::<[f32]>::new_slice(UNITS);
    let mut sums = Shared::<[f32]>::new_slice(UNITS);
    let cell = place.list + order[members.rows + place.row] as usize;
    let (row_x, row_a, row_out) = (x[cell], a[cell], out[cell]);
    let row_q = g[cell] * mask[cell] / total[cell];
    let mut sum = 0.0f32;
    for start in range_stepped(0, visited, UNITS) {
        if start + place.unit < visited {
            let cell = place.list + order[members.columns + start + place.unit] as usize;
            tile_x[place.unit] = x[cell];
            tile_a[place.unit] = a[cell];
            tile_mask[place.unit] = mask[cell];
            tile_out[place.unit] = out[cell];
            tile_q[place.unit] = g[cell] * mask[cell] / total[cell];
        }
        sync_cube();
        let mut partial = 0.0f32;
        for j in range_stepped(place.slice, in_tile(visited, start), SLICES) {
            let d = tile_x[j] - row_x;
            let kernel = exponential(d * d * rate) * tile_mask[j];
            let flow = fma(row_q, tile_a[j] - row_out, tile_q[j] * (row_a - tile_out[j]));
            partial = fma(kernel * d, flow, partial);
        }
        sum += partial;
        sync_cube();
    }
    let sum = sum_of_row(sum, place, &mut sums);
    if place.exists && place.slice == 0 {
        to_x[cell] = sum * mask[cell] * rate * -2.0f32;
    }
}

/// Returns the softmax sums of [`indicator_sum`](crate::op::indicator_sum()) and their denominators.
pub fn indicator_sum(x: &CubeTensor, a: &CubeTensor, mask: &CubeTensor, sigma: f64) -> Option<[CubeTensor; 2]> {
    let rate = (-1.0 / sigma) as f32;
    compute("indicator_sum", x, Some(mask), 6, |batch| {
        let order = order(batch, Counting::Separately { rows: mask, columns: mask });
        let (out, total) = (batch.per_document(), batch.per_document());
        start!(batch.cubes(), values::launch, [x, a, mask, &order], [&out, &total], rate);
        [out, total]
    })
}

/// Returns the gradient of [`indicator_sum`] with respect to `x`, given the gradient of its output. The outputs of the
/// forward pass are `out` and `total`.
pub fn indicator_sum_gradient(
    x: &CubeTensor,
    a: &CubeTensor,
    mask: &CubeTensor,
    [out, total]: [&CubeTensor; 2],
    gradient: &CubeTensor,
    sigma: f64,
) -> Option<CubeTensor> {
    let rate = (-1.0 / sigma) as f32;
    compute_one("gradient of indicator_sum", x, mask, 8, |batch| {
        let order = order(batch, Counting::Separately { rows: mask, columns: mask });
        let to_x = batch.per_document();
        start!(batch.cubes(), gradients::launch, [x, a, mask, out, total, gradient, &order], [&to_x], rate);
        to_x
    })
}
