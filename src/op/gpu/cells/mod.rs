//! Computes sums of smooth functions over long lists in cells of the sorted list, in O(n log n). The module
//! [choice](choice) decides which lists are long.
//!
//! Neighbors in the order of scores share a cell as long as they lie in the same interval of a grid. A cell of more
//! than [`POINTS`] documents is summed through as many points ([`nodes`](mod@nodes)). A target is summed with the cells
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

/// The number of Chebyshev points of a cell.
pub(super) const POINTS: usize = 12;

/// The number of further entries of a list in `starts`: the end of its last cell, its number of cells, and its number
/// of rows.
const ENDS: usize = 3;

/// The range of places of the documents of a cell.
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

/// Returns the number of documents of a list that are in cells.
#[cube]
pub(super) fn documents_in_cells(starts: &[u32], list: usize, documents: usize) -> usize {
    starts[list * (documents + ENDS) + cells(starts, list, documents)] as usize
}

/// A place of a list, in the order of the scores.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(super) struct Spot {
    /// Whether a document of a cell is at this place.
    pub exists: bool,
    /// The number of this place within the whole batch.
    pub at: usize,
    /// The number of the list; `list` is its first place in the batch.
    pub number: usize,
    pub list: usize,
    /// The number of this place within its list.
    pub place: usize,
}

/// Returns the place that a unit works on. One unit per place of the batch.
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

/// Returns whether the nodes of a cell are Chebyshev points.
#[cube]
pub(super) fn has_points(cell: Cell) -> bool {
    cell.end - cell.start > POINTS
}

#[cube]
pub(super) fn node_count(cell: Cell) -> usize {
    min(cell.end - cell.start, POINTS)
}

/// Writes the scores in the order of `sorted`. One unit per place.
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

/// Returns whether a document begins a cell. A document begins a cell if its interval differs from that of the document
/// above, or if the gap to it is large. Scores too large to resolve the grid have large gaps wherever they differ.
#[cube]
fn begins(scores: &[f32], list: usize, place: usize, rate: f32, width: f32) -> bool {
    let score = scores[list + place];
    let above = scores[list + max(place, 1) - 1];
    let grid = rate / width;
    place == 0 || (score * grid).floor() != (above * grid).floor() || (above - score) * rate > width * 0.25f32
}

/// Writes the start of each cell of each list, and the number of the cell at each place. One cube per list.
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

/// The columns of all lists that are computed in cells, sorted by score.
pub(super) struct Cells<'a> {
    pub batch: &'a Batch,
    /// The indices of the documents by descending score.
    pub sorted: CubeTensor,
    /// The scores of the documents in `sorted`.
    pub scores: CubeTensor,
    /// The first place of each cell, see [`cell`].
    pub starts: CubeTensor,
    /// The number of the cell at each place.
    pub cell_of: CubeTensor,
    pub counts: CubeTensor,
    /// The factor that turns a difference of scores into the argument of the function.
    pub rate: f32,
}

impl<'a> Cells<'a> {
    /// Creates the cells of the documents in `order` and `counts`, each `width` wide in units of the function.
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

/// The reach of a function, and the width of a cell over which its points determine the function.
#[derive(Clone, Copy)]
pub(super) struct Reach {
    /// The distance to a source below from which the function is 0 in `f32`.
    pub below: f32,
    /// The distance to a source above from which the function counts as 0, or as 1 for a step. The error of taking 0 or
    /// 1 is at most half a unit in the last place.
    pub above: f32,
    /// The width of a cell, in units of the function.
    pub width: f32,
}

/// The reach of the logistic step, whose poles are at `+-i pi`. Over half the width of a cell, the error falls by a
/// factor of 6.4 per point, to `6.4^-12 = 2e-10`.
pub(super) const LOGISTIC: Reach = Reach { below: 87.4, above: 17.4, width: 2.0 };

/// The reach of the normal distribution. Over a cell at distance `d`, the function changes like `exp(2 d s)`, by a
/// factor of `exp(9.35 / 4)` on either side of the middle.
pub(super) const NORMAL: Reach = Reach { below: 9.35, above: 4.1, width: 0.25 };

impl Reach {
    /// Returns the reach of the slope, which is the same on both sides.
    pub const fn both_ways(self) -> Self {
        Self { above: self.below, ..self }
    }
}
