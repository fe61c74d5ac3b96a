//! [`neural_sort_sum`](crate::op::neural_sort_sum()), values summed with NeuralSort's matrix. Sinkhorn's scaling
//! multiplies the exponentials `e_rj` of NeuralSort's softmax by factors of rows and columns, which gives the matrix
//! `a_r e_rj b_j`. If the exponentials fit into the memory budget, they are stored; otherwise each pass recomputes them
//! in chunks of rows.

use super::*;

/// Returns `out_r = sum_j P_rj v_j` for each rank `r` of each list, where `P` is a [`NeuralSortMatrix`]. The output is
/// 0 after the last requested rank and after the last document of the list.
///
/// The function is differentiable in `x` and `v`; the distance between two equal scores has the gradient 0. The
/// computation needs O(iterations n^2) time. For each iteration of Sinkhorn's scaling, only the factors of the columns
/// are stored. The factors of the rows are recomputed. The CPU therefore needs O(iterations n) memory; other backends
/// compute as many rows at once as the memory budget allows.
///
/// # Shapes
/// - `x`, `v`, `mask` and the output have the shape `[batch, documents]`. The mask is 1 for documents and 0 for
///   padding.
///
/// # Panics
/// Panics if the inputs differ in shape or type.
#[track_caller]
pub fn neural_sort_sum(x: Tensor<2>, v: Tensor<2>, mask: Tensor<2>, sort: NeuralSortMatrix) -> Tensor<2> {
    assert_alike("neural_sort_sum", ("x", &x), &[("v", &v), ("mask", &mask)]);
    if x.dims().contains(&0) || sort.ranks == 0 {
        return x.zeros_like();
    }
    sort.run([x, v, mask])
}

/// The inputs are the scores, the values and the mask.
impl Primitive for NeuralSortMatrix {
    const DIFFERENTIATED: usize = 2;

    fn definition<B: Backend>(&self, inputs: Arrays<B>) -> Arrays<B> {
        let [x, v, mask] = exactly(inputs);
        let exponentials = Exponentials::new(&x, &mask, self);
        let scalings = exponentials.scalings();
        let values = scalings[self.iterations].clone() * v;
        let [found] = exponentials.by_rows(|e, rows| {
            let factors = exponentials.row_factors(&e, &scalings[self.last_rows()], rows);
            [(e * values.columns()).sum(2) * factors]
        });
        vec![exponentials.at_all_ranks(found * exponentials.requested())]
    }

