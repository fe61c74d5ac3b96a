//! Computes [`rank`](crate::op::rank()) on a GPU, by counting the documents ahead.

use super::*;

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

/// See [`rank`](crate::op::rank()).
pub fn rank([x, mask]: [&CubeTensor; 2]) -> Outputs {
    run("rank", x, 3, |batch| {
        let out = batch.per_document();
        launch(batch.cubes(), x, mask, &out);
        vec![out]
    })
}

pub(super) fn launch(cubes: Cubes, x: &CubeTensor, mask: &CubeTensor, out: &CubeTensor) {
    start!(cubes, values::launch, [x, mask], [out]);
}
