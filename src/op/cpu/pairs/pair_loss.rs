//! The fused kernel of [`pair_loss`](crate::op::pair_loss()).
//!
//! Documents are sorted by label, the most relevant first. The more relevant partners of a document (its rows) then
//! come first in the list, and only pairs with these partners are visited. With common distributions of labels, the
//! kernel visits about a third of all pairs. Long lists are summed by [walks](crate::op::cpu::long::pair_walk) or
//! [windows](crate::op::cpu::long::pair_window).

use super::by_label::{ByLabel, filled};
use super::pair_weight::PairWeight;
use super::steps::{self, Phi};
use crate::execution::Target;
use crate::op::cpu::{
    dispatch::{Kernel, dispatch, target},
    each_list::{each_list, each_stripe},
    list::{diverged, gather, scatter},
    long::{choice::in_single, pair_walk::Walks, pair_window::Windows},
    parallel::for_each,
    parameters::PairLoss,
    real::Real,
    sum::sum,
    tiles::{TILE, add, blocks, reduce},
};

/// The loss of one pair, with its slope.
trait Term<T>: Copy + Send + Sync {
    fn value<const FMA: bool>(self, t: T) -> T;
    fn slope<const FMA: bool>(self, t: T) -> T;
}

#[derive(Clone, Copy)]
struct Logistic;

impl<T: Real> Term<T> for Logistic {
    #[inline(always)]
    fn value<const FMA: bool>(self, t: T) -> T {
        (-t).larger(T::ZERO) + (-t.abs()).exponential::<FMA>().log_1p::<FMA>()
    }

    #[inline(always)]
    fn slope<const FMA: bool>(self, t: T) -> T {
        -steps::Logistic.value::<T, FMA>(-t)
    }
}

#[derive(Clone, Copy)]
struct Hinge<T> {
    margin: T,
}

impl<T: Real> Term<T> for Hinge<T> {
    #[inline(always)]
    fn value<const FMA: bool>(self, t: T) -> T {
        (self.margin - t).larger(T::ZERO)
    }

    #[inline(always)]
    fn slope<const FMA: bool>(self, t: T) -> T {
        if t < self.margin { -T::ONE } else { T::ZERO }
    }
}

#[derive(Clone, Copy)]
struct SquaredHinge<T> {
    margin: T,
}

impl<T: Real> Term<T> for SquaredHinge<T> {
    #[inline(always)]
    fn value<const FMA: bool>(self, t: T) -> T {
        let short = (self.margin - t).larger(T::ZERO);
        short * short
    }

    #[inline(always)]
    fn slope<const FMA: bool>(self, t: T) -> T {
        (self.margin - t).larger(T::ZERO) * T::from_f64(-2.0)
    }
}

#[derive(Clone, Copy)]
struct Exponential;

impl<T: Real> Term<T> for Exponential {
    #[inline(always)]
    fn value<const FMA: bool>(self, t: T) -> T {
        let bound = -T::EXPONENTIAL_BOUND;
        (-t.larger(bound)).exponential::<FMA>() * (T::ONE + (bound - t).larger(T::ZERO))
    }

    #[inline(always)]
    fn slope<const FMA: bool>(self, t: T) -> T {
        -(-t.larger(-T::EXPONENTIAL_BOUND)).exponential::<FMA>()
    }
}

#[derive(Clone, Copy)]
struct Fidelity;

impl Fidelity {
    /// Returns `sqrt(p)` and `1 - p` with `p = sigmoid(t)`, both computed without a subtraction.
    #[inline(always)]
    fn parts<T: Real, const FMA: bool>(t: T) -> (T, T) {
        // sqrt(e^t / (1 + e^t)) from e^(t/2), which does not underflow before sqrt(p) does.
        let half = (t.abs() * -T::HALF).exponential::<FMA>();
        let u = half * half;
        let large = T::ONE / (T::ONE + u);
        let root = large.sqrt();
        if t < T::ZERO { (half * root, large) } else { (root, u * large) }
    }
}

impl<T: Real> Term<T> for Fidelity {
    #[inline(always)]
    fn value<const FMA: bool>(self, t: T) -> T {
        let (root, rest) = Self::parts::<T, FMA>(t);
        rest / (T::ONE + root)
    }

    #[inline(always)]
    fn slope<const FMA: bool>(self, t: T) -> T {
        let (root, rest) = Self::parts::<T, FMA>(t);
        -T::HALF * root * rest
    }
}

#[derive(Clone, Copy)]
struct SoftZeroOne;

impl<T: Real> Term<T> for SoftZeroOne {
    #[inline(always)]
    fn value<const FMA: bool>(self, t: T) -> T {
        steps::Logistic.value::<T, FMA>(-t)
    }

