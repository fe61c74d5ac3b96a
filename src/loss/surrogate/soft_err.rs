//! SoftERR, the expected reciprocal rank (ERR) averaged over noisy scores.
//!
//! The surrogate is `sum_i g_i E[prod of (1 - g_j) over j above i / (1 + R_i)]`, where
//! `g = (2^y - 1) / 2^maximum_grade` is the probability that a reader stops at a document. The rank `R_i`, counted from
//! 0, is the number of documents above `i` (as in softrank-directness, section III, for NDCG). The expectation is
//! computed as in [`SoftRr`](super::SoftRr), with `g` in place of the relevance. The surrogate tends to ERR as `sigma`
//! tends to 0.
//!
//! SoftRank's model, `model = "independent"`, costs less. With SoftRank's model, however, tied documents lower each
//! other's value if readers may stop at them.
//!
//! The cost is O(M n log n), where M is the number of exponentials, about 14 in float32 (see [`RankModel`]). In the
//! independent model, the cost is O(M n) for each document with a label above 0. A query whose labels are all equal has
//! loss 0.

use burn::config::Config;

use super::measures::ExpectedReciprocalRank;
use super::relaxation::{Expected, RankModel};
use super::transform::Surrogate;
use crate::loss::approximation::RankExpectationMethod;
use crate::loss::declare::declare;
use crate::loss::error::LossError;
use crate::loss::temperature::Temperature;

declare! {
    SoftErrConfig,
    name: "soft_err",
    summary: "expectation of expected reciprocal rank under Gaussian scores (SoftRank)",
    formula: "1 - sum_i g_i E[prod of (1 - g_j) over j above i / (1 + R_i)], g = (2^y - 1) / 2^maximum_grade, R_i = number of j above i, P(j above i | x) = Phi((s_j - s_i) / sigma - x), x normal",
    cost: "O(M n log n), M = 14; O(M n^2) with independent trials",
    paper: "the noise of He and Liu, Are algorithms directly optimizing IR measures really direct?, section III, for the measure of Chapelle et al., Expected reciprocal rank for graded relevance",
    temperature: "sigma", sharper: Smaller, paper_value: 1.0, setter: with_sigma,
}

/// Configuration of [`SoftErr`]. The default temperature suits training from scratch; [`paper`](Self::paper) uses the
/// paper's temperature.
#[doc = example!("SoftErrConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct SoftErrConfig {
    /// The standard deviation `sigma` of a noisy score; must be above 0.
    #[config(default = "Temperature::spreads(0.1)")]
    pub temperature: Temperature,
    /// The label of a perfect document, from 1 to 30; no larger label is allowed.
    #[config(default = 4)]
    pub maximum_grade: u32,
    /// The model for the distribution of ranks.
    #[config(default = "RankModel::Exact")]
    pub model: RankModel,
}

impl SoftErrConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `sigma` is not a finite number above 0, or if `maximum_grade` is below 1 or above 30.
    pub fn init(&self) -> Result<SoftErr, LossError> {
        let measure = ExpectedReciprocalRank::new(self.maximum_grade);
        let evaluation = RankExpectationMethod::Exponentials;
        Surrogate::named(NAME, measure, Expected { temperature: self.temperature, evaluation, model: self.model })
    }
}

/// The SoftERR loss, `1 - sum_i g_i E[prod of (1 - g_j) over j above i / (1 + R_i)]`.
#[doc(alias = "SoftRank")]
#[doc(alias = "ERR")]
#[doc(alias = "expected reciprocal rank")]
pub type SoftErr = Surrogate<ExpectedReciprocalRank>;

#[cfg(test)]
mod tests {
    use burn::tensor::DType;

    use super::*;
    use crate::loss::{RankingLoss, explain};
    use crate::testing::value;

    #[test]
    fn two_documents_are_worked_by_hand() {
        // Chances to stop of 3/4 and 1/4, and an even chance of either order.
        let config = SoftErrConfig::paper().with_maximum_grade(2);
        let expected = (0.75 + 0.25 * 0.25 / 2.0 + 0.25 + 0.75 * 0.75 / 2.0) / 2.0;
        for model in [RankModel::Exact, RankModel::Independent] {
            let found = value(config.clone().with_model(model).init(), &[0.3; 2], &[2.0, 1.0]);
            assert!((found - expected).abs() < 1e-7, "{model:?}: {found}");
        }
    }

    #[test]
    fn grades_are_checked() {
        for grade in [0, 31, u32::MAX] {
            let refused = SoftErrConfig::paper().with_maximum_grade(grade).init().unwrap_err();
            let expected = format!("soft_err.maximum_grade = {grade}: expected a whole number from 1 to 30");
            assert_eq!(refused.to_string(), expected);
        }
        let loss = SoftErrConfig::paper().init().unwrap();
        assert_eq!(loss.about().gain.unwrap().of(4.0), 15.0 / 16.0);
        let refused = explain(&loss, &[0.0, 1.0], &[5.0, 0.0], DType::F64).unwrap_err();
        assert!(refused.to_string().contains("label 5, expected a whole number from 0 to 4"), "{refused}");
    }
}
