//! A function of a document's position, such as a discount.

use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, Mutex, PoisonError};

use burn::tensor::{DType, Int, Tensor};

use crate::measure::Discount;
use crate::op::{ExponentialTerm, log2_discount};
use crate::shape::assert_same;

/// A function of a document's position, such as a discount.
#[derive(Clone)]
pub struct PositionFunction {
    at: Arc<dyn Fn(Tensor<2>) -> Tensor<2> + Send + Sync>,
    /// The discount that equals the function, if there is one. The expectations of some discounts are cheap to compute.
    discount: Option<Discount>,
    /// The term `coefficient base^r` that equals the function at rank `r`, counted from 0, if there is such a term.
    exponential: Option<ExponentialTerm>,
    /// The values at the ranks from 1 to the highest rank that has been needed so far.
    at_ranks: Arc<Mutex<Vec<f64>>>,
}

impl PositionFunction {
    /// Creates a function of real positions that is applied element by element. Positions are 1 or above.
    pub fn new(at: impl Fn(Tensor<2>) -> Tensor<2> + Send + Sync + 'static) -> Self {
        Self { at: Arc::new(at), discount: None, exponential: None, at_ranks: Arc::default() }
    }

    /// Creates the function `first ratio^(position - 1)`, where `ratio` is between 0 and 1. The expectation of a
    /// geometric function is cheap.
    pub fn geometric(first: f64, ratio: f64) -> Self {
        let at = move |positions: Tensor<2>| ((positions - 1.0) * ratio.ln()).exp() * first;
        Self { exponential: Some(ExponentialTerm { coefficient: first, base: ratio }), ..Self::new(at) }
    }

    /// Creates the constant function 1; its sum is the number of documents.
    pub fn one() -> Self {
        Discount::Power { exponent: 0.0 }.into()
    }

    /// Returns the discount that the function was made from, if any.
    pub fn discount(&self) -> Option<&Discount> {
        self.discount.as_ref()
    }

    /// Returns the term `coefficient base^r` that equals the function at rank `r`, counted from 0, if there is such a
    /// term.
    pub(super) fn exponential(&self) -> Option<ExponentialTerm> {
        self.exponential
    }

    /// Returns the values at real positions as a tensor of the same shape.
    ///
    /// # Panics
    /// Panics if the function's values do not have the same shape as the positions.
    #[track_caller]
    pub fn at(&self, positions: Tensor<2>) -> Tensor<2> {
        let values = (self.at)(positions.clone());
        assert_same("position function", ("positions", &positions), &[("values", &values)]);
        values
    }

    /// Returns the values at the ranks 1 to `n`.
    pub(super) fn at_ranks(&self, n: usize) -> Vec<f64> {
        if let Some(discount) = &self.discount {
            return (1..=n).map(|rank| discount.at(rank)).collect();
        }
        // The values left by a thread that panicked are complete: they are replaced in one step.
        let mut known = self.at_ranks.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() < n {
            *known = self.computed_at_ranks(n);
        }
        known[..n].to_vec()
    }

    /// Returns the values at the ranks 1 to `n`. Values beyond the cut-off are 0.
    pub(super) fn up_to(&self, n: usize, k: Option<usize>) -> Vec<f64> {
        let mut values = self.at_ranks(k.map_or(n, |k| k.min(n)));
        values.resize(n, 0.0);
        values
    }

    fn computed_at_ranks(&self, n: usize) -> Vec<f64> {
        // The values are constants, so they are computed on the host, wherever the scores are.
        let ranks = Tensor::<1, Int>::arange(1..n as i64 + 1, &crate::device::host()).float();
        // Not every GPU has double precision.
        let ranks = if cfg!(any(feature = "flex", test)) { ranks.cast(DType::F64) } else { ranks };
        self.at(ranks.unsqueeze::<2>()).into_data().iter().collect()
    }

    /// Returns whether the function is 1 at every position.
    pub(super) fn is_one(&self) -> bool {
        matches!(self.discount, Some(Discount::Power { exponent: 0.0 }))
    }
}

impl Debug for PositionFunction {
    fn fmt(&self, formatter: &mut Formatter) -> fmt::Result {
        formatter.debug_struct("PositionFunction").field("discount", &self.discount).finish_non_exhaustive()
    }
}

impl From<Discount> for PositionFunction {
    fn from(discount: Discount) -> Self {
        let function = discount.clone();
        Self {
            at: Arc::new(move |positions| discount_at(&function, positions)),
            discount: Some(discount),
            exponential: None,
            at_ranks: Arc::default(),
        }
    }
}

/// Returns the discount at real positions; between two ranks, a table is interpolated linearly.
fn discount_at(discount: &Discount, positions: Tensor<2>) -> Tensor<2> {
    use std::f64::consts::LN_2;
    match discount {
        Discount::Log2 => log2_discount(positions),
        Discount::Natural => positions.log1p().recip(),
        Discount::Letor => positions.clamp_min(2.0).log().recip() * LN_2,
        Discount::Power { exponent: 0.0 } => positions.ones_like(),
        Discount::Power { exponent } => (positions.log() * -exponent).exp(),
        Discount::Zipf => positions.recip(),
        Discount::Exponential => (positions * -LN_2).exp(),
        Discount::Table(table) => table.iter().enumerate().fold(positions.zeros_like(), |sum, (index, &value)| {
            let distance = (positions.clone() - (index + 1) as f64).abs();
            sum + (distance.neg() + 1.0).clamp_min(0.0) * value
        }),
    }
}
