//! Computes [`pair_loss`](crate::op::cpu::pair_loss()) of long lists in O(n log n), for results in `f32`.
//!
//! The loss of a pair is a function of its difference of scores. Pairs in the right order have one function, and other
//! pairs have another. Each of the two functions is a sum of exponentials of the difference of scores. A walk along the
//! list sorted by score therefore covers every pair if it keeps one set of running sums per label. The weight of a pair
//! either depends only on the more relevant document, or is LambdaRank's `|g_i - g_j| |d_i - d_j|`. Gains grow with the
//! labels, and discounts fall along the sorted list, so both absolute values can be written as plain differences. If
//! the gains do not grow with the labels, or the discounts do not fall along the list, every pair is computed instead.
//! LambdaLoss multiplies the weight by the discount step, which is a [sum of exponentials](rank_steps) of the
//! difference of ranks. For each exponential of the discount step, the walk keeps another set of running sums per
//! label. From one rank to the next, this set also decays by a constant factor.

use super::walk::{Decaying, Side, Sorted, Stretch, Sums, Walker, add_value, carry};
use crate::execution::Target;
use crate::op::cpu::{
    dispatch::is_fast,
    pairs::pair_weight::{ByLabel, PairWeight, Role},
    parameters::{ExponentialTerm, PairLoss},
    real::Real,
};

/// The cost of updating one running sum for one document, expressed as a number of pairs with equal weights.
const PAIRS_PER_SUM: usize = 25;
/// The cost of updating one running sum for one document, expressed as a number of pairs with LambdaRank's weight. With
/// this weight, a walk needs two running sums per label.
const PAIRS_PER_LAMBDA_SUM: usize = 60;
/// The cost of updating a running sum that decays from rank to rank. The unit is the cost of a pair whose discount step
/// is read from a table.
const PAIRS_PER_RANK_SUM: usize = 30;

/// The distance between the points of both trapezoidal rules, in the logarithm of the variable.
const SPACING: f64 = 0.5;

/// The smallest `s` of the trapezoidal rule, times the largest difference of ranks.
const LEAST: f64 = 1e-6;

/// The largest `s` of the trapezoidal rule.
const LARGEST: f64 = 20.0;

/// Expresses the discount step `D(d) - D(d + 1)` as a sum of exponentials, where `d` is a difference of ranks up to
/// `documents` and `D(d) = 1 / log2(1 + d)`. The terms of LambdaLoss's weights therefore decay by constant factors from
/// one rank to the next, and a walk can sum them in the same way as the terms of the losses. There are 54 exponentials
/// for 20,000 documents and 62 for a million.
///
/// Schroeder's integral for Gregory's coefficients gives
/// `1 / ln(1 + d) = 1 / d + int_1^inf dx / ((x + d) (ln(x - 1)^2 + pi^2))`. The discount is therefore the Laplace
/// transform of a positive function `m`:
///
/// `1 / ln(1 + d) = int_0^inf exp(-s d) m(s) ds`, `m(s) = 1 + int_1^inf exp(-s x) / (ln(x - 1)^2 + pi^2) dx`.
///
/// Both integrals are approximated by the trapezoidal rule in the logarithm of their variable (`s`, and `x - 1`). The
/// trapezoidal rule converges exponentially here (Trefethen and Weideman, The exponentially convergent trapezoidal
/// rule, 2014). All coefficients are positive, so the error is small relative to the discount step at every difference
/// of ranks.
fn rank_steps(documents: usize) -> Vec<ExponentialTerm> {
    let least = (LEAST / documents as f64).ln();
    let count = ((LARGEST.ln() - least) / SPACING).ceil() as usize;
    let term = |point: usize| {
        let s = (least + SPACING * point as f64).exp();
        let coefficient = std::f64::consts::LN_2 * SPACING * s * density(s) * -(-s).exp_m1();
        ExponentialTerm { coefficient, base: (-s).exp() }
    };
    (0..count).map(term).collect()
}

