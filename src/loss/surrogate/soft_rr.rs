//! SoftRR, the expected reciprocal rank of the first relevant document for noisy scores.
//!
//! The surrogate is `sum_i l_i E[prod of (1 - l_j) over j above i / (1 + R_i)]`. The rank `R_i`, counted from 0, is the
//! number of documents above `i` (as in softrank-directness, section III, for NDCG). Let `x` be the noise of document
//! `i`, in standard deviations. Given `x`, each document `j` is above `i` independently, with probability
//! `pi_ji(x) = Phi((s_j - s_i) / sigma - x)`. Let `z_m` and `c_m` be the bases and coefficients of
//! `1 / r = sum_m c_m z_m^(r - 1)`. Given `x`, the expectation is `sum_m c_m prod_j (1 + pi_ji(x) (z_m (1 - l_j) - 1))`
//! over `j != i`. This expectation is then averaged over `x`. The surrogate tends to the reciprocal rank as `sigma`
//! tends to 0.
//!
//! In SoftRank's model, `model = "independent"`, document `j` beats document `i` with probability
//! `pi_ji = Phi((s_j - s_i) / (sigma sqrt(2)))`, without an average over `x`. The independent model costs less, but
//! tied relevant documents lower each other's value. With `R` tied relevant documents at the top, the value is
//! `R 2^(1 - R)` instead of 1.
//!
//! The cost is O(M n log n), where M is the number of exponentials, about 14 in float32 (see [`RankModel`]). In the
//! independent model, the cost is O(M n) for each relevant document. A query whose documents are all relevant or all
//! irrelevant has loss 0.

use burn::config::Config;

use super::measures::ReciprocalRank;
use super::relaxation::{Expected, RankModel};
use super::transform::Surrogate;
use crate::loss::approximation::RankExpectationMethod;
use crate::loss::declare::declare;
use crate::loss::error::LossError;
use crate::loss::temperature::Temperature;

declare! {
    SoftRrConfig,
    name: "soft_rr",
    summary: "expectation of the reciprocal rank under Gaussian scores (SoftRank)",
    formula: "1 - sum_i l_i E[prod of (1 - l_j) over j above i / (1 + R_i)], R_i = number of j above i, P(j above i | x) = Phi((s_j - s_i) / sigma - x), x normal",
    cost: "O(M n log n), M = 14; O(M n^2) with independent trials",
    paper: "the noise of He and Liu, Are algorithms directly optimizing IR measures really direct?, section III, for the reciprocal rank",
    temperature: "sigma", sharper: Smaller, paper_value: 1.0, setter: with_sigma,
}

/// Configuration of [`SoftRr`]. The default temperature suits training from scratch; [`paper`](Self::paper) uses the
/// paper's temperature.
#[doc = example!("SoftRrConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct SoftRrConfig {
    /// The standard deviation `sigma` of a noisy score; must be above 0.
    #[config(default = "Temperature::spreads(0.1)")]
    pub temperature: Temperature,
    /// The model for the distribution of ranks.
    #[config(default = "RankModel::Exact")]
    pub model: RankModel,
}

impl SoftRrConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `sigma` is not a finite number above 0.
    pub fn init(&self) -> Result<SoftRr, LossError> {
        let evaluation = RankExpectationMethod::Exponentials;
        Surrogate::named(
            NAME,
            ReciprocalRank::new(),
            Expected { temperature: self.temperature, evaluation, model: self.model },
        )
    }
}

/// The SoftRR loss, `1 - sum_i l_i E[prod of (1 - l_j) over j above i / (1 + R_i)]`.
#[doc(alias = "SoftRank")]
#[doc(alias = "MRR")]
#[doc(alias = "reciprocal rank")]
pub type SoftRr = Surrogate<ReciprocalRank>;

#[cfg(test)]
mod tests {
    use burn::tensor::DType;

    use super::*;
    use crate::loss::explain;
    use crate::op::with_tensor_path;
    use crate::testing::{explained, value};

    #[test]
    fn three_equal_scores_are_worked_by_hand() {
        // The one relevant document is at each rank one time in three; with independent trials its rank is binomial.
        let found = |model| value(SoftRrConfig::paper().with_model(model).init(), &[0.4; 3], &[1.0, 0.0, 0.0]);
        assert!((found(RankModel::Exact) - (1.0 + 1.0 / 2.0 + 1.0 / 3.0) / 3.0).abs() < 1e-7);
        assert!((found(RankModel::Independent) - (0.25 + 0.5 / 2.0 + 0.25 / 3.0)).abs() < 1e-7);
    }

    #[test]
    fn tied_relevant_documents_at_the_top_share_the_first_rank() {
        let scores: Vec<f64> = (0..20).map(|i| if i < 10 { 8.0 } else { 0.0 }).collect();
        let labels: Vec<f64> = (0..20).map(|i| f64::from(u8::from(i < 10))).collect();
        let exact = explained(SoftRrConfig::paper().with_model(RankModel::Exact).init(), &scores, &labels);
        assert!(exact.value > 0.999, "{}", exact.value);
        assert!(exact.grad.iter().all(|g| g.abs() < 1e-5), "{:?}", exact.grad);
        let independent = SoftRrConfig::paper().with_model(RankModel::Independent);
        let independent = value(independent.init(), &scores, &labels);
        assert!((independent - 10.0 * 0.5f64.powi(9)).abs() < 1e-6, "{independent}");
    }

    #[test]
    fn a_document_far_below_others_keeps_its_gradient() {
        // A relevant document 12 standard deviations above another one: that one never is above it. The gradient is 0
        // or tiny, not NaN, in both types.
        for dtype in [DType::F32, DType::F64] {
            for model in [RankModel::Exact, RankModel::Independent] {
                let loss = SoftRrConfig::paper().with_model(model).init().unwrap();
                let explained = || explain(&loss, &[0.0, 12.0, 0.5, 40.0], &[1.0, 1.0, 0.0, 0.0], dtype).unwrap();
                for found in [explained(), with_tensor_path(explained)] {
                    assert!((found.value - 0.5).abs() < 1e-5, "{dtype:?}, {model:?}: {}", found.value);
                    assert!(found.grad.iter().all(|g| g.is_finite() && g.abs() < 1e-5), "{:?}", found.grad);
                }
            }
        }
    }
}
