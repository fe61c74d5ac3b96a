//! Expectations of the rank of a document and of what stands above it, trial by trial. See
//! [`above_recursion`](crate::op::above_recursion()).

use burn::backend::{Backend, tensor::FloatTensor};

use super::{
    array::Array,
    rank_recursion::{density, trials},
    rows::{by_rows, by_rows_with},
};
use crate::op::cpu::{Above, AboveRecursion};

/// `p(r)`, the chance of `r` documents above, times what they leave of a product; and for a sum `w(r)`, that chance times the
/// mean of the sum. An array `[batch, rows]` per rank.
#[derive(Clone)]
struct State<B: Backend> {
    p: Vec<Array<B>>,
    w: Vec<Array<B>>,
}

/// One trial against the rows of a chunk: the chances to be above, for a product times what is left of it, and not to be,
/// `[batch, rows]`, and `b_j`, `[batch, 1]`.
struct Trial<B: Backend> {
    ahead: Array<B>,
    behind: Array<B>,
    b: Array<B>,
}

/// The sum of what there is.
fn sum<B: Backend>(terms: impl IntoIterator<Item = Option<Array<B>>>) -> Option<Array<B>> {
    terms.into_iter().flatten().reduce(|sum, term| sum + term)
}

impl<B: Backend> State<B> {
    /// After one more trial. `x(r) <- x(r) (1 - pi) + x(r - 1) pi`, and `w` gets `p(r - 1) pi b`.
    fn after(&self, Trial { ahead, behind, b }: &Trial<B>) -> Self {
        let below = |x: &[Array<B>], rank: usize| Some(x[rank.checked_sub(1)?].clone() * ahead.clone());
        let next = |x: &[Array<B>], rank: usize| sum([Some(x[rank].clone() * behind.clone()), below(x, rank)]);
        let ranks = 0..self.p.len();
        let p = ranks.clone().filter_map(|rank| next(&self.p, rank)).collect();
        let with_sum = |rank: usize| sum([next(&self.w, rank), below(&self.p, rank).map(|p| p * b.clone())]);
        let w = if self.w.is_empty() { Vec::new() } else { ranks.filter_map(with_sum).collect() };
        Self { p, w }
    }

    /// Derivatives before a trial, from those after it.
    fn before(&self, Trial { ahead, behind, b }: &Trial<B>) -> Self {
        let above = |x: &[Array<B>], rank: usize| Some(x.get(rank + 1)?.clone() * ahead.clone());
        let last = |x: &[Array<B>], rank: usize| sum([Some(x[rank].clone() * behind.clone()), above(x, rank)]);
        let ranks = 0..self.p.len();
        let with_sum = |rank: usize| {
            let through_sum = if self.w.is_empty() { None } else { above(&self.w, rank) };
            sum([last(&self.p, rank), through_sum.map(|w| w * b.clone())])
        };
        let p = ranks.clone().filter_map(with_sum).collect();
        let w = if self.w.is_empty() { Vec::new() } else { ranks.filter_map(|rank| last(&self.w, rank)).collect() };
        Self { p, w }
    }

    /// Derivative of the expectation by `pi` from the derivatives after a trial and the state before it, where the document
    /// leaves `left` of a product.
    fn slope(&self, state: &Self, b: &Array<B>, left: &Array<B>) -> Option<Array<B>> {
        let moved = |slopes: &[Array<B>], x: &[Array<B>]| {
            let by_rank = (0..x.len()).map(|rank| {
                let arrived = rank.checked_sub(1).map(|below| x[below].clone() * left.clone());
                let stayed = -x[rank].clone();
                sum([arrived, Some(stayed)]).map(|moved| moved * slopes[rank].clone())
            });
            sum(by_rank)
        };
        let into_sum = self.w.iter().skip(1).zip(&state.p).map(|(slope, p)| Some(slope.clone() * p.clone()));
        let into_sum = sum(into_sum).map(|slope| slope * b.clone());
        sum([moved(&self.p, &state.p), moved(&self.w, &state.w), into_sum])
    }
}

/// The trials of all documents against the rows of a chunk, in one comparison.
struct Trials<B: Backend> {
    trials: [Array<B>; 3],
    b: Array<B>,
    above: Above,
}

impl<B: Backend> Trials<B> {
    fn of(&self, j: usize) -> Trial<B> {
        let (b, [ahead, behind, _]) = (self.b(j), &self.trials);
        let ahead = ahead.slice_last(j) * self.left(&b);
        Trial { ahead, behind: behind.slice_last(j), b }
    }

    fn b(&self, j: usize) -> Array<B> {
        self.b.rows((j, j + 1))
    }

    /// What a document above leaves of a product; 1 for a sum.
    fn left(&self, b: &Array<B>) -> Array<B> {
        if self.above == Above::Product { b.clone() * -1.0 + 1.0 } else { b.clone() * 0.0 + 1.0 }
    }

    /// Nobody above, from `[batch, rows]` zeros.
    fn start(&self, nothing: &Array<B>, ranks: usize) -> State<B> {
        let mut p = vec![nothing.clone(); ranks];
        p[0] = nothing.clone() + 1.0;
        State { p, w: if self.above == Above::Sum { vec![nothing.clone(); ranks] } else { Vec::new() } }
    }