/// Returns `m(s)`, whose Laplace transform is the discount.
fn density(s: f64) -> f64 {
    // The integrand is below 1e-17 before the first point and after the last.
    let (first, last) = (-40.0, (40.0 / s).ln());
    let points = ((last - first) / SPACING).ceil() as usize;
    let integrand = |point: usize| {
        let v = first + SPACING * point as f64;
        (v - s * (1.0 + v.exp())).exp() / (v * v + std::f64::consts::PI * std::f64::consts::PI)
    };
    1.0 + SPACING * (0..points).map(integrand).sum::<f64>()
}

/// A loss, or its slope, as two functions of `|t|`: `right` for pairs in the right order and `wrong` for the others.
struct Terms {
    right: Decaying,
    wrong: Decaying,
    /// The factor by which `wrong` multiplies `|t|` before taking the exponential.
    wrong_scale: f64,
}

impl Terms {
    /// Returns the terms of `l(t)` or, with `slope`, of `l'(t)`. Returns `None` for a loss that is not a sum of
    /// exponentials.
    fn new(loss: PairLoss, slope: bool) -> Option<Self> {
        let tail = |u: f64| 1.0 / (1.0 + u);
        let (right, wrong, wrong_scale) = match (loss, slope) {
            (PairLoss::Logistic, false) => {
                let softplus = Decaying::new(|u| if u == 0.0 { 1.0 } else { u.ln_1p() / u });
                (softplus, softplus.with_line(0.0, 1.0), 1.0)
            }
            (PairLoss::Logistic, true) => (Decaying::new(|u| -tail(u)), Decaying::new(tail).with_line(-1.0, 0.0), 1.0),
            (PairLoss::SoftZeroOne, false) => {
                (Decaying::new(tail), Decaying::new(|u| -tail(u)).with_line(1.0, 0.0), 1.0)
            }
            (PairLoss::SoftZeroOne, true) => {
                let slope = Decaying::new(|u| -1.0 / ((1.0 + u) * (1.0 + u)));
                (slope, slope, 1.0)
            }
            (PairLoss::Fidelity, false) => {
                // This is 1 - 1 / sqrt(1 + u) without the difference, and 1 - sqrt(u / (1 + u)) in powers of w =
                // sqrt(u).
                let right = Decaying::new(|u| 1.0 / ((1.0 + u).sqrt() * ((1.0 + u).sqrt() + 1.0)));
                (right, Decaying::new(|w| -1.0 / (1.0 + w * w).sqrt()).with_line(1.0, 0.0), 0.5)
            }
            (PairLoss::Fidelity, true) => {
                let right = Decaying::new(|u| -0.5 * (1.0 + u).powf(-1.5));
                (right, Decaying::new(|w| -0.5 * (1.0 + w * w).powf(-1.5)), 0.5)
            }
            (PairLoss::Hinge { .. } | PairLoss::SquaredHinge { .. } | PairLoss::Exponential, _) => return None,
        };
        Some(Self { right, wrong, wrong_scale })
    }

    /// Returns the function for pairs in the right or wrong order, and the factor by which it multiplies differences of
    /// scores.
    fn of(&self, right: bool) -> (Decaying, f64) {
        if right { (self.right, 1.0) } else { (self.wrong, self.wrong_scale) }
    }
}

/// The pair weights `|g_i - g_j| (absolute |d_i - d_j| + sum_m c_m z_m^|r_i - r_j|)`.
struct Lambda {
    /// The gain of each label, starting with the lowest.
    gains: Vec<f64>,
    /// The discount of each document, in sorted order.
    discounts: Vec<f32>,
    absolute: f64,
    /// The exponentials of the discount step; empty if the weight has no `gap`.
    terms: Vec<ExponentialTerm>,
}

impl Lambda {
    /// Returns the number of running sums per label: a sum of ones, a sum of discounts, and one sum per exponential of
    /// the discount step.
    fn sums(&self) -> usize {
        2 + self.terms.len()
    }
}

/// A list sorted by score, whose pairs are summed by walks.
pub struct Walks<'a> {
    list: &'a ByLabel,
    loss: PairLoss,
    sorted: Sorted,
    /// For each document in sorted order, the index of its label, where 0 is the lowest label.
    levels: Vec<u32>,
    /// The parameters of LambdaRank's weights, or `None` if the weight of a pair does not depend on the less relevant
    /// document.
    lambda: Option<Lambda>,
    /// The number of different labels.
    count: usize,
}

