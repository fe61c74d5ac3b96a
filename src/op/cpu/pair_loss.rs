//! Fused [`pair_loss`](crate::op::pair_loss()).
//!
//! Documents are sorted by label, the most relevant first, so that the rows paired with a document are a prefix and no
//! other pair is visited: about a third of all pairs with the usual labels.

use super::{
    dispatch::{Kernel, dispatch, target},
    list::{diverged, documents, gather, scatter},
    order::by_descending_value,
    pair_weight::PairWeight,
    parallel::for_each,
    parameters::{EXPONENTIAL_BOUND, PairLoss},
    real::Real,
    sum::sum,
    tiles::{TILE, add, blocks, reduce, stripes},
};

/// The loss of one pair and its slope.
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
        let u = (-t.abs()).exponential::<FMA>();
        (if t < T::ZERO { -T::ONE } else { -u }) / (T::ONE + u)
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
        (self.margin - t).larger(T::ZERO) * T::of(-2.0)
    }
}

#[derive(Clone, Copy)]
struct Exponential;

impl<T: Real> Term<T> for Exponential {
    #[inline(always)]
    fn value<const FMA: bool>(self, t: T) -> T {
        let bound = T::of(-EXPONENTIAL_BOUND);
        (-t.larger(bound)).exponential::<FMA>() * (T::ONE + (bound - t).larger(T::ZERO))
    }

    #[inline(always)]
    fn slope<const FMA: bool>(self, t: T) -> T {
        -(-t.larger(T::of(-EXPONENTIAL_BOUND))).exponential::<FMA>()
    }
}

#[derive(Clone, Copy)]
struct Fidelity;

impl Fidelity {
    /// `sqrt(p)` and `1 - p` with `p = sigmoid(t)`, neither by a difference.
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
        let u = (-t.abs()).exponential::<FMA>();
        (if t < T::ZERO { T::ONE } else { u }) / (T::ONE + u)
    }

    #[inline(always)]
    fn slope<const FMA: bool>(self, t: T) -> T {
        let u = (-t.abs()).exponential::<FMA>();
        let large = T::ONE / (T::ONE + u);
        -(u * large * large)
    }
}

/// Rows of the widest vector: a loop over a multiple of them has no slow remainder, which would be most of many lists.
const LANES: usize = 16;

/// One list sorted by descending label. Arrays of numbers are filled up with zeros to whole blocks of [`LANES`].
struct Sorted<T> {
    members: Vec<usize>,
    x: Vec<T>,
    weight: PairWeight<Vec<T>>,
    /// How many documents, the first ones, have a higher label than document `j`.
    above: Vec<usize>,
    /// `gap (D(r) - D(r + 1))` by rank difference, the first two the same; empty without a gap.
    steps: Vec<T>,
}

impl<T: Real> Sorted<T> {
    fn new(x: &[T], labels: &[T], mask: &[T], weight: PairWeight<&[T]>) -> Self {
        let mut members = documents(mask);
        by_descending_value(&mut members, labels);
        let mut above = Vec::with_capacity(members.len());
        for (j, &member) in members.iter().enumerate() {
            let tied = j > 0 && labels[members[j - 1]] <= labels[member];
            above.push(if tied { above[j - 1] } else { j });
        }
        let weight = weight.map(|values| filled(gather(values, &members)));
        let steps = match &weight {
            PairWeight::Lambda { rank, gap, .. } if *gap != 0.0 => steps(rank, *gap),
            _ => Vec::new(),
        };
        Self { x: filled(gather(x, &members)), weight, above, steps, members }
    }

    fn pairs(&self) -> usize {
        self.above.iter().sum()
    }

    /// Weights of the pairs of document `j` with the `length` rows from `start` on, 0 for the rest of their last block.
    #[inline(always)]
    fn weights<'a>(&self, j: usize, start: usize, length: usize, out: &'a mut [T; TILE]) -> &'a mut [T] {
        let out = &mut out[..length.next_multiple_of(LANES)];
        let rows = start..start + out.len();
        match &self.weight {
            PairWeight::Unit => out.fill(T::ONE),
            PairWeight::Document(u) => out.copy_from_slice(&u[rows]),
            PairWeight::Lambda { gain, discount, rank, absolute, .. } => {
                let (g, d, absolute) = (gain[j], discount[j], T::of(*absolute));
                for ((out, &gain), &discount) in out.iter_mut().zip(&gain[rows.clone()]).zip(&discount[rows.clone()]) {
                    *out = (gain - g).abs() * (discount - d).abs() * absolute;
                }
                if !self.steps.is_empty() {
                    let r = rank[j];
                    for ((out, &gain), &rank) in out.iter_mut().zip(&gain[rows.clone()]).zip(&rank[rows]) {
                        let distance = (rank - r).abs().to_f64() as usize;
                        *out = *out + (gain - g).abs() * self.steps[distance.min(self.steps.len() - 1)];
                    }
                }
            }
        }
        out[length..].fill(T::ZERO);
        out
    }
}

