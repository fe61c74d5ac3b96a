//! Sorted lists in cells, and the nodes that stand for their documents.
//!
//! Neighbours in the order of scores share a cell while they lie in one interval of a grid. A cell of more than [`POINTS`]
//! documents has as many nodes, the Chebyshev points between its lowest and its highest document: a weight `w_j` at
//! `s_j` becomes `w_j l_k(s_j)` at point `k`, with `l_k` the polynomial that is 1 there and 0 at the others. In a smaller
//! cell the documents are the nodes. A node stands where a document stands in the order, so nothing is longer than the
//! list; its position is a distance from the highest document of its cell, since a score far from 0 has no digits for it.

use burn_cubecl::cubecl::{self, prelude::*};
use burn_cubecl::tensor::CubeTensor;

use super::choice::{fast_columns, fast_rows};
use super::launch::{Batch, read, write};
use super::sort::sort;
use super::tile::UNITS;

/// Chebyshev points of a cell.
pub(super) const POINTS: usize = 12;

/// Documents of a cell whose weights one unit adds up.
const BLOCK: usize = 128;

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
pub(super) fn members(starts: &[u32], list: usize, documents: usize) -> usize {
    starts[list * (documents + ENDS) + cells(starts, list, documents)] as usize
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

/// Half the distance between the lowest and the highest document of a cell, in units of the function.
#[cube]
fn half_span(scores: &[f32], list: usize, cell: Cell, rate: f32) -> f32 {
    (scores[list + cell.start] - scores[list + cell.end - 1]) * rate * 0.5f32
}

/// A document of a cell in `[-1, 1]`; 0 where all are at one point.
#[cube]
pub(super) fn position(scores: &[f32], list: usize, cell: Cell, score: f32, rate: f32) -> f32 {
    let half = half_span(scores, list, cell, rate);
    let below = (score - scores[list + cell.start]) * rate;
    select(half > 0.0f32, below / half + 1.0f32, 0.0f32)
}

/// Chebyshev point `k` in `[-1, 1]`.
fn point(k: usize) -> f32 {
    (std::f64::consts::PI * (k as f64 + 0.5) / POINTS as f64).cos() as f32
}

/// What makes `prod_l (s - c_l)`, `l != k`, 1 at the point `c_k`.
fn factor(k: usize) -> f32 {
    let others = (0..POINTS).filter(|&l| l != k);
    (1.0 / others.map(|l| f64::from(point(k)) - f64::from(point(l))).product::<f64>()) as f32
}

/// The polynomial that is 1 at point `k` and 0 at the others, at `s`: a product, right relative to its own size.
#[cube]
pub(super) fn polynomial(k: usize, s: f32) -> f32 {
    let mut value = f32::new(1.0f32);
    #[unroll]
    for l in 0..POINTS {
        let is_own = k == l;
        value *= select(is_own, f32::new(comptime!(factor(l))), s - f32::new(comptime!(point(l))));
    }
    value
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

/// The weights of the points of each cell that has some, block by block of its documents; the last block is longer. One
/// unit per place: the `k`-th of a block makes its part of point `k`.
#[cube(launch)]
fn carry(
    scores: &[f32],
    starts: &[u32],
    cell_of: &[u32],
    weights: &[f32],
    parts: &mut [f32],
    lists: usize,
    documents: usize,
    rate: f32,
    #[comptime] width: usize,
) {
    let at = min(ABSOLUTE_POS, lists * documents - 1);
    let number = at / documents;
    let list = number * documents;
    let place = at % documents;
    if place < members(starts, number, documents) {
        let cell = cell(starts, number, documents, cell_of[at] as usize);
        let blocks = max((cell.end - cell.start) / BLOCK, 1);
        let block = min((place - cell.start) / BLOCK, blocks - 1);
        let first = cell.start + block * BLOCK;
        let last = select(block == blocks - 1, cell.end, first + BLOCK);
        let point = place - first;
        if has_points(cell) && point < POINTS {
            let mut sums = Array::<f32>::new(width);
            #[unroll]
            for i in 0..width {
                sums[i] = 0.0f32;
            }
            for other in first..last {
                let share = polynomial(point, position(scores, list, cell, scores[list + other], rate));
                #[unroll]
                for i in 0..width {
                    sums[i] = fma(share, weights[(list + other) * width + i], sums[i]);
                }
            }
            #[unroll]
            for i in 0..width {
                parts[at * width + i] = sums[i];
            }
        }
    }
}

/// The nodes: position, weights, and with `totals` the sum of the first weight down to this place. One unit per place.
#[cube(launch)]
fn settle(
    scores: &[f32],
    starts: &[u32],
    cell_of: &[u32],
    weights: &[f32],
    parts: &[f32],
    totals: &[f32],
    records: &mut [f32],
    lists: usize,
    documents: usize,
    rate: f32,
    #[comptime] width: usize,
    #[comptime] with_totals: bool,
) {
    let at = min(ABSOLUTE_POS, lists * documents - 1);
    let number = at / documents;
    let list = number * documents;
    let place = at % documents;
    if place < members(starts, number, documents) {
        let cell = cell(starts, number, documents, cell_of[at] as usize);
        let record = at * comptime!(stride(width, with_totals));
        let node = place - cell.start;
        if !has_points(cell) {
            records[record] = (scores[at] - scores[list + cell.start]) * rate;
            #[unroll]
            for i in 0..width {
                records[record + 1 + i] = weights[at * width + i];
            }
        } else if node < POINTS {
            let mut position = f32::new(0.0f32);
            #[unroll]
            for k in 0..POINTS {
                position = select(node == k, f32::new(comptime!(point(k))), position);
            }
            records[record] = half_span(scores, list, cell, rate) * (position - 1.0f32);
            let blocks = max((cell.end - cell.start) / BLOCK, 1);
            #[unroll]
            for i in 0..width {
                let mut sum = 0.0f32;
                for block in 0..blocks {
                    sum += parts[(at + block * BLOCK) * width + i];
                }
                records[record + 1 + i] = sum;
            }
        }
        if comptime!(with_totals) {
            records[record + 1 + width] = totals[at];
        }
    }
}

/// The sum of the weights down to each place. One cube per list.
#[cube(launch)]
fn add_up(starts: &[u32], weights: &[f32], totals: &mut [f32], lists: usize, documents: usize) {
    let mut sums = Shared::<[f32]>::new_slice(UNITS);
    let number = min(CUBE_POS, lists - 1);
    let list = number * documents;
    let unit = UNIT_POS as usize;
    let count = members(starts, number, documents);
    let share = count.div_ceil(UNITS);
    let first = min(unit * share, count);
    let last = min(first + share, count);
    let mut own = 0.0f32;
    for place in first..last {
        own += weights[list + place];
    }
    sums[unit] = own;
    sync_cube();
    let mut before = 0.0f32;
    for other in 0..unit {
        before += sums[other];
    }
    let mut within = 0.0f32;
    for place in first..last {
        within += weights[list + place];
        totals[list + place] = before + within;
    }
}

/// Numbers of a node.
pub(super) const fn stride(width: usize, with_totals: bool) -> usize {
    1 + width + with_totals as usize
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
    /// What makes a difference of scores the argument of the function.
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

    /// The nodes of `width` weights a document in the order of the scores.
    pub fn nodes(&self, weights: &CubeTensor, width: usize, with_totals: bool) -> CubeTensor {
        let batch = self.batch;
        let parts = batch.per_document_and(width);
        carry::launch(
            &batch.client,
            batch.cubes_per_document(),
            batch.units(),
            read(&self.scores),
            read(&self.starts),
            read(&self.cell_of),
            read(weights),
            write(&parts),
            batch.lists,
            batch.documents,
            self.rate,
            width,
        );
        let totals = if with_totals { self.totals(weights) } else { parts.clone() };
        let records = batch.per_document_and(stride(width, with_totals));
        settle::launch(
            &batch.client,
            batch.cubes_per_document(),
            batch.units(),
            read(&self.scores),
            read(&self.starts),
            read(&self.cell_of),
            read(weights),
            read(&parts),
            read(&totals),
            write(&records),
            batch.lists,
            batch.documents,
            self.rate,
            width,
            with_totals,
        );
        records
    }

    fn totals(&self, weights: &CubeTensor) -> CubeTensor {
        let batch = self.batch;
        let totals = batch.per_document();
        add_up::launch(
            &batch.client,
            batch.cubes_for(batch.lists),
            batch.units(),
            read(&self.starts),
            read(weights),
            write(&totals),
            batch.lists,
            batch.documents,
        );
        totals
    }
}
