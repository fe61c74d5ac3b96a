//! Sums a function of the score difference between a target and every document of its list, using the [cells](super) of
//! the list.
//!
//! The sum begins with the target's own cell. The cells on either side are added in the order of their distance, up to
//! the distance beyond which the function is constant. Beyond this distance, the function is 0, except that a step is 1
//! for documents far above the target. The terms of these documents add up to the sum of their weights. The targets of
//! the sums that the kernel computes are nodes, not documents. If a cell has Chebyshev points, the sum of a document is
//! interpolated from the sums at these points. In a smaller cell, each document is a node, so that its contribution to
//! its own gradient is exactly 0.

use burn_cubecl::cubecl::{self, prelude::*};
use burn_cubecl::tensor::CubeTensor;

use super::nodes::{polynomial, position, stride};
use super::{Cell, Cells, POINTS, Reach, cell, cells, has_points, node_count, spot};
use crate::op::gpu::functions::Function;
use crate::op::gpu::launch::start;
use crate::op::gpu::real::difference_of_products;

/// How the function value `f` of a pair is combined with the weights of the target `i` and the source `j`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Form {
    /// `f w_j` with one weight, where `f` tends to 1 for sources far above the target.
    Step,
    /// `f w_j` for each weight `w`.
    Plain,
    /// `f (v_i g_j - g_i v_j)` with the weights `v` and `g`.
    Exchange,
    /// `f (q_i a_j - o_i m_j + a_i q_j - m_i o_j)` with the weights `a`, `m`, `q` and `o`.
    Flow,
}

impl Form {
    /// Returns whether the combination uses the weights of the target.
    pub(super) const fn joins(self) -> bool {
        matches!(self, Self::Exchange | Self::Flow)
    }

    pub(super) const fn with_totals(self) -> bool {
        matches!(self, Self::Step)
    }
}

/// Returns the combination of the weights of a target (`own`) and a source. The weights of the source are those in
/// `weights`, starting at index `first`.
#[cube]
fn joined(own: &Array<f32>, weights: &[f32], first: usize, #[comptime] form: Form) -> f32 {
    if comptime!(form == Form::Exchange) {
        difference_of_products(own[0], weights[first + 1], own[1], weights[first])
    } else {
        difference_of_products(own[2], weights[first], own[3], weights[first + 1])
            + difference_of_products(own[0], weights[first + 2], own[1], weights[first + 3])
    }
}

/// A target at the position `rate * score + offset` in units of the function's argument, where `offset` is at most 0.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(super) struct Target {
    pub score: f32,
    pub offset: f32,
}

/// Adds the terms of all nodes of a cell to the sums of a target. If the combination uses the weights of the target,
/// `sums[width]` receives the combined terms.
#[cube]
fn meet<F: Function>(
    scores: &[f32],
    records: &[f32],
    list: usize,
    cell: Cell,
    target: Target,
    own: &Array<f32>,
    sums: &mut Array<f32>,
    rate: f32,
    #[comptime] width: usize,
    #[comptime] form: Form,
) {
    let mut partial = Array::<f32>::new(comptime!(width + 1));
    #[unroll]
    for i in 0..comptime!(width + 1) {
        partial[i] = 0.0f32;
    }
    let gap = scores[list + cell.start] - target.score;
    for node in cell.start..cell.start + node_count(cell) {
        let record = (list + node) * comptime!(stride(width, form.with_totals()));
        let value = F::at(fma(gap, rate, records[record] - target.offset));
        #[unroll]
        for i in 0..width {
            partial[i] = fma(value, records[record + 1 + i], partial[i]);
        }
        if comptime!(form.joins()) {
            partial[width] = fma(value, joined(own, records, record + 1, form), partial[width]);
        }
    }
    #[unroll]
    for i in 0..comptime!(width + 1) {
        sums[i] += partial[i];
    }
}

/// Computes the sums of a target over the cells of its list, except those in which the function is constant. Cells are
/// visited downward and upward from cell `from`, the first cell that is not entirely above the target.
#[cube]
pub(super) fn meet_all<F: Function>(
    scores: &[f32],
    starts: &[u32],
    records: &[f32],
    number: usize,
    documents: usize,
    from: usize,
    target: Target,
    own: &Array<f32>,
    sums: &mut Array<f32>,
    rate: f32,
    below: f32,
    above: f32,
    #[comptime] width: usize,
    #[comptime] form: Form,
) {
    let list = number * documents;
    let count = cells(starts, number, documents);
    let mut next = from;
    while next < count {
        let cell = cell(starts, number, documents, next);
        let highest = fma(scores[list + cell.start] - target.score, rate, -target.offset);
        if highest < -below {
            next = count;
        } else {
            meet::<F>(scores, records, list, cell, target, own, sums, rate, width, form);
            next += 1;
        }
    }
    let mut left = from;
    while left > 0 {
        let cell = cell(starts, number, documents, left - 1);
        let lowest = fma(scores[list + cell.end - 1] - target.score, rate, -target.offset);
        if lowest > above {
            if comptime!(form.with_totals()) {
                let record = (list + cell.end - 1) * comptime!(stride(width, true));
                sums[0] += records[record + 1 + width];
            }
            left = 0;
        } else {
            meet::<F>(scores, records, list, cell, target, own, sums, rate, width, form);
            left -= 1;
        }
    }
}

