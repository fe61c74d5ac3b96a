//! The operations that a measure may use to compute its value, and how each form of relaxation evaluates them.
//!
//! | operation | positions `p` | soft indicators `h` (whole ranks: `h` is 0 or 1) | expectations |
//! |---|---|---|---|
//! | [`sum`](MeasureContext::sum) `sum_x a_x f(r_x) [r_x <= k]` | `f(p_x) sigmoid(beta (k + 1/2 - p_x))` | `sum_j f(j) sum_i a_i h_ij` | `sum_x a_x E[f(R_x)]` |
//! | [`sum_with_above`](MeasureContext::sum_with_above), [`sum_with_same_above`](MeasureContext::sum_with_same_above) | `sigmoid(beta (p_x - p_y))` for "y above x" | running sums of `sum_i b_i h_ij` | `sum_x a_x E[f(R_x) (b_x + sum of b_y above)]` |
//! | [`sum_with_no_relevant_above`](MeasureContext::sum_with_no_relevant_above) | the same, as a sum of logarithms | running products | that below, of the relevance |
//! | [`sum_with_none_above`](MeasureContext::sum_with_none_above) | the same | running products | `sum_x a_x E[f(R_x) prod of (1 - b_y) above]` |
//! | [`any_relevant_within`](MeasureContext::any_relevant_within) `[a relevant r_x <= k]` | `1 - prod of (1 - l_x sigmoid(beta (k + 1/2 - p_x)))` | `1 - prod over j <= k of (1 - sum_i l_i h_ij)` | chance that the first relevant document is within `k` |
//! | [`sum_within`](MeasureContext::sum_within) `sum_x a_x [r_x <= k]`, `k` of each query | as `sum` | as `sum` | `sum_x a_x P(R_x <= k)` |
//! | [`concordance`](MeasureContext::concordance) pairs in order minus others | the step of the positions | `h` of both documents | chances that one is above the other |
//!
//! Positions and ranks are computed only once for each list, even if the measure uses several operations.
//! The file `relaxation/expected/mod.rs` states the cost of each operation for expected ranks.

use super::operations::{by_chances, by_indicators, by_steps, log_sigmoid, product_above, sigmoid};
use super::position_function::PositionFunction;
use super::relaxation::{Form, Indicators, Positions, Relaxed};
use crate::loss::pairwise::pair_sum::loss_over_others;
use crate::loss::prelude::*;
use crate::op::{Above, PairLoss, PairWeight, Step, at_rank, differences, ideal_dcg, pair_loss, step_sum};
use crate::shape::assert_same;

/// A batch of lists under a relaxation, from which a [`PositionMeasure`](super::PositionMeasure) computes its value.
pub struct MeasureContext<'a> {
    lists: &'a Lists,
    relaxed: Form,
    /// Whether the measure says that it only sums over documents.
    only_sums: bool,
}

impl<'a> MeasureContext<'a> {
    pub(crate) fn new(lists: &'a Lists, Relaxed(mut relaxed): Relaxed, only_sums: bool) -> Self {
        if let Form::Positions(Positions { positions, .. }) = &mut relaxed {
            // Functions of positions need only have values at 1 and above, and are computed at padding too.
            *positions = positions.clone().mask_fill(lists.padded.clone(), 1.0);
        }
        Self { lists, relaxed, only_sums }
    }

    /// Panics in an operation that compares documents, if the measure says that it only sums over documents.
    #[track_caller]
    fn compare(&self, operation: &str) {
        assert!(!self.only_sums, "{operation}: the measure compares documents, but its `uses` says that it only sums");
    }

    /// Returns each document's gain times its weight, if there are weights, `[B, N]`.
    pub fn gains(&self, gain: &Gain) -> Tensor<2> {
        self.lists.weighted(self.lists.gains(gain))
    }

    /// Returns a tensor `[B, N]` that is 1 at relevant documents and 0 elsewhere. If there are document weights, the
    /// tensor is multiplied by them.
    pub fn relevance(&self) -> Tensor<2> {
        self.lists.weighted(self.lists.relevance())
    }

    /// Returns the sum of the [`relevance`](Self::relevance), `[B]`. A sum of 0 is replaced by 1, so the result can be
    /// a divisor.
    pub fn relevant(&self) -> Tensor<1> {
        one_in_place_of_zero(sum_documents(self.relevance()))
    }

