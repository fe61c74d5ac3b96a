//! The fused kernel of [`neural_sort_sum`](crate::op::neural_sort_sum()).
//!
//! Sinkhorn's scaling multiplies each row `r` of NeuralSort's matrix by a factor `a_r`, and each column `j` by a factor
//! `b_j`. The kernel stores only the factors `b_j` of the columns, one array per iteration. The factor of a row is
//! recomputed from the row's entries whenever a pass over the [matrix](super::neural_sort_matrix) visits the row.

use std::ops::Range;

use super::neural_sort_matrix::{Matrix, Visit};
use crate::op::cpu::{
    dispatch::target,
    lists::{diverged, documents, each_list, each_list_of_documents, gather},
    parameters::NeuralSortMatrix,
    real::{Real, dot},
};

/// Adds the entries of a row, times `weight`, to the sums of their columns.
#[inline(always)]
fn add_row<const FMA: bool>(sums: &mut [f64], weight: f64, entries: &[f64]) {
    for (sum, &entry) in sums.iter_mut().zip(entries) {
        *sum = entry.fma::<FMA>(weight, *sum);
    }
}

/// Adds the entries of row `r`, times `weight`, to the sums of their columns. Adds the same products, times the
/// distance between column and row, to `moments`.
#[inline(always)]
fn add_row_and_moment<const FMA: bool>(sums: [&mut [f64]; 2], weight: f64, entries: &[f64], places: &[f64], r: usize) {
    let [sums, moments] = sums;
    let row = r as f64;
    for (((sum, moment), &entry), &place) in sums.iter_mut().zip(moments).zip(entries).zip(places) {
        let value = entry * weight;
        *sum += value;
        *moment = value.fma::<FMA>(place - row, *moment);
    }
}

/// Scales the rows of the matrix and sums each column.
struct ColumnSums<'a> {
    columns: &'a [f64],
}

impl Visit<1> for ColumnSums<'_> {
    #[inline(always)]
    fn row<const FMA: bool>(&self, _: usize, at: Range<usize>, entries: &[f64], _: &mut f64, [sums]: [&mut [f64]; 1]) {
        add_row::<FMA>(sums, dot::<f64, FMA>(entries, &self.columns[at]).recip(), entries);
    }
}

/// Computes, for each rank, the sum of the scaled entries times the values.
struct Found<'a> {
    /// The factors of the columns before the last scaling of the rows, from which the factors of the rows follow.
    before: &'a [f64],
    /// The final factors of the columns, each multiplied by the value of its document.
    values: &'a [f64],
}

impl Visit<0> for Found<'_> {
    #[inline(always)]
    fn row<const FMA: bool>(&self, _: usize, at: Range<usize>, entries: &[f64], to_row: &mut f64, _: [&mut [f64]; 0]) {
        *to_row = dot::<f64, FMA>(entries, &self.values[at.clone()]) / dot::<f64, FMA>(entries, &self.before[at]);
    }
}

/// Computes the sums over rows that are needed to backpropagate through one scaling of the rows. For each column,
/// computes two sums of the scaled entries, each with its own weight per row. Two further sums have the distance
/// between column and row as an additional factor. The closure `weights(r, value)` returns both weights of row `r`,
/// where `value` is the sum of the scaled entries times `values`. The second weight is also written to the row's place
/// in `to_rows`.
struct Back<'a, Weights> {
    /// The factors of the columns before this scaling of the rows.
    before: &'a [f64],
    values: &'a [f64],
    places: &'a [f64],
    weights: Weights,
}

impl<Weights: Fn(usize, f64) -> [f64; 2] + Sync> Visit<4> for Back<'_, Weights> {
    #[inline(always)]
    fn row<const FMA: bool>(
        &self,
        r: usize,
        at: Range<usize>,
        entries: &[f64],
        to_row: &mut f64,
        [first, first_moments, second, second_moments]: [&mut [f64]; 4],
    ) {
        let factor = dot::<f64, FMA>(entries, &self.before[at.clone()]).recip();
        let value = factor * dot::<f64, FMA>(entries, &self.values[at.clone()]);
        let weights = (self.weights)(r, value);
        *to_row = weights[1];
        let places = &self.places[at];
        add_row_and_moment::<FMA>([first, first_moments], factor * weights[0], entries, places, r);
        add_row_and_moment::<FMA>([second, second_moments], factor * weights[1], entries, places, r);
    }
}

/// Returns the factors of the columns before the first iteration and after each iteration of the scaling.
fn scalings(matrix: &Matrix, iterations: usize) -> Vec<Vec<f64>> {
    let mut scalings = vec![vec![1.0; matrix.documents()]];
    for iteration in 0..iterations {
        let columns = &scalings[iteration];
        let [mut sums] = matrix.pass(&ColumnSums { columns }, &mut vec![0.0; matrix.rows()]);
        sums.iter_mut().for_each(|sum| *sum = sum.recip());
        scalings.push(sums);
    }
    scalings
}

fn products(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a * b).collect()
}

fn exact(values: &[f32]) -> Vec<f64> {
    values.iter().copied().map(f64::from).collect()
}

/// Returns the values in the order of descending scores, as in the matrix.
fn sorted(matrix: &Matrix, values: &[f64]) -> Vec<f64> {
    matrix.order.iter().map(|&i| values[i]).collect()
}

