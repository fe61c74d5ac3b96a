//! Expectation over noisy scores: SoftRank (softrank-directness, section III).
//!
//! The distribution of the rank of each document is known, but not the joint distribution of two ranks. Sums of a
//! function of one rank have an expectation here; sums in which two documents meet do not.

mod expected_discount;
mod exponential_fit;

pub use expected_discount::ExpectedDiscount;
pub use exponential_fit::{ExponentialFit, ExponentialFitError, exponential_fit, is_completely_monotone};

use std::sync::Arc;

use burn::tensor::{DType, Tensor};
use serde::{Deserialize, Serialize};

use super::relaxed::{Relaxation, Relaxed};
use crate::loss::approximation::{Approximation, RankExpectationMethod};
use crate::loss::error::{self, LossError};
use crate::loss::lists::Lists;
use crate::loss::smoothing::{Sharper, Smoothing};
use crate::loss::surrogate::position_function::PositionFunction;
use crate::op::rank_recursion;

/// Expectation over Gaussian scores. The surrogate tends to the measure as `sigma` tends to 0, within the bound of
/// Theorem 2.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// Standard deviation of a score, above 0.
    pub sigma: f64,
    /// How expectations are computed.
    #[serde(default)]
    pub evaluation: RankExpectationMethod,
}

impl Expected {
    /// Expectations computed in the cheapest way that applies.
    pub fn new(sigma: f64) -> Self {
        Self { sigma, evaluation: RankExpectationMethod::Auto }
    }

    /// The expectation of `f`, if it is a discount.
    fn discount(&self, f: &PositionFunction, k: Option<usize>) -> Option<ExpectedDiscount> {
        let discount = f.discount()?.clone();
        Some(ExpectedDiscount { discount, k, sigma: self.sigma, evaluation: self.evaluation })
    }
}

impl Relaxation for Expected {
    fn name(&self) -> &'static str {
        "expected"
    }

    fn check(&self, loss: &'static str) -> Result<(), LossError> {
        error::positive(loss, "sigma", self.sigma)?;
        Ok(())
    }

    fn check_sum(&self, loss: &'static str, f: &PositionFunction, k: Option<usize>) -> Result<(), LossError> {
        match self.discount(f, k) {
            Some(expected) => expected.check(loss),
            None if self.evaluation == RankExpectationMethod::Exponentials => {
                let expected = "auto, recursion or cutoff: the measure's function of a rank is not a discount";
                Err(LossError::parameter(loss, "evaluation", "exponentials", expected))
            }
            None => Ok(()),
        }
    }

    fn smoothing(&self) -> Option<Smoothing> {
        Some(Smoothing { parameter: "sigma", sharper: Sharper::Smaller })
    }

    fn with_parameter(
        &self,
        loss: &'static str,
        parameter: &str,
        value: f64,
    ) -> Result<Arc<dyn Relaxation>, LossError> {
        match parameter {
            "sigma" => Ok(Arc::new(Self { sigma: value, ..*self })),
            _ => Err(LossError::Fixed { loss, parameter: parameter.into() }),
        }
    }

    fn relax(&self, lists: &Lists, _sample: usize) -> Relaxed {
        let (expected, lists) = (*self, lists.clone());
        Relaxed::Expectations(Box::new(move |f: &PositionFunction, k: Option<usize>| -> Tensor<2> {
            if let Some(expected) = expected.discount(f, k) {
                return expected.expectation(&lists);
            }
            let [_, n] = lists.scores.dims();
            let values = f.at_ranks(k.unwrap_or(n).min(n));
            rank_recursion(lists.scores.clone(), lists.mask.clone(), expected.sigma, &values)
        }))
    }

    fn approximation(
        &self,
        loss: &'static str,
        f: &PositionFunction,
        k: Option<usize>,
        documents: usize,
        scores: DType,
    ) -> Result<Option<Approximation>, LossError> {
        self.discount(f, k).map(|expected| expected.approximation(loss, documents, scores)).transpose()
    }
}