impl<'a> Walks<'a> {
    /// Returns `None` if computing all pairs costs less, or if walks do not support the loss or the weights.
    pub fn new(target: Target, list: &'a ByLabel, loss: PairLoss) -> Option<Self> {
        let (n, pairs) = (list.above.len(), list.pairs());
        let decays = matches!(loss, PairLoss::Logistic | PairLoss::SoftZeroOne | PairLoss::Fidelity);
        // Pairs need at least two labels. Short lists are found first, at the cost of a sum.
        if !decays || !is_fast(target, n, n > 0 && pairs >= 2 * n * PAIRS_PER_SUM) {
            return None;
        }
        let count = list.starts().len();
        let pairs_per_document = match &list.weight {
            PairWeight::Unit | PairWeight::Document(_) => count * PAIRS_PER_SUM,
            PairWeight::Lambda { gap, .. } if *gap != 0.0 => count * rank_steps(n).len() * PAIRS_PER_RANK_SUM,
            PairWeight::Lambda { .. } => 2 * count * PAIRS_PER_LAMBDA_SUM,
        };
        if is_fast(target, n, pairs >= n * pairs_per_document) { Self::of(list, loss) } else { None }
    }

    /// Returns `None` if the weights do not allow walks.
    fn of(list: &'a ByLabel, loss: PairLoss) -> Option<Self> {
        let (n, starts) = (list.above.len(), list.starts());
        let count = starts.len();
        let mut sorted = Sorted::new(&list.x[..n]);
        let mut lambda = None;
        if let PairWeight::Lambda { gain, discount, rank, absolute, gap, distance } = &list.weight {
            if distance.is_some() {
                return None;
            }
            let of_levels: Vec<f32> = starts.iter().rev().map(|&start| gain[start]).collect();
            let ends = starts.iter().skip(1).copied().chain([n]);
            let one_per_level =
                starts.iter().zip(ends).all(|(&start, end)| gain[start..end].iter().all(|g| *g == gain[start]));
            let has_gap = *gap != 0.0;
            sorted = if has_gap {
                sorted.with_ties_by(&rank[..n].iter().map(|&rank| -rank).collect::<Vec<_>>())
            } else {
                sorted.with_ties_by(&discount[..n])
            };
            let discounts = sorted.gather(&discount[..n]);
            let gains_follow = of_levels.windows(2).all(|pair| pair[0] <= pair[1]);
            let discounts_follow = discounts.windows(2).all(|pair| pair[0] >= pair[1]);
            let ranks_follow = !has_gap || sorted.gather(&rank[..n]).windows(2).all(|pair| pair[1] - pair[0] == 1.0);
            if !(one_per_level && gains_follow && discounts_follow && ranks_follow) {
                return None;
            }
            let mut terms = if has_gap { rank_steps(n) } else { Vec::new() };
            terms.iter_mut().for_each(|term| term.coefficient *= gap);
            let gains = of_levels.into_iter().map(f64::from).collect();
            lambda = Some(Lambda { gains, discounts, absolute: *absolute, terms });
        }
        let levels = sorted.gather(&list.level_of_each());
        Some(Self { list, loss, sorted, levels, lambda, count })
    }

    /// Returns a weight for each document, in sorted order. The weight multiplies the losses of the pairs in which the
    /// document is the more relevant one.
    fn row_weights(&self) -> Vec<f64> {
        match &self.lambda {
            None => self.sorted.gather(&self.list.row_weights()),
            // The factors are applied when the sums are read.
            Some(_) => vec![1.0; self.levels.len()],
        }
    }

    /// Computes the loss of each document.
    pub fn value(&self, target: Target, out: &mut [f32]) {
        let Some(terms) = Terms::new(self.loss, false) else { return };
        let ones = vec![1.0; self.levels.len()];
        let [wrong, right] = [Side::Ahead, Side::Behind].map(|side| self.pass(target, side, Role::Row, &ones, &terms));
        let losses =
            wrong.iter().zip(right).zip(self.row_weights()).map(|((wrong, right), weight)| weight * (wrong + right));
        self.sorted.scatter(losses, out);
    }