/// Returns the sums `sum_j P_rj v_j` of one list, for each rank `r`.
fn value(matrix: &Matrix, v: &[f64], sort: &NeuralSortMatrix) -> Vec<f64> {
    let scalings = scalings(matrix, sort.iterations);
    let values = products(&scalings[sort.iterations], &sorted(matrix, v));
    let mut found = vec![0.0; matrix.rows()];
    matrix.pass(&Found { before: &scalings[sort.last_rows()], values: &values }, &mut found);
    // Without an iteration, only the needed rows are computed.
    found.resize(matrix.documents(), 0.0);
    found.iter_mut().skip(sort.ranks).for_each(|found| *found = 0.0);
    found
}

/// The derivative with respect to the logarithm of each entry, summed over the rows of each column. In `moments`, each
/// derivative is multiplied by the distance between column and row before it is added.
struct Flow {
    sums: Vec<f64>,
    moments: Vec<f64>,
}

impl Flow {
    /// Adds `sums` and `moments`, each multiplied by the weight of its column.
    fn add(&mut self, weights: impl Fn(usize) -> f64, sums: &[f64], moments: &[f64]) {
        for (i, (to_sum, to_moment)) in self.sums.iter_mut().zip(&mut self.moments).enumerate() {
            *to_sum += weights(i) * sums[i];
            *to_moment += weights(i) * moments[i];
        }
    }
}

/// Returns the gradients with respect to the scores and the values of one list.
fn gradient(matrix: &Matrix, v: &[f64], g: &[f64], sort: &NeuralSortMatrix) -> [Vec<f64>; 2] {
    let n = matrix.documents();
    let scalings = scalings(matrix, sort.iterations);
    let (v, places) = (sorted(matrix, v), (0..n).map(|place| place as f64).collect::<Vec<_>>());
    let mut g = g.to_vec();
    g.iter_mut().skip(sort.ranks).for_each(|g| *g = 0.0);
    let (last, columns) = (sort.last_rows(), &scalings[sort.iterations]);
    let values = products(columns, &v);
    let mut to_rows = vec![0.0; matrix.rows()];
    let weights = |r: usize, found: f64| [g[r], g[r] * found];
    let from_found = Back { before: &scalings[last], values: &values, places: &places, weights };
    let [direct, direct_moments, scaled, scaled_moments] = matrix.pass(&from_found, &mut to_rows);
    let to_values = products(columns, &direct);
    let mut flow = Flow { sums: vec![0.0; n], moments: vec![0.0; n] };
    flow.add(|i| values[i], &direct, &direct_moments);
    // The derivatives with respect to the logarithms of the columns' factors.
    let mut to_columns = products(&values, &direct);
    if last == sort.iterations {
        flow.add(|i| -columns[i], &scaled, &scaled_moments);
        to_columns
            .iter_mut()
            .zip(columns.iter().zip(&scaled))
            .for_each(|(to, (column, scaled))| *to -= column * scaled);
        to_rows.fill(0.0);
    }
    for iteration in (1..=sort.iterations).rev() {
        let before = &scalings[iteration - 1];
        let sent = products(&scalings[iteration], &to_columns);
        // The derivative with respect to the logarithms of the rows' factors loses what flows back over the columns.
        let weights = |r: usize, flow: f64| [1.0, to_rows[r] - flow];
        let over_iteration = Back { before, values: &sent, places: &places, weights };
        let [columns, column_moments, rows, row_moments] = matrix.pass(&over_iteration, &mut vec![0.0; n]);
        flow.add(|i| -sent[i], &columns, &column_moments);
        flow.add(|i| -before[i], &rows, &row_moments);
        to_columns = before.iter().zip(&rows).map(|(before, row)| -before * row).collect();
        to_rows.fill(0.0);
    }
    [matrix.to_scores(&flow.sums, &flow.moments), matrix.in_list_order(&to_values)]
}

/// Returns `sum_j P_rj v_j` for each rank `r`, for lists of `n` documents.
pub fn neural_sort_sum([x, v, mask]: [&[f32]; 3], n: usize, sort: &NeuralSortMatrix) -> Vec<f32> {
    let target = target();
    each_list([x, v, mask], n, x.len() * n * (sort.iterations + 1), 0.0, |_, [x, v, mask], out| {
        let members = documents(mask);
        let (x, v) = (gather(x, &members), gather(v, &members));
        let out = &mut out[..members.len()];
        if !diverged(&x, out) {
            let matrix = Matrix::new(target, &x, sort);
            let found = value(&matrix, &exact(&v), sort);
            out.iter_mut().zip(found).for_each(|(out, found)| *out = found as f32);
        }
    })
}

/// Returns the gradients of [`neural_sort_sum`] with respect to `x` and `v`.
pub fn neural_sort_sum_gradient([x, v, mask, g]: [&[f32]; 4], n: usize, sort: &NeuralSortMatrix) -> [Vec<f32>; 2] {
    let (target, work) = (target(), x.len() * n * (sort.iterations + 1));
    let both = each_list_of_documents(mask, [x, v], (n, 2), work, |list, [x, v], found| {
        let matrix = Matrix::new(target, &x, sort);
        // The gradients of the sums are by rank, the results by document.
        let g = exact(&g[list * n..][..x.len()]);
        let [to_x, to_v] = gradient(&matrix, &exact(&v), &g, sort);
        for (found, (to_x, to_v)) in found.chunks_exact_mut(2).zip(to_x.into_iter().zip(to_v)) {
            found.copy_from_slice(&[to_x as f32, to_v as f32]);
        }
    });
    [0, 1].map(|part| both.iter().skip(part).step_by(2).copied().collect())
}
