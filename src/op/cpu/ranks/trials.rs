//! Computes the joint distribution of the number of documents above and of their contribution, one document after
//! another.
//!
//! Document `j` is above with probability `pi_j`, independently of the others. After some of the trials, the state
//! holds for each rank `r`:
//!
//! - `p(r)`, the probability that `r` documents are above. For a product, the probability is multiplied by the mean of
//!   the product. The update is `p(r) <- p(r) (1 - pi_j) + p(r - 1) pi_j`, with `pi_j (1 - b_j)` as the last factor for
//!   a product;
//! - `w(r)`, only for a sum, is `p(r)` times the mean of the sum, with the update
//!   `w(r) <- w(r) (1 - pi_j) + (w(r - 1) + p(r - 1) b_j) pi_j`.
//!
//! The expectation for document `i` is `sum_r f(r) p(r)`, or `sum_r f(r) (w(r) + b_i p(r))` for a sum, after the trials
//! of all others. The expectation is a linear function (form) of the state before the trial of `i`, because each later
//! trial changes the state linearly. A backward pass over the trials computes these forms, so two passes give the
//! expectations of all documents. The gradient needs two more passes, with states `P` and `W` that are sums of states
//! in which one document is left out. The kernel never divides by a probability, which could be 0. Only every
//! `sqrt(n)`-th state is stored; the others are recomputed.

use std::ops::Range;

use super::trial::{after, before};
use crate::op::cpu::{
    parameters::Above,
    real::{Real, dot},
};

/// A function of the rank, and the probability and contribution of each document that may rank above.
#[derive(Clone, Copy)]
pub struct Trials<'a> {
    pub above: Above,
    /// The values of `f` from the first rank on; there is at least one. At later ranks, `f` is 0.
    pub values: &'a [f64],
    pub ahead: &'a [f64],
    pub behind: &'a [f64],
    pub b: &'a [f64],
}

/// Documents that rank above with probability 1: their number, and the sum or product of their contributions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certain {
    pub count: usize,
    pub total: f64,
}

/// Arrays over the ranks, stored one after another.
#[derive(Clone)]
struct State {
    parts: Vec<f64>,
    ranks: usize,
}

impl State {
    fn zeros(count: usize, ranks: usize) -> Self {
        Self { parts: vec![0.0; count * ranks], ranks }
    }

    fn part(&self, part: usize) -> &[f64] {
        &self.parts[part * self.ranks..(part + 1) * self.ranks]
    }

    fn part_mut(&mut self, part: usize) -> &mut [f64] {
        &mut self.parts[part * self.ranks..(part + 1) * self.ranks]
    }
}

/// The first arrays are `p` and, for a sum, `w`. For gradients, the same number of arrays follows. They hold the
/// weighted sum, over all documents, of the states in which the document is left out.
const P: usize = 0;
const W: usize = 1;

/// Adds `factor y(r)` to `x(r)` for every rank.
#[inline(always)]
fn add<const FMA: bool>(x: &mut [f64], factor: f64, y: &[f64]) {
    for (x, y) in x.iter_mut().zip(y) {
        *x = y.fma::<FMA>(factor, *x);
    }
}

/// Adds `factor y(r - 1)` to `x(r)` for every rank.
#[inline(always)]
fn add_below<const FMA: bool>(x: &mut [f64], factor: f64, y: &[f64]) {
    add::<FMA>(&mut x[1..], factor, y);
}

/// The stored states: those before each block that the backward pass has yet to visit, and those before each trial of
/// the current block.
struct Tape {
    starts: Vec<State>,
    states: Vec<State>,
}

/// The expectation of a document, and the derivative of the weighted sum of all expectations with respect to the
/// probability that this document is above.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Found {
    pub expectation: f64,
    pub slope: f64,
}

