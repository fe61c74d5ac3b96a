//! Computes [`step_sum`](crate::op::gpu::step_sum) with the logistic, tanh and erf steps for long lists on a GPU. The
//! computation takes O(n log n) time.

use burn_cubecl::cubecl::{self, prelude::*};
use burn_cubecl::tensor::CubeTensor;

use super::choice::fast_columns;
use super::sums::{Form, Target, interpolated, meet_all, sum_at};
use super::{Cells, LOGISTIC, NORMAL, Reach, cell, cells, has_points, rows, spot};
use crate::op::cpu::Step;
use crate::op::gpu::functions::{Erf, Function, Logistic, Phi};
use crate::op::gpu::launch::{Batch, start};
use crate::op::gpu::members::is_counted;

/// The smallest number of documents with nonzero `v` in a list that is summed over cells.
pub(in crate::op::gpu) const PAYS: usize = 8192;

/// Returns whether a step at this scale can be summed over cells. The Laplace step is not smooth at 0, and the arctan
/// step approaches 0 and 1 too slowly.
pub(in crate::op::gpu) fn sums(step: Step, rate: f32) -> bool {
    matches!(step, Step::Logistic | Step::Tanh | Step::Erf) && rate.is_finite() && rate > 0.0
}

/// For each document in sorted order, writes `v` and, if `width` is 2, also `g`. One unit per place.
#[cube(launch)]
fn weigh(
    v: &[f32],
    g: &[f32],
    sorted: &[u32],
    counts: &[u32],
    weights: &mut [f32],
    lists: usize,
    documents: usize,
    #[comptime] width: usize,
) {
    let place = ABSOLUTE_POS;
    if place < lists * documents {
        let list = place / documents;
        if place % documents < fast_columns(counts, list) {
            let document = list * documents + sorted[place] as usize;
            weights[place * width] = v[document];
            if comptime!(width > 1) {
                weights[place * width + 1] = g[document];
            }
        }
    }
}

/// Writes the sums of the documents that belong to cells, where `counted` is nonzero. One unit per place.
#[cube(launch)]
fn of_documents(
    counted: &[f32],
    scores: &[f32],
    sorted: &[u32],
    starts: &[u32],
    cell_of: &[u32],
    at_nodes: &[f32],
    out: &mut [f32],
    lists: usize,
    documents: usize,
    rate: f32,
) {
    let spot = spot(starts, lists, documents);
    if spot.exists {
        let document = spot.number * documents + sorted[spot.at] as usize;
        if is_counted(counted[document]) {
            out[document] =
                sum_at(scores, starts, cell_of, at_nodes, spot.number, documents, spot.place, rate, 0usize, 1usize);
        }
    }
}

/// Returns the first cell whose lowest score is not above the given score, or the number of cells if there is none.
#[cube]
fn highest_not_above(scores: &[f32], starts: &[u32], number: usize, documents: usize, score: f32) -> usize {
    let mut low = 0usize;
    let mut high = cells(starts, number, documents);
    while low < high {
        let half = (low + high) / 2;
        let middle = cell(starts, number, documents, half);
        if scores[number * documents + middle.end - 1] > score {
            low = half + 1;
        } else {
            high = half;
        }
    }
    low
}

