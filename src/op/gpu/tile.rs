//! Divides the work among cubes, which each compute [`ROWS`] rows of one list against all documents of the list.
//!
//! [`SLICES`] units share each row. Unit `s` of a row visits the documents `s, s + SLICES, ..` of each tile in shared
//! memory. The partial sums are added in order. For expectations of exponentials, the units of a row share its terms,
//! not its documents. Under exact noise, `above_recursion` divides its comparisons among the units. The unit that
//! visits a document depends only on the document's place, and nothing is added atomically. Results therefore have the
//! same bits in every run and with any padding at the end of a list.

use burn_cubecl::cubecl::{self, prelude::*};

/// The number of rows that a cube computes.
pub(super) const ROWS: usize = 32;
/// The distance between the columns of a tile of flows. A distance of one more than the rows lets the units of
/// neighboring columns read neighboring words.
pub(super) const STRIDE: usize = ROWS + 1;
/// The number of units that share a row.
pub(super) const SLICES: usize = 8;
/// The number of units in a cube, and of documents in a tile.
pub(super) const UNITS: usize = ROWS * SLICES;

/// The number of documents that a tile leaves out, normally none. The feature `_broken_kernel` drops one, which lets a
/// test check that `devices compare` finds a wrong kernel.
const LOST: usize = cfg!(feature = "_broken_kernel") as usize;

/// Returns the number of documents in the tile that begins at `start`, out of `documents`.
#[cube]
pub(super) fn in_tile(documents: usize, start: usize) -> usize {
    min(documents - start, UNITS) - LOST
}

/// The work of one unit, as places in its cube, list and batch.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(super) struct Place {
    /// The number of the unit in its cube.
    pub unit: usize,
    /// The number of the unit among the units of its row.
    pub slice: usize,
    /// The number of the row within the cube.
    pub lane: usize,
    /// The row within the list, or the last document for rows beyond the end.
    pub row: usize,
    /// The first row of the cube within the list.
    pub first_row: usize,
    /// The index of the first document of the list in the batch.
    pub list: usize,
    /// Whether the batch has the list of this unit.
    pub list_exists: bool,
    /// Whether the list has the row of this unit.
    pub exists: bool,
}

/// Returns the place of a unit if every tile of rows of every list has a cube.
#[cube]
pub(super) fn place(lists: usize, documents: usize) -> Place {
    place_in_part(0usize, lists * documents.div_ceil(ROWS), documents)
}

/// Returns the place of a unit in one of the `cubes` from `first`. A device may start further cubes, which repeat the
/// work of the last one.
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

/// Returns the sum over the units of a row; only the first of them receives it. Every unit of the cube must call it.
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
