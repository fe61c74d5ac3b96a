//! Computes the nodes that represent the documents of a cell: its Chebyshev points, or the documents themselves if they
//! are few.
//!
//! A document with weight `w_j` at `s_j` adds `w_j l_k(s_j)` to the weight of Chebyshev point `k`. Here `l_k` is the
//! polynomial that is 1 at point `k` and 0 at the other points. If a cell has at most [`POINTS`] documents, its nodes
//! are its documents. The nodes of a cell are stored at its first places, so no array is longer than the list. The
//! position of a node is stored as its distance from the highest score of the cell. This distance is precise even if
//! the scores are large.

use burn_cubecl::cubecl::{self, prelude::*};
use burn_cubecl::tensor::CubeTensor;

use super::{Cell, Cells, POINTS, cell, documents_in_cells, has_points, spot};
use crate::op::gpu::launch::start;
use crate::op::gpu::tile::UNITS;

/// The number of documents whose weights a unit adds for one Chebyshev point.
const BLOCK: usize = 128;

/// Returns half the distance between the lowest and the highest score of a cell, in units of the function's argument.
#[cube]
fn half_span(scores: &[f32], list: usize, cell: Cell, rate: f32) -> f32 {
    (scores[list + cell.start] - scores[list + cell.end - 1]) * rate * 0.5f32
}

/// Returns the position of a score within its cell, from -1 to 1, or 0 if all scores of the cell are equal.
#[cube]
pub(super) fn position(scores: &[f32], list: usize, cell: Cell, score: f32, rate: f32) -> f32 {
    let half = half_span(scores, list, cell, rate);
    let below = (score - scores[list + cell.start]) * rate;
    select(half > 0.0f32, below / half + 1.0f32, 0.0f32)
}

/// Returns Chebyshev point `k` of the interval `[-1, 1]`.
fn point(k: usize) -> f32 {
    (std::f64::consts::PI * (k as f64 + 0.5) / POINTS as f64).cos() as f32
}

/// Returns the factor that makes the product of `s - c_l` over all points `l != k` equal to 1 at `s = c_k`.
fn factor(k: usize) -> f32 {
    let others = (0..POINTS).filter(|&l| l != k);
    (1.0 / others.map(|l| f64::from(point(k)) - f64::from(point(l))).product::<f64>()) as f32
}

/// Returns the value at `s` of the polynomial that is 1 at Chebyshev point `k` and 0 at the other points. The
/// polynomial is computed as a product, which keeps the relative error small.
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

/// Adds the weights of each cell's documents to its Chebyshev points, block by block; the last block may be longer than
/// the others. Unit `k` of a block of documents computes what the block adds to the weight of point `k`. One unit per
/// place.
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
    let spot = spot(starts, lists, documents);
    if spot.exists {
        let cell = cell(starts, spot.number, documents, cell_of[spot.at] as usize);
        let blocks = max((cell.end - cell.start) / BLOCK, 1);
        let block = min((spot.place - cell.start) / BLOCK, blocks - 1);
        let first = cell.start + block * BLOCK;
        let last = select(block == blocks - 1, cell.end, first + BLOCK);
        let point = spot.place - first;
        if has_points(cell) && point < POINTS {
            let mut sums = Array::<f32>::new(width);
            #[unroll]
            for i in 0..width {
                sums[i] = 0.0f32;
            }
            for other in first..last {
                let share = polynomial(point, position(scores, spot.list, cell, scores[spot.list + other], rate));
                #[unroll]
                for i in 0..width {
                    sums[i] = fma(share, weights[(spot.list + other) * width + i], sums[i]);
                }
            }
            #[unroll]
            for i in 0..width {
                parts[spot.at * width + i] = sums[i];
            }
        }
    }
}

/// Writes the position and the weights of each node. With `totals`, also writes the sum of the first weight of every
/// document from the highest score to this place. One unit per place.
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
    let spot = spot(starts, lists, documents);
    if spot.exists {
        let cell = cell(starts, spot.number, documents, cell_of[spot.at] as usize);
        let record = spot.at * comptime!(stride(width, with_totals));
        let node = spot.place - cell.start;
        if !has_points(cell) {
            records[record] = (scores[spot.at] - scores[spot.list + cell.start]) * rate;
            #[unroll]
            for i in 0..width {
                records[record + 1 + i] = weights[spot.at * width + i];
            }
        } else if node < POINTS {
            let mut position = f32::new(0.0f32);
            #[unroll]
            for k in 0..POINTS {
                position = select(node == k, f32::new(comptime!(point(k))), position);
            }
            records[record] = half_span(scores, spot.list, cell, rate) * (position - 1.0f32);
            let blocks = max((cell.end - cell.start) / BLOCK, 1);
            #[unroll]
            for i in 0..width {
                let mut sum = 0.0f32;
                for block in 0..blocks {
                    sum += parts[(spot.at + block * BLOCK) * width + i];
                }
                records[record + 1 + i] = sum;
            }
        }
        if comptime!(with_totals) {
            records[record + 1 + width] = totals[spot.at];
        }
    }
}

/// Writes, for each place, the sum of the weights from the highest score to this place. One cube per list.
#[cube(launch)]
fn add_up(starts: &[u32], weights: &[f32], totals: &mut [f32], lists: usize, documents: usize) {
    let mut sums = Shared::<[f32]>::new_slice(UNITS);
    let number = min(CUBE_POS, lists - 1);
    let list = number * documents;
    let unit = UNIT_POS as usize;
    let count = documents_in_cells(starts, number, documents);
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

/// Returns how many numbers are stored per node.
pub(super) const fn stride(width: usize, with_totals: bool) -> usize {
    1 + width + with_totals as usize
}

impl Cells<'_> {
    /// Returns the nodes of all cells, given `width` weights per document in sorted order.
    pub fn nodes(&self, weights: &CubeTensor, width: usize, with_totals: bool) -> CubeTensor {
        let batch = self.batch;
        let parts = batch.per_document_and(width);
        start!(
            batch.cubes_per_document(),
            carry::launch,
            [&self.scores, &self.starts, &self.cell_of, weights],
            [&parts],
            self.rate,
            width
        );
        let totals = if with_totals { self.totals(weights) } else { parts.clone() };
        let records = batch.per_document_and(stride(width, with_totals));
        start!(
            batch.cubes_per_document(),
            settle::launch,
            [&self.scores, &self.starts, &self.cell_of, weights, &parts, &totals],
            [&records],
            self.rate,
            width,
            with_totals
        );
        records
    }

    fn totals(&self, weights: &CubeTensor) -> CubeTensor {
        let batch = self.batch;
        let totals = batch.per_document();
        start!(batch.cubes_for(batch.lists), add_up::launch, [&self.starts, weights], [&totals]);
        totals
    }
}
