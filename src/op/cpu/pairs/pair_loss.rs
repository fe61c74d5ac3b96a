//! The fused kernel of [`pair_loss`](crate::op::pair_loss()).
//!
//! Documents are sorted by label, the most relevant first. The more relevant partners of a document (its rows) then
//! come first in the list, and only pairs with these partners are visited. With common distributions of labels, the
//! kernel visits about a third of all pairs. Long lists are summed by [walks](crate::op::cpu::long::pair_walk) or
//! [windows](crate::op::cpu::long::pair_window).

use super::pair_weight::{ByLabel, PairWeight, filled};
use super::steps::{self, Phi};
use crate::execution::Target;
use crate::op::cpu::{
    dispatch::{Kernel, dispatch, target},
    lists::{TILE, add, blocks, diverged, each_list, each_stripe, for_each, gather, reduce, scatter},
    long::{pair_walk::Walks, pair_window::Windows},
    parameters::PairLoss,
    real::{Real, sum},
};

/// The loss of one pair, with its slope.
trait Term: Copy + Send + Sync {
    fn value<const FMA: bool>(self, t: f32) -> f32;
    fn slope<const FMA: bool>(self, t: f32) -> f32;
}

#[derive(Clone, Copy)]
struct Logistic;

impl Term for Logistic {
    #[inline(always)]
    fn value<const FMA: bool>(self, t: f32) -> f32 {
        (-t).larger(0.0) + (-t.abs()).exponential::<FMA>().log_1p::<FMA>()
    }

    #[inline(always)]
    fn slope<const FMA: bool>(self, t: f32) -> f32 {
        -steps::Logistic.value::<f32, FMA>(-t)
    }
}

#[derive(Clone, Copy)]
struct Hinge {
    margin: f32,
}

impl Term for Hinge {
    #[inline(always)]
    fn value<const FMA: bool>(self, t: f32) -> f32 {
        (self.margin - t).larger(0.0)
    }

    #[inline(always)]
    fn slope<const FMA: bool>(self, t: f32) -> f32 {
        if t < self.margin { -1.0 } else { 0.0 }
    }
}

#[derive(Clone, Copy)]
struct SquaredHinge {
    margin: f32,
}

impl Term for SquaredHinge {
    #[inline(always)]
    fn value<const FMA: bool>(self, t: f32) -> f32 {
        let short = (self.margin - t).larger(0.0);
        short * short
    }

    #[inline(always)]
    fn slope<const FMA: bool>(self, t: f32) -> f32 {
        (self.margin - t).larger(0.0) * -2.0
    }
}

#[derive(Clone, Copy)]
struct Exponential;

impl Term for Exponential {
    #[inline(always)]
    fn value<const FMA: bool>(self, t: f32) -> f32 {
        let bound = -f32::EXPONENTIAL_BOUND;
        (-t.larger(bound)).exponential::<FMA>() * (1.0 + (bound - t).larger(0.0))
    }

    #[inline(always)]
    fn slope<const FMA: bool>(self, t: f32) -> f32 {
        -(-t.larger(-f32::EXPONENTIAL_BOUND)).exponential::<FMA>()
    }
}

#[derive(Clone, Copy)]
struct Fidelity;

impl Fidelity {
    /// Returns `sqrt(p)` and `1 - p` with `p = sigmoid(t)`, both computed without a subtraction.
    #[inline(always)]
    fn parts<const FMA: bool>(t: f32) -> (f32, f32) {
        // sqrt(e^t / (1 + e^t)) from e^(t/2), which does not underflow before sqrt(p) does.
        let half = (t.abs() * -0.5).exponential::<FMA>();
        let u = half * half;
        let large = 1.0 / (1.0 + u);
        let root = large.sqrt();
        if t < 0.0 { (half * root, large) } else { (root, u * large) }
    }
}

impl Term for Fidelity {
    #[inline(always)]
    fn value<const FMA: bool>(self, t: f32) -> f32 {
        let (root, rest) = Self::parts::<FMA>(t);
        rest / (1.0 + root)
    }

    #[inline(always)]
    fn slope<const FMA: bool>(self, t: f32) -> f32 {
        let (root, rest) = Self::parts::<FMA>(t);
        -0.5 * root * rest
    }
}

#[derive(Clone, Copy)]
struct SoftZeroOne;

impl Term for SoftZeroOne {
    #[inline(always)]
    fn value<const FMA: bool>(self, t: f32) -> f32 {
        steps::Logistic.value::<f32, FMA>(-t)
    }

    #[inline(always)]
    fn slope<const FMA: bool>(self, t: f32) -> f32 {
        -steps::Logistic.slope::<f32, FMA>(t)
    }
}

/// Computes the losses of some consecutive rows of a list, starting at row `start`.
struct Value<'a, L> {
    list: &'a ByLabel,
    term: L,
    start: usize,
    out: &'a mut [f32],
}

impl<L: Term> Kernel for Value<'_, L> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let rows = &self.list.x[self.start..];
        let mut weights = [0.0; TILE];
        for block in blocks(self.list.above.len()) {
            let mut partial = [0.0; TILE];
            for j in block {
                let (x, above) = (self.list.x[j], self.list.above[j]);
                let length = above.saturating_sub(self.start).min(self.out.len());
                if length == 0 {
                    continue;
                }
                let weights = self.list.weights(j, self.start, length, &mut weights);
                for ((out, &row), &weight) in partial.iter_mut().zip(rows).zip(weights.iter()) {
                    // A pair without weight may have an infinite loss.
                    let loss = weight * self.term.value::<FMA>(row - x);
                    *out += if weight == 0.0 { 0.0 } else { loss };
                }
            }
            add(self.out, &partial);
        }
    }
}

