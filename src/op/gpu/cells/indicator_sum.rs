//! Computes [`indicator_sum`](crate::op::gpu::indicator_sum) for long lists on a GPU, in O(n log n).

use burn_cubecl::cubecl::{self, prelude::*};
use burn_cubecl::tensor::CubeTensor;

use super::choice::fast_columns;
use super::sums::{Form, sum_at};
use super::{Cells, NORMAL, Reach, spot};
use crate::op::gpu::functions::{Bell, Pull};
use crate::op::gpu::launch::{Batch, start};

/// The smallest number of documents of a list that is summed over cells.
pub(in crate::op::gpu) const PAYS: usize = 8192;

/// The distance from 0, in either direction, beyond which `exp(-t^2)` is 0 in `f32`.
const REACH: Reach = NORMAL.both_ways();

fn rate(sigma: f64) -> f32 {
    (1.0 / sigma.sqrt()) as f32
}

/// Returns whether this temperature allows sums over cells, that is, whether `1 / sqrt(sigma)` is finite.
pub(in crate::op::gpu) fn sums(sigma: f64) -> bool {
    rate(sigma).is_finite()
}

/// Writes two weights per document, `m_j a_j` and `m_j`, in the order of descending scores. For the gradient, also
/// writes the weights `q_j = m_j g_j / total_j` and `q_j out_j`. One unit per place.
#[cube(launch)]
fn weigh(
    a: &[f32],
    mask: &[f32],
    out: &[f32],
    total: &[f32],
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
            weights[place * width] = mask[document] * a[document];
            weights[place * width + 1] = mask[document];
            if comptime!(width > 2) {
                let q = g[document] * mask[document] / total[document];
                weights[place * width + 2] = q;
                weights[place * width + 3] = q * out[document];
            }
        }
    }
}

/// Divides the weighted sum of each document by its plain sum, which gives the softmax sum and its denominator. One
/// unit per place.
#[cube(launch)]
fn divide(
    scores: &[f32],
    sorted: &[u32],
    starts: &[u32],
    cell_of: &[u32],
    weights: &[f32],
    at_nodes: &[f32],
    out: &mut [f32],
    total: &mut [f32],
    lists: usize,
    documents: usize,
    rate: f32,
) {
    let spot = spot(starts, lists, documents);
    if spot.exists {
        let weighted =
            sum_at(scores, starts, cell_of, at_nodes, spot.number, documents, spot.place, rate, 0usize, 2usize);
        let plain = sum_at(scores, starts, cell_of, at_nodes, spot.number, documents, spot.place, rate, 1usize, 2usize);
        let mask = weights[spot.at * 2 + 1];
        let denominator = plain - mask + 1.0f32;
        let document = spot.number * documents + sorted[spot.at] as usize;
        out[document] = weighted / denominator * mask;
        total[document] = denominator;
    }
}

/// The parameters of one call to the kernels that sum over cells.
pub(in crate::op::gpu) struct Call<'a> {
    pub batch: &'a Batch,
    pub x: &'a CubeTensor,
    pub a: &'a CubeTensor,
    pub mask: &'a CubeTensor,
    pub order: &'a CubeTensor,
    pub counts: CubeTensor,
    pub sigma: f64,
}

impl Call<'_> {
    /// Sorts the documents into cells, and returns the cells with `width` weights per document.
    fn cells(&self, [out, total, g]: [&CubeTensor; 3], width: usize) -> (Cells<'_>, CubeTensor) {
        let batch = self.batch;
        let counts = self.counts.clone();
        let cells = Cells::new(batch, self.x, self.order, counts, rate(self.sigma), REACH.width);
        let weights = batch.per_document_and(width);
        start!(
            batch.cubes_per_document(),
            weigh::launch,
            [self.a, self.mask, out, total, g, &cells.sorted, &cells.counts],
            [&weights],
            width
        );
        (cells, weights)
    }
}

/// Writes the softmax sums and their denominators for the lists that are summed over cells.
pub(in crate::op::gpu) fn values(call: &Call, out: &CubeTensor, total: &CubeTensor) {
    let batch = call.batch;
    let (cells, weights) = call.cells([call.mask; 3], 2);
    let records = cells.nodes(&weights, 2, false);
    let at_nodes = cells.sums::<Bell>(&records, 2, Form::Plain, REACH);
    start!(
        batch.cubes_per_document(),
        divide::launch,
        [&cells.scores, &cells.sorted, &cells.starts, &cells.cell_of, &weights, &at_nodes],
        [out, total],
        cells.rate
    );
}

/// Writes the gradient for the lists that are summed over cells. The forward pass of [`values`] computed `out` and
/// `total`, and `g` is the incoming gradient.
pub(in crate::op::gpu) fn gradients(call: &Call, [out, total]: [&CubeTensor; 2], g: &CubeTensor, to_x: &CubeTensor) {
    let (cells, weights) = call.cells([out, total, g], 4);
    cells.joined::<Pull>(&weights, 4, Form::Flow, REACH, 2.0 * cells.rate, to_x);
}