    /// Returns `sum_x a_x f(position of x)` over the documents within the cut-off, `[B]`.
    ///
    /// # Shapes
    /// - `a`: `[batch, documents]`, 0 at padded places
    ///
    /// # Panics
    /// Panics if `a` and the scores differ in shape.
    #[track_caller]
    pub fn sum(&self, a: Tensor<2>, f: &PositionFunction, k: Option<usize>) -> Tensor<1> {
        assert_same("sum", ("scores", &self.lists.scores), &[("a", &a)]);
        sum_documents(match &self.relaxed {
            Form::Positions(positions) => weigh(a, f, k, positions),
            Form::Indicators(Indicators { at_ranks, ranks, .. }) => at_ranks(a) * self.at(f, ranks, k),
            Form::Expectations(expectations) => a * expectations.of_rank(f, k),
        })
    }

    /// Returns `sum_x a_x f(position of x) (b_x + sum of b_y over y above x)` over the documents within the cut-off,
    /// `[B]`.
    ///
    /// # Shapes
    /// - `a`, `b`: `[batch, documents]`, 0 at padded places
    ///
    /// # Panics
    /// Panics if `a` or `b` differs from the scores in shape.
    #[track_caller]
    pub fn sum_with_above(&self, a: Tensor<2>, f: &PositionFunction, b: Tensor<2>, k: Option<usize>) -> Tensor<1> {
        assert_same("sum_with_above", ("scores", &self.lists.scores), &[("a", &a), ("b", &b)]);
        self.with_above(a, f, Some(b), k)
    }

    /// Returns `sum_x a_x f(position of x) (a_x + sum of a_y over y above x)`, from which average precision is
    /// computed. [`sum_with_above`](Self::sum_with_above) with `b = a` returns the same result, but takes twice as long
    /// with soft indicators.
    ///
    /// # Shapes
    /// - `a`: `[batch, documents]`, 0 at padded places
    ///
    /// # Panics
    /// Panics if `a` and the scores differ in shape.
    #[track_caller]
    pub fn sum_with_same_above(&self, a: Tensor<2>, f: &PositionFunction, k: Option<usize>) -> Tensor<1> {
        assert_same("sum_with_same_above", ("scores", &self.lists.scores), &[("a", &a)]);
        self.with_above(a, f, None, k)
    }

    /// Computes [`sum_with_above`](Self::sum_with_above); without `b`, uses `a` in place of `b`.
    #[track_caller]
    fn with_above(&self, a: Tensor<2>, f: &PositionFunction, b: Option<Tensor<2>>, k: Option<usize>) -> Tensor<1> {
        self.compare("sum_with_above");
        match &self.relaxed {
            Form::Positions(positions) => {
                let b = b.unwrap_or_else(|| a.clone());
                // `step_sum` includes the term y = x, as b / 2.
                let above = step_sum(positions.order.clone(), b.clone(), positions.comparison, Step::Logistic)
                    + b * (positions.own - 0.5);
                sum_documents(weigh(a, f, k, positions) * above)
            }
            Form::Indicators(Indicators { at_ranks, ranks, .. }) => {
                let at_ranks = |values| at_ranks(values) * self.lists.mask.clone();
                let a = at_ranks(a);
                let b = b.map_or_else(|| a.clone(), at_ranks);
                sum_documents(a * self.at(f, ranks, k) * sum_at_or_above(ranks.clone(), b))
            }
            Form::Expectations(expectations) => {
                let b = b.unwrap_or_else(|| a.clone());
                sum_documents(expectations.over_those_above(Above::Sum, a, f, b, k))
            }
        }
    }

    /// Returns `sum_x a_x [no relevant document above x] f(position of x)` over the documents within the cut-off,
    /// `[B]`. The sum takes O(n) memory, or O(n log n) with soft indicators.
    ///
    /// # Shapes
    /// - `a`: `[batch, documents]`, 0 at padded places and at irrelevant documents
    ///
    /// # Panics
    /// Panics if `a` and the scores differ in shape.
    #[track_caller]
    pub fn sum_with_no_relevant_above(&self, a: Tensor<2>, f: &PositionFunction, k: Option<usize>) -> Tensor<1> {
        assert_same("sum_with_no_relevant_above", ("scores", &self.lists.scores), &[("a", &a)]);
        self.compare("sum_with_no_relevant_above");
        let relevance = self.lists.relevance();
        let Form::Positions(positions) = &self.relaxed else { return self.sum_with_none_above(a, f, relevance, k) };
        // 1 - sigmoid(t) = exp(-log(1 + exp(t))). In a sum of logarithms, no factor vanishes.
        let depth = positions.order.clone() * positions.comparison;
        let odds = loss_over_others(depth, relevance, &PairWeight::Unit, PairLoss::Logistic);
        sum_documents(weigh(a * odds.neg().exp(), f, k, positions))
    }