/// Computes the gradient of the pairs that combine consecutive rows, starting at row `start`, with the less relevant
/// documents.
struct Slope<'a, L> {
    list: &'a ByLabel,
    term: L,
    start: usize,
    g: &'a [f32],
    to_rows: &'a mut [f32],
    to_all: &'a mut [f32],
}

impl<L: Term> Kernel for Slope<'_, L> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let rows = &self.list.x[self.start..];
        let g = &self.g[self.start..];
        let mut flow = [0.0; TILE];
        for block in blocks(self.list.above.len()) {
            let mut partial = [0.0; TILE];
            for j in block {
                let (x, above) = (self.list.x[j], self.list.above[j]);
                let length = above.saturating_sub(self.start).min(self.to_rows.len());
                if length == 0 {
                    continue;
                }
                let flow = self.list.weights(j, self.start, length, &mut flow);
                for (((flow, to_row), &row), &g) in flow.iter_mut().zip(partial.iter_mut()).zip(rows).zip(g) {
                    let slope = *flow * g * self.term.slope::<FMA>(row - x);
                    *flow = if *flow == 0.0 { 0.0 } else { slope };
                    *to_row += *flow;
                }
                self.to_all[j] -= sum(flow);
            }
            add(self.to_rows, &partial);
        }
    }
}

/// Runs a kernel with the [`Term`] that computes the given loss.
macro_rules! dispatch_term {
    ($target:ident, $loss:ident, $kernel:ident $fields:tt) => {
        match $loss {
            PairLoss::Logistic => dispatch_term!(@ $target, $kernel, Logistic, $fields),
            PairLoss::Hinge { margin } => {
                dispatch_term!(@ $target, $kernel, Hinge { margin: margin as f32 }, $fields)
            }
            PairLoss::SquaredHinge { margin } => {
                dispatch_term!(@ $target, $kernel, SquaredHinge { margin: margin as f32 }, $fields)
            }
            PairLoss::Exponential => dispatch_term!(@ $target, $kernel, Exponential, $fields),
            PairLoss::Fidelity => dispatch_term!(@ $target, $kernel, Fidelity, $fields),
            PairLoss::SoftZeroOne => dispatch_term!(@ $target, $kernel, SoftZeroOne, $fields),
        }
    };
    (@ $target:ident, $kernel:ident, $term:expr, { $($fields:tt)* }) => {
        dispatch($target, $kernel { term: $term, $($fields)* })
    };
}

/// Computes a long list without visiting its pairs: the losses or, given the gradient `g` of the losses, the gradient
/// with respect to the scores. Returns whether it did.
fn by_walks_or_windows(target: Target, list: &ByLabel, g: Option<&[f32]>, out: &mut [f32], loss: PairLoss) -> bool {
    if let Some(walks) = Walks::new(target, list, loss) {
        match g {
            Some(g) => walks.gradient(target, g, out),
            None => walks.value(target, out),
        }
    } else if let Some(windows) = Windows::new(target, list, loss) {
        match g {
            Some(g) => windows.gradient(g, out),
            None => windows.value(out),
        }
    } else {
        return false;
    }
    true
}

/// Returns the loss of each document, `sum_j w_ij l(x_i - x_j)` over the pairs with `y_i > y_j`, for lists of `n`
/// documents.
pub fn pair_loss([x, labels, mask]: [&[f32]; 3], weight: PairWeight<&[f32]>, n: usize, loss: PairLoss) -> Vec<f32> {
    let target = target();
    each_list([x, labels, mask], n, x.len() * n, 0.0, |list, [x, labels, mask], out| {
        let list = ByLabel::new(x, labels, mask, weight.map(|values| &values[list * n..(list + 1) * n]));
        let mut losses = vec![0.0; list.x.len()];
        if diverged(&list.x, &mut losses) {
            // A list with a score that is not finite becomes NaN.
        } else if !by_walks_or_windows(target, &list, None, &mut losses, loss) {
            let tiles = losses.chunks_mut(TILE).enumerate().collect();
            for_each(tiles, list.pairs(), |(tile, out)| {
                dispatch_term!(target, loss, Value { list: &list, start: tile * TILE, out });
            });
        }
        scatter(out, &list.members, &losses);
    })
}

/// Returns the gradient of [`pair_loss`] with respect to `x`, given the gradient `g` of its output.
pub fn pair_loss_gradient(
    [g, x, labels, mask]: [&[f32]; 4],
    weight: PairWeight<&[f32]>,
    n: usize,
    loss: PairLoss,
) -> Vec<f32> {
    let target = target();
    each_list([x, labels, mask, g], n, x.len() * n, 0.0, |list, [x, labels, mask, g], to_x| {
        let list = ByLabel::new(x, labels, mask, weight.map(|values| &values[list * n..(list + 1) * n]));
        let g = filled(gather(g, &list.members));
        let mut to_rows = vec![0.0; list.x.len()];
        if diverged(&list.x, &mut to_rows) {
            // A list with a score that is not finite becomes NaN.
        } else if !by_walks_or_windows(target, &list, Some(&g), &mut to_rows, loss) {
            let partials = each_stripe(&mut to_rows, list.x.len(), list.pairs(), |stripe, to_rows, to_all| {
                for (tile, to_rows) in to_rows.chunks_mut(TILE).enumerate() {
                    let start = stripe.start + tile * TILE;
                    dispatch_term!(target, loss, Slope { list: &list, start, g: &g, to_rows, to_all });
                }
            });
            reduce(&mut to_rows, &partials);
        }
        scatter(to_x, &list.members, &to_rows);
    })
}