    /// Each factor of Sinkhorn's scaling is 1 divided by a sum of entries that are scaled by factors of the other
    /// dimension. The derivative of its logarithm with respect to the logarithm of an entry in this sum is therefore
    /// minus the scaled entry.
    fn definition_gradient<B: Backend>(&self, inputs: Arrays<B>, _: Arrays<B>, g: Array<B>) -> Arrays<B> {
        let [x, v, mask] = exactly(inputs);
        let exponentials = Exponentials::new(&x, &mask, self);
        let scalings = exponentials.scalings();
        let slope = &exponentials.slope;
        let g = g.rows((0, exponentials.rows())) * exponentials.requested();
        let (columns, before) = (&scalings[self.iterations], &scalings[self.last_rows()]);
        let values = columns.clone() * v;
        let [direct, direct_slopes, scaled, scaled_slopes, mut to_rows] = exponentials.by_rows(|e, rows| {
            let factors = exponentials.row_factors(&e, before, rows);
            let found = (e.clone() * values.columns()).sum(2) * factors.clone();
            let to_rows = g.rows(rows) * found;
            let [direct, direct_slopes] = weigh(&e, factors.clone() * g.rows(rows), &slope.rows(rows));
            let [scaled, scaled_slopes] = weigh(&e, factors * to_rows.clone(), &slope.rows(rows));
            [direct, direct_slopes, scaled, scaled_slopes, to_rows]
        });
        let to_values = columns.clone() * direct.clone().sum(1);
        // The derivatives with respect to the logarithms of the entries, summed over rows, and the same times the
        // slopes of the rows. `to_columns` holds the derivatives with respect to the logarithms of the columns'
        // factors.
        let mut to_columns = values.clone() * direct.sum(1);
        let mut sums = to_columns.clone();
        let mut slopes = values * direct_slopes.sum(1);
        if self.last_rows() == self.iterations {
            let back = columns.clone() * scaled.sum(1);
            sums = sums - back.clone();
            to_columns = to_columns - back;
            slopes = slopes - columns.clone() * scaled_slopes.sum(1);
            to_rows = to_rows * 0.0;
        }
        for iteration in (1..=self.iterations).rev() {
            let before = &scalings[iteration - 1];
            let sent = scalings[iteration].clone() * to_columns.clone();
            let [by_columns, column_slopes, by_rows, row_slopes] = exponentials.by_rows(|e, rows| {
                let factors = exponentials.row_factors(&e, before, rows);
                let back = to_rows.rows(rows) - factors.clone() * (e.clone() * sent.columns()).sum(2);
                let [by_columns, column_slopes] = weigh(&e, factors.clone(), &slope.rows(rows));
                let [by_rows, row_slopes] = weigh(&e, factors * back, &slope.rows(rows));
                [by_columns, column_slopes, by_rows, row_slopes]
            });
            to_columns = -(before.clone() * by_rows.sum(1));
            sums = sums - sent.clone() * by_columns.sum(1) + to_columns.clone();
            slopes = slopes - sent * column_slopes.sum(1) - before.clone() * row_slopes.sum(1);
            to_rows = to_rows * 0.0;
        }
        let by_distances = gradient_of_distances(&x, &mask, sums);
        vec![(slopes - by_distances) / self.temperature, to_values]
    }

    fn cpu<T: Real>(&self, inputs: &[&[T]], n: usize) -> Option<Vec<Vec<T>>> {
        in_single(inputs, |inputs| vec![cpu::neural_sort_sum(first(inputs), n, self)])
    }

    fn cpu_gradient<T: Real>(&self, inputs: &[&[T]], _: &[&[T]], g: &[T], n: usize) -> Option<Vec<Vec<T>>> {
        in_single(&[inputs, &[g]].concat(), |inputs| cpu::neural_sort_sum_gradient(first(inputs), n, self).into())
    }

    #[cfg(feature = "_cube")]
    fn gradients(&self) -> usize {
        2
    }
}

/// Returns `sum_j |x_i - x_j|` over the documents, or 0 at padding.
fn distances<B: Backend>(x: &Array<B>, mask: &Array<B>) -> Array<B> {
    let [out] = by_rows(x, |rows| [(x.differences(rows).abs() * mask.columns()).sum(2) * mask.rows(rows)]);
    out
}

/// Returns the gradient of [`distances`] with respect to `x`. The gradient at document `i` is
/// `sum_j sign(x_i - x_j) (g_i + g_j)` over the documents, with `sign(0) = 0`.
fn gradient_of_distances<B: Backend>(x: &Array<B>, mask: &Array<B>, gradient: Array<B>) -> Array<B> {
    let g = gradient * mask.clone();
    let [to_x] = by_rows(x, |rows| {
        let above = x.differences(rows);
        let sign = (-above.clone()).above(0.0) - above.above(0.0);
        let both = (g.columns() + g.rows(rows).column()) * mask.columns();
        [(sign * both).sum(2) * mask.rows(rows)]
    });
    to_x
}

/// The exponentials `e_rj` of NeuralSort's softmax for all lists of a batch.
struct Exponentials<'a, B: Backend> {
    x: Array<B>,
    mask: Array<B>,
    /// For each document `j`, the sum of distances `sum_k |x_j - x_k|`.
    spread: Array<B>,
    /// For each rank `r`, the number `n + 1 - 2 r` by which NeuralSort multiplies the scores of a list of `n`
    /// documents.
    slope: Array<B>,
    /// 1 at the ranks from 1 to the number of documents in the list, else 0.
    ranks: Array<B>,
    sort: &'a NeuralSortMatrix,
    /// All exponentials of the batch, if they fit into the memory budget.
    whole: Option<Array<B>>,
}

