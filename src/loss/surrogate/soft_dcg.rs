//! SoftDCG, the expected DCG of noisy scores, with any gain and discount.
//!
//! The surrogate is `sum_j E[D(1 + R_j)] G(y_j)`. The rank `R_j`, counted from 0, is a sum of independent trials "i
//! beats j" (softrank-directness, section III). The expected DCG is not divided by the ideal DCG. The surrogate tends
//! to DCG@k as `sigma` tends to 0.
//!
//! With `model = "exact"`, the trials are independent only when the noise on the document's own score is fixed (see
//! [`RankModel`]). The cost is the same as for [`SoftNdcg`](super::SoftNdcg).
//!
//! A query whose labels are all equal has loss 0.

use burn::config::Config;

use super::discount_shape::DiscountShape;
use super::measures::Dcg;
use super::relaxation::{Expected, RankModel};
use super::transform::Surrogate;
use crate::loss::approximation::RankExpectationMethod;
use crate::loss::declare::declare;
use crate::loss::error::LossError;
use crate::loss::temperature::Temperature;
use crate::measure::Gain;

declare! {
    SoftDcgConfig,
    name: "soft_dcg",
    summary: "expectation of DCG under Gaussian scores (SoftRank)",
    formula: "- sum_j G(y_j) E[D(1 + R_j)], R_j = sum of Bernoulli((1 + erf((s_k - s_j) / (2 sigma))) / 2) over k != j",
    cost: "O(M n^2), M = 14; O(k n^2) with a cut-off; O(n^3) for other discounts",
    paper: "He and Liu, Are algorithms directly optimizing IR measures really direct?, section III",
    temperature: "sigma", sharper: Smaller, paper_value: 1.0, setter: with_sigma,
}

/// Configuration of [`SoftDcg`]. The default temperature suits training from scratch; [`paper`](Self::paper) uses the
/// paper's temperature.
#[doc = example!("SoftDcgConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct SoftDcgConfig {
    /// The standard deviation `sigma` of a noisy score; must be above 0.
    #[config(default = "Temperature::spreads(0.1)")]
    pub temperature: Temperature,
    /// The number of top ranks that count; `None` counts all ranks.
    pub k: Option<usize>,
    /// The function that maps a label to its gain.
    #[config(default = "Gain::Exp2")]
    pub gain: Gain,
    /// The function that maps a rank to its discount.
    #[config(default = "DiscountShape::Log2")]
    pub discount: DiscountShape,
    /// The exponent of the power discount, 0 or above; other discounts ignore it.
    #[config(default = 1.0)]
    pub exponent: f64,
    /// How to compute expectations of functions of the rank.
    #[config(default = "RankExpectationMethod::Auto")]
    pub evaluation: RankExpectationMethod,
    /// The model for the distribution of ranks.
    #[config(default = "RankModel::Independent")]
    pub model: RankModel,
}

impl SoftDcgConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `sigma` is not a finite number above 0, `k` is 0, or the exponent is negative. Also returns
    /// an error if the table of gains is invalid or the discount does not allow the evaluation.
    pub fn init(&self) -> Result<SoftDcg, LossError> {
        let discount = self.discount.clone().with_exponent(self.exponent);
        let expected = Expected { temperature: self.temperature, evaluation: self.evaluation, model: self.model };
        Surrogate::named(NAME, Dcg { gain: self.gain.clone(), discount, k: self.k }, expected)
    }
}

/// The SoftDCG loss, `- sum_j E[D(1 + R_j)] G(y_j)`.
#[doc(alias = "SoftRank")]
pub type SoftDcg = Surrogate<Dcg>;

#[cfg(test)]
mod tests {
    use burn::tensor::DType;

    use super::*;
    use crate::loss::explain;

    #[test]
    fn equal_scores_are_worked_by_hand() {
        // Three equal scores have binomial ranks 1/4, 1/2, 1/4; the gains 3 + 0 + 1 meet the same expected discount.
        let discounts = [
            (DiscountShape::Zipf, 0.25 + 0.5 / 2.0 + 0.25 / 3.0),
            (DiscountShape::Power, 0.25 + 0.5 / 2f64.sqrt() + 0.25 / 3f64.sqrt()),
            (DiscountShape::Letor, 0.25 + 0.5 + 0.25 * 2f64.ln() / 3f64.ln()),
            (DiscountShape::Exponential, 0.25 / 2.0 + 0.5 / 4.0 + 0.25 / 8.0),
            (DiscountShape::Table(vec![1.0, 0.4]), 0.25 + 0.5 * 0.4),
        ];
        for (discount, expected) in discounts {
            let loss = SoftDcgConfig::paper().with_discount(discount.clone()).with_exponent(0.5).init().unwrap();
            let found = explain(&loss, &[1.5; 3], &[2.0, 0.0, 1.0], DType::F64).unwrap().value;
            assert!((found - 4.0 * expected).abs() < 1e-7, "{discount:?}: {found}");
        }
    }
}
