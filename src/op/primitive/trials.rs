//! The comparisons of documents with noisy scores (trials), as arrays over pairs.

use burn::backend::Backend;

use super::{array::Array, rows::by_rows_with};
use crate::op::cpu::Comparison;

/// Returns three arrays over pairs of the given rows `i` with all documents `j`. They hold `pi_ji`, `1 - pi_ji`, and
/// whether the pair is a trial (1 or 0). A pair is a trial if `j` is a document (not padding) other than `i`. A pair
/// that is not a trial has the values 0, 1 and 0.
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

/// Returns the derivative of the probability `pi_ji` with respect to `x_j`, for the given rows `i` and all documents
/// `j`.
pub fn density<B: Backend>(x: &Array<B>, comparison: Comparison, rows: (usize, usize)) -> Array<B> {
    let t = x.differences(rows) * comparison.rate - comparison.shift;
    (-t.square()).exp() * (0.5 * std::f64::consts::FRAC_2_SQRT_PI * comparison.rate)
}

/// Returns the gradient with respect to `x` for a mixture of comparisons. For a weighted comparison and a range of
/// rows, `flow` returns the derivative of each trial of these rows with respect to `x_j`. While it runs, `flow` needs
/// memory for `numbers` values per row.
pub fn gradient_of_trials<B: Backend>(
    x: &Array<B>,
    mixture: &[(f64, Comparison)],
    numbers: usize,
    flow: impl Fn(f64, Comparison, (usize, usize)) -> Array<B>,
) -> Array<B> {
    // Each chunk gives `[batch, rows]`, and `[batch, 1, documents]` with what its rows send to every document.
    let [to_rows, to_all] = by_rows_with(x, numbers, |rows| {
        let sent = mixture.iter().map(|&(weight, comparison)| flow(weight, comparison, rows));
        let sent = sent.reduce(|sent, here| sent + here).unwrap_or_else(|| x.differences(rows) * 0.0);
        [sent.clone().sum(2), sent.sum(1).columns()]
    });
    to_all.sum(1) - to_rows
}
