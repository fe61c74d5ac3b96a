//! What a measure written once may ask of a list, and how each family of surrogates answers.
//!
//! | operation | exact | approximate (approximation-framework) | indicator (smoothrank) | expected (softrank-directness) |
//! |---|---|---|---|---|
//! | [`sum`](MeasureContext::sum) `sum_x a_x f(r_x) [r_x <= k]` | at ranks | `f(p_x) sigmoid(beta (k + 1/2 - p_x))` | `sum_j f(j) sum_i a_i h_ij` | `sum_x a_x E[f(R_x)]` |
//! | [`sum_with_above`](MeasureContext::sum_with_above) | at ranks | `sigmoid(beta (p_x - p_y))` for "y above x" | running sums of `sum_i b_i h_ij` | not defined |
//! | [`sum_with_none_above`](MeasureContext::sum_with_none_above) | at ranks | the same | running products | not defined |
//!
//! The expected family knows the distribution of each rank alone, not of two together, so that products of functions
//! of two ranks are not defined in it.

use std::cell::Cell;
use std::sync::Arc;

use burn::tensor::{DType, Device, Int, Tensor, activation::sigmoid};

use super::lists::{one_in_place_of_zero, sum_documents};
use super::smooth_ap_indicator::sum_at_or_above;
use super::{Evaluation, ExpectedDiscount, Family, Lists};
use crate::measure::{Discount, Gain};
use crate::op::{Step, differences, indicator_sum, log2_discount, rank, rank_recursion, shape::assert_same, step_sum};

/// A function of a document's position.
#[derive(Clone)]
pub struct PositionFunction {
    at: Arc<dyn Fn(Tensor<2>) -> Tensor<2> + Send + Sync>,
    /// The discount that it is, if any: expectations of some are cheap.
    discount: Option<Discount>,
}

impl PositionFunction {
    /// A function of real positions from 1 on, applied element by element.
    pub fn new(at: impl Fn(Tensor<2>) -> Tensor<2> + Send + Sync + 'static) -> Self {
        Self { at: Arc::new(at), discount: None }
    }

    /// The constant 1: counts documents.
    pub fn one() -> Self {
        Discount::Power { exponent: 0.0 }.into()
    }

    /// Values at real positions.
    ///
    /// # Panics
    /// A function that does not keep the shape of the positions.
    #[track_caller]
    pub fn at(&self, positions: Tensor<2>) -> Tensor<2> {
        let values = (self.at)(positions.clone());
        assert_same("position function", ("positions", &positions), &[("values", &values)]);
        values
    }
}

impl From<Discount> for PositionFunction {
    fn from(discount: Discount) -> Self {
        let function = discount.clone();
        Self { at: Arc::new(move |positions| discount_at(&function, positions)), discount: Some(discount) }
    }
}

/// A discount at real positions; between the ranks of a table, linear.
fn discount_at(discount: &Discount, positions: Tensor<2>) -> Tensor<2> {
    use std::f64::consts::LN_2;
    match discount {
        Discount::Log2 => log2_discount(positions),
        Discount::Natural => positions.log1p().recip(),
        Discount::Letor => positions.clamp_min(2.0).log().recip() * LN_2,
        Discount::Power { exponent } => (positions.log() * -exponent).exp(),
        Discount::Zipf => positions.recip(),
        Discount::Exponential => (positions * -LN_2).exp(),
        Discount::Table(table) => table.iter().enumerate().fold(positions.zeros_like(), |sum, (index, &value)| {
            let distance = (positions.clone() - (index + 1) as f64).abs();
            sum + (distance.neg() + 1.0).clamp_min(0.0) * value
        }),
    }
}

/// One batch, as a [`PositionMeasure`](super::PositionMeasure) sees it through a family of surrogates.
pub struct MeasureContext<'a> {
    lists: &'a Lists,
    family: &'a Family,
    undefined: Cell<Option<&'static str>>,
}

