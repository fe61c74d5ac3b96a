//! Long lists, behind one [choice](choice): sorted, and sums of smooth functions in cells, in O(n log n).
//!
//! Neighbors in the order of scores share a cell while they lie in one interval of a grid. A cell of more than
//! [`POINTS`] documents is summed through as many points ([`nodes`](mod@nodes)); a target is summed with the cells
//! around it ([`sums`]). `step_sum.rs` and `indicator_sum.rs` are primitives in cells.

pub(super) mod choice;
pub(super) mod indicator_sum;
mod nodes;
pub(super) mod sort;
pub(super) mod step_sum;
mod sums;
#[cfg(test)]
mod tests;

use burn_cubecl::cubecl::{self, prelude::*};
use burn_cubecl::tensor::CubeTensor;

use self::choice::{fast_columns, fast_rows};
use self::sort::sort;
use super::launch::{Batch, start};
use super::tile::UNITS;

/// Chebyshev points of a cell.
pub(super) const POINTS: usize = 12;

/// The numbers that a list has in `starts` in addition to one per document: the end of its last cell, the number of its
/// cells, and the number of its rows.
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
    /// Whether a document of a cell is there.
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
pub(super) fn node_count(cell: Cell) -> usize {
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
    /// Cells of the documents in `order` and `counts`, `width` wide in units of the function.
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
        start!(batch.cubes_per_document(), gather::launch, [x, &sorted, &counts], [&scores]);
        let (starts, cell_of) = (batch.indices(batch.documents + ENDS), batch.indices(batch.documents));
        start!(batch.cubes_for(batch.lists), cut::launch, [&scores, &counts], [&starts, &cell_of], rate, width);
        Self { batch, sorted, scores, starts, cell_of, counts, rate }
    }
}

/// The reach of a function, and the width of a cell over which its points determine it.
#[derive(Clone, Copy)]
pub(super) struct Reach {
    /// Distance of a source below from which on the function is 0 in `f32`.
    pub below: f32,
    /// Distance from which on a source above counts as 0, or 1 for a step. The error is at most half a unit in the last
    /// place.
    pub above: f32,
    /// Width of a cell.
    pub width: f32,
}

/// Poles at `+-i pi`: over half this width the error falls by a factor of 6.4 per point, `6.4^-12 = 2e-10`.
pub(super) const LOGISTIC: Reach = Reach { below: 87.4, above: 17.4, width: 2.0 };

/// At distance `d` the function changes over a cell like `exp(2 d s)`, by `exp(9.35 / 4)` to either side of the middle.
pub(super) const NORMAL: Reach = Reach { below: 9.35, above: 4.1, width: 0.25 };

impl Reach {
    /// The reach of the slope.
    pub const fn both_ways(self) -> Self {
        Self { above: self.below, ..self }
    }
}
