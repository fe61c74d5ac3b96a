//! Divides the work of a kernel: each cube (thread block) computes [`ROWS`] rows of one list against all documents of
//! the list.
//!
//! Each row is shared by [`SLICES`] units (threads). The documents are loaded into shared memory in tiles. In each
//! tile, unit `s` of a row visits the documents `s, s + SLICES, ..`. The partial sums of the units are added in order.
//! Kernels for expectations of exponentials divide the terms, instead of the documents, among the units of a row. Under
//! exact noise, `above_recursion` divides the comparisons among the units. Which unit visits a document depends only on
//! the position of the document in its list, and no number is added atomically. Results are therefore bit-identical in
//! every run, and with any padding at the end of a list.

use burn_cubecl::cubecl::{self, prelude::*};

/// The number of rows that a cube computes.
pub(super) const ROWS: usize = 32;
/// The distance in shared memory between the columns of a tile of gradients. The distance is one more than the number
/// of rows, so that units of neighboring columns read from different memory banks.
pub(super) const STRIDE: usize = ROWS + 1;
/// The number of units that share a row.
pub(super) const SLICES: usize = 8;
/// The number of units in a cube, which is also the number of documents in a tile.
pub(super) const UNITS: usize = ROWS * SLICES;

/// The number of documents that are missing from each tile, 0 in normal builds. The feature `_broken_kernel` sets this
/// number to 1, so that a test can check that `devices compare` finds a wrong kernel.
const LOST: usize = cfg!(feature = "_broken_kernel") as usize;

/// Returns the number of documents in the tile that begins at document `start`.
#[cube]
pub(super) fn in_tile(documents: usize, start: usize) -> usize {
    min(documents - start, UNITS) - LOST
}

/// Which row and which documents a unit works on.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(super) struct Place {
    /// The index of the unit within its cube.
    pub unit: usize,
    /// The index of the unit among the units that share its row.
    pub slice: usize,
    /// The index of the row within its cube.
    pub lane: usize,
    /// The index of the row within its list, or of the last document if the list has fewer rows.
    pub row: usize,
    /// The index within the list of the cube's first row.
    pub first_row: usize,
    /// The index within the batch of the first document of the list.
    pub list: usize,
    /// Whether the cube of this unit belongs to the launch, that is, whether its list exists.
    pub list_exists: bool,
    /// Whether the row of this unit exists.
    pub exists: bool,
}

/// Returns the place of a unit, for a launch that covers every tile of rows of every list.
#[cube]
pub(super) fn place(lists: usize, documents: usize) -> Place {
    place_in_part(0usize, lists * documents.div_ceil(ROWS), documents)
}

/// Returns the place of a unit, for a launch of `cubes` cubes that starts with cube number `first` of the batch. If the
/// device starts more than `cubes` cubes, the extra ones repeat the work of the last cube without writing results.
#[cube]
pub(super) fn place_in_part(first: usize, cubes: usize, documents: usize) -> Place {
    let tiles = documents.div_ceil(ROWS);
    let unit = UNIT_POS as usize;
    let lane = unit % ROWS;
    let cube = first + min(CUBE_POS, cubes - 1);
    let first_row = (cube % tiles) * ROWS;
    let row = first_row + lane;
    let list_exists = CUBE_POS < cubes;
    Place {
        unit,
        slice: unit / ROWS,
        lane,
        row: min(row, documents - 1),
        first_row,
        list: cube / tiles * documents,
        list_exists,
        exists: row < documents && list_exists,
    }
}

/// Returns the sum of `value` over the units that share a row; only the first of these units receives it. All units of
/// a cube must call this function together, since it waits for them.
#[cube]
pub(super) fn sum_of_row(value: f32, place: Place, values: &mut Shared<[f32]>) -> f32 {
    // The readers of the previous sum must be done.
    sync_cube();
    values[place.unit] = value;
    sync_cube();
    let mut sum = value;
    if place.slice == 0 {
        for slice in 1..SLICES {
            sum += values[slice * ROWS + place.lane];
        }
    }
    sum
}
