//! The layout of the work: a cube computes [`ROWS`] rows of one list against all its documents.
//!
//! Each row is shared by [`SLICES`] units: unit `s` of a row takes the documents `s, s + SLICES, ..` of each tile in
//! shared memory, and the partial sums are added in order. (Expectations of exponentials divide the terms of a row
//! among the units instead, and `above_recursion` divides its comparisons under exact noise.) The unit of a document
//! depends only on its place, and nothing is added atomically, so results have the same bits in every run and with any
//! padding at the end of a list.

use burn_cubecl::cubecl::{self, prelude::*};

/// Rows of a cube.
pub(super) const ROWS: usize = 32;
/// Distance between the columns of a tile of flows, so that the units of neighboring columns read neighboring words.
pub(super) const STRIDE: usize = ROWS + 1;
/// Units of a row.
pub(super) const SLICES: usize = 8;
/// Units of a cube, and documents of a tile.
pub(super) const UNITS: usize = ROWS * SLICES;

/// Documents that a tile leaves out: none. The feature `_broken_kernel` loses one, so that a test can see that
/// `devices compare` finds a wrong kernel.
const LOST: usize = cfg!(feature = "_broken_kernel") as usize;

/// The documents of the tile that begins at `start`, out of `documents`.
#[cube]
pub(super) fn in_tile(documents: usize, start: usize) -> usize {
    min(documents - start, UNITS) - LOST
}

/// The work of one unit.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(super) struct Place {
    /// Unit of the cube.
    pub unit: usize,
    /// Which of the units of its row.
    pub slice: usize,
    /// Row within the cube.
    pub lane: usize,
    /// Row within the list; the last document for rows beyond the end.
    pub row: usize,
    /// First row of the cube within the list.
    pub first_row: usize,
    /// First cell of the list.
    pub list: usize,
    /// The list is one of the batch.
    pub list_exists: bool,
    /// The row is one of the list.
    pub exists: bool,
}

/// The place of a unit where every tile of rows of every list has a cube.
#[cube]
pub(super) fn place(lists: usize, documents: usize) -> Place {
    place_in_part(0usize, lists * documents.div_ceil(ROWS), documents)
}

/// The place of a unit in one of the `cubes` from `first`. Cubes beyond the last, which a device may start, repeat it.
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

/// The sum over the units of a row, for the first of them. Every unit of the cube must call it.
#[cube]
pub(super) fn sum_of_row(value: f32, place: Place, values: &mut Shared<[f32]>) -> f32 {
    // The last readers must be done.
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