impl<'a> MeasureContext<'a> {
    pub(super) fn new(lists: &'a Lists, family: &'a Family) -> Self {
        Self { lists, family, undefined: Cell::new(None) }
    }

    /// The first operation that was asked for and that the family does not define.
    pub(super) fn undefined(&self) -> Option<&'static str> {
        self.undefined.get()
    }

    /// Gain of each document: `[B, N]`.
    pub fn gains(&self, gain: &Gain) -> Tensor<2> {
        self.lists.gains(gain)
    }

    /// 1 at relevant documents, else 0: `[B, N]`.
    pub fn relevance(&self) -> Tensor<2> {
        self.lists.relevance()
    }

    /// Number of relevant documents, 1 in place of 0 so that it can divide: `[B]`.
    pub fn relevant(&self) -> Tensor<1> {
        one_in_place_of_zero(sum_documents(self.lists.relevance()))
    }

    /// `sum_x a_x f(position of x)` over the documents within the cut-off: `[B]`.
    ///
    /// # Shapes
    /// - `a`: `[batch, documents]`, 0 at padded places
    ///
    /// # Panics
    /// `a` of another shape than the scores.
    #[track_caller]
    pub fn sum(&self, a: Tensor<2>, f: &PositionFunction, k: Option<usize>) -> Tensor<1> {
        assert_same("sum", ("scores", &self.lists.scores), &[("a", &a)]);
        let values = match self.family {
            Family::Exact => self.at_ranks(f, k),
            Family::Approximate { .. } | Family::Gumbel { .. } => self.at_positions(f, k),
            Family::Indicator { sigma } => {
                let at_rank = indicator_sum(self.lists.scores.clone(), a, self.lists.mask.clone(), *sigma);
                return sum_documents(at_rank * self.at_ranks(f, k));
            }
            Family::Expected { sigma } => self.expected(f, k, *sigma),
        };
        sum_documents(a * values)
    }

    /// `sum_x a_x f(position of x) (b_x + sum of b_y over y above x)` over the documents within the cut-off: `[B]`.
    ///
    /// # Shapes
    /// - `a`, `b`: `[batch, documents]`, 0 at padded places
    ///
    /// # Panics
    /// `a` or `b` of another shape than the scores.
    #[track_caller]
    pub fn sum_with_above(&self, a: Tensor<2>, f: &PositionFunction, b: Tensor<2>, k: Option<usize>) -> Tensor<1> {
        assert_same("sum_with_above", ("scores", &self.lists.scores), &[("a", &a), ("b", &b)]);
        if let Some((positions, beta)) = self.positions() {
            // The sum has the term y = x as b / 2.
            let above = step_sum(positions.neg(), b.clone(), beta, Step::Logistic) + b * 0.5;
            return sum_documents(a * self.at_positions(f, k) * above);
        }
        let [a, b] = self.at_each_rank([a, b], "sum_with_above");
        sum_documents(a * self.at_ranks(f, k) * sum_at_or_above(self.lists.ranks(), b))
    }

    /// `sum_x a_x f(position of x) prod of (1 - b_y) over y above x` over the documents within the cut-off: `[B]`. The
    /// memory is O(n^2).
    ///
    /// # Shapes
    /// - `a`, `b`: `[batch, documents]`, 0 at padded places
    ///
    /// # Panics
    /// `a` or `b` of another shape than the scores.
    #[track_caller]
    pub fn sum_with_none_above(&self, a: Tensor<2>, f: &PositionFunction, b: Tensor<2>, k: Option<usize>) -> Tensor<1> {
        assert_same("sum_with_none_above", ("scores", &self.lists.scores), &[("a", &a), ("b", &b)]);
        let none_above = |above: Tensor<3>, b: Tensor<2>| -> Tensor<2> {
            ((above * b.unsqueeze_dim::<3>(1)).neg() + 1.0).prod_dim(2).squeeze_dim(2)
        };
        let dtype = self.lists.scores.dtype();
        if let Some((positions, beta)) = self.positions() {
            let [_, n] = positions.dims();
            let others = Tensor::<2>::eye(n, &positions.device()).cast(dtype).neg() + 1.0;
            let above = sigmoid(differences(&positions) * -beta) * others.unsqueeze_dim::<3>(0);
            return sum_documents(a * self.at_positions(f, k) * none_above(above, b));
        }
        let [a, b] = self.at_each_rank([a, b], "sum_with_none_above");
        let above = differences(&self.lists.ranks()).lower_elem(0.0).float().cast(dtype);
        sum_documents(a * self.at_ranks(f, k) * none_above(above, b))
    }

    /// `sum_x a_x f(r_x)` in the order that sorts `a`, which is its largest value for a decreasing `f`; 1 in place of
    /// 0 so that it can divide: `[B]`. Carries no gradient.
    ///
    /// # Panics
    /// `a` of another shape than the scores.
    #[track_caller]
    pub fn ideal(&self, a: Tensor<2>, f: &PositionFunction, k: Option<usize>) -> Tensor<1> {
        assert_same("ideal", ("scores", &self.lists.scores), &[("a", &a)]);
        let ranks = rank(a.clone(), self.lists.mask.clone());
        one_in_place_of_zero(sum_documents(a.detach() * self.at(f, ranks, k)))
    }

    /// Approximate positions and the steepness of comparisons between them, in the families that have them.
    fn positions(&self) -> Option<(Tensor<2>, f64)> {
        match self.family {
            Family::Approximate { alpha, beta, step } | Family::Gumbel { alpha, beta, step, .. } => {
                Some((self.lists.approximate_positions(*alpha, *step), *beta))
            }
            _ => None,
        }
    }

    fn at_positions(&self, f: &PositionFunction, k: Option<usize>) -> Tensor<2> {
        let Some((positions, beta)) = self.positions() else { return self.at_ranks(f, k) };
        let values = f.at(positions.clone());
        match k {
            Some(k) => values * sigmoid((positions.neg() + (k as f64 + 0.5)) * beta),
            None => values,
        }
    }

    fn at_ranks(&self, f: &PositionFunction, k: Option<usize>) -> Tensor<2> {
        self.at(f, self.lists.ranks(), k)
    }

    /// `f` at whole ranks within the cut-off, 0 at padded places.
    fn at(&self, f: &PositionFunction, ranks: Tensor<2>, k: Option<usize>) -> Tensor<2> {
        let values = f.at(ranks.clone()) * self.lists.mask.clone();
        match k {
            Some(k) => values * ranks.lower_equal_elem(k as f64).float().cast(self.lists.scores.dtype()),
            None => values,
        }
    }

    /// What stands at the rank of each document: the values themselves, or their soft indicators.
    fn at_each_rank(&self, values: [Tensor<2>; 2], operation: &'static str) -> [Tensor<2>; 2] {
        match self.family {
            Family::Indicator { sigma } => values.map(|value| {
                indicator_sum(self.lists.scores.clone(), value, self.lists.mask.clone(), *sigma)
                    * self.lists.mask.clone()
            }),
            Family::Expected { .. } => {
                self.undefined.set(self.undefined.get().or(Some(operation)));
                values
            }
            _ => values,
        }
    }

    /// `E[f(1 + R)]` within the cut-off.
    fn expected(&self, f: &PositionFunction, k: Option<usize>, sigma: f64) -> Tensor<2> {
        if let Some(discount) = f.discount.clone() {
            return ExpectedDiscount { discount, k, sigma, evaluation: Evaluation::Auto }.expectation(self.lists);
        }
        let [_, n] = self.lists.scores.dims();
        let ranks = k.unwrap_or(n).min(n);
        // Constants, wherever the scores are.
        let index = Tensor::<1, Int>::arange(1..ranks as i64 + 1, &Device::flex()).float().cast(DType::F64);
        let values: Vec<f64> = f.at(index.unsqueeze::<2>()).into_data().iter().collect();
        rank_recursion(self.lists.scores.clone(), self.lists.mask.clone(), sigma, &values)
    }
}
