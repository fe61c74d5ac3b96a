//! [`step_sum`](super::step_sum) of long lists on the device, in O(n log n): logistic and erf.

use burn_cubecl::cubecl::{self, prelude::*};
use burn_cubecl::tensor::CubeTensor;

use super::cell_sums::{Form, Target, interpolated, meet_all, sum_at};
use super::cells::{Cells, cell, cells, has_points, rows, spot};
use super::choice::fast_columns;
use super::launch::{Batch, read, write};
use super::members::is_counted;
use super::smooth::{Bell, Erf, Function, LOGISTIC, Logistic, LogisticSlope, NORMAL, Reach};
use crate::op::cpu::Step;

/// Documents with a value from which on a list is summed in cells.
pub(super) const PAYS: usize = 2048;

/// Whether the sums of a step can be taken in cells: Laplace's has a kink, and the tail of the arc tangent does not end.
pub(super) fn sums(step: Step, rate: f32) -> bool {
    matches!(step, Step::Logistic | Step::Tanh | Step::Erf) && rate.is_finite() && rate > 0.0
}

/// Values in the order of the scores, `width` arrays side by side. One unit per place.
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

/// The sums of documents that have a value and count. One unit per place.
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

/// The sums of rows without a value, which stand in no cell and leave no trace in the sums of others. One unit per row.
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
            // The highest cell that is not above.
            let mut low = 0usize;
            let mut high = count;
            while low < high {
                let half = (low + high) / 2;
                let middle = cell(starts, number, documents, half);
                if scores[list + middle.end - 1] > score {
                    low = half + 1;
                } else {
                    high = half;
                }
            }
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

/// Weights of the documents in cells.
fn weights(cells: &Cells, arrays: [&CubeTensor; 2], width: usize) -> CubeTensor {
    let batch = cells.batch;
    let weights = batch.per_document_and(width);
    weigh::launch(
        &batch.client,
        batch.cubes_per_document(),
        batch.units(),
        read(arrays[0]),
        read(arrays[1]),
        read(&cells.sorted),
        read(&cells.counts),
        write(&weights),
        batch.lists,
        batch.documents,
        width,
    );
    weights
}

/// What a call is about.
pub(super) struct Call<'a> {
    pub batch: &'a Batch,
    pub x: &'a CubeTensor,
    pub v: &'a CubeTensor,
    pub order: &'a CubeTensor,
    pub counts: CubeTensor,
    pub rate: f32,
    pub step: Step,
}

/// Writes the sums of the rows that count of the lists that take this way.
pub(super) fn values(call: Call, counted: Option<&CubeTensor>, out: &CubeTensor) {
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
    of_documents::launch(
        &batch.client,
        batch.cubes_per_document(),
        batch.units(),
        // Whoever has a value counts, if all do.
        read(counted.unwrap_or(v)),
        read(&cells.scores),
        read(&cells.sorted),
        read(&cells.starts),
        read(&cells.cell_of),
        read(&at_nodes),
        write(out),
        batch.lists,
        batch.documents,
        rate,
    );
    of_others::launch::<F>(
        &batch.client,
        batch.cubes_per_document(),
        batch.units(),
        read(x),
        read(v),
        read(order),
        read(&cells.scores),
        read(&cells.starts),
        read(&records),
        read(&at_nodes),
        write(out),
        batch.lists,
        batch.documents,
        rate,
        reach.below,
        reach.above,
    );
}

/// Writes the gradients of the lists that take this way.
pub(super) fn gradients(call: Call, g: &CubeTensor, to_x: &CubeTensor) {
    let Call { batch, x, v, order, counts, rate, step } = call;
    let reach = if step == Step::Erf { NORMAL } else { LOGISTIC }.both_ways();
    let cells = Cells::new(batch, x, order, counts, rate, reach.width);
    let weights = weights(&cells, [v, g], 2);
    match step {
        Step::Erf => {
            let scale = rate * (0.5 * std::f32::consts::FRAC_2_SQRT_PI);
            cells.joined::<Bell>(&weights, 2, Form::Exchange, reach, scale, to_x);
        }
        _ => cells.joined::<LogisticSlope>(&weights, 2, Form::Exchange, reach, rate, to_x),
    }
}
