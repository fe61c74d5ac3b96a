//! [`indicator_sum`](crate::op::indicator_sum()) on the device: an exponential a pair; long lists in
//! [cells](super::indicator_cells). No pass for the maximum is needed, since a document is its own nearest member.

use burn_cubecl::cubecl::{self, prelude::*};
use burn_cubecl::tensor::CubeTensor;

use super::choice::{Scores, divided, least};
use super::diverged::mark_diverged;
use super::indicator_cells::{self, Call, PAYS};
use super::launch::{Batch, read, run, write};
use super::members::{Counting, members, order, visited};
use super::real::exponential;
use super::tile::{SLICES, UNITS, place, sum_of_row};

/// Row `i`: `sum_j a_j k_ij / total_i` and `total_i = sum_j k_ij`, `k_ij = m_j exp(rate (x_j - x_i)^2)`; 0 and away
/// from 0 at padding.
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
        for j in range_stepped(place.slice, min(visited - start, UNITS), SLICES) {
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
        // A row of padding meets nothing.
        let denominator = select(place.row < members.row_count, plain - document + 1.0f32, 1.0f32);
        out[cell] = weighted / denominator * document;
        total[cell] = denominator;
    }
}

/// With `q_i = m_i g_i / total_i`, row `k`:
/// `-2 rate sum_j k_kj (x_j - x_k) (q_k (a_j - out_k) + q_j (a_k - out_j))`.
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
        for j in range_stepped(place.slice, min(visited - start, UNITS), SLICES) {
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

/// The least number of documents of a list that is summed in cells, if any list of the batch can be.
fn least_in_cells(batch: &Batch, sigma: f64) -> Option<usize> {
    if indicator_cells::sums(sigma) { least(batch.documents, PAYS) } else { None }
}

/// See [`indicator_sum`](crate::op::indicator_sum()): the sums and the denominators of their softmax.
pub fn indicator_sum(x: &CubeTensor, a: &CubeTensor, mask: &CubeTensor, sigma: f64) -> Option<[CubeTensor; 2]> {
    let batch = Batch::from_tensor(x);
    let by_pairs = |order: &CubeTensor| {
        let (out, total) = (batch.per_document(), batch.per_document());
        values::launch(
            &batch.client,
            batch.cubes(),
            batch.units(),
            read(x),
            read(a),
            read(mask),
            read(order),
            write(&out),
            write(&total),
            batch.lists,
            batch.documents,
            (-1.0 / sigma) as f32,
        );
        [out, total]
    };
    let documents = Counting::Separately { rows: mask, columns: mask };
    let in_cells = least_in_cells(&batch, sigma).and_then(|least| {
        run("indicator_sum in cells", x, 8, || {
            let order = order(&batch, documents);
            let counts = divided(&batch, x, &order, least, Scores::Finite);
            let [out, total] = by_pairs(&order);
            let call = Call { batch: &batch, x, a, mask, order: &order, counts, sigma };
            indicator_cells::values(&call, &out, &total);
            [out, total]
        })
    });
    let [out, total] = in_cells.or_else(|| run("indicator_sum", x, 6, || by_pairs(&order(&batch, documents))))?;
    mark_diverged(&batch, x, Some(mask), &out);
    Some([out, total])
}

/// Gradient of [`indicator_sum`] in `x`, given the gradient of its output; `[out, total]` are its results.
pub fn indicator_sum_gradient(
    x: &CubeTensor,
    a: &CubeTensor,
    mask: &CubeTensor,
    [out, total]: [&CubeTensor; 2],
    gradient: &CubeTensor,
    sigma: f64,
) -> Option<CubeTensor> {
    let batch = Batch::from_tensor(x);
    let by_pairs = |order: &CubeTensor| {
        let to_x = batch.per_document();
        gradients::launch(
            &batch.client,
            batch.cubes(),
            batch.units(),
            read(x),
            read(a),
            read(mask),
            read(out),
            read(total),
            read(gradient),
            read(order),
            write(&to_x),
            batch.lists,
            batch.documents,
            (-1.0 / sigma) as f32,
        );
        to_x
    };
    let documents = Counting::Separately { rows: mask, columns: mask };
    let in_cells = least_in_cells(&batch, sigma).and_then(|least| {
        run("gradient of indicator_sum in cells", x, 8, || {
            let order = order(&batch, documents);
            let counts = divided(&batch, x, &order, least, Scores::Finite);
            let to_x = by_pairs(&order);
            let call = Call { batch: &batch, x, a, mask, order: &order, counts, sigma };
            indicator_cells::gradients(&call, [out, total], gradient, &to_x);
            [to_x]
        })
    });
    let [to_x] =
        in_cells.or_else(|| run("gradient of indicator_sum", x, 8, || [by_pairs(&order(&batch, documents))]))?;
    mark_diverged(&batch, x, Some(mask), &to_x);
    Some(to_x)
}
