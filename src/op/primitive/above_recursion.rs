//! [`above_recursion`](crate::op::above_recursion()), expectations under noisy scores by SoftRank's recursion.

use burn::backend::Backend;
#[cfg(feature = "_cube")]
use burn_cubecl::tensor::CubeTensor;

use super::{
    Arrays, Primitive,
    above_expectation::{density, gradient_of_trials, trials},
    array::{Array, by_rows},
    exactly, first,
};
use crate::op::cpu::{self, Above, AboveRecursion, Real};
#[cfg(feature = "_cube")]
use crate::op::gpu;

/// The inputs are the scores, the weights `a`, the contributions `b`, the mask, and the values of the function of the
/// rank, `[batch, ranks]`.
impl Primitive for AboveRecursion {
    fn definition<B: Backend>(&self, inputs: Arrays<B>) -> Arrays<B> {
        let [x, a, b, mask, values] = exactly(inputs);
        let ([_, documents], [_, ranks]) = (x.dims(), values.dims());
        let mixture = self.noise.mixture(documents);
        let out = by_rows(&x, |rows| {
            let nothing = x.rows(rows) * 0.0;
            let mut out = nothing.clone();
            for &(weight, comparison) in mixture.iter() {
                let trials = Trials { trials: trials(&x, &mask, comparison, rows), b: &b, above: self.above, ranks };
                let end = trials.after(0..documents, trials.start(&nothing));
                let slopes = trials.last_slopes(&values, &nothing, rows);
                let products = slopes.p.into_iter().zip(end.p).chain(slopes.w.into_iter().zip(end.w));
                if let Some(expectation) = sum(products.map(|(slope, state)| Some(slope * state))) {
                    out = out + expectation * weight;
                }
            }
            [out * a.rows(rows) * mask.rows(rows)]
        });
        out.into()
    }

    /// The gradient computation goes backward through the trials with the derivatives of the state. It sums over the
    /// ranks to get the derivative of each trial. Only every `sqrt(n)`-th state is stored; those in between are
    /// recomputed.
    fn definition_gradient<B: Backend>(&self, inputs: Arrays<B>, _: Arrays<B>, g: Array<B>) -> Arrays<B> {
        let [x, a, b, mask, values] = exactly(inputs);
        let g = g * a * mask.clone();
        let ([_, documents], [_, ranks]) = (x.dims(), values.dims());
        let mixture = self.noise.mixture(documents);
        let block = documents.isqrt().max(1);
        // The states before every block and within one block have one or two arrays over the ranks.
        let states = 2 * block * ranks * if self.above == Above::Sum { 2 } else { 1 };
        let to_x = gradient_of_trials(&x, &mixture, states, |weight, comparison, rows| {
            let nothing = x.rows(rows) * 0.0;
            let trials = Trials { trials: trials(&x, &mask, comparison, rows), b: &b, above: self.above, ranks };
            let blocks = || (0..documents).step_by(block).map(move |start| start..(start + block).min(documents));
            let mut starts = vec![trials.start(&nothing)];
            for block in blocks() {
                starts.push(trials.after(block, starts[starts.len() - 1].clone()));
            }
            let mut slopes = trials.last_slopes(&values, &nothing, rows);
            let mut flows = Vec::with_capacity(documents);
            for (block, state) in blocks().zip(starts).collect::<Vec<_>>().into_iter().rev() {
                let mut states = vec![state];
                for j in block.start..block.end - 1 {
                    states.push(trials.after(j..j + 1, states[states.len() - 1].clone()));
                }
                for (j, state) in block.zip(states).collect::<Vec<_>>().into_iter().rev() {
                    let (b, left) = (trials.b(j), trials.left(j));
                    let slope = slopes.slope(&state, b.as_ref(), left.as_ref());
                    flows.push(slope.unwrap_or_else(|| nothing.clone()));
                    slopes = slopes.before(&trials.of(j));
                }
            }
            flows.reverse();
            let [.., trial] = trials.trials;
            Array::stack_last(flows) * density(&x, comparison, rows) * trial * g.rows(rows).column() * weight
        });
        vec![to_x]
    }