impl<'a, B: Backend> Exponentials<'a, B> {
    fn new(x: &Array<B>, mask: &Array<B>, sort: &'a NeuralSortMatrix) -> Self {
        let (x, mask, spread) = (x.clone(), mask.clone(), distances(x, mask));
        let [_, documents] = x.dims();
        let (count, index) = (mask.clone().sum(1).unsqueeze(1), x.indices(documents));
        let slope = count.clone() - index.clone() * 2.0 - 1.0;
        let ranks = (count - index).above(0.0);
        let mut exponentials = Self { x, mask, spread, slope, ranks, sort, whole: None };
        let rows = exponentials.rows();
        if chunks_of(&exponentials.x, rows, 0).count() == 1 {
            exponentials.whole = Some(exponentials.computed((0, rows)));
        }
        exponentials
    }

    /// Computes `K` arrays `[batch, ranks, ..]` in chunks of rows; `chunk` also receives the exponentials of its rows.
    fn by_rows<const K: usize>(&self, chunk: impl Fn(Array<B>, Rows) -> [Array<B>; K]) -> [Array<B>; K] {
        let of_rows = |rows| chunk(self.whole.clone().unwrap_or_else(|| self.computed(rows)), rows);
        in_chunks(&self.x, chunks_of(&self.x, self.rows(), 0), of_rows)
    }

    fn rows(&self) -> usize {
        let [_, documents] = self.x.dims();
        self.sort.rows(documents)
    }

    fn computed(&self, rows: Rows) -> Array<B> {
        let logits = self.slope.rows(rows).column() * self.x.columns() - self.spread.columns();
        // The value is finite, so a row of only padding is not 0 / 0.
        let logits = logits / self.sort.temperature + (self.mask.columns() - 1.0) * 1e30;
        let largest = logits.largest(2).detach().column();
        (logits - largest).exp() * self.mask.columns() * self.ranks.rows(rows).column()
    }

    /// Returns the factor `1 / sum_j e_rj b_j` of each row of a chunk.
    fn row_factors(&self, e: &Array<B>, columns: &Array<B>, rows: Rows) -> Array<B> {
        ((e.clone() * columns.columns()).sum(2) + (-self.ranks.rows(rows) + 1.0)).recip()
    }

    /// Returns the factors of the columns before the first iteration and after each iteration.
    fn scalings(&self) -> Vec<Array<B>> {
        let mut scalings = vec![self.mask.clone()];
        for iteration in 0..self.sort.iterations {
            let [sums] = self.by_rows(|e, rows| {
                let factors = self.row_factors(&e, &scalings[iteration], rows);
                [(e * factors.column()).sum(1).columns()]
            });
            scalings.push((sums.sum(1) + (-self.mask.clone() + 1.0)).recip());
        }
        scalings
    }

    /// Returns 1 at the ranks whose result is needed, and 0 at the others, for all computed rows.
    fn requested(&self) -> Array<B> {
        let rows = (0, self.rows());
        (-self.ranks.indices(self.rows()) + self.sort.ranks as f64).above(0.0) * self.ranks.rows(rows)
    }

    /// Extends results with 0 at the ranks that are not computed.
    fn at_all_ranks(&self, found: Array<B>) -> Array<B> {
        let [_, documents] = self.x.dims();
        match self.rows() {
            rows if rows < documents => Array::concatenate(vec![found, self.ranks.rows((rows, documents)) * 0.0], 1),
            _ => found,
        }
    }
}

/// Sums `e_rj w_r` over the rows twice: once without and once with the row's factor `n + 1 - 2 r`. Both sums have the
/// shape `[batch, 1, documents]`.
fn weigh<B: Backend>(e: &Array<B>, weights: Array<B>, slope: &Array<B>) -> [Array<B>; 2] {
    [weights.clone(), weights * slope.clone()].map(|weights| (e.clone() * weights.column()).sum(1).columns())
}
