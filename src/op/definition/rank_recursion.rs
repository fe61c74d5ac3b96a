//! The distribution of ranks, trial by trial. See [`rank_recursion`](crate::op::rank_recursion()).

use burn::backend::{Backend, tensor::FloatTensor};

use super::{
    array::Array,
    rows::{by_rows, by_rows_with},
};
use crate::op::cpu::Comparison;

/// The distribution after one more trial, from `[batch, rows]` arrays for the ranks that can be reached by then.
fn after_trial<B: Backend>(p: &[Array<B>], ahead: &Array<B>, behind: &Array<B>, ranks: usize) -> Vec<Array<B>> {
    let mut next: Vec<_> = p.iter().map(|here| here.clone() * behind.clone()).collect();
    for (rank, below) in p.iter().enumerate().take(ranks - 1) {
        let arrived = below.clone() * ahead.clone();
        match next.get_mut(rank + 1) {
            Some(here) => *here = here.clone() + arrived,
            None => next.push(arrived),
        }
    }
    next
}

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

/// The tensor definition.
pub fn value<B: Backend>(
    x: FloatTensor<B>,
    mask: FloatTensor<B>,
    comparison: Comparison,
    discounts: &[f64],
) -> FloatTensor<B> {
    let (x, mask) = (Array::<B>(x), Array::<B>(mask));
    let [_, documents] = x.dims();
    let [out] = by_rows(&x, |rows| {
        let [ahead, behind, _] = trials(&x, &mask, comparison, rows);
        let start = x.rows(rows) * 0.0 + 1.0;
        let p = (0..documents)
            .fold(vec![start], |p, j| after_trial(&p, &ahead.slice_last(j), &behind.slice_last(j), discounts.len()));
        [expectation(p, discounts) * mask.rows(rows)]
    });
    out.0
}

fn expectation<B: Backend>(p: Vec<Array<B>>, discounts: &[f64]) -> Array<B> {
    let terms = p.into_iter().zip(discounts).map(|(p, &discount)| p * discount);
    terms.reduce(|sum, term| sum + term).expect("a rank of 0 is always possible")
}

/// Gradient with respect to `x`. With `a` the derivative by the distribution after a trial of probability `pi`, that by
/// the distribution before it is `a(r) (1 - pi) + a(r + 1) pi`, and that by `pi` is `sum_r a(r) (p(r - 1) - p(r))`. The
/// distributions are computed again from every `sqrt(n)`-th one.
pub fn gradient<B: Backend>(
    x: FloatTensor<B>,
    mask: FloatTensor<B>,
    gradient: FloatTensor<B>,
    comparison: Comparison,
    discounts: &[f64],
) -> FloatTensor<B> {
    let (x, mask) = (Array::<B>(x), Array::<B>(mask));
    let g = Array::<B>(gradient) * mask.clone();
    let [_, documents] = x.dims();
    let ranks = discounts.len();
    let block = documents.isqrt().max(1);
    // Each chunk gives `[batch, documents, rows]`: what its rows send to every document. It holds distributions before every
    // block and within one.
    let [to_rows, to_all] = by_rows_with(&x, 2 * block * ranks, |rows| {
        let [ahead, behind, trial] = trials(&x, &mask, comparison, rows);
        let after = |p: &Vec<Array<B>>, j: usize| after_trial(p, &ahead.slice_last(j), &behind.slice_last(j), ranks);
        let mut starts = vec![vec![x.rows(rows) * 0.0 + 1.0]];
        for start in (0..documents).step_by(block) {
            let p = starts.last().expect("the first start").clone();
            starts.push((start..(start + block).min(documents)).fold(p, |p, j| after(&p, j)));
        }
        let mut a: Vec<_> = discounts.iter().map(|&discount| g.rows(rows) * discount).collect();
        let mut flows = Vec::with_capacity(documents);
        for (start, p) in (0..documents).step_by(block).zip(starts).rev() {
            let mut before = vec![p];
            for j in start..(start + block).min(documents) - 1 {
                before.push(after(&before[before.len() - 1], j));
            }
            for (j, p) in (start..).zip(before).collect::<Vec<_>>().into_iter().rev() {
                let by_rank = (0..ranks).filter_map(|rank| {
                    let arrived = rank.checked_sub(1).and_then(|below| p.get(below));
                    let difference = match (arrived, p.get(rank)) {
                        (Some(arrived), Some(left)) => arrived.clone() - left.clone(),
                        (Some(arrived), None) => arrived.clone(),
                        (None, Some(left)) => -left.clone(),
                        (None, None) => return None,
                    };
                    Some(difference * a[rank].clone())
                });
                flows.push(by_rank.reduce(|sum, term| sum + term).expect("rank 0 is always possible"));
                let (ahead, behind) = (ahead.slice_last(j), behind.slice_last(j));
                for rank in 0..ranks {
                    let stays = a[rank].clone() * behind.clone();
                    a[rank] = match a.get(rank + 1) {
                        Some(next) => stays + next.clone() * ahead.clone(),
                        None => stays,
                    };
                }
            }
        }
        flows.reverse();
        let flow = Array::stack_last(flows) * density(&x, comparison, rows) * trial;
        [flow.clone().sum(2), flow]
    });
    (to_all.sum(1) - to_rows).0
}