    fn cpu<T: Real>(&self, inputs: &[&[T]], n: usize) -> Option<Vec<Vec<T>>> {
        Some(vec![cpu::above_recursion(first(inputs), n, self)])
    }

    fn cpu_gradient<T: Real>(&self, inputs: &[&[T]], _: &[&[T]], g: &[T], n: usize) -> Option<Vec<Vec<T>>> {
        Some(vec![cpu::above_recursion_gradient(first(inputs), g, n, self)])
    }

    #[cfg(feature = "_cube")]
    fn gpu(&self, inputs: &[&CubeTensor]) -> Option<Vec<CubeTensor>> {
        gpu::above_recursion(first(inputs), self)
    }

    #[cfg(feature = "_cube")]
    fn gpu_gradient(&self, inputs: &[&CubeTensor], _: &[&CubeTensor], g: &CubeTensor) -> Option<Vec<CubeTensor>> {
        gpu::above_recursion_gradient(first(inputs), g, self)
    }
}

/// The joint distribution of the rank and the contribution of the documents above, with an array `[batch, rows]` for
/// each rank reached so far. `p(r)` is the probability that `r` documents are above, times the mean of the product over
/// them. For a sum, `w(r)` is the probability that `r` documents are above, times the mean of the sum over them.
#[derive(Clone)]
struct State<B: Backend> {
    p: Vec<Array<B>>,
    w: Vec<Array<B>>,
}

/// The trial of one document against the rows of a chunk. `ahead` is the probability that the document is above each
/// row, and `behind` is the probability that it is not. Both have the shape `[batch, rows]`. For a sum, `b` is `b_j`,
/// `[batch, 1]`; for a product, `ahead` is already multiplied by `1 - b_j`.
struct Trial<B: Backend> {
    ahead: Array<B>,
    behind: Array<B>,
    b: Option<Array<B>>,
}

/// Returns the sum of those terms that are not `None`, or `None` if there are none.
fn sum<B: Backend>(terms: impl IntoIterator<Item = Option<Array<B>>>) -> Option<Array<B>> {
    terms.into_iter().flatten().reduce(|sum, term| sum + term)
}

/// Multiplies `x` by a factor, or returns `x` if there is no factor.
fn times<B: Backend>(x: Array<B>, factor: Option<&Array<B>>) -> Array<B> {
    match factor {
        Some(factor) => x * factor.clone(),
        None => x,
    }
}

impl<B: Backend> State<B> {
    /// Returns the state after one more trial, for at most `ranks` ranks. The update is
    /// `x(r) <- x(r) (1 - pi) + x(r - 1) pi`, and `w` also gains `p(r - 1) pi b`.
    fn after(&self, Trial { ahead, behind, b }: &Trial<B>, ranks: usize) -> Self {
        let below = |x: &[Array<B>], rank: usize| Some(x.get(rank.checked_sub(1)?)?.clone() * ahead.clone());
        let here = |x: &[Array<B>], rank: usize| Some(x.get(rank)?.clone() * behind.clone());
        let next = |x: &[Array<B>], rank: usize| sum([here(x, rank), below(x, rank)]);
        let reached = 0..(self.p.len() + 1).min(ranks);
        let p = reached.clone().filter_map(|rank| next(&self.p, rank)).collect();
        let into_sum = |rank: usize| Some(below(&self.p, rank)? * b.clone()?);
        let with_sum = |rank: usize| sum([next(&self.w, rank), into_sum(rank)]);
        let w = if self.w.is_empty() { Vec::new() } else { reached.filter_map(with_sum).collect() };
        Self { p, w }
    }