impl Trials<'_> {
    /// Returns the number of arrays for the distribution: 2 for a sum (`p` and `w`), else 1.
    fn width(&self) -> usize {
        if self.above == Above::Sum { 2 } else { 1 }
    }

    /// Returns `pi_j`, multiplied by `1 - b_j` for a product.
    fn arrives(&self, j: usize) -> f64 {
        self.ahead[j] * self.above.left(self.b[j])
    }

    /// Returns the state before the first trial. Returns `None` if `f` is 0 at every possible rank, because too many
    /// documents are above with probability 1.
    fn start(&self, certain: Certain, count: usize) -> Option<State> {
        let mut state = State::zeros(count, self.values.len());
        if self.above == Above::Sum {
            *state.part_mut(P).get_mut(certain.count)? = 1.0;
            state.part_mut(W)[certain.count] = certain.total;
        } else {
            *state.part_mut(P).get_mut(certain.count)? = certain.total;
        }
        Some(state)
    }

    /// Computes the state after trial `j`, which belongs to a document with the weight `weight`. If the state has
    /// arrays for the sums that leave out one document, these are updated, too. The argument `weighted` tells whether
    /// the sums that leave out one document can be nonzero before the trial.
    #[inline(always)]
    fn advance<const FMA: bool>(&self, j: usize, weight: f64, weighted: bool, state: &State, out: &mut State) {
        let (width, ahead, behind, b) = (self.width(), self.arrives(j), self.behind[j], self.b[j]);
        after::<FMA>(state.part(P), ahead, behind, out.part_mut(P));
        if width == 2 {
            after::<FMA>(state.part(W), ahead, behind, out.part_mut(W));
            add_below::<FMA>(out.part_mut(W), ahead * b, state.part(P));
        }
        if state.parts.len() == width * state.ranks {
            return;
        }
        let [p, w] = [width + P, width + W];
        if weighted {
            after::<FMA>(state.part(p), ahead, behind, out.part_mut(p));
            if width == 2 {
                after::<FMA>(state.part(w), ahead, behind, out.part_mut(w));
                add_below::<FMA>(out.part_mut(w), ahead * b, state.part(p));
            }
        } else {
            out.parts[width * state.ranks..].fill(0.0);
        }
        if weight != 0.0 {
            add::<FMA>(out.part_mut(p), weight, state.part(P));
            if width == 2 {
                add::<FMA>(out.part_mut(w), weight, state.part(W));
                add::<FMA>(out.part_mut(w), weight * b, state.part(P));
            }
        }
    }

    /// Runs all trials and stores the states before each block. The weights of the documents are needed only for
    /// gradients.
    #[inline(always)]
    fn record<const FMA: bool>(&self, start: State, weights: &[f64]) -> Tape {
        let n = self.ahead.len();
        let block = n.isqrt().max(1);
        let mut starts = vec![start.clone()];
        let mut next = State::zeros(start.parts.len() / start.ranks, start.ranks);
        let (mut here, mut weighted) = (start, false);
        for j in 0..n.saturating_sub(1) {
            let weight = weights.get(j).copied().unwrap_or(0.0);
            self.advance::<FMA>(j, weight, weighted, &here, &mut next);
            weighted |= weight != 0.0;
            std::mem::swap(&mut here, &mut next);
            if (j + 1) % block == 0 {
                starts.push(here.clone());
            }
        }
        Tape { starts, states: vec![next; block] }
    }

    /// Recomputes the states within the last remaining block and returns the documents of this block, or `None` if no
    /// block remains.
    #[inline(always)]
    fn replay<const FMA: bool>(&self, tape: &mut Tape, weights: &[f64]) -> Option<Range<usize>> {
        let block = tape.states.len();
        let start = tape.starts.pop()?;
        let first = tape.starts.len() * block;
        let documents = first..(first + block).min(self.ahead.len());
        let mut weighted = weights.iter().take(first).any(|weight| *weight != 0.0);
        tape.states[0] = start;
        for j in first..documents.end.saturating_sub(1) {
            let (before, after) = tape.states.split_at_mut(j - first + 1);
            let weight = weights.get(j).copied().unwrap_or(0.0);
            self.advance::<FMA>(j, weight, weighted, &before[j - first], &mut after[0]);
            weighted |= weight != 0.0;
        }
        Some(documents)
    }

    /// Returns the expectation of document `j`, from the state before its trial and the linear form for the trials
    /// after it.
    #[inline(always)]
    fn expectation<const FMA: bool>(&self, j: usize, state: &State, form: &State) -> f64 {
        match self.above {
            Above::Nothing | Above::Product => dot::<f64, FMA>(form.part(P), state.part(P)),
            Above::Sum => {
                let of_p = dot::<f64, FMA>(form.part(P), state.part(P));
                of_p + dot::<f64, FMA>(form.part(W), state.part(W))
                    + self.b[j] * dot::<f64, FMA>(form.part(W), state.part(P))
            }
        }
    }

    /// Updates a linear form backward over trial `j`.
    #[inline(always)]
    fn retreat<const FMA: bool>(&self, j: usize, form: &mut State) {
        let (ahead, behind) = (self.arrives(j), self.behind[j]);
        before::<FMA>(form.part_mut(P), ahead, behind);
        if self.above == Above::Sum {
            let (p, w) = form.parts.split_at_mut(form.ranks);
            // Adds the derivative by `p(r)` through `w(r + 1)`.
            let last = w.len() - 1;
            add::<FMA>(&mut p[..last], ahead * self.b[j], &w[1..]);
            before::<FMA>(w, ahead, behind);
        }
    }

    /// Returns the linear form that applies after the last trial, which is `f` itself.
    fn last_form(&self) -> State {
        let mut form = State::zeros(self.width(), self.values.len());
        form.part_mut(self.width() - 1).copy_from_slice(self.values);
        form
    }

    /// Returns the expectations of the documents for which `is_row` holds. The result is `None` if `f` is 0 at every
    /// possible rank.
    #[inline(always)]
    pub fn expectations<const FMA: bool>(&self, certain: Certain, is_row: impl Fn(usize) -> bool) -> Option<Vec<f64>> {
        let start = self.start(certain, self.width())?;
        let mut out = vec![0.0; self.ahead.len()];
        let first = (0..out.len()).find(|&j| is_row(j))?;
        let mut form = self.last_form();
        let mut tape = self.record::<FMA>(start, &[]);
        while let Some(documents) = self.replay::<FMA>(&mut tape, &[]) {
            for j in documents.clone().rev().take_while(|&j| j >= first) {
                if is_row(j) {
                    out[j] = self.expectation::<FMA>(j, &tape.states[j - documents.start], &form);
                }
                self.retreat::<FMA>(j, &mut form);
            }
            if documents.start <= first {
                break;
            }
        }
        Some(out)
    }

    /// Returns the expectation of each document with a nonzero weight, and the derivatives of the weighted sum of all
    /// expectations with respect to each probability. The result is `None` if `f` is 0 at every possible rank.
    #[inline(always)]
    pub fn slopes<const FMA: bool>(&self, certain: Certain, weights: &[f64]) -> Option<Vec<Found>> {
        let width = self.width();
        let start = self.start(certain, 2 * width)?;
        let mut out = vec![Found::default(); self.ahead.len()];
        let mut form = self.last_form();
        // The derivatives by `p` and `w` through the weights of later documents.
        let mut through = State::zeros(width, self.values.len());
        let mut tape = self.record::<FMA>(start, weights);
        while let Some(documents) = self.replay::<FMA>(&mut tape, weights) {
            for j in documents.clone().rev() {
                let state = &tape.states[j - documents.start];
                if weights[j] != 0.0 {
                    out[j].expectation = self.expectation::<FMA>(j, state, &form);
                }
                out[j].slope = self.slope::<FMA>(j, state, &form, &through);
                self.retreat::<FMA>(j, &mut through);
                if weights[j] != 0.0 {
                    add::<FMA>(through.part_mut(P), weights[j], form.part(P));
                    if width == 2 {
                        add::<FMA>(through.part_mut(P), weights[j] * self.b[j], form.part(W));
                        add::<FMA>(through.part_mut(W), weights[j], form.part(W));
                    }
                }
                self.retreat::<FMA>(j, &mut form);
            }
        }
        Some(out)
    }

    /// Returns the derivative of the weighted sum of expectations with respect to `pi_j`.
    #[inline(always)]
    fn slope<const FMA: bool>(&self, j: usize, state: &State, form: &State, through: &State) -> f64 {
        let (width, b, below) = (self.width(), self.b[j], state.ranks - 1);
        let of_p = [(through.part(P), state.part(P)), (form.part(P), state.part(width + P))];
        let [mut arrives, mut stays] = [0.0; 2];
        for (form, array) in of_p {
            arrives += dot::<f64, FMA>(&form[1..], &array[..below]);
            stays += dot::<f64, FMA>(form, array);
        }
        if width == 1 {
            return arrives * self.above.left(b) - stays;
        }
        let of_w = [(through.part(W), state.part(W)), (form.part(W), state.part(width + W))];
        for ((form, array), (_, p)) in of_w.into_iter().zip(of_p) {
            arrives += dot::<f64, FMA>(&form[1..], &array[..below]) + b * dot::<f64, FMA>(&form[1..], &p[..below]);
            stays += dot::<f64, FMA>(form, array);
        }
        arrives - stays
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: [f64; 7] = [1.0, 0.6, -0.3, 0.5, 0.2, 0.7, 0.4];
    const AHEAD: [f64; 6] = [0.9, 0.25, 0.0, 0.5, 1.0, 0.7];
    const B: [f64; 6] = [0.5, 0.0, 1.0, 0.25, 0.75, 1.0];

    fn trials<'a>(above: Above, ranks: usize, ahead: &'a [f64], behind: &'a [f64]) -> Trials<'a> {
        Trials { above, values: &VALUES[..ranks], ahead, behind, b: &B }
    }

    /// Returns two cases: one without documents that are above with probability 1, and one with two of them.
    fn certains(above: Above) -> [Certain; 2] {
        match above {
            Above::Nothing => [0, 2].map(|count| Certain { count, total: 1.0 }),
            Above::Product => [Certain { count: 0, total: 1.0 }, Certain { count: 2, total: 0.3 }],
            Above::Sum => [Certain { count: 0, total: 0.0 }, Certain { count: 2, total: 1.75 }],
        }
    }

    /// Computes the expectation of document `i` by enumerating all sets of documents that may be above it.
    fn enumerated(above: Above, ranks: usize, ahead: &[f64], certain: Certain, i: usize) -> f64 {
        let sets = (0..1usize << ahead.len()).filter(|set| set >> i & 1 == 0);
        sets.map(|set| {
            let inside = |j: usize| set >> j & 1 == 1;
            let others = (0..ahead.len()).filter(|&j| j != i);
            let chance: f64 = others.map(|j| if inside(j) { ahead[j] } else { 1.0 - ahead[j] }).product();
            let members = || (0..ahead.len()).filter(|&j| inside(j));
            let contributed = match above {
                Above::Nothing => 1.0,
                Above::Product => certain.total * members().map(|j| 1.0 - B[j]).product::<f64>(),
                Above::Sum => certain.total + B[i] + members().map(|j| B[j]).sum::<f64>(),
            };
            let rank = certain.count + members().count();
            chance * contributed * if rank < ranks { VALUES[rank] } else { 0.0 }
        })
        .sum()
    }

    #[test]
    fn every_set_of_documents_above_is_counted() {
        let behind = AHEAD.map(|ahead| 1.0 - ahead);
        for above in [Above::Nothing, Above::Sum, Above::Product] {
            for (ranks, certain) in [1, 3, 7].into_iter().flat_map(|ranks| certains(above).map(|c| (ranks, c))) {
                let trials = trials(above, ranks, &AHEAD, &behind);
                let Some(found) = trials.expectations::<false>(certain, |_| true) else {
                    assert!(certain.count >= ranks);
                    continue;
                };
                for (i, found) in found.into_iter().enumerate() {
                    let expected = enumerated(above, ranks, &AHEAD, certain, i);
                    assert!((found - expected).abs() < 1e-14, "{above:?}, {ranks} ranks, {i}: {found} {expected}");
                }
                // Only one document is asked for.
                let some = trials.expectations::<false>(certain, |j| j == 3).unwrap();
                assert!((some[3] - enumerated(above, ranks, &AHEAD, certain, 3)).abs() < 1e-14);
            }
        }
    }

    #[test]
    fn slopes_are_those_of_the_weighted_sum() {
        let weights = [0.0, 0.7, -1.2, 0.0, 0.4, 1.5];
        let step = 1e-5;
        for above in [Above::Nothing, Above::Sum, Above::Product] {
            for (ranks, certain) in [3, 7].into_iter().flat_map(|ranks| certains(above).map(|c| (ranks, c))) {
                let behind = AHEAD.map(|ahead| 1.0 - ahead);
                let found = trials(above, ranks, &AHEAD, &behind).slopes::<false>(certain, &weights).unwrap();
                for (j, found) in found.into_iter().enumerate() {
                    let moved = |by: f64| -> f64 {
                        let mut ahead = AHEAD;
                        ahead[j] += by;
                        let all = weights.iter().enumerate();
                        all.map(|(i, weight)| weight * enumerated(above, ranks, &ahead, certain, i)).sum()
                    };
                    let slope = (moved(step) - moved(-step)) / (2.0 * step);
                    assert!((found.slope - slope).abs() < 1e-9, "{above:?}, {ranks} ranks, {j}: {found:?} {slope}");
                    let expectation =
                        if weights[j] == 0.0 { 0.0 } else { enumerated(above, ranks, &AHEAD, certain, j) };
                    assert!((found.expectation - expectation).abs() < 1e-14);
                }
            }
        }
    }
}
