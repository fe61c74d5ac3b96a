//! The trials of documents against each other under noisy scores, as arrays over pairs.

use burn::backend::{Backend, tensor::FloatTensor};

use super::{array::Array, rows::by_rows_with};
use crate::op::cpu::Comparison;

/// Returns three arrays for the rows `i` of a chunk, which are `pi_ji`, `1 - pi_ji`, and 1 where a trial exists. A row
/// has a trial against every other document of its list. Without a trial, the three arrays hold 0, 1 and 0.
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

/// Returns the derivative of `pi_ji` with respect to `x_j`, for the rows `i` of a chunk.
pub fn density<B: Backend>(x: &Array<B>, comparison: Comparison, rows: (usize, usize)) -> Array<B> {
    let t = x.differences(rows) * comparison.rate - comparison.shift;
    (-t.square()).exp() * (0.5 * std::f64::consts::FRAC_2_SQRT_PI * comparison.rate)
}

/// Returns the gradient with respect to `x` for a mixture of comparisons. `flow` receives the weight of a comparison
/// and the rows of a chunk, and returns the derivatives with respect to `x_j` for each trial. `flow` holds `numbers`
/// values for each row.
pub fn gradient_of_trials<B: Backend>(
    x: &Array<B>,
    mixture: &[(f64, Comparison)],
    numbers: usize,
    flow: impl Fn(f64, Comparison, (usize, usize)) -> Array<B>,
) -> FloatTensor<B> {
    // Each chunk gives `[batch, rows]`, and `[batch, 1, documents]` with what its rows send to every document.
    let [to_rows, to_all] = by_rows_with(x, numbers, |rows| {
        let sent = mixture.iter().map(|&(weight, comparison)| flow(weight, comparison, rows));
        let sent = sent.reduce(|sent, here| sent + here).unwrap_or_else(|| x.differences(rows) * 0.0);
        [sent.clone().sum(2), sent.sum(1).columns()]
    });
    (to_all.sum(1) - to_rows).0
}
