//! Expectations over the rank of a document and what stands above it, trial by trial: for any function of the rank, with
//! any cut-off.
//!
//! Document `j` stands above `i` with the chance `pi_j`, independently of the others. Over the trials `j != i`, with
//! `p(r)` the chance of `r` documents above so far,
//!
//! - the product `q(r) = p(r) E[prod of (1 - b_j) above]` follows `q(r) <- q(r) (1 - pi_j) + q(r - 1) pi_j (1 - b_j)`;
//! - the sum `w(r) = p(r) E[sum of b_j above]` follows
//!   `w(r) <- w(r) (1 - pi_j) + (w(r - 1) + p(r - 1) b_j) pi_j`.
//!
//! The gradient is the same recursion backwards. Cost, for `k` ranks that count and `Q` values of a document's own noise:
//! O(Q k n^2) time and O(Q n (n + k sqrt n)) memory.

use std::f64::consts::FRAC_2_SQRT_PI;

use burn::tensor::Tensor;

use crate::loss::lists::Lists;
use crate::op::{Above, Comparison, differences};

/// Numbers that are held for each pair of documents and each value of a document's own noise, about, as `burn-rank bench`
/// measures them.
pub(super) const NUMBERS_PER_PAIR: u64 = 26;

/// `E[values(R_i) A_i]` of every document, `A_i` the sum or the product of `b` over the documents above, as `above` says:
/// `[batch, documents]`. Differentiable in the scores.
///
/// # Shapes
/// - `values`: `[batch, ranks]`, of the ranks counted from 0; beyond them the function is 0
/// - `b`: `[batch, documents]`, 0 at padded places
pub(super) fn expectation(
    lists: &Lists,
    mixture: &[(f64, Comparison)],
    values: Tensor<2>,
    b: Tensor<2>,
    above: Above,
) -> Tensor<2> {
    let [batch, n] = lists.scores.dims();
    let scores = lists.scores.clone().detach();
    let trials = Trials::new(&scores, lists, mixture, b.detach(), above);
    let values = values.detach().unsqueeze_dim::<3>(1).repeat_dim(0, mixture.len()).repeat_dim(1, n);
    let mean = |x: Tensor<3>| -> Tensor<3> {
        let [_, rows, columns] = x.dims();
        (x * trials.weights.clone())
            .reshape([mixture.len(), batch, rows * columns])
            .sum_dim(0)
            .reshape([batch, rows, columns])
    };

    // The state before every `block`-th trial; those between are computed again on the way back.
    let block = n.isqrt().max(1);
    let mut starts = vec![trials.start(&values)];
    for start in (0..n).step_by(block) {
        let state = starts[starts.len() - 1].clone();
        starts.push((start..(start + block).min(n)).fold(state, |state, j| trials.after(&state, j)));
    }
    let value = mean(trials.value(&starts[starts.len() - 1], &values));

    let mut adjoint = trials.slopes_of_value(&values);
    let mut slopes = Vec::with_capacity(n);
    for (start, state) in (0..n).step_by(block).zip(starts).rev() {
        let end = (start + block).min(n);
        let mut states = vec![state];
        for j in start..end - 1 {
            states.push(trials.after(&states[states.len() - 1], j));
        }
        for (j, state) in (start..end).zip(states).rev() {
            slopes.push(trials.slope(&adjoint, &state, j));
            adjoint = trials.before(&adjoint, j);
        }
    }
    slopes.reverse();
    // d value_i / d s_j at [.., i, j]; what the others send to i, i sends back.
    let slopes = mean(Tensor::cat(slopes, 2) * trials.density.clone());
    let moved = lists.scores.clone() - scores;
    let by_others = (slopes.clone() * moved.clone().unsqueeze_dim::<3>(1)).sum_dim(2).squeeze_dim::<2>(2);
    value.squeeze_dim::<2>(2) + by_others - slopes.sum_dim(2).squeeze_dim::<2>(2) * moved
}

/// The trials of every document at every value of its own noise: `[noise values * batch, documents i, documents j]`.
struct Trials {
    ahead: Tensor<3>,
    behind: Tensor<3>,
    /// Derivative of `pi_j` by `s_j`.
    density: Tensor<3>,
    /// Weight of the value of the noise: `[noise values * batch, 1, 1]`.
    weights: Tensor<3>,
    /// `[noise values * batch, documents, 1]`
    b: Tensor<3>,
    above: Above,
}

/// One distribution, or one and a sum over it: `[noise values * batch, documents, ranks]` each.
type State = Vec<Tensor<3>>;

