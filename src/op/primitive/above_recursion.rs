//! [`above_recursion`](crate::op::above_recursion()), expectations under noisy scores by SoftRank's recursion.

use burn::tensor::TensorData;

use super::above_expectation::{density, gradient_of_trials, trials};
use super::*;

/// Returns `out_i = a_i E[A_i f(R_i)]`, or 0 at padding. The rank `R_i`, counted from 0, is the number of documents
/// above `i`. Each list has its own function `f`. The argument `values` gives its values at the first ranks; at later
/// ranks, `f` is 0. The factor `A_i` is 1, or `b_i` plus the sum of `b_j` over the documents above `i`, or the product
/// of `1 - b_j` over these documents.
///
/// Each document `j != i` ranks above `i` independently, with the probability of a
/// [`Comparison`](crate::op::Comparison). The expectation is averaged over the comparisons of the noise. If `f` is a
/// sum of exponentials, [`above_expectation`](crate::op::above_expectation()) computes the same expectation in less
/// time.
///
/// Only `x` is differentiable. Documents with `a_i = 0` are skipped. Each of the remaining documents takes O(Q k n)
/// time, for `k` ranks with a value and `Q` comparisons. Under exact noise, the CPU needs only O(k n) time per document
/// in `f32`. Each CPU thread needs O(n + k sqrt n) memory, which does not count toward the memory budget. For each row
/// that is computed at the same time, a GPU needs O(k sqrt n) memory, and other backends need O(n + k sqrt n). The
/// memory budget limits how many rows are computed at the same time.
///
/// # Shapes
/// - `x`, `a`, `b`, `mask` and the output have the shape `[batch, documents]`. For a product, `b` must be in `[0, 1]`;
///   at padding, it must be 0. The mask is 1 for documents and 0 for padding.
/// - `values` has the shape `[batch, ranks]`, and entries beyond the number of documents are ignored.
///
/// # Panics
/// Panics if inputs differ in shape or type, or if `values` has a different number of lists.
#[track_caller]
pub fn above_recursion(
    x: Tensor<2>,
    a: Tensor<2>,
    b: Tensor<2>,
    mask: Tensor<2>,
    values: Tensor<2>,
    recursion: &AboveRecursion,
) -> Tensor<2> {
    assert_alike("above_recursion", ("x", &x), &[("a", &a), ("b", &b), ("mask", &mask)]);
    let ([batch, documents], [lists, ranks]) = (x.dims(), values.dims());
    assert!(lists == batch, "above_recursion: values of {lists} lists for {batch}");
    assert_type("above_recursion", ("x", &x), ("values", &values));
    // No document has a rank of n or more.
    let ranks = ranks.min(documents);
    if ranks == 0 || recursion.noise == ScoreNoise::Mixture(Vec::new()) {
        return x.zeros_like();
    }
    let values = values.narrow(1, 0, ranks);
    recursion.clone().run([x, a.detach(), b.detach(), mask, values.detach()])
}

/// Returns `out_i = a_i sum_{r < k} D_r p_i(r)`. Here `D_r` are the `k` entries of `discounts`, and `p_i` is the
/// distribution of the rank of document `i`, counted from 0, averaged over the comparisons of `noise`. Documents
/// with `a_i = 0` are skipped.
#[track_caller]
pub(crate) fn noisy_rank_recursion(
    x: Tensor<2>,
    a: Tensor<2>,
    mask: Tensor<2>,
    noise: &ScoreNoise,
    discounts: &[f64],
) -> Tensor<2> {
    // No document has a rank of n or more.
    let [batch, documents] = x.dims();
    let ranks = discounts.len().min(documents);
    let values = TensorData::new(discounts[..ranks].to_vec(), [1, ranks]);
    let values = Tensor::<2>::from_data(values, (&x.device(), x.dtype())).repeat_dim(0, batch);
    let recursion = AboveRecursion { noise: noise.clone(), above: Above::Nothing };
    above_recursion(x, a, mask.clone(), mask, values, &recursion)
}

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
                let trials = Trials { trials: trials(&x, &mask, comparison, rows), b: &b, above: self.above };
                let end = trials.after(0..documents, trials.start(&nothing, ranks));
                let slopes = trials.last_slopes(&values, &nothing, rows);
                let mut products = vec![slopes.p * end.p];
                products.extend(slopes.w.zip(end.w).map(|(slopes, w)| slopes * w));
                out = out + total(Array::concatenate(products, 2)) * weight;
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
            let trials = Trials { trials: trials(&x, &mask, comparison, rows), b: &b, above: self.above };
            let blocks = || (0..documents).step_by(block).map(move |start| start..(start + block).min(documents));
            let mut starts = vec![trials.start(&nothing, ranks)];
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
                    let trial = trials.of(j);
                    flows.push(slopes.slope(&state, &trial));
                    slopes = slopes.before(&trial);
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
    fn gpu(&self, inputs: &[&CubeTensor]) -> Outputs {
        gpu::above_recursion(first(inputs), self)
    }

    #[cfg(feature = "_cube")]
    fn gpu_gradient(&self, inputs: &[&CubeTensor], _: &[&CubeTensor], g: &CubeTensor) -> Outputs {
        gpu::above_recursion_gradient(first(inputs), g, self)
    }
}

/// The joint distribution of the rank and the contribution of the documents above, `[batch, rows, ranks]`. `p(r)` is
/// the probability that `r` documents are above, times the mean of the product over them. For a sum, `w(r)` is the
/// probability that `r` documents are above, times the mean of the sum over them.
#[derive(Clone)]
struct State<B: Backend> {
    p: Array<B>,
    w: Option<Array<B>>,
}

