//! Computes the hinge losses and the exponential loss of [`pair_loss`](crate::op::cpu::pair_loss()) for long lists,
//! with results in `f32`. The computation takes O(L n + n log n) time for `L` labels.
//!
//! A hinge loss is nonzero only for pairs whose difference of scores is below the margin. If the documents are visited
//! in order of score, the partners of a document within the margin form a window of the list. From one document to the
//! next, this window only grows. For each label, the kernel keeps three sums over the window: the values multiplied by
//! the powers 0, 1 and 2 of `margin - t`. From one document to the next, `margin - t` grows by the same amount for all
//! partners, so the sums are updated without any subtraction. The exponential loss `exp(x_j - x_i)` of a pair is a
//! product of two factors, so the kernel needs to sum only one factor per label.

use super::walk::Sorted;
use crate::execution::Target;
use crate::op::cpu::{
    dispatch::is_fast,
    pairs::pair_weight::{ByLabel, PairWeight, Role},
    parameters::PairLoss,
    real::Real,
};

/// The cost of one label's sums for one document, expressed as a number of hinge-loss pairs.
const PAIRS_PER_SUM: usize = 30;
/// The cost of one label's sum for one document, expressed as a number of exponential-loss pairs.
const PAIRS_PER_FACTOR: usize = 12;

/// The loss that is summed over the pairs of a list.
enum Kind {
    /// A hinge loss, which is `(margin - t)^power` for `t` below the margin and 0 for other pairs.
    Hinge { margin: f32, power: usize },
    /// The exponential loss, `exp(-t)`.
    Exponential,
}

/// A list sorted by score, whose pairs are summed with windows.
pub struct Windows<'a> {
    list: &'a ByLabel,
    kind: Kind,
    sorted: Sorted,
    /// The scores in descending order.
    x: Vec<f32>,
    /// For each document in sorted order, the index of its label, where 0 is the lowest label.
    levels: Vec<u32>,
    /// The number of different labels.
    count: usize,
}

/// The sums of `v`, `v (margin - t)` and `v (margin - t)^2` over the documents in a window.
type Powers = [f64; 3];

impl<'a> Windows<'a> {
    /// Returns `None` if computing all pairs costs less, or if windows do not support the loss or the weights.
    pub fn new(target: Target, list: &'a ByLabel, loss: PairLoss) -> Option<Self> {
        let n = list.above.len();
        let kind = match loss {
            PairLoss::Hinge { margin } => Kind::Hinge { margin: margin as f32, power: 1 },
            PairLoss::SquaredHinge { margin } => Kind::Hinge { margin: margin as f32, power: 2 },
            PairLoss::Exponential => Kind::Exponential,
            PairLoss::Logistic | PairLoss::Fidelity | PairLoss::SoftZeroOne => return None,
        };
        let count = list.starts().len();
        let pairs_per_document =
            count * if matches!(kind, Kind::Exponential) { PAIRS_PER_FACTOR } else { PAIRS_PER_SUM };
        let separate = matches!(list.weight, PairWeight::Unit | PairWeight::Document(_));
        let is_faster = n > 0 && list.pairs() >= n * pairs_per_document;
        if !separate || !is_fast(target, n, is_faster) {
            return None;
        }
        let sorted = Sorted::new(&list.x[..n]);
        let x = sorted.gather(&list.x[..n]);
        // Beyond the bound the loss is a line.
        if matches!(kind, Kind::Exponential) && x[0] - x[n - 1] >= f32::EXPONENTIAL_BOUND {
            return None;
        }
        let levels = sorted.gather(&list.level_of_each());
        Some(Self { list, kind, sorted, x, levels, count })
    }

    /// Computes the loss of each document.
    pub fn value(&self, out: &mut [f32]) {
        let losses = self.sums(&vec![1.0; self.x.len()], Role::Row, 0);
        let weights = self.sorted.gather(&self.list.row_weights());
        self.sorted.scatter(losses.into_iter().zip(weights).map(|(loss, weight)| loss * weight), out);
    }

    /// Computes the gradient with respect to the scores, given the gradient of the losses.
    pub fn gradient(&self, g: &[f32], to_x: &mut [f32]) {
        let n = self.x.len();
        let g = self.sorted.gather(&g[..n]);
        let weights = self.sorted.gather(&self.list.row_weights());
        let sent: Vec<f64> = weights.iter().zip(g).map(|(weight, g)| weight * g.to_f64()).collect();
        // The slopes of both hinges have the power reduced by one: -1 and -2 (margin - t).
        let slope = match self.kind {
            Kind::Hinge { power, .. } => -(power as f64),
            Kind::Exponential => -1.0,
        };
        let (own, others) = (self.sums(&vec![1.0; n], Role::Row, 1), self.sums(&sent, Role::Column, 1));
        let gradient =
            own.into_iter().zip(&sent).zip(others).map(|((own, sent), others)| slope * (own * sent - others));
        self.sorted.scatter(gradient, to_x);
    }

    /// Returns, for each document, the sum of `v` times the loss over its partners. The power of a hinge loss is
    /// reduced by `reduced`.
    fn sums(&self, v: &[f64], role: Role, reduced: usize) -> Vec<f64> {
        match self.kind {
            Kind::Hinge { margin, power } => self.windows(margin, power - reduced, v, role),
            Kind::Exponential => self.exponential(v, role),
        }
    }