/// Computes `width` sums for each node of each cell. If the combination uses the weights of the target, the first sum
/// of a document is the combined sum. One unit per place.
#[cube(launch)]
fn at_nodes<F: Function>(
    scores: &[f32],
    starts: &[u32],
    cell_of: &[u32],
    records: &[f32],
    out: &mut [f32],
    lists: usize,
    documents: usize,
    rate: f32,
    below: f32,
    above: f32,
    #[comptime] width: usize,
    #[comptime] form: Form,
) {
    let spot = spot(starts, lists, documents);
    if spot.exists {
        let of = cell_of[spot.at] as usize;
        let cell = cell(starts, spot.number, documents, of);
        if spot.place - cell.start < node_count(cell) {
            let record = spot.at * comptime!(stride(width, form.with_totals()));
            let mut own = Array::<f32>::new(width);
            let mut sums = Array::<f32>::new(comptime!(width + 1));
            #[unroll]
            for i in 0..width {
                own[i] = records[record + 1 + i];
                sums[i] = 0.0f32;
            }
            sums[width] = 0.0f32;
            let target = Target { score: scores[spot.list + cell.start], offset: records[record] };
            meet_all::<F>(
                scores,
                starts,
                records,
                spot.number,
                documents,
                of,
                target,
                &own,
                &mut sums,
                rate,
                below,
                above,
                width,
                form,
            );
            #[unroll]
            for i in 0..width {
                out[spot.at * width + i] = sums[i];
            }
            if comptime!(form.joins()) && !has_points(cell) {
                out[spot.at * width] = sums[width];
            }
        }
    }
}

/// Returns sum number `i` at a score, interpolated from the sums at the Chebyshev points of the cell.
#[cube]
pub(super) fn interpolated(
    scores: &[f32],
    at_nodes: &[f32],
    list: usize,
    cell: Cell,
    score: f32,
    rate: f32,
    i: usize,
    #[comptime] width: usize,
) -> f32 {
    let s = position(scores, list, cell, score, rate);
    let mut sum = 0.0f32;
    for point in 0..POINTS {
        sum = fma(polynomial(point, s), at_nodes[(list + cell.start + point) * width + i], sum);
    }
    sum
}

/// Returns sum number `i` of the document at a place in the sorted list.
#[cube]
pub(super) fn sum_at(
    scores: &[f32],
    starts: &[u32],
    cell_of: &[u32],
    at_nodes: &[f32],
    number: usize,
    documents: usize,
    place: usize,
    rate: f32,
    i: usize,
    #[comptime] width: usize,
) -> f32 {
    let list = number * documents;
    let cell = cell(starts, number, documents, cell_of[list + place] as usize);
    if has_points(cell) {
        interpolated(scores, at_nodes, list, cell, scores[list + place], rate, i, width)
    } else {
        at_nodes[(list + place) * width + i]
    }
}

/// Writes the combined sum of each document, multiplied by `scale`. One unit per place.
#[cube(launch)]
fn join(
    scores: &[f32],
    sorted: &[u32],
    starts: &[u32],
    cell_of: &[u32],
    weights: &[f32],
    at_nodes: &[f32],
    out: &mut [f32],
    lists: usize,
    documents: usize,
    rate: f32,
    scale: f32,
    #[comptime] width: usize,
    #[comptime] form: Form,
) {
    let spot = spot(starts, lists, documents);
    if spot.exists {
        let cell = cell(starts, spot.number, documents, cell_of[spot.at] as usize);
        let mut sum = at_nodes[spot.at * width];
        if has_points(cell) {
            let mut sums = Array::<f32>::new(width);
            let mut own = Array::<f32>::new(width);
            #[unroll]
            for i in 0..width {
                sums[i] = interpolated(scores, at_nodes, spot.list, cell, scores[spot.at], rate, i, width);
                own[i] = weights[spot.at * width + i];
            }
            sum = joined_sums(&own, &sums, form);
        }
        out[spot.list + sorted[spot.at] as usize] = sum * scale;
    }
}

/// Combines the weights of a target with its sums, just as [`joined`] combines them with the weights of a source.
#[cube]
fn joined_sums(own: &Array<f32>, sums: &Array<f32>, #[comptime] form: Form) -> f32 {
    if comptime!(form == Form::Exchange) {
        difference_of_products(own[0], sums[1], own[1], sums[0])
    } else {
        difference_of_products(own[2], sums[0], own[3], sums[1])
            + difference_of_products(own[0], sums[2], own[1], sums[3])
    }
}

impl Cells<'_> {
    /// Returns the sums at all nodes, given the nodes and the number of weights.
    pub(super) fn sums<F: Function>(&self, records: &CubeTensor, width: usize, form: Form, reach: Reach) -> CubeTensor {
        let batch = self.batch;
        let out = batch.per_document_and(width);
        start!(
            batch.cubes_per_document(),
            at_nodes::launch::<F>,
            [&self.scores, &self.starts, &self.cell_of, records],
            [&out],
            self.rate,
            reach.below,
            reach.above,
            width,
            form
        );
        out
    }

    /// Writes to `out` the sum over all pairs of a document, combined with the weights of both documents and multiplied
    /// by `scale`.
    pub(super) fn joined<F: Function>(
        &self,
        weights: &CubeTensor,
        width: usize,
        form: Form,
        reach: Reach,
        scale: f32,
        out: &CubeTensor,
    ) {
        let batch = self.batch;
        let records = self.nodes(weights, width, false);
        let sums = self.sums::<F>(&records, width, form, reach);
        start!(
            batch.cubes_per_document(),
            join::launch,
            [&self.scores, &self.sorted, &self.starts, &self.cell_of, weights, &sums],
            [out],
            self.rate,
            scale,
            width,
            form
        );
    }
}
