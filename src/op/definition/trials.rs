//! The trials of documents against each other under noisy scores.

use burn::backend::{Backend, tensor::FloatTensor};

use super::{array::Array, rows::by_rows_with};
use crate::op::cpu::Comparison;

/// The trials of the rows `i` of a chunk: `pi_ji`, `1 - pi_ji`, which is 1 where there is no trial, and whether there is
/// one: a document of the list that is not the row itself.
pub fn trials<B: Backend>(
    x: &Array<B>,
    mask: &Array<B>,
    comparison: Comparison,
    rows: (usize, usize),
) -> [Array<B>; 3] {
    let [_, documents] = x.dims();
    let itself = x.indices(documents).differences(rows).equals_zero();
    let trial = mask.columns() * (itself * -1.0 + 1.0);
    let beats = |t: Array<B>| (t.erf() + 1.0) * 0.5 * trial.clone();
    let t = x.differences(rows) * comparison.rate - comparison.shift;
    [beats(t.clone()), beats(-t) + (trial.clone() * -1.0 + 1.0), trial.clone()]
}

/// Derivative of `pi_ji` by `x_j`, for the rows `i` of a chunk.
pub fn density<B: Backend>(x: &Array<B>, comparison: Comparison, rows: (usize, usize)) -> Array<B> {
    let t = x.differences(rows) * comparison.rate - comparison.shift;
    (-t.square()).exp() * (0.5 * std::f64::consts::FRAC_2_SQRT_PI * comparison.rate)
}

/// Gradient in `x` of a mixture of comparisons. `flow` gives the derivatives by the `x_j` of each trial of the rows of a
/// chunk, from the weight of a comparison; it holds `numbers` for each row.
pub fn gradient_of_trials<B: Backend>(
    x: &Array<B>,
    mixture: &[(f64, Comparison)],
    numbers: usize,
    flow: impl Fn(f64, Comparison, (usize, usize)) -> Array<B>,
) -> FloatTensor<B> {
    // Each chunk gives `[batch, rows]`, and `[batch, 1, documents]`: what its rows send to every document.
    let [to_rows, to_all] = by_rows_with(x, numbers, |rows| {
        let sent = mixture.iter().map(|&(weight, comparison)| flow(weight, comparison, rows));
        let sent = sent.reduce(|sent, here| sent + here).unwrap_or_else(|| x.differences(rows) * 0.0);
        [sent.clone().sum(2), sent.sum(1).columns()]
    });
    (to_all.sum(1) - to_rows).0
}