    /// Returns, for each document, the sum of `v (margin - t)^power` over its partners with `t` below the margin. Rows
    /// are visited from the highest score down and columns from the lowest score up, so that windows only grow.
    fn windows(&self, margin: f32, power: usize, v: &[f64], role: Role) -> Vec<f64> {
        let mut places: Vec<usize> = (0..self.x.len()).collect();
        if role == Role::Column {
            places.reverse();
        }
        let of_pair = |here: usize, other: usize| if role == Role::Row { (here, other) } else { (other, here) };
        let mut out = vec![0.0; places.len()];
        let mut sums: Vec<Powers> = vec![[0.0; 3]; self.count];
        let mut entering = places.iter().copied().peekable();
        let mut last = places[0];
        for &here in &places {
            let step = (self.x[here].to_f64() - self.x[last].to_f64()).abs();
            for [count, first, second] in &mut sums {
                *second += step * (2.0 * *first + step * *count);
                *first += step * *count;
            }
            let inside = |&other: &usize| {
                let (row, column) = of_pair(here, other);
                self.x[row] - self.x[column] < margin
            };
            while let Some(other) = entering.next_if(inside) {
                let (row, column) = of_pair(here, other);
                let short = margin.to_f64() - (self.x[row].to_f64() - self.x[column].to_f64());
                let [count, first, second] = &mut sums[self.levels[other] as usize];
                *count += v[other];
                *first += v[other] * short;
                *second += v[other] * short * short;
            }
            let others = role.others(self.levels[here] as usize, self.count);
            out[here] = sums[others].iter().map(|sums| sums[power]).sum();
            last = here;
        }
        out
    }

    /// Returns, for each document, the sum of `v exp(-t)` over its partners.
    fn exponential(&self, v: &[f64], role: Role) -> Vec<f64> {
        let center = 0.5 * (self.x[0].to_f64() + self.x[self.x.len() - 1].to_f64());
        let sign = if role == Role::Row { 1.0 } else { -1.0 };
        let factors: Vec<f64> = self.x.iter().map(|x| (sign * (x.to_f64() - center)).exp()).collect();
        let mut sums = vec![0.0; self.count];
        for ((&level, factor), v) in self.levels.iter().zip(&factors).zip(v) {
            sums[level as usize] += factor * v;
        }
        let of_level: Vec<f64> =
            (0..self.count).map(|level| sums[role.others(level, self.count)].iter().sum()).collect();
        self.levels.iter().zip(factors).map(|(&level, factor)| of_level[level as usize] / factor).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::cpu::box_cases::scattered;
    use crate::op::cpu::{
        dispatch::target,
        pairs::{
            pair_cases::Pairs,
            pair_loss::{pair_loss, pair_loss_gradient},
        },
    };

    const N: usize = 1500;

    /// Computes losses and gradients by windows. Returns their largest errors, relative to the largest loss and to the
    /// largest gradient.
    fn errors(x: &[f32], loss: PairLoss, weighted: bool) -> [f64; 2] {
        let labels: Vec<f32> = (0..N).map(|i| [0.0, 0.0, 1.0, 0.0, 2.0, 0.0, 4.0, 1.0, 0.0][i % 9]).collect();
        let (g, u): (Vec<f32>, Vec<f32>) = (0..N).map(|i| ((i % 8) as f32 - 3.25, (1 + i % 4) as f32)).unzip();
        let mask = vec![1.0f32; N];
        let weight = if weighted { PairWeight::Document(&u[..]) } else { PairWeight::Unit };
        assert!(Windows::new(target(), &ByLabel::new(x, &labels, &mask, weight), loss).is_some(), "{loss:?}");
        let losses = pair_loss([x, &labels, &mask], weight, N, loss);
        let gradients = pair_loss_gradient([&g, x, &labels, &mask], weight, N, loss);
        let wide = |values: &[f32]| values.iter().copied().map(f64::from).collect::<Vec<_>>();
        let (x, labels, g, weight) = (wide(x), wide(&labels), wide(&g), weight.map(wide));
        Pairs { x: &x, labels: &labels, weight: &weight, g: &g, loss }.errors(&losses, &gradients, 1.0)
    }

    #[test]
    fn windows_agree_with_pairs() {
        // Multiples of 2^-10, so that differences are exact in both precisions.
        let x: Vec<f32> = scattered(N, 1511).map(|x| x as f32 / 64.0).collect();
        let tied: Vec<f32> = x.iter().map(|x| x.floor()).collect();
        for (name, x) in [("spread", &x), ("tied", &tied), ("one point", &vec![3.0; N])] {
            for loss in [PairLoss::Hinge { margin: 1.0 }, PairLoss::SquaredHinge { margin: 2.5 }, PairLoss::Exponential]
            {
                for weighted in [false, true] {
                    let [value, gradient] = errors(x, loss, weighted);
                    assert!(value < 2e-7 && gradient < 2e-7, "{name}, {loss:?}: {value:e} {gradient:e}");
                }
            }
        }
    }

    #[test]
    fn a_list_without_documents_has_no_windows() {
        for loss in [PairLoss::Hinge { margin: 1.0 }, PairLoss::Exponential] {
            let list = ByLabel::new(&[1.0], &[2.0], &[0.0], PairWeight::Unit);
            assert!(Windows::new(target(), &list, loss).is_none());
            assert_eq!(pair_loss([&[1.0], &[2.0], &[0.0]], PairWeight::Unit, 1, loss), [0.0]);
        }
    }

    #[test]
    fn far_scores_of_the_exponential_are_left_to_pairs() {
        let x: Vec<f32> = (0..N).map(|i| i as f32 / 8.0).collect();
        let labels: Vec<f32> = (0..N).map(|i| (i % 2) as f32).collect();
        let list = ByLabel::new(&x, &labels, &[1.0; N], PairWeight::Unit);
        assert!(Windows::new(target(), &list, PairLoss::Exponential).is_none());
        assert!(Windows::new(target(), &list, PairLoss::Hinge { margin: 1.0 }).is_some());
    }
}
