//! Sums smooth functions of score differences over long lists, in O(n log n). The sorted list is cut into cells of
//! documents with similar scores. The module [choice](choice) decides which lists are long enough.
//!
//! A cell consists of consecutive documents of the sorted list whose scores lie in the same interval of a grid. A cell
//! with more than [`POINTS`] documents is represented by this number of Chebyshev points ([`nodes`](mod@nodes)). For
//! each document, the terms of its own cell and of the cells around it are added up ([`sums`]). The primitives that use
//! cells are in `step_sum.rs` and `indicator_sum.rs`.

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

/// The number of Chebyshev points that represent a cell.
pub(super) const POINTS: usize = 12;

/// For each list, the number of entries of `starts` that are not starts of cells. They are the end of the last cell and
/// the numbers of cells and rows.
const ENDS: usize = 3;

/// The documents of a cell, as a range of places in the sorted list.
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

/// Returns the number of documents of a list that belong to cells.
#[cube]
pub(super) fn documents_in_cells(starts: &[u32], list: usize, documents: usize) -> usize {
    starts[list * (documents + ENDS) + cells(starts, list, documents)] as usize
}

/// The place in a sorted list that a unit works on.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(super) struct Spot {
    /// Whether the unit has a place that holds a document of a cell.
    pub exists: bool,
    /// The index of this place in the batch.
    pub at: usize,
    /// The index of the list in the batch; `list` is the index in the batch of the list's first place.
    pub number: usize,
    pub list: usize,
    /// The index of this place in the list.
    pub place: usize,
}

/// Returns the place that a unit works on. One unit for each position in the batch.
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

/// Returns whether a cell is represented by Chebyshev points instead of its documents.
#[cube]
pub(super) fn has_points(cell: Cell) -> bool {
    cell.end - cell.start > POINTS
}

#[cube]
pub(super) fn node_count(cell: Cell) -> usize {
    min(cell.end - cell.start, POINTS)
}

/// Writes the scores in the order in which `sorted` lists the documents. One unit per place.
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

/// Returns whether the document at a place is the first of a cell. A cell ends where the next score lies in another
/// interval of the grid, or is much lower than the one before. If scores are so large that rounding makes the grid
/// useless, cells are separated only where scores differ much.
#[cube]
fn begins(scores: &[f32], list: usize, place: usize, rate: f32, width: f32) -> bool {
    let score = scores[list + place];
    let above = scores[list + max(place, 1) - 1];
    let grid = rate / width;
    place == 0 || (score * grid).floor() != (above * grid).floor() || (above - score) * rate > width * 0.25f32
}

/// Writes the places at which the cells of each list start, and the index of the cell to which each place belongs. One
/// cube per list.
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

/// The sorted documents of all lists that are summed over cells.
pub(super) struct Cells<'a> {
    pub batch: &'a Batch,
    /// The index of the document at each place, by descending score.
    pub sorted: CubeTensor,
    /// The score of the document at each place.
    pub scores: CubeTensor,
    /// The place at which each cell starts (see [`cell`]).
    pub starts: CubeTensor,
    /// The index of the cell to which each place belongs.
    pub cell_of: CubeTensor,
    pub counts: CubeTensor,
    /// The factor that turns a difference of scores into the argument of the function.
    pub rate: f32,
}

impl<'a> Cells<'a> {
    /// Sorts the columns of the lists that `counts` selects, and cuts them into cells. A cell spans at most `width`, in
    /// units of the function's argument.
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

/// How far a function reaches from its source, and how wide a cell may be. The Chebyshev points of a cell of this width
/// must interpolate the function precisely.
#[derive(Clone, Copy)]
pub(super) struct Reach {
    /// For a source more than this distance below the target, the function is 0 in `f32`.
    pub below: f32,
    /// If a source is more than this distance above the target, its function value counts as 0, or as 1 for a step. The
    /// difference from the exact value is at most half a unit in the last place.
    pub above: f32,
    /// The width of a cell, in units of the function's argument.
    pub width: f32,
}

/// The reach of the logistic step, whose width follows from its poles at `+-i pi`. Within a cell, the interpolation
/// error falls by a factor of 6.4 per Chebyshev point, to `6.4^-12 = 2e-10`.
pub(super) const LOGISTIC: Reach = Reach { below: 87.4, above: 17.4, width: 2.0 };

/// The reach of the erf step and of `exp(-t^2)`. Within a cell at the distance `d` from a target, the function changes
/// like `exp(2 d s)`. For `d = 9.35`, it changes by a factor of `exp(9.35 / 4)` from the middle of the cell to either
/// end.
pub(super) const NORMAL: Reach = Reach { below: 9.35, above: 4.1, width: 0.25 };

impl Reach {
    /// Returns the reach of the slope, which tends to 0 in both directions.
    pub const fn both_ways(self) -> Self {
        Self { above: self.below, ..self }
    }
}