impl Trials {
    fn new(scores: &Tensor<2>, lists: &Lists, mixture: &[(f64, Comparison)], b: Tensor<2>, above: Above) -> Self {
        let [batch, n] = scores.dims();
        let (device, dtype) = (scores.device(), scores.dtype());
        let gaps = differences(scores);
        let others = Tensor::<2>::eye(n, &device).cast(dtype).neg() + 1.0;
        let trial = others.unsqueeze_dim::<3>(0) * lists.mask.clone().unsqueeze_dim::<3>(1);
        let mut parts: [Vec<Tensor<3>>; 4] = Default::default();
        for &(weight, Comparison { rate, shift }) in mixture {
            let t = gaps.clone() * rate - shift;
            let beats = |t: Tensor<3>| (t.erf() + 1.0) * 0.5 * trial.clone();
            let density = (t.clone() * t.clone()).neg().exp() * (0.5 * FRAC_2_SQRT_PI * rate) * trial.clone();
            let none = trial.clone().neg() + 1.0;
            let weight = Tensor::<3>::ones([batch, 1, 1], (&device, dtype)) * weight;
            let found = [beats(t.clone()), beats(t.neg()) + none, density, weight];
            parts.iter_mut().zip(found).for_each(|(parts, part)| parts.push(part));
        }
        let [ahead, behind, density, weights] = parts.map(|parts| Tensor::cat(parts, 0));
        let b = b.unsqueeze_dim::<3>(2).repeat_dim(0, mixture.len());
        Self { ahead, behind, density, weights, b, above }
    }

    /// No document above.
    fn start(&self, values: &Tensor<3>) -> State {
        let [rows, n, ranks] = values.dims();
        let nothing = values.zeros_like();
        let none = values.ones_like().narrow(2, 0, 1);
        let certain = nothing.clone().slice_assign([0..rows, 0..n, 0..1], none);
        debug_assert!(ranks > 0, "no rank counts");
        match self.above {
            Above::Product => vec![certain],
            Above::Sum => vec![certain, nothing],
        }
    }

    /// `pi_j`, `1 - pi_j` and `b_j`.
    fn trial(&self, j: usize) -> [Tensor<3>; 3] {
        [self.ahead.clone().narrow(2, j, 1), self.behind.clone().narrow(2, j, 1), self.b.clone().narrow(1, j, 1)]
    }

    /// The state after trial `j`.
    fn after(&self, state: &State, j: usize) -> State {
        let [ahead, behind, b] = self.trial(j);
        match (self.above, &state[..]) {
            (Above::Product, [q]) => vec![q.clone() * behind + next(q) * ahead * (b.neg() + 1.0)],
            (_, [p, w]) => vec![
                p.clone() * behind.clone() + next(p) * ahead.clone(),
                w.clone() * behind + (next(w) + next(p) * b) * ahead,
            ],
            _ => unreachable!("a state has the parts that `start` gives it"),
        }
    }

    /// The expectation at the end: `[noise values * batch, documents, 1]`.
    fn value(&self, state: &State, values: &Tensor<3>) -> Tensor<3> {
        let counted = match &state[..] {
            [p, w] => p.clone() * self.b.clone() + w.clone(),
            parts => parts[0].clone(),
        };
        (counted * values.clone()).sum_dim(2)
    }

    /// Derivative of the expectation by the state at the end.
    fn slopes_of_value(&self, values: &Tensor<3>) -> State {
        match self.above {
            Above::Product => vec![values.clone()],
            Above::Sum => vec![values.clone() * self.b.clone(), values.clone()],
        }
    }

    /// Derivative of the expectation by the state before trial `j`, from that by the state after it.
    fn before(&self, adjoint: &State, j: usize) -> State {
        let [ahead, behind, b] = self.trial(j);
        match (self.above, &adjoint[..]) {
            (Above::Product, [q]) => vec![q.clone() * behind + previous(q) * ahead * (b.neg() + 1.0)],
            (_, [p, w]) => vec![
                p.clone() * behind.clone() + (previous(p) + previous(w) * b) * ahead.clone(),
                w.clone() * behind + previous(w) * ahead,
            ],
            _ => unreachable!("a state has the parts that `start` gives it"),
        }
    }

    /// Derivative of the expectation by `pi_j`: `[noise values * batch, documents, 1]`.
    fn slope(&self, adjoint: &State, state: &State, j: usize) -> Tensor<3> {
        let [_, _, b] = self.trial(j);
        let terms = match (self.above, &adjoint[..], &state[..]) {
            (Above::Product, [slope], [q]) => slope.clone() * (next(q) * (b.neg() + 1.0) - q.clone()),
            (_, [slope_p, slope_w], [p, w]) => {
                slope_p.clone() * (next(p) - p.clone()) + slope_w.clone() * (next(w) + next(p) * b - w.clone())
            }
            _ => unreachable!("a state has the parts that `start` gives it"),
        };
        terms.sum_dim(2)
    }
}

/// `x(r - 1)` at rank `r`, 0 at rank 0.
fn next(x: &Tensor<3>) -> Tensor<3> {
    let [_, _, ranks] = x.dims();
    let none = x.zeros_like().narrow(2, 0, 1);
    if ranks == 1 { none } else { Tensor::cat(vec![none, x.clone().narrow(2, 0, ranks - 1)], 2) }
}

/// `x(r + 1)` at rank `r`, 0 at the last rank.
fn previous(x: &Tensor<3>) -> Tensor<3> {
    let [_, _, ranks] = x.dims();
    let none = x.zeros_like().narrow(2, 0, 1);
    if ranks == 1 { none } else { Tensor::cat(vec![x.clone().narrow(2, 1, ranks - 1), none], 2) }
}