    /// Returns `sum_x a_x f(position of x) prod of (1 - b_y) over y above x` over the documents within the cut-off,
    /// `[B]`. The sum takes O(n^2) memory with positions, or O(n log n) with soft indicators. If `b` is the relevance
    /// and `a` is 0 at irrelevant documents, [`sum_with_no_relevant_above`](Self::sum_with_no_relevant_above) gives the
    /// same value with less memory.
    ///
    /// # Shapes
    /// - `a`, `b`: `[batch, documents]`, 0 at padded places
    ///
    /// # Panics
    /// Panics if `a` or `b` differs from the scores in shape.
    #[track_caller]
    pub fn sum_with_none_above(&self, a: Tensor<2>, f: &PositionFunction, b: Tensor<2>, k: Option<usize>) -> Tensor<1> {
        assert_same("sum_with_none_above", ("scores", &self.lists.scores), &[("a", &a), ("b", &b)]);
        self.compare("sum_with_none_above");
        match &self.relaxed {
            Form::Positions(positions) => {
                let [_, n] = a.dims();
                let others = Tensor::<2>::eye(n, &a.device()).cast(a.dtype()).neg() + 1.0;
                // 1 - b sigmoid(t) = 1 - b + b sigmoid(-t), which keeps its digits if the sigmoid is near 1.
                let below = sigmoid(differences(&positions.order) * -positions.comparison);
                let b = others.unsqueeze_dim::<3>(0) * b.unsqueeze_dim::<3>(1);
                let none = (b.clone().neg() + 1.0 + b * below).prod_dim(2).squeeze_dim(2);
                sum_documents(weigh(a, f, k, positions) * none)
            }
            Form::Indicators(Indicators { at_ranks, ranks, .. }) => {
                let [a, b] = [a, b].map(|values| at_ranks(values) * self.lists.mask.clone());
                sum_documents(a * self.at(f, ranks, k) * product_above(ranks.clone(), b.neg() + 1.0))
            }
            Form::Expectations(expectations) => {
                sum_documents(expectations.over_those_above(Above::Product, a, f, b, k))
            }
        }
    }

    /// Returns the relaxed indicator, `[B]`, of whether any relevant document is within the cut-off. This operation
    /// takes O(n) memory.
    #[track_caller]
    pub fn any_relevant_within(&self, k: usize) -> Tensor<1> {
        self.compare("any_relevant_within");
        let relevance = self.lists.relevance();
        let none = match &self.relaxed {
            Form::Positions(Positions { positions, cutoff, .. }) => {
                // 1 - sigmoid(t) = sigmoid(-t). In a sum of logarithms, no factor vanishes.
                let outside = (positions.clone() - (k as f64 + 0.5)) * *cutoff;
                sum_documents(relevance * log_sigmoid(outside)).exp()
            }
            Form::Indicators(Indicators { at_ranks, ranks, .. }) => {
                let found = at_ranks(relevance) * self.at(&PositionFunction::one(), ranks, Some(k));
                (found.neg() + 1.0).prod_dim(1).squeeze_dim(1)
            }
            Form::Expectations(_) => {
                return self.sum_with_none_above(relevance.clone(), &PositionFunction::one(), relevance, Some(k));
            }
        };
        none.neg() + 1.0
    }

    /// Returns `sum_x a_x [r_x <= k]` with a separate cut-off `k` for each query, `[B]`.
    ///
    /// # Shapes
    /// - `a`: `[batch, documents]`, 0 at padded places
    /// - `k`: `[batch]`, whole numbers, 1 or above
    ///
    /// # Panics
    /// Panics if `a` and the scores differ in shape.
    #[track_caller]
    pub fn sum_within(&self, a: Tensor<2>, k: Tensor<1>) -> Tensor<1> {
        assert_same("sum_within", ("scores", &self.lists.scores), &[("a", &a)]);
        self.compare("sum_within");
        let cutoffs: Tensor<2> = k.clone().detach().unsqueeze_dim(1);
        sum_documents(match &self.relaxed {
            Form::Positions(Positions { positions, cutoff, .. }) => {
                a * sigmoid((positions.clone().neg() + cutoffs + 0.5) * *cutoff)
            }
            Form::Indicators(Indicators { at_ranks, ranks, .. }) => {
                let inside = ranks.clone().lower_equal(cutoffs.expand(a.dims())).float().cast(a.dtype());
                at_ranks(a) * inside * self.lists.mask.clone()
            }
            Form::Expectations(expectations) => expectations.within(a, k.detach()),
        })
    }

