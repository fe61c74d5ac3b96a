//! Expectations over noisy scores, as in SoftRank (softrank-directness, section III).
//!
//! Under this relaxation, every operation that a measure may use has an expectation. Sums that compare documents with
//! each other are cheap if the discount `D` is completely monotone and has no cut-off. A completely monotone discount
//! is a sum of exponentials, `D(1 + r) = sum_m c_m z_m^r`. If every `y` beats `x` independently, with probability
//! `pi_yx`, the expectations for one exponential are:
//!
//! - `E[z^R] = P = prod_y (1 + pi_yx (z - 1))`,
//! - `E[z^R sum of b_y above x] = P sum_y b_y pi_yx z / (1 + pi_yx (z - 1))`,
//! - `E[z^R prod of (1 - b_y) above x] = prod_y (1 + pi_yx (z (1 - b_y) - 1))`.
//!
//! The cost is O(M n) for each document with a nonzero weight, where `M` is the number of exponentials. `M` is about 14
//! in float32 and 24 in float64. With a cut-off `k`, or for another function of the rank, [`above_recursion`] updates
//! the rank distribution trial by trial in O(k n). With [`RankModel::Exact`], all documents together take O(M n log n)
//! or O(k n log n) in float32 on a CPU. In float64 or on other devices, the exact model takes `Q` times as long as
//! independent trials. `Q` is about `29 sqrt(1 + ln n)`. [`above_expectation`] and [`above_recursion`] state how much
//! memory they need.
//!
//! Measures that only compare documents in pairs, such as Kendall's tau, have the same value in both models.

mod expected_discount;
mod exponential_fit;
mod rank_model;
#[cfg(test)]
mod tests;

pub use rank_model::RankModel;

use std::sync::Arc;

use burn::config::Config;
use burn::tensor::{DType, Int, Tensor, TensorData};

use expected_discount::ExpectedDiscount;

use super::relaxed::{RankExpectations, Relaxation, Relaxed};
use crate::loss::approximation::{Approximation, RankExpectationMethod};
use crate::loss::error::{self, LossError};
use crate::loss::lists::Lists;
use crate::loss::smoothing::{Sharper, Smoothing};
use crate::loss::surrogate::position_function::PositionFunction;
use crate::loss::temperature::{Temperature, TemperatureUnit};
use crate::op::{
    Above, AboveExpectation, AboveRecursion, Comparison, ScoreNoise, above_expectation, above_recursion, asked,
    differences, noisy_rank_recursion,
};

/// The relaxation that replaces ranks with expectations over Gaussian noise on the scores. The surrogate tends to the
/// measure as `sigma` tends to 0. For a sum of a function of one document's rank, the error is within the bound in
/// Theorem 2.
#[derive(Config, Debug, Copy, PartialEq)]
#[non_exhaustive]
pub struct Expected {
    /// The standard deviation `sigma` of a noisy score; must be above 0.
    pub temperature: Temperature,
    /// How to compute expectations of functions of the rank. Expectations that involve several documents are computed
    /// by exponentials or trial by trial.
    #[config(default = "RankExpectationMethod::Auto")]
    pub evaluation: RankExpectationMethod,
    /// The model for the distribution of ranks. Measures that depend on the first relevant document need
    /// [`RankModel::Exact`].
    #[config(default = "RankModel::Independent")]
    pub model: RankModel,
}

impl Expected {
    /// Returns the noise that decides how two documents compare.
    fn noise(&self) -> ScoreNoise {
        self.model.noise(self.temperature.value)
    }

    /// Returns whether an expectation can be computed by a sum of exponentials with these parameters and the cut-off
    /// `k`.
    fn may_use_exponentials(&self, k: Option<usize>) -> bool {
        use RankExpectationMethod::{Auto, Exponentials};
        k.is_none() && matches!(self.evaluation, Auto | Exponentials)
    }

    /// Returns the parameters of the expectation of `f` within the cut-off `k`, or `None` if `f` is not a discount.
    fn discount(&self, f: &PositionFunction, k: Option<usize>) -> Option<ExpectedDiscount> {
        let discount = f.discount()?.clone();
        Some(ExpectedDiscount {
            discount,
            k,
            sigma: self.temperature.value,
            evaluation: self.evaluation,
            model: self.model,
        })
    }
}