    /// Computes the gradient with respect to the scores, given the gradient of the losses.
    pub fn gradient(&self, target: Target, g: &[f32], to_x: &mut [f32]) {
        let Some(slopes) = Terms::new(self.loss, true) else { return };
        let n = self.levels.len();
        let (g, weights) = (self.sorted.gather(&g[..n]), self.row_weights());
        let sent: Vec<f64> = g.iter().zip(weights).map(|(g, weight)| g.to_f64() * weight).collect();
        let ones = vec![1.0; n];
        let mut sums = vec![0.0; n];
        for side in [Side::Ahead, Side::Behind] {
            let of_row = self.pass(target, side, Role::Row, &ones, &slopes);
            let of_column = self.pass(target, side, Role::Column, &sent, &slopes);
            for (((sum, own), other), sent) in sums.iter_mut().zip(of_row).zip(of_column).zip(&sent) {
                *sum = (*sum + sent * own) - other;
            }
        }
        self.sorted.scatter(sums.into_iter(), to_x);
    }

    /// Returns, for each document `i`, the sum of `w_ij values_j f(t_ij)` over its partners `j` on one side of the
    /// sorted list.
    fn pass(&self, target: Target, side: Side, role: Role, values: &[f64], terms: &Terms) -> Vec<f64> {
        // A pair is in the right order where the row, the more relevant document, is ahead.
        let (term, scale) = terms.of((side == Side::Behind) == (role == Role::Row));
        // Documents ahead have the larger discounts.
        let sign = if side == Side::Ahead { 1.0 } else { -1.0 };
        self.sorted.walk(target, side, scale, &Pass { walks: self, values, role, term, sign })
    }
}

/// The walk over the pairs of each document with the documents on one side of it.
struct Pass<'a> {
    walks: &'a Walks<'a>,
    /// The number that each document adds to the running sums, by place.
    values: &'a [f64],
    role: Role,
    term: Decaying,
    /// 1 if the other document has the larger discount, else -1.
    sign: f64,
}