    /// Returns the number of correctly ordered pairs minus the number of inverted pairs, `[B]`; only pairs with
    /// different labels count. With positions, the concordance takes O(n) memory for the logistic and tanh steps, and
    /// O(n^2) memory for other steps. With soft indicators, the concordance takes O(n^3) time.
    #[track_caller]
    pub fn concordance(&self) -> Tensor<1> {
        self.compare("concordance");
        match &self.relaxed {
            Form::Positions(positions) => by_steps(self.lists, &positions.pairs, || self.pairs()),
            Form::Indicators(indicators) => by_indicators(self.lists, indicators),
            Form::Expectations(expectations) => by_chances(self.lists, expectations.above()),
        }
    }

    /// Returns the number of pairs with different labels, `[B]`. If there are no such pairs, the result is 1, so it can
    /// be a divisor.
    pub fn pairs(&self) -> Tensor<1> {
        // A hinge of margin 1 between equal scores counts the pairs.
        let Lists { labels, mask, .. } = self.lists;
        let equal = self.lists.scores.clone().detach().zeros_like();
        let counts = PairLoss::Hinge { margin: 1.0 };
        let below = pair_loss(equal, labels.clone(), mask.clone(), &PairWeight::Unit, counts);
        one_in_place_of_zero(sum_documents(below))
    }

    /// Returns `sum_x a_x f(r_x)`, `[B]`, with the documents ranked in descending order of `a`. If `f` decreases, no
    /// other order gives a larger sum. A sum of 0 is replaced by 1, so the result can be a divisor. The ideal value
    /// carries no gradient.
    ///
    /// # Panics
    /// Panics if `a` and the scores differ in shape.
    #[track_caller]
    pub fn ideal(&self, a: Tensor<2>, f: &PositionFunction, k: Option<usize>) -> Tensor<1> {
        assert_same("ideal", ("scores", &self.lists.scores), &[("a", &a)]);
        let values = f.up_to(self.lists.mask.dims()[1], k);
        one_in_place_of_zero(ideal_dcg(a, self.lists.mask.clone(), values))
    }

    /// Returns the values of `f` at whole ranks, 0 beyond the cut-off and at padded places.
    fn at(&self, f: &PositionFunction, ranks: &Tensor<2>, k: Option<usize>) -> Tensor<2> {
        at_rank(ranks.clone(), f.up_to(ranks.dims()[1], k)) * self.lists.mask.clone()
    }
}

/// Returns `a_x f(p_x) sigmoid(beta (k + 1/2 - p_x))`, `[B, N]`; without a cut-off, the sigmoid is left out.
fn weigh(
    a: Tensor<2>,
    f: &PositionFunction,
    k: Option<usize>,
    Positions { positions, cutoff, .. }: &Positions,
) -> Tensor<2> {
    let within = k.map(|k| sigmoid((positions.clone().neg() + (k as f64 + 0.5)) * *cutoff));
    match (f.is_one(), within) {
        (true, None) => a,
        (true, Some(within)) => a * within,
        (false, None) => a * f.at(positions.clone()),
        (false, Some(within)) => a * (f.at(positions.clone()) * within),
    }
}

/// Returns `out_i = sum over j with r_j <= r_i of v_j`, in O(n) memory. Ranks differ by at least 1, so the steep
/// logistic step between two different ranks is always 0 or 1.
///
/// # Shapes
/// - `ranks` (distinct whole numbers), `v`, output: `[batch, documents]`
fn sum_at_or_above(ranks: Tensor<2>, v: Tensor<2>) -> Tensor<2> {
    const STEEPNESS: f64 = 512.0;
    step_sum(ranks.detach().neg(), v.clone(), STEEPNESS, Step::Logistic) + v * 0.5
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn sums_run_over_the_ranks_ahead() {
        let device = Device::flex();
        let ranks = Tensor::<2>::from_floats([[3.0, 1.0, 2.0, 4.0]], &device);
        let v = Tensor::<2>::from_floats([[1.0, 10.0, 100.0, 1000.0]], &device);
        let sums = sum_at_or_above(ranks, v).into_data().try_to_vec::<f32>().unwrap();
        assert_eq!(sums, [111.0, 10.0, 110.0, 1111.0]);
    }
}