    #[inline(always)]
    fn slope<const FMA: bool>(self, t: T) -> T {
        -steps::Logistic.slope::<T, FMA>(t)
    }
}

/// Computes the losses of some consecutive rows of a list, starting at row `start`.
struct Value<'a, T, L> {
    list: &'a ByLabel<T>,
    term: L,
    start: usize,
    out: &'a mut [T],
}

impl<T: Real, L: Term<T>> Kernel for Value<'_, T, L> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let rows = &self.list.x[self.start..];
        let mut weights = [T::ZERO; TILE];
        for block in blocks(self.list.above.len()) {
            let mut partial = [T::ZERO; TILE];
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
                    *out = *out + if weight == T::ZERO { T::ZERO } else { loss };
                }
            }
            add(self.out, &partial);
        }
    }
}

/// Computes the gradient of the pairs that combine consecutive rows, starting at row `start`, with the less relevant
/// documents.
struct Slope<'a, T, L> {
    list: &'a ByLabel<T>,
    term: L,
    start: usize,
    g: &'a [T],
    to_rows: &'a mut [T],
    to_all: &'a mut [T],
}

impl<T: Real, L: Term<T>> Kernel for Slope<'_, T, L> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let rows = &self.list.x[self.start..];
        let g = &self.g[self.start..];
        let mut flow = [T::ZERO; TILE];
        for block in blocks(self.list.above.len()) {
            let mut partial = [T::ZERO; TILE];
            for j in block {
                let (x, above) = (self.list.x[j], self.list.above[j]);
                let length = above.saturating_sub(self.start).min(self.to_rows.len());
                if length == 0 {
                    continue;
                }
                let flow = self.list.weights(j, self.start, length, &mut flow);
                for (((flow, to_row), &row), &g) in flow.iter_mut().zip(partial.iter_mut()).zip(rows).zip(g) {
                    let slope = *flow * g * self.term.slope::<FMA>(row - x);
                    *flow = if *flow == T::ZERO { T::ZERO } else { slope };
                    *to_row = *to_row + *flow;
                }
                self.to_all[j] = self.to_all[j] - sum(flow);
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
                dispatch_term!(@ $target, $kernel, Hinge { margin: T::from_f64(margin) }, $fields)
            }
            PairLoss::SquaredHinge { margin } => {
                dispatch_term!(@ $target, $kernel, SquaredHinge { margin: T::from_f64(margin) }, $fields)
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

/// Computes a long list without visiting its pairs: the losses or, given the gradient of the losses, the gradient with
/// respect to the scores. Returns whether it did.
fn by_walks_or_windows<T: Real>(
    target: Target,
    list: &ByLabel<T>,
    gradient: Option<&[T]>,
    out: &mut [T],
    loss: PairLoss,
) -> bool {
    let sum = |[g]: [&[f32]; 1], [out]: [&mut [f32]; 1]| {
        let list = list.single()?;
        if let Some(walks) = Walks::new(target, list, loss) {
            if gradient.is_some() { walks.gradient(target, g, out) } else { walks.value(target, out) }
        } else {
            let windows = Windows::new(target, list, loss)?;
            if gradient.is_some() { windows.gradient(g, out) } else { windows.value(out) }
        }
        Some(())
    };
    in_single([gradient.unwrap_or_default()], [out], sum).flatten().is_some()
}

/// Returns the loss of each document, `sum_j w_ij l(x_i - x_j)` over the pairs with `y_i > y_j`, for lists of `n`
/// documents.
pub fn pair_loss<T: Real>(
    x: &[T],
    labels: &[T],
    mask: &[T],
    weight: PairWeight<&[T]>,
    n: usize,
    loss: PairLoss,
) -> Vec<T> {
    let target = target();
    each_list([x, labels, mask], n, x.len() * n, T::ZERO, |list, [x, labels, mask], out| {
        let list = ByLabel::new(x, labels, mask, weight.map(|values| &values[list * n..(list + 1) * n]));
        let mut losses = vec![T::ZERO; list.x.len()];
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

/// Returns the gradient of [`pair_loss`] with respect to `x`, given the gradient of its output.
pub fn pair_loss_gradient<T: Real>(
    x: &[T],
    labels: &[T],
    mask: &[T],
    weight: PairWeight<&[T]>,
    g: &[T],
    n: usize,
    loss: PairLoss,
) -> Vec<T> {
    let target = target();
    each_list([x, labels, mask, g], n, x.len() * n, T::ZERO, |list, [x, labels, mask, g], to_x| {
        let list = ByLabel::new(x, labels, mask, weight.map(|values| &values[list * n..(list + 1) * n]));
        let g = filled(gather(g, &list.members));
        let mut to_rows = vec![T::ZERO; list.x.len()];
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