    /// Derivatives of the expectation by the state at the end, `[batch, rows]` each.
    fn last_slopes(&self, values: &Array<B>, nothing: &Array<B>, rows: (usize, usize), ranks: usize) -> State<B> {
        let value = |rank: usize| nothing.clone() + values.rows((rank, rank + 1));
        let of_p = |rank: usize| {
            if self.above == Above::Sum { value(rank) * self.b.rows(rows) } else { value(rank) }
        };
        let w = if self.above == Above::Sum { (0..ranks).map(value).collect() } else { Vec::new() };
        State { p: (0..ranks).map(of_p).collect(), w }
    }
}

/// The tensor definition.
pub fn value<B: Backend>(
    x: FloatTensor<B>,
    a: FloatTensor<B>,
    b: FloatTensor<B>,
    mask: FloatTensor<B>,
    values: FloatTensor<B>,
    recursion: &AboveRecursion,
) -> FloatTensor<B> {
    let (x, a, b, mask, values) = (Array::<B>(x), Array::<B>(a), Array::<B>(b), Array::<B>(mask), Array::<B>(values));
    let ([_, documents], [_, ranks]) = (x.dims(), values.dims());
    let mixture = recursion.noise.mixture(documents);
    let [out] = by_rows(&x, |rows| {
        let nothing = x.rows(rows) * 0.0;
        let mut out = nothing.clone();
        for &(weight, comparison) in mixture.iter() {
            let trials = Trials { trials: trials(&x, &mask, comparison, rows), b: b.clone(), above: recursion.above };
            let end = (0..documents).fold(trials.start(&nothing, ranks), |state, j| state.after(&trials.of(j)));
            let slopes = trials.last_slopes(&values, &nothing, rows, ranks);
            let products = slopes.p.into_iter().zip(end.p).chain(slopes.w.into_iter().zip(end.w));
            if let Some(expectation) = sum(products.map(|(slope, state)| Some(slope * state))) {
                out = out + expectation * weight;
            }
        }
        [out * a.rows(rows) * mask.rows(rows)]
    });
    out.0
}

/// Gradient with respect to `x`: the derivatives by the state go back over the trials, and each trial's are a sum over the
/// ranks. The states are computed again from every `sqrt(n)`-th one.
pub fn gradient<B: Backend>(
    x: FloatTensor<B>,
    a: FloatTensor<B>,
    b: FloatTensor<B>,
    mask: FloatTensor<B>,
    values: FloatTensor<B>,
    gradient: FloatTensor<B>,
    recursion: &AboveRecursion,
) -> FloatTensor<B> {
    let (x, b, mask, values) = (Array::<B>(x), Array::<B>(b), Array::<B>(mask), Array::<B>(values));
    let g = Array::<B>(gradient) * Array(a) * mask.clone();
    let ([_, documents], [_, ranks]) = (x.dims(), values.dims());
    let mixture = recursion.noise.mixture(documents);
    let block = documents.isqrt().max(1);
    // Before every block and within one: one or two arrays over the ranks.
    let states = 2 * block * ranks * if recursion.above == Above::Sum { 2 } else { 1 };
    // Each chunk gives `[batch, rows]`, and `[batch, 1, documents]`: what its rows send to every document.
    let [to_rows, to_all] = by_rows_with(&x, states, |rows| {
        let nothing = x.rows(rows) * 0.0;
        let mut sent: Option<Array<B>> = None;
        for &(weight, comparison) in mixture.iter() {
            let trials = Trials { trials: trials(&x, &mask, comparison, rows), b: b.clone(), above: recursion.above };
            let mut starts = vec![trials.start(&nothing, ranks)];
            for start in (0..documents).step_by(block) {
                let state = starts[starts.len() - 1].clone();
                let block = start..(start + block).min(documents);
                starts.push(block.fold(state, |state, j| state.after(&trials.of(j))));
            }
            let mut slopes = trials.last_slopes(&values, &nothing, rows, ranks);
            let mut flows = Vec::with_capacity(documents);
            for (start, state) in (0..documents).step_by(block).zip(starts).rev() {
                let mut states = vec![state];
                for j in start..(start + block).min(documents) - 1 {
                    states.push(states[states.len() - 1].after(&trials.of(j)));
                }
                for (j, state) in (start..).zip(states).collect::<Vec<_>>().into_iter().rev() {
                    let b = trials.b(j);
                    flows.push(slopes.slope(&state, &b, &trials.left(&b)).unwrap_or_else(|| nothing.clone()));
                    slopes = slopes.before(&trials.of(j));
                }
            }
            flows.reverse();
            let [.., trial] = trials.trials;
            let here =
                Array::stack_last(flows) * density(&x, comparison, rows) * trial * g.rows(rows).column() * weight;
            sent = Some(sent.map_or(here.clone(), |sent| sent + here));
        }
        let sent = sent.unwrap_or_else(|| x.differences(rows) * 0.0);
        [sent.clone().sum(2), sent.sum(1).columns()]
    });
    (to_all.sum(1) - to_rows).0
}
