//! Computes [`rank`](crate::op::rank()) on a GPU, by sorting if the lists are long, and otherwise by counting the
//! documents ahead.

use burn::backend::TensorMetadata;
use burn_cubecl::cubecl::{self, prelude::*};
use burn_cubecl::tensor::CubeTensor;

use super::cells::{
    choice::{Scores, divided, fast_columns, least},
    sort::sort,
};
use super::launch::{Cubes, run, start};
use super::members::{Counting, members, order};
use super::tile::{SLICES, UNITS, in_tile, place, sum_of_row};

/// Computes the rank of each row, which is one more than the number of documents ahead. A padded document ranks behind
/// all documents and behind the padding before it.
#[cube(launch)]
fn values(x: &[f32], mask: &[f32], out: &mut [f32], lists: usize, documents: usize) {
    let place = place(lists, documents);
    let mut tile_x = Shared::<[f32]>::new_slice(UNITS);
    let mut tile_mask = Shared::<[f32]>::new_slice(UNITS);
    let mut sums = Shared::<[f32]>::new_slice(UNITS);
    let cell = place.list + place.row;
    let row = x[cell];
    let padding = mask[cell] <= 0.0f32;
    // The count is a whole number, exact up to 2^24.
    let mut ahead = 0.0f32;
    for start in range_stepped(0, documents, UNITS) {
        if start + place.unit < documents {
            tile_x[place.unit] = x[place.list + start + place.unit];
            tile_mask[place.unit] = mask[place.list + start + place.unit];
        }
        sync_cube();
        for j in range_stepped(place.slice, in_tile(documents, start), SLICES) {
            let document = tile_mask[j] > 0.0f32;
            let earlier = start + j < place.row;
            let higher = tile_x[j] > row || (tile_x[j] == row && earlier);
            let counts = (document && (padding || higher)) || (padding && earlier);
            ahead += select(counts, 1.0f32, 0.0f32);
        }
        sync_cube();
    }
    let ahead = sum_of_row(ahead, place, &mut sums);
    if place.exists && place.slice == 0 {
        out[cell] = ahead + 1.0f32;
    }
}

/// Writes the rank of each document, which is one more than its place in the sorted list. Padding comes after all
/// documents and is ordered by index. One unit per place.
#[cube(launch)]
fn places(sorted: &[u32], order: &[u32], counts: &[u32], out: &mut [f32], lists: usize, documents: usize) {
    let cell = ABSOLUTE_POS;
    if cell < lists * documents {
        let list = cell / documents;
        let place = cell % documents;
        let members = members(order, list, documents);
        let is_document = place < fast_columns(counts, list);
        let document = if is_document { sorted[cell] } else { order[members.rows + place] };
        out[list * documents + document as usize] = f32::cast_from(u32::cast_from(place + 1));
    }
}

/// The smallest width of a batch (in documents per list, including padding) for which ranks are computed by sorting.
const PAYS: usize = 8192;

/// Computes ranks by sorting. Returns `None` if the batch is too narrow for sorting to pay off, or if the device cannot
/// run the kernel. The choice between sorting and counting may depend on the width of the batch with its padding,
/// because both methods give the same ranks.
fn by_sorting(x: &CubeTensor, mask: &CubeTensor) -> Option<CubeTensor> {
    least(x.shape().dims::<2>()[1], PAYS)?;
    let [out] = run("rank, sorted", x, 7, |batch| {
        let order = order(batch, Counting::Separately { rows: mask, columns: mask });
        let counts = divided(batch, x, &order, 0, Scores::Any);
        let sorted = sort(batch, x, &order, &counts);
        let out = batch.per_document();
        start!(batch.cubes_per_document(), places::launch, [&sorted, &order, &counts], [&out]);
        [out]
    })?;
    Some(out)
}

/// See [`rank`](crate::op::rank()).
pub fn rank(x: &CubeTensor, mask: &CubeTensor) -> Option<CubeTensor> {
    if let Some(out) = by_sorting(x, mask) {
        return Some(out);
    }
    let [out] = run("rank", x, 3, |batch| {
        let out = batch.per_document();
        launch(batch.cubes(), x, mask, &out);
        [out]
    })?;
    Some(out)
}

pub(super) fn launch(cubes: Cubes, x: &CubeTensor, mask: &CubeTensor, out: &CubeTensor) {
    start!(cubes, values::launch, [x, mask], [out]);
}
