//! SoftNDCG, the expected NDCG of noisy scores.
//!
//! The surrogate is `1/Z sum_j E[D(1 + R_j)] G(y_j)`. The rank `R_j`, counted from 0, is a sum of independent trials "i
//! beats j" (softrank-directness, section III). SoftNDCG uses the expectation of the discount; the discount of the
//! expected rank would be smaller, by Jensen's inequality. The surrogate tends to NDCG@k as `sigma` tends to 0, within
//! the bound of Theorem 2.
//!
//! For log2, natural, power, Zipf and exponential discounts, the cost is O(M n^2). M is the number of exponentials,
//! about 14 in float32. With a cut-off, the cost is O(k n^2); with the recursion, it is O(n^3) (see
//! [`RankExpectationMethod`]). With `model = "exact"`, the trials are independent only when the noise on the document's
//! own score is fixed. In the exact model, the whole list takes O(M n log n), or O(k n log n) with a cut-off (see
//! [`RankModel`]).
//!
//! A query whose labels are all equal has loss 0.

use burn::config::Config;

use super::discount_shape::DiscountShape;
use super::measures::{Dcg, Ndcg};
use super::relaxation::{Expected, RankModel};
use super::transform::Surrogate;
use crate::loss::approximation::RankExpectationMethod;
use crate::loss::declare::declare;
use crate::loss::error::LossError;
use crate::loss::temperature::Temperature;
use crate::measure::Gain;

declare! {
    SoftNdcgConfig,
    name: "soft_ndcg",
    summary: "expectation of NDCG under Gaussian scores (SoftRank)",
    formula: "1 - 1/Z sum_j G(y_j) E[D(1 + R_j)], R_j = sum of Bernoulli((1 + erf((s_k - s_j) / (2 sigma))) / 2) over k != j",
    cost: "O(M n^2), M = 14; O(k n^2) with a cut-off; O(n^3) for other discounts",
    paper: "He and Liu, Are algorithms directly optimizing IR measures really direct?, section III",
    temperature: "sigma", sharper: Smaller, paper_value: 1.0, setter: with_sigma,
}

/// Configuration of [`SoftNdcg`]. The default temperature suits training from scratch; [`paper`](Self::paper) uses the
/// paper's temperature.
#[doc = example!("SoftNdcgConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct SoftNdcgConfig {
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

impl SoftNdcgConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `sigma` is not a finite number above 0, `k` is 0, or the exponent is negative. Also returns
    /// an error if the table of gains is invalid or the discount does not allow the evaluation.
    pub fn init(&self) -> Result<SoftNdcg, LossError> {
        let discount = self.discount.clone().with_exponent(self.exponent);
        let expected = Expected { temperature: self.temperature, evaluation: self.evaluation, model: self.model };
        let dcg = Dcg { gain: self.gain.clone(), discount, k: self.k };
        Surrogate::named(NAME, Ndcg { dcg }, expected)
    }
}

/// The SoftNDCG loss, `1 - 1/Z sum_j E[D(1 + R_j)] G(y_j)`.
#[doc(alias = "SoftRank")]
#[doc(alias = "SoftNDCG")]
pub type SoftNdcg = Surrogate<Ndcg>;

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, Tensor, TensorData};

    use super::*;
    use crate::loss::{RankingLoss, Reduction};
    use crate::testing::{uniform, value};

    #[test]
    fn two_documents_are_worked_by_hand() {
        // The relevant document is 1 below: it wins with probability (1 + erf(-1/2)) / 2.
        let wins = 1.0 - 0.760_249_938_906_523_3;
        for evaluation in [
            RankExpectationMethod::Auto,
            RankExpectationMethod::Recursion,
            RankExpectationMethod::Cutoff,
            RankExpectationMethod::Exponentials,
        ] {
            let config = SoftNdcgConfig::paper().with_evaluation(evaluation);
            let expected = wins + (1.0 - wins) / 3f64.log2();
            assert!((value(config.init(), &[0.0, 1.0], &[1.0, 0.0]) - expected).abs() < 1e-7, "{evaluation:?}");
            // A discount with a cut-off is not a sum of exponentials.
            if evaluation != RankExpectationMethod::Exponentials {
                let cut = value(config.with_k(Some(1)).init(), &[0.0, 1.0], &[1.0, 0.0]);
                assert!((cut - wins).abs() < 1e-12, "{evaluation:?}: {cut}");
            }
        }
    }

    #[test]
    fn the_raw_gain_counts_irrelevant_documents() {
        let config = SoftNdcgConfig::paper().with_gain(Gain::Exp2Raw).with_evaluation(RankExpectationMethod::Recursion);
        // Equal scores: each document is at rank 1 or 2 with probability 1/2; gains 2 and 1.
        let expected = 3.0 * 0.5 * (1.0 + 1.0 / 3f64.log2()) / (2.0 + 1.0 / 3f64.log2());
        assert!((value(config.init(), &[0.5, 0.5], &[1.0, 0.0]) - expected).abs() < 1e-12);
    }

    #[test]
    fn two_thousand_documents_have_a_finite_gradient() {
        let device = Device::flex().autodiff();
        let n = 2000;
        let of = |values: Vec<f32>| Tensor::<2>::from_data(TensorData::new(values, [1, n]), &device);
        let scores = of(uniform(1, n).into_iter().map(|u| u as f32).collect()).require_grad();
        let labels = of((0..n).map(|i| (i % 5) as f32).collect());
        let mask = labels.clone().greater_equal_elem(0.0);
        let loss = SoftNdcgConfig::new().with_sigma(0.1).init().unwrap();
        let output = loss.forward(scores.clone(), labels, mask, Reduction::Mean);
        let gradient = scores.grad(&output.backward()).unwrap().into_data().try_to_vec::<f32>().unwrap();
        assert!(gradient.iter().all(|g| g.is_finite()) && gradient.iter().any(|g| *g != 0.0));
    }
}