impl Walker for Pass<'_> {
    type State = Vec<Sums>;

    fn empty(&self) -> Vec<Sums> {
        let sums_per_label = self.walks.lambda.as_ref().map_or(1, Lambda::sums);
        vec![Sums::default(); self.walks.count * sums_per_label]
    }

    #[inline(always)]
    fn adds(&self, _: usize) -> bool {
        true
    }

    #[inline(always)]
    fn carry<const FMA: bool>(&self, sums: &mut [Sums], stretch: Stretch, documents: usize) {
        carry::<FMA>(sums, stretch);
        if let Some(lambda) = self.walks.lambda.as_ref().filter(|lambda| !lambda.terms.is_empty()) {
            for sums in sums.chunks_exact_mut(lambda.sums()) {
                for (sums, term) in sums[2..].iter_mut().zip(&lambda.terms) {
                    let decay = if documents == 1 { term.base } else { term.base.powi(documents as i32) };
                    sums.iter_mut().for_each(|sum| *sum *= decay);
                }
            }
        }
    }

    /// Adds the value of the document at `place` to the running sums of its label.
    #[inline(always)]
    fn add(&self, place: usize, sums: &mut [Sums]) {
        let (level, value) = (self.walks.levels[place] as usize, self.values[place]);
        match &self.walks.lambda {
            None => add_value(&mut sums[level], value),
            Some(lambda) => {
                let sums = &mut sums[level * lambda.sums()..][..lambda.sums()];
                add_value(&mut sums[1], value * lambda.discounts[place].to_f64());
                add_value(&mut sums[0], value);
                sums[2..].iter_mut().for_each(|sums| add_value(sums, value));
            }
        }
    }

    #[inline(always)]
    fn read<const FMA: bool>(&self, place: usize, sums: &[Sums]) -> f64 {
        let Walks { levels, lambda, count, .. } = self.walks;
        let own = levels[place] as usize;
        let others = self.role.others(own, *count);
        let mut all = Sums::default();
        match lambda {
            None => {
                for sums in &sums[others] {
                    all.iter_mut().zip(sums).for_each(|(all, sum)| *all += sum);
                }
            }
            Some(Lambda { gains, discounts, absolute, terms }) => {
                let discount = discounts[place].to_f64();
                let width = 2 + terms.len();
                for level in others {
                    let weight = (gains[own] - gains[level]).abs();
                    let swap = weight * self.sign * absolute;
                    let sums = &sums[level * width..][..width];
                    for ((all, &one), &of_discount) in all.iter_mut().zip(&sums[0]).zip(&sums[1]) {
                        *all = swap.fma::<FMA>((-discount).fma::<FMA>(one, of_discount), *all);
                    }
                    for (sums, term) in sums[2..].iter().zip(terms) {
                        let step = weight * term.coefficient;
                        for (all, &sum) in all.iter_mut().zip(sums) {
                            *all = step.fma::<FMA>(sum, *all);
                        }
                    }
                }
            }
        }
        self.term.of::<FMA>(&all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::cpu::box_cases::scattered;
    use crate::op::cpu::{
        dispatch::target,
        lists::scatter,
        order::rank,
        pairs::{
            pair_cases::Pairs,
            pair_loss::{pair_loss, pair_loss_gradient},
        },
    };

    const N: usize = 3000;

    fn narrow(values: &[f64]) -> Vec<f32> {
        values.iter().map(|&value| value as f32).collect()
    }

    fn labels() -> Vec<f64> {
        (0..N).map(|i| f64::from([0u8, 0, 1, 0, 2, 0, 4, 1, 0][i % 9])).collect()
    }

    fn incoming() -> Vec<f64> {
        (0..N).map(|i| 0.25 + (i % 8) as f64).collect()
    }

    /// Returns the largest errors of losses and gradients, relative to the loss and to the largest gradient.
    fn errors(x: &[f64], weight: &PairWeight<Vec<f64>>, loss: PairLoss) -> [f64; 2] {
        let (labels, g) = (labels(), incoming());
        let exact = Pairs { x, labels: &labels, weight, g: &g, loss };
        let (x, labels, g, mask) = (narrow(x), narrow(&labels), narrow(&g), vec![1.0; N]);
        let weight = weight.as_ref().map(|values| narrow(values));
        let weight = weight.as_ref().map(Vec::as_slice);
        assert!(Walks::new(target(), &ByLabel::new(&x, &labels, &mask, weight), loss).is_some(), "{N} take walks");
        let losses = pair_loss([&x, &labels, &mask], weight, N, loss);
        exact.errors(&losses, &pair_loss_gradient([&g, &x, &labels, &mask], weight, N, loss), 0.0)
    }

    fn weights(x: &[f64]) -> [PairWeight<Vec<f64>>; 3] {
        let grades = [0.0, 0.0, 0.125, 0.0, 0.375, 0.0, 1.875, 0.125, 0.0];
        let rank = rank(x, &[1.0; N], N);
        let discount = rank.iter().map(|rank| f64::from((1.0 / (1.0 + rank).log2()) as f32)).collect();
        let gain = (0..N).map(|i| grades[i % 9]).collect();
        [
            PairWeight::Unit,
            PairWeight::Document((0..N).map(|i| (1 + i % 4) as f64).collect()),
            PairWeight::Lambda { gain, discount, rank, absolute: 1.0, gap: 0.0, distance: None },
        ]
    }

    #[test]
    fn walks_are_as_precise_as_single_precision() {
        let uniform: Vec<f64> = scattered(N, 3001).map(|x| x / 2048.0).collect();
        let scaled = |scale: f64| uniform.iter().map(|u| f64::from((u * scale) as f32)).collect::<Vec<_>>();
        let tied: Vec<f64> = uniform.iter().map(|u| (4.0 * u).floor()).collect();
        for (name, x) in [
            ("spread", scaled(8.0)),
            ("wide", scaled(1e5)),
            ("narrow", scaled(1e-6)),
            ("tied", tied),
            ("at one point", vec![0.5; N]),
        ] {
            for loss in [PairLoss::Logistic, PairLoss::SoftZeroOne, PairLoss::Fidelity] {
                for (number, weight) in weights(&x).iter().enumerate() {
                    let [value, gradient] = errors(&x, weight, loss);
                    assert!(value < 3e-7 && gradient < 1e-6, "{name}, {loss:?}, {number}: {value:e} {gradient:e}");
                }
            }
        }
    }

    #[test]
    fn differences_of_ranks_are_as_precise_as_single_precision() {
        let uniform: Vec<f64> = scattered(N, 3001).map(|x| f64::from((x / 300.0) as f32)).collect();
        let tied: Vec<f64> = uniform.iter().map(|u| u.floor()).collect();
        let wide: Vec<f64> = uniform.iter().map(|u| f64::from((1e4 * u) as f32)).collect();
        let (labels, g) = (labels(), incoming());
        for (name, x) in [("spread", uniform), ("tied", tied), ("wide", wide), ("at one point", vec![0.5; N])] {
            let [.., PairWeight::Lambda { gain, discount, rank, .. }] = weights(&x) else { unreachable!() };
            for (absolute, gap) in [(0.0, 1.0), (1.0, 10.0)] {
                let (gain, discount, rank) = (gain.clone(), discount.clone(), rank.clone());
                let weight = PairWeight::Lambda { gain, discount, rank, absolute, gap, distance: None };
                let exact = Pairs { x: &x, labels: &labels, weight: &weight, g: &g, loss: PairLoss::Logistic };
                let weight = weight.as_ref().map(|values| narrow(values));
                let weight = weight.as_ref().map(Vec::as_slice);
                let list = ByLabel::new(&narrow(&x), &narrow(&labels), &[1.0; N], weight);
                let walks = Walks::of(&list, PairLoss::Logistic).unwrap();
                let (mut by_label, mut losses, mut slopes) = (vec![0.0; N], vec![0.0; N], vec![0.0; N]);
                walks.value(target(), &mut by_label);
                scatter(&mut losses, &list.members, &by_label);
                walks.gradient(
                    target(),
                    &narrow(&list.members.iter().map(|&i| g[i]).collect::<Vec<_>>()),
                    &mut by_label,
                );
                scatter(&mut slopes, &list.members, &by_label);
                let [value, slope] = exact.errors(&losses, &slopes, 0.0);
                assert!(value < 1e-6 && slope < 1e-6, "{name}, {absolute} {gap}: {value:e} {slope:e}");
            }
        }
    }

    #[test]
    fn discounts_that_do_not_follow_the_scores_are_left_to_pairs() {
        let x: Vec<f64> = (0..N).map(|i| (i % 50) as f64).collect();
        let [.., PairWeight::Lambda { gain, discount, rank, absolute, gap, distance }] = weights(&x) else {
            unreachable!()
        };
        let labels: Vec<f32> = (0..N).map(|i| [0.0, 0.0, 1.0, 0.0, 2.0, 0.0, 4.0, 1.0, 0.0][i % 9]).collect();
        let (x, discount) = (narrow(&x), discount.into_iter().rev().collect::<Vec<_>>());
        let weight = PairWeight::Lambda { gain, discount, rank, absolute, gap, distance }.map(|values| narrow(&values));
        let list = ByLabel::new(&x, &labels, &[1.0; N], weight.as_ref().map(Vec::as_slice));
        assert!(Walks::new(target(), &list, PairLoss::Logistic).is_none());
    }

    #[test]
    fn errors_are_relative_to_the_step_at_every_difference() {
        for documents in [1000, 20_000, 1_000_000] {
            let terms = rank_steps(documents);
            let mut difference = 1;
            while difference <= documents {
                let d = difference as f64;
                let found: f64 = terms.iter().map(|term| term.coefficient * term.base.powf(d)).sum();
                // This form avoids the difference of two logarithms.
                let expected = std::f64::consts::LN_2 * (1.0 / (1.0 + d)).ln_1p() / (d.ln_1p() * (1.0 + d).ln_1p());
                let error = (found / expected - 1.0).abs();
                assert!(error < 5e-7, "{documents} documents, {difference}: {error:e}");
                difference += 1 + difference / 7;
            }
        }
    }
}
