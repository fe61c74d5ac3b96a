//! SoftAP, the expected average precision of noisy scores.
//!
//! The surrogate is `1/|l| sum_i l_i E[(1 + sum of l_j over j above i) / (1 + R_i)]`. The rank `R_i`, counted from 0,
//! is the number of documents above `i` (as in softrank-directness, section III, for NDCG). Let `z_m` and `c_m` be the
//! bases and coefficients of `1 / r = sum_m c_m z_m^(r - 1)`, and let `pi_ji` be the probability that `j` beats `i`.
//! With `f_jm = 1 + pi_ji (z_m - 1)`, the expectation is `sum_m c_m (1 + sum_j l_j pi_ji z_m / f_jm) prod_j f_jm`. The
//! sum and the product over `j` leave out `j = i`. The surrogate tends to AP as `sigma` tends to 0.
//!
//! By default, SoftAP uses SoftRank's model, in which the other documents beat a given document independently. With
//! `model = "exact"`, the expectation is averaged over the noise on the document's own score (see [`RankModel`]). This
//! changes the result only slightly.
//!
//! The cost is O(M n) for each relevant document, where M is the number of exponentials, about 14 in float32. In the
//! exact model, the whole list takes O(M n log n) (see [`RankModel`]). A query whose documents are all relevant or all
//! irrelevant has loss 0.

use burn::config::Config;

use super::measures::AveragePrecision;
use super::relaxation::{Expected, RankModel};
use super::transform::Surrogate;
use crate::loss::approximation::RankExpectationMethod;
use crate::loss::declare::declare;
use crate::loss::error::LossError;
use crate::loss::temperature::Temperature;

declare! {
    SoftApConfig,
    name: "soft_ap",
    summary: "expectation of average precision under Gaussian scores (SoftRank)",
    formula: "1 - 1/|l| sum_i l_i E[(1 + sum of l_j over j above i) / (1 + R_i)], R_i = number of j above i, P(j above i) = (1 + erf((s_j - s_i) / (2 sigma))) / 2",
    cost: "O(M n^2), M = 14; O(M n log n) in the exact model",
    paper: "the model of He and Liu, Are algorithms directly optimizing IR measures really direct?, section III, for AP",
    temperature: "sigma", sharper: Smaller, paper_value: 1.0, setter: with_sigma,
}

/// Configuration of [`SoftAp`]. The default temperature suits training from scratch; [`paper`](Self::paper) uses the
/// paper's temperature.
#[doc = example!("SoftApConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct SoftApConfig {
    /// The standard deviation `sigma` of a noisy score; must be above 0.
    #[config(default = "Temperature::spreads(0.1)")]
    pub temperature: Temperature,
    /// The model for the distribution of ranks.
    #[config(default = "RankModel::Independent")]
    pub model: RankModel,
}

impl SoftApConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `sigma` is not a finite number above 0.
    pub fn init(&self) -> Result<SoftAp, LossError> {
        let evaluation = RankExpectationMethod::Exponentials;
        Surrogate::named(
            NAME,
            AveragePrecision::new(),
            Expected { temperature: self.temperature, evaluation, model: self.model },
        )
    }
}

/// The SoftAP loss, `1 - 1/|l| sum_i l_i E[(1 + sum of l_j over j above i) / (1 + R_i)]`.
#[doc(alias = "SoftRank")]
#[doc(alias = "MAP")]
#[doc(alias = "mean average precision")]
pub type SoftAp = Surrogate<AveragePrecision>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn value(model: RankModel, sigma: f64, scores: &[f64], labels: &[f64]) -> f64 {
        testing::value(SoftApConfig::new().with_sigma(sigma).with_model(model).init(), scores, labels)
    }

    #[test]
    fn two_documents_are_worked_by_hand() {
        // The relevant document is 1 below: it is first with the chance (1 + erf(-1/2)) / 2, else AP is 1/2.
        let wins = 1.0 - 0.760_249_938_906_523_3;
        for model in [RankModel::Independent, RankModel::Exact] {
            let found = value(model, 1.0, &[0.0, 1.0], &[1.0, 0.0]);
            assert!((found - (wins + (1.0 - wins) / 2.0)).abs() < 1e-7, "{model:?}: {found}");
        }
    }

    #[test]
    fn three_equal_scores_are_worked_by_hand() {
        // Two of three are relevant. AP is 1, 5/6 or 7/12 as the other one is last, second or first, each one time in
        // three. With independent trials a relevant document has above it, one time in four each: no document, only the
        // relevant one, only the other, or both: (1 + 2/2 + 1/2 + 2/3) / 4.
        let found = |model| value(model, 1.0, &[0.4; 3], &[1.0, 2.0, 0.0]);
        assert!((found(RankModel::Exact) - (1.0 + 5.0 / 6.0 + 7.0 / 12.0) / 3.0).abs() < 1e-7);
        assert!((found(RankModel::Independent) - (1.0 + 1.0 + 0.5 + 2.0 / 3.0) / 4.0).abs() < 1e-7);
    }
}
