//! Sorted lists in cells: neighbors in the order of scores share one while they lie in one interval of a grid. A cell of
//! more than [`POINTS`] documents is summed through as many points, see [`nodes`](mod@super::nodes).

use burn_cubecl::cubecl::{self, prelude::*};
use burn_cubecl::tensor::CubeTensor;

use super::choice::{fast_columns, fast_rows};
use super::launch::{Batch, read, write};
use super::sort::sort;
use super::tile::UNITS;

/// Chebyshev points of a cell.
pub(super) const POINTS: usize = 12;

/// Numbers of a list in `starts` beyond one for each document: the end of the last cell, then how many cells and how many
/// rows there are.
const ENDS: usize = 3;

/// Places of the documents of a cell.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(super) struct Cell {
    pub start: usize,
    pub end: usize,
}

#[cube]
pub(super) fn cell(starts: &[u32], list: usize, documents: usize, number: usize) -> Cell {
    let entry = list * (documents + ENDS) + number;
    Cell { start: starts[entry] as usize, end: starts[entry + 1] as usize }
}

#[cube]
pub(super) fn cells(starts: &[u32], list: usize, documents: usize) -> usize {
    starts[list * (documents + ENDS) + documents + 1] as usize
}

/// Documents of a list in cells.
#[cube]
pub(super) fn documents_in_cells(starts: &[u32], list: usize, documents: usize) -> usize {
    starts[list * (documents + ENDS) + cells(starts, list, documents)] as usize
}

/// A place of a list, in the order of the scores.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(super) struct Spot {
    /// Whether a document in a cell stands there.
    pub exists: bool,
    /// Place in the batch.
    pub at: usize,
    /// List, and the first place of it in the batch.
    pub number: usize,
    pub list: usize,
    /// Place in the list.
    pub place: usize,
}

/// The place of a unit, one unit per place of the batch.
#[cube]
pub(super) fn spot(starts: &[u32], lists: usize, documents: usize) -> Spot {
    let at = min(ABSOLUTE_POS, lists * documents - 1);
    let number = at / documents;
    let place = at % documents;
    let exists = ABSOLUTE_POS < lists * documents && place < documents_in_cells(starts, number, documents);
    Spot { exists, at, number, list: number * documents, place }
}

#[cube]
pub(super) fn rows(starts: &[u32], list: usize, documents: usize) -> usize {
    starts[list * (documents + ENDS) + documents + 2] as usize
}

/// Whether the nodes of a cell are points.
#[cube]
pub(super) fn has_points(cell: Cell) -> bool {
    cell.end - cell.start > POINTS
}

#[cube]
pub(super) fn nodes(cell: Cell) -> usize {
    min(cell.end - cell.start, POINTS)
}

/// Scores in the order of `sorted`. One unit per place.
#[cube(launch)]
fn gather(x: &[f32], sorted: &[u32], counts: &[u32], scores: &mut [f32], lists: usize, documents: usize) {
    let place = ABSOLUTE_POS;
    if place < lists * documents {
        let list = place / documents;
        if place % documents < fast_columns(counts, list) {
            scores[place] = x[list * documents + sorted[place] as usize];
        }
    }
}

/// Whether a document is the first of a cell: it is in another interval than the one above, or by far the next. Where
/// scores have no digits for the grid, those that differ are far apart.
#[cube]
fn begins(scores: &[f32], list: usize, place: usize, rate: f32, width: f32) -> bool {
    let score = scores[list + place];
    let above = scores[list + max(place, 1) - 1];
    let grid = rate / width;
    place == 0 || (score * grid).floor() != (above * grid).floor() || (above - score) * rate > width * 0.25f32
}

/// The cells of each list: where each starts, and the number of the cell of each place. One cube per list.
#[cube(launch)]
fn cut(
    scores: &[f32],
    counts: &[u32],
    starts: &mut [u32],
    cell_of: &mut [u32],
    lists: usize,
    documents: usize,
    rate: f32,
    width: f32,
) {
    let mut found = Shared::<[u32]>::new_slice(UNITS);
    let number = min(CUBE_POS, lists - 1);
    let list = number * documents;
    let unit = UNIT_POS as usize;
    let count = fast_columns(counts, number);
    let share = count.div_ceil(UNITS);
    let first = min(unit * share, count);
    let last = min(first + share, count);
    let mut own = 0u32;
    for place in first..last {
        own += select(begins(scores, list, place, rate, width), 1u32, 0u32);
    }
    found[unit] = own;
    sync_cube();
    let mut next = 0u32;
    let mut all = 0u32;
    for other in 0..UNITS {
        next += select(other < unit, found[other], 0u32);
        all += found[other];
    }
    let entries = number * (documents + ENDS);
    for place in first..last {
        if begins(scores, list, place, rate, width) {
            starts[entries + next as usize] = u32::cast_from(place);
            next += 1u32;
        }
        cell_of[list + place] = next - 1u32;
    }
    if unit == 0 {
        starts[entries + all as usize] = u32::cast_from(count);
        starts[entries + documents + 1] = all;
        starts[entries + documents + 2] = u32::cast_from(fast_rows(counts, number));
    }
}

/// The columns of each list that takes the fast way, in cells.
pub(super) struct Cells<'a> {
    pub batch: &'a Batch,
    /// Indices of documents by descending score.
    pub sorted: CubeTensor,
    /// Their scores.
    pub scores: CubeTensor,
    /// See [`cell`].
    pub starts: CubeTensor,
    /// The number of the cell of each place.
    pub cell_of: CubeTensor,
    pub counts: CubeTensor,
    /// The factor that turns a difference of scores into the argument of the function.
    pub rate: f32,
}

impl<'a> Cells<'a> {
    /// Cells that are `width` wide in units of the function; `order` and `counts` say of which documents.
    pub fn new(
        batch: &'a Batch,
        x: &CubeTensor,
        order: &CubeTensor,
        counts: CubeTensor,
        rate: f32,
        width: f32,
    ) -> Self {
        let sorted = sort(batch, x, order, &counts);
        let scores = batch.per_document();
        gather::launch(
            &batch.client,
            batch.cubes_per_document(),
            batch.units(),
            read(x),
            read(&sorted),
            read(&counts),
            write(&scores),
            batch.lists,
            batch.documents,
        );
        let (starts, cell_of) = (batch.indices(batch.documents + ENDS), batch.indices(batch.documents));
        cut::launch(
            &batch.client,
            batch.cubes_for(batch.lists),
            batch.units(),
            read(&scores),
            read(&counts),
            write(&starts),
            write(&cell_of),
            batch.lists,
            batch.documents,
            rate,
            width,
        );
        Self { batch, sorted, scores, starts, cell_of, counts, rate }
    }
}