/// `values` and zeros to whole blocks of [`LANES`].
fn filled<T: Real>(mut values: Vec<T>) -> Vec<T> {
    values.resize(values.len().next_multiple_of(LANES), T::ZERO);
    values
}

/// `gap (D(r) - D(r + 1))` for `r = max(|r_i - r_j|, 1)`, up to the largest difference of ranks.
fn steps<T: Real>(ranks: &[T], gap: f64) -> Vec<T> {
    let largest = ranks.iter().fold(0.0, |largest, rank| rank.to_f64().max(largest));
    let discount = |r: f64| 1.0 / (1.0 + r).log2();
    (0..=largest as usize).map(|r| r.max(1) as f64).map(|r| T::of(gap * (discount(r) - discount(r + 1.0)))).collect()
}

/// Losses of the rows `start..` of one list.
struct Value<'a, T, L> {
    list: &'a Sorted<T>,
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

/// Gradient that the rows `start..` of one list send to their own documents and to those below.
struct Slope<'a, T, L> {
    list: &'a Sorted<T>,
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

/// Calls `$f` with the term of a loss.
macro_rules! with_term {
    ($loss:expr, $term:ident => $call:expr) => {
        match $loss {
            PairLoss::Logistic => {
                let $term = Logistic;
                $call
            }
            PairLoss::Hinge { margin } => {
                let $term = Hinge { margin: T::of(margin) };
                $call
            }
            PairLoss::SquaredHinge { margin } => {
                let $term = SquaredHinge { margin: T::of(margin) };
                $call
            }
            PairLoss::Exponential => {
                let $term = Exponential;
                $call
            }
            PairLoss::Fidelity => {
                let $term = Fidelity;
                $call
            }
            PairLoss::SoftZeroOne => {
                let $term = SoftZeroOne;
                $call
            }
        }
    };
}

/// `sum_j w_ij l(x_i - x_j)` over the pairs with `y_i > y_j`, for lists of `n` documents.
pub fn pair_loss<T: Real>(
    x: &[T],
    labels: &[T],
    mask: &[T],
    weight: PairWeight<&[T]>,
    n: usize,
    loss: PairLoss,
) -> Vec<T> {
    let target = target();
    let mut out = vec![T::ZERO; x.len()];
    let lists = out.chunks_mut(n).enumerate().collect();
    for_each(lists, x.len() * n, |(list, out)| {
        let cells = list * n..(list + 1) * n;
        let weight = weight.map(|values| &values[cells.clone()]);
        let list = Sorted::new(&x[cells.clone()], &labels[cells.clone()], &mask[cells.clone()], weight);
        let mut losses = vec![T::ZERO; list.x.len()];
        if !diverged(&list.x, &mut losses) {
            let tiles = losses.chunks_mut(TILE).enumerate().collect();
            for_each(tiles, list.pairs(), |(tile, out)| {
                let start = tile * TILE;
                with_term!(loss, term => dispatch(target, Value { list: &list, term, start, out }));
            });
        }
        scatter(out, &list.members, &losses);
    });
    out
}

/// Gradient of [`pair_loss`] in `x`, given that of its output.
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
    let mut to_x = vec![T::ZERO; x.len()];
    let lists = to_x.chunks_mut(n).enumerate().collect();
    for_each(lists, x.len() * n, |(list, to_x)| {
        let cells = list * n..(list + 1) * n;
        let weight = weight.map(|values| &values[cells.clone()]);
        let list = Sorted::new(&x[cells.clone()], &labels[cells.clone()], &mask[cells.clone()], weight);
        let g = filled(gather(&g[cells], &list.members));
        let mut to_rows = vec![T::ZERO; list.x.len()];
        if diverged(&list.x, &mut to_rows) {
            return scatter(to_x, &list.members, &to_rows);
        }
        let stripes = stripes(list.x.len());
        let mut partials: Vec<Vec<T>> = stripes.iter().map(|_| vec![T::ZERO; list.x.len()]).collect();
        let stripe = stripes.first().map_or(TILE, |stripe| stripe.len());
        let tasks = to_rows.chunks_mut(stripe).zip(&mut partials).zip(&stripes).collect();
        for_each(tasks, list.pairs(), |((to_rows, to_all), stripe)| {
            for (tile, to_rows) in to_rows.chunks_mut(TILE).enumerate() {
                let start = stripe.start + tile * TILE;
                with_term!(loss, term => dispatch(target, Slope { list: &list, term, start, g: &g, to_rows, to_all }));
            }
        });
        reduce(&mut to_rows, &partials);
        scatter(to_x, &list.members, &to_rows);
    });
    to_x
}