impl Relaxation for Expected {
    fn name(&self) -> &'static str {
        "expected"
    }

    fn check(&self, loss: &'static str) -> Result<(), LossError> {
        error::positive(loss, "sigma", self.temperature.value)?;
        Ok(())
    }

    fn check_sum(&self, loss: &'static str, f: &PositionFunction, k: Option<usize>) -> Result<(), LossError> {
        match self.discount(f, k) {
            Some(expected) => expected.check(loss),
            None if f.exponential().is_some() && k.is_none() => Ok(()),
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

    fn temperature_unit(&self) -> TemperatureUnit {
        self.temperature.unit
    }

    fn with_parameter(&self, parameter: &str, value: f64) -> Option<Arc<dyn Relaxation>> {
        match parameter {
            "sigma" => Some(Arc::new(Self { temperature: self.temperature.with_value(value), ..*self })),
            _ => None,
        }
    }

    fn relax(&self, lists: &Lists, _sample: usize) -> Relaxed {
        Relaxed::Expectations(Box::new(ExpectedRanks { expected: *self, lists: lists.clone() }))
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

struct ExpectedRanks {
    expected: Expected,
    lists: Lists,
}

impl ExpectedRanks {
    /// Returns `a_x E[A_x f(R_x)]`, where `above` selects whether `A_x` is a sum or a product over the documents above
    /// `x`.
    fn meeting(&self, above: Above, a: Tensor<2>, f: &PositionFunction, b: Tensor<2>, k: Option<usize>) -> Tensor<2> {
        let (scores, mask) = (self.lists.scores.clone(), self.lists.mask.clone());
        let [batch, n] = scores.dims();
        if self.expected.may_use_exponentials(k)
            && let Some(discount) = self.expected.discount(f, k)
            && let Ok(fit) = discount.closest_fit(self.lists.longest(), scores.dtype())
        {
            let expectation = AboveExpectation { noise: self.expected.noise(), terms: fit.terms.clone(), above };
            return above_expectation(scores, a, b, mask, &expectation);
        }
        let ranks = k.unwrap_or(n).min(n);
        let values = TensorData::new(f.at_ranks(ranks), [1, ranks]);
        let values = Tensor::<2>::from_data(values, (&scores.device(), scores.dtype())).repeat_dim(0, batch);
        above_recursion(scores, a, b, mask, values, &AboveRecursion { noise: self.expected.noise(), above })
    }
}

impl RankExpectations for ExpectedRanks {
    fn of_rank(&self, f: &PositionFunction, k: Option<usize>) -> Tensor<2> {
        if let Some(expected) = self.expected.discount(f, k) {
            return expected.expectation(&self.lists);
        }
        let (noise, mask) = (self.expected.noise(), self.lists.mask.clone());
        if self.expected.may_use_exponentials(k)
            && let Some(term) = f.exponential()
        {
            let expectation = AboveExpectation { noise, terms: vec![term], above: Above::Nothing };
            return above_expectation(self.lists.scores.clone(), mask.clone(), mask.clone(), mask, &expectation);
        }
        let [_, n] = self.lists.scores.dims();
        let asked = asked(&mask, self.lists.counted.clone());
        noisy_rank_recursion(self.lists.scores.clone(), asked, mask, &noise, &f.at_ranks(k.unwrap_or(n).min(n)))
    }

    fn with_above(
        &self,
        a: Tensor<2>,
        f: &PositionFunction,
        b: Tensor<2>,
        k: Option<usize>,
    ) -> Result<Tensor<2>, &'static str> {
        Ok(self.meeting(Above::Sum, a, f, b, k))
    }

    fn with_none_above(
        &self,
        a: Tensor<2>,
        f: &PositionFunction,
        b: Tensor<2>,
        k: Option<usize>,
    ) -> Result<Tensor<2>, &'static str> {
        Ok(self.meeting(Above::Product, a, f, b, k))
    }

    fn within(&self, a: Tensor<2>, k: Tensor<1>) -> Result<Tensor<2>, &'static str> {
        let (scores, mask) = (self.lists.scores.clone(), self.lists.mask.clone());
        let [batch, n] = scores.dims();
        let ranks = Tensor::<1, Int>::arange(1..n as i64 + 1, &k.device()).float().cast(k.dtype());
        let ranks = ranks.unsqueeze::<2>().expand([batch, n]);
        let inside = ranks.lower_equal(k.unsqueeze_dim::<2>(1).expand([batch, n]));
        let values = inside.float().cast(scores.dtype());
        let recursion = AboveRecursion { noise: self.expected.noise(), above: Above::Nothing };
        Ok(above_recursion(scores, a, mask.clone(), mask, values, &recursion))
    }

    fn above(&self) -> Result<Tensor<3>, &'static str> {
        let Comparison { rate, .. } = Comparison::independent(self.expected.temperature.value);
        Ok(((differences(&self.lists.scores) * rate).erf() + 1.0) * 0.5)
    }
}