/// Writes the sums of rows whose `v` is 0. Such documents are in no cell and do not change the sums of other documents.
/// One unit per row.
#[cube(launch)]
fn of_others<F: Function>(
    x: &[f32],
    v: &[f32],
    order: &[u32],
    scores: &[f32],
    starts: &[u32],
    records: &[f32],
    at_nodes: &[f32],
    out: &mut [f32],
    lists: usize,
    documents: usize,
    rate: f32,
    below: f32,
    above: f32,
) {
    let at = min(ABSOLUTE_POS, lists * documents - 1);
    let number = at / documents;
    let list = number * documents;
    let row = at % documents;
    if row < rows(starts, number, documents) {
        let document = list + order[list * 2 + number * 2 + row] as usize;
        if v[document] == 0.0f32 {
            let score = x[document];
            let count = cells(starts, number, documents);
            let low = highest_not_above(scores, starts, number, documents, score);
            let near = cell(starts, number, documents, min(low, count - 1));
            if low < count && has_points(near) && scores[list + near.start] >= score {
                out[document] = interpolated(scores, at_nodes, list, near, score, rate, 0usize, 1usize);
            } else {
                let mut sums = Array::<f32>::new(2usize);
                sums[0] = 0.0f32;
                sums[1] = 0.0f32;
                let own = Array::<f32>::new(1usize);
                let target = Target { score, offset: 0.0f32 };
                meet_all::<F>(
                    scores,
                    starts,
                    records,
                    number,
                    documents,
                    low,
                    target,
                    &own,
                    &mut sums,
                    rate,
                    below,
                    above,
                    1usize,
                    Form::Step,
                );
                out[document] = sums[0];
            }
        }
    }
}

/// Returns `width` weights for each document in a cell.
fn weights(cells: &Cells, arrays: [&CubeTensor; 2], width: usize) -> CubeTensor {
    let batch = cells.batch;
    let weights = batch.per_document_and(width);
    start!(
        batch.cubes_per_document(),
        weigh::launch,
        [arrays[0], arrays[1], &cells.sorted, &cells.counts],
        [&weights],
        width
    );
    weights
}

/// The parameters of one call to the kernels that sum over cells.
pub(in crate::op::gpu) struct Call<'a> {
    pub batch: &'a Batch,
    pub x: &'a CubeTensor,
    pub v: &'a CubeTensor,
    pub order: &'a CubeTensor,
    pub counts: CubeTensor,
    pub rate: f32,
    pub step: Step,
}

/// Writes the step sums of the rows of all lists that are summed over cells.
pub(in crate::op::gpu) fn values(call: Call, counted: Option<&CubeTensor>, out: &CubeTensor) {
    match call.step {
        Step::Erf => values_of::<Erf>(call, counted, out, NORMAL),
        _ => values_of::<Logistic>(call, counted, out, LOGISTIC),
    }
}

fn values_of<F: Function>(call: Call, counted: Option<&CubeTensor>, out: &CubeTensor, reach: Reach) {
    let Call { batch, x, v, order, counts, rate, .. } = call;
    let cells = Cells::new(batch, x, order, counts, rate, reach.width);
    let records = cells.nodes(&weights(&cells, [v, v], 1), 1, true);
    let at_nodes = cells.sums::<F>(&records, 1, Form::Step, reach);
    start!(
        batch.cubes_per_document(),
        of_documents::launch,
        [counted.unwrap_or(v), &cells.scores, &cells.sorted, &cells.starts, &cells.cell_of, &at_nodes],
        [out],
        rate
    );
    start!(
        batch.cubes_per_document(),
        of_others::launch::<F>,
        [x, v, order, &cells.scores, &cells.starts, &records, &at_nodes],
        [out],
        rate,
        reach.below,
        reach.above
    );
}

/// Writes the gradient for the lists that are summed over cells.
pub(in crate::op::gpu) fn gradients(call: Call, g: &CubeTensor, to_x: &CubeTensor) {
    match call.step {
        Step::Erf => gradients_of::<Erf>(call, g, to_x, NORMAL),
        _ => gradients_of::<Logistic>(call, g, to_x, LOGISTIC),
    }
}

fn gradients_of<P: Phi>(call: Call, g: &CubeTensor, to_x: &CubeTensor, reach: Reach) {
    let Call { batch, x, v, order, counts, rate, .. } = call;
    let reach = reach.both_ways();
    let cells = Cells::new(batch, x, order, counts, rate, reach.width);
    cells.joined::<P::Slope>(&weights(&cells, [v, g], 2), 2, Form::Exchange, reach, rate, to_x);
}