    /// Returns the derivatives before a trial from the derivatives after it.
    fn before(&self, Trial { ahead, behind, b }: &Trial<B>) -> Self {
        let above = |x: &[Array<B>], rank: usize| Some(x.get(rank + 1)?.clone() * ahead.clone());
        let last = |x: &[Array<B>], rank: usize| sum([Some(x[rank].clone() * behind.clone()), above(x, rank)]);
        let ranks = 0..self.p.len();
        let through_sum = |rank: usize| Some(above(&self.w, rank)? * b.clone()?);
        let with_sum = |rank: usize| sum([last(&self.p, rank), through_sum(rank)]);
        let p = ranks.clone().filter_map(with_sum).collect();
        let w = if self.w.is_empty() { Vec::new() } else { ranks.filter_map(|rank| last(&self.w, rank)).collect() };
        Self { p, w }
    }

    /// Returns the derivative of the expectation with respect to the probability `pi` of a trial. `self` holds the
    /// derivatives with respect to the state after the trial, and `state` is the state before it. If the document is
    /// above, the product is multiplied by `left`.
    fn slope(&self, state: &Self, b: Option<&Array<B>>, left: Option<&Array<B>>) -> Option<Array<B>> {
        let moved = |slopes: &[Array<B>], x: &[Array<B>]| {
            let by_rank = slopes.iter().enumerate().take(x.len() + 1).map(|(rank, slope)| {
                let arrived = rank.checked_sub(1).map(|below| times(x[below].clone(), left));
                let stayed = x.get(rank).map(|here| -here.clone());
                sum([arrived, stayed]).map(|moved| moved * slope.clone())
            });
            sum(by_rank)
        };
        let into_sum = self.w.iter().skip(1).zip(&state.p).map(|(slope, p)| Some(slope.clone() * p.clone()));
        let into_sum = b.and_then(|b| Some(sum(into_sum)? * b.clone()));
        sum([moved(&self.p, &state.p), if self.w.is_empty() { None } else { moved(&self.w, &state.w) }, into_sum])
    }
}

/// The trials of all documents against the rows of a chunk, for one comparison.
struct Trials<'a, B: Backend> {
    trials: [Array<B>; 3],
    b: &'a Array<B>,
    above: Above,
    ranks: usize,
}

impl<B: Backend> Trials<'_, B> {
    fn of(&self, j: usize) -> Trial<B> {
        let [ahead, behind, _] = &self.trials;
        let ahead = times(ahead.slice_last(j), self.left(j).as_ref());
        Trial { ahead, behind: behind.slice_last(j), b: self.b(j) }
    }

    /// Returns the contribution `b_j`, or `None` if only the rank matters.
    fn b(&self, j: usize) -> Option<Array<B>> {
        (self.above != Above::Nothing).then(|| self.b.rows((j, j + 1)))
    }

    /// Returns the factor `1 - b_j` by which a document above multiplies the product, or `None` if the expectation has
    /// no product.
    fn left(&self, j: usize) -> Option<Array<B>> {
        if self.above == Above::Product { Some(self.b(j)? * -1.0 + 1.0) } else { None }
    }

    /// Returns the state after the trials of `documents`, one after another.
    fn after(&self, documents: std::ops::Range<usize>, start: State<B>) -> State<B> {
        documents.fold(start, |state, j| state.after(&self.of(j), self.ranks))
    }

    /// Returns the state before the first trial, which has rank 0 with probability 1. `nothing` is an array of zeros,
    /// `[batch, rows]`.
    fn start(&self, nothing: &Array<B>) -> State<B> {
        let w = if self.above == Above::Sum { vec![nothing.clone()] } else { Vec::new() };
        State { p: vec![nothing.clone() + 1.0], w }
    }

    /// Returns the derivatives of the expectation with respect to the state after all trials, one array `[batch, rows]`
    /// per rank.
    fn last_slopes(&self, values: &Array<B>, nothing: &Array<B>, rows: (usize, usize)) -> State<B> {
        let value = |rank: usize| nothing.clone() + values.rows((rank, rank + 1));
        let ranks = 0..self.ranks;
        match self.above {
            Above::Nothing | Above::Product => State { p: ranks.map(value).collect(), w: Vec::new() },
            Above::Sum => {
                let own = self.b.rows(rows);
                State {
                    p: ranks.clone().map(|rank| value(rank) * own.clone()).collect(),
                    w: ranks.map(value).collect(),
                }
            }
        }
    }
}
