//! Computes [`indicator_sum`](crate::op::indicator_sum()) on a GPU, with one exponential per pair. The softmax
//! does not subtract a maximum. The largest exponent of a document is already 0, because its distance to itself is 0.

use super::*;

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
    let row = row(x, order, place, documents);
    let mut tile_x = Shared::<[f32]>::new_slice(UNITS);
    let mut tile_a = Shared::<[f32]>::new_slice(UNITS);
    let mut tile_mask = Shared::<[f32]>::new_slice(UNITS);
    let mut sums = Shared::<[f32]>::new_slice(UNITS);
    let mut weighted = 0.0f32;
    let mut plain = 0.0f32;
    for start in range_stepped(0, row.visited, UNITS) {
        if start + place.unit < row.visited {
            let cell = place.list + order[row.columns + start + place.unit] as usize;
            tile_x[place.unit] = x[cell];
            tile_a[place.unit] = a[cell];
            tile_mask[place.unit] = mask[cell];
        }
        sync_cube();
        let mut partial_weighted = 0.0f32;
        let mut partial_plain = 0.0f32;
        for j in range_stepped(place.slice, in_tile(row.visited, start), SLICES) {
            let d = tile_x[j] - row.x;
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
        let document = mask[row.cell];
        // A row of padding is paired with no document.
        let denominator = select(row.counts, plain - document + 1.0f32, 1.0f32);
        out[row.cell] = weighted / denominator * document;
        total[row.cell] = denominator;
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
    let row = row(x, order, place, documents);
    let mut tile_x = Shared::<[f32]>::new_slice(UNITS);
    let mut tile_a = Shared::<[f32]>::new_slice(UNITS);
    let mut tile_mask = Shared::<[f32]>::new_slice(UNITS);
    let mut tile_out = Shared::<[f32]>::new_slice(UNITS);
    let mut tile_q = Shared::<[f32]>::new_slice(UNITS);
    let mut sums = Shared::<[f32]>::new_slice(UNITS);
    let (row_a, row_out) = (a[row.cell], out[row.cell]);
    let row_q = g[row.cell] * mask[row.cell] / total[row.cell];
    let mut sum = 0.0f32;
    for start in range_stepped(0, row.visited, UNITS) {
        if start + place.unit < row.visited {
            let cell = place.list + order[row.columns + start + place.unit] as usize;
            tile_x[place.unit] = x[cell];
            tile_a[place.unit] = a[cell];
            tile_mask[place.unit] = mask[cell];
            tile_out[place.unit] = out[cell];
            tile_q[place.unit] = g[cell] * mask[cell] / total[cell];
        }
        sync_cube();
        let mut partial = 0.0f32;
        for j in range_stepped(place.slice, in_tile(row.visited, start), SLICES) {
            let d = tile_x[j] - row.x;
            let kernel = exponential(d * d * rate) * tile_mask[j];
            let flow = fma(row_q, tile_a[j] - row_out, tile_q[j] * (row_a - tile_out[j]));
            partial = fma(kernel * d, flow, partial);
        }
        sum += partial;
        sync_cube();
    }
    let sum = sum_of_row(sum, place, &mut sums);
    if place.exists && place.slice == 0 {
        to_x[row.cell] = sum * mask[row.cell] * rate * -2.0f32;
    }
}

/// Returns the softmax sums of [`indicator_sum`](crate::op::indicator_sum()) and their denominators.
pub fn indicator_sum([x, a, mask]: [&CubeTensor; 3], sigma: f64) -> Outputs {
    let rate = (-1.0 / sigma) as f32;
    compute("indicator_sum", x, Some(mask), 6, |batch| {
        let order = order(batch, Rule::Separately, mask, mask);
        let (out, total) = (batch.per_document(), batch.per_document());
        start!(batch.cubes(), values::launch, [x, a, mask, &order], [&out, &total], rate);
        vec![out, total]
    })
}

/// Returns the gradient of [`indicator_sum`] with respect to `x`, given the gradient `g` of its output. The outputs of
/// the forward pass are `out` and `total`.
pub fn indicator_sum_gradient(
    [x, a, mask]: [&CubeTensor; 3],
    [out, total]: [&CubeTensor; 2],
    g: &CubeTensor,
    sigma: f64,
) -> Outputs {
    let rate = (-1.0 / sigma) as f32;
    compute("gradient of indicator_sum", x, Some(mask), 8, |batch| {
        let order = order(batch, Rule::Separately, mask, mask);
        let to_x = batch.per_document();
        start!(batch.cubes(), gradients::launch, [x, a, mask, out, total, g, &order], [&to_x], rate);
        vec![to_x]
    })
}