/// The trial of one document against the rows of a chunk. `ahead` is the probability that the document is above each
/// row, and `behind` is the probability that it is not. Both have the shape `[batch, rows, 1]`. For a product, `ahead`
/// is already multiplied by `left`, the number `1 - b_j`. `b` and `left` have the shape `[batch, 1, 1]`.
struct Trial<B: Backend> {
    ahead: Array<B>,
    behind: Array<B>,
    b: Array<B>,
    left: Option<Array<B>>,
}

/// Returns the sum over the ranks, from the first to the last, `[batch, rows]`.
fn total<B: Backend>(x: Array<B>) -> Array<B> {
    let [_, _, ranks] = x.dims();
    let at = |rank| x.narrow(2, (rank, rank + 1)).squeeze(2);
    (1..ranks).fold(at(0), |sum, rank| sum + at(rank))
}

/// Returns the values of the next lower rank at each rank, 0 at the first.
fn below<B: Backend>(x: &Array<B>) -> Array<B> {
    let [_, _, ranks] = x.dims();
    Array::concatenate(vec![x.narrow(2, (0, 1)) * 0.0, x.clone()], 2).narrow(2, (0, ranks))
}

/// Returns the values of the next higher rank at each rank, 0 at the last.
fn above<B: Backend>(x: &Array<B>) -> Array<B> {
    let [_, _, ranks] = x.dims();
    Array::concatenate(vec![x.clone(), x.narrow(2, (0, 1)) * 0.0], 2).narrow(2, (1, ranks + 1))
}

impl<B: Backend> State<B> {
    /// Returns the state after one more trial. The update is `x(r) <- x(r) (1 - pi) + x(r - 1) pi`, and `w` also gains
    /// `p(r - 1) pi b`.
    fn after(&self, Trial { ahead, behind, b, .. }: &Trial<B>) -> Self {
        let arrived = |x: &Array<B>| below(x) * ahead.clone();
        let next = |x: &Array<B>| x.clone() * behind.clone() + arrived(x);
        let w = self.w.as_ref().map(|w| next(w) + arrived(&self.p) * b.clone());
        Self { p: next(&self.p), w }
    }

    /// Returns the derivatives before a trial from the derivatives after it.
    fn before(&self, Trial { ahead, behind, b, .. }: &Trial<B>) -> Self {
        let through = |x: &Array<B>| above(x) * ahead.clone();
        let last = |x: &Array<B>| x.clone() * behind.clone() + through(x);
        match &self.w {
            Some(w) => Self { p: last(&self.p) + through(w) * b.clone(), w: Some(last(w)) },
            None => Self { p: last(&self.p), w: None },
        }
    }

    /// Returns the derivative of the expectation with respect to the probability `pi` of a trial. `self` holds the
    /// derivatives with respect to the state after the trial, and `state` is the state before it. If the document is
    /// above, the product is multiplied by `left`.
    fn slope(&self, state: &Self, Trial { b, left, .. }: &Trial<B>) -> Array<B> {
        let moved = |slopes: &Array<B>, x: &Array<B>| {
            let arrived = left.iter().fold(below(x), |arrived, left| arrived * left.clone());
            total((arrived - x.clone()) * slopes.clone())
        };
        let by_p = moved(&self.p, &state.p);
        match (&self.w, &state.w) {
            (Some(slopes), Some(w)) => {
                by_p + moved(slopes, w) + total(above(slopes) * state.p.clone()) * b.clone().squeeze(2)
            }
            _ => by_p,
        }
    }
}

/// The trials of all documents against the rows of a chunk, for one comparison.
struct Trials<'a, B: Backend> {
    trials: [Array<B>; 3],
    b: &'a Array<B>,
    above: Above,
}

impl<B: Backend> Trials<'_, B> {
    fn of(&self, j: usize) -> Trial<B> {
        let [ahead, behind] = [0, 1].map(|chance| self.trials[chance].narrow(2, (j, j + 1)));
        let b = self.b.rows((j, j + 1)).column();
        let left = (self.above == Above::Product).then(|| b.clone() * -1.0 + 1.0);
        let ahead = left.iter().fold(ahead, |ahead, left| ahead * left.clone());
        Trial { ahead, behind, b, left }
    }

    /// Returns the state after the trials of `documents`, one after another.
    fn after(&self, documents: std::ops::Range<usize>, start: State<B>) -> State<B> {
        documents.fold(start, |state, j| state.after(&self.of(j)))
    }

    /// Returns the state before the first trial, which has rank 0 with probability 1. `nothing` is an array of zeros,
    /// `[batch, rows]`.
    fn start(&self, nothing: &Array<B>, ranks: usize) -> State<B> {
        let at = |rank| if rank == 0 { nothing.clone() + 1.0 } else { nothing.clone() };
        let p = Array::stack_last((0..ranks).map(at).collect());
        State { w: (self.above == Above::Sum).then(|| p.clone() * 0.0), p }
    }

    /// Returns the derivatives of the expectation with respect to the state after all trials.
    fn last_slopes(&self, values: &Array<B>, nothing: &Array<B>, rows: Rows) -> State<B> {
        let values = nothing.clone().column() + values.columns();
        match self.above {
            Above::Nothing | Above::Product => State { p: values, w: None },
            Above::Sum => State { p: values.clone() * self.b.rows(rows).column(), w: Some(values) },
        }
    }
}
