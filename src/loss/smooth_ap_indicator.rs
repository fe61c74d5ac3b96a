//! SmoothAP from indicators: average precision with soft indicators of "document i is at rank j".
//!
//! With `P_j = sum_i l_i h_ij` the soft relevance of rank `j`, `1/|l| sum_j P_j 1/j sum_{t <= j} P_t` (smoothrank,
//! section 4.2, the two approximations combined). Tends to average precision as `sigma` tends to 0.
//!
//! Cost: O(n^2). Not differentiable where scores tie: ties go by position. A query whose documents are all relevant or
//! all irrelevant has loss 0.

use burn::config::Config;
use burn::module::Module;
use burn::tensor::{Bool, Tensor};

use super::lists::{one_in_place_of_zero, sum_documents};
use super::registry::{LossEntry, Sharper, Smoothing, configure, parameters};
use super::{Lists, LossError, Orientation, RankingLoss, error};
use crate::measure::Discount;
use crate::op::{Step, indicator_sum, step_sum};

const NAME: &str = "smooth_ap_indicator";

pub(super) const ENTRY: LossEntry = LossEntry {
    name: NAME,
    summary: "average precision with soft indicators of the document at each rank",
    formula: "1 - 1/|l| sum_j P_j 1/j sum_{t <= j} P_t, P_j = sum_i l_i h_ij",
    cost: "O(n^2)",
    paper: "Chapelle and Wu, Gradient descent optimization of smoothed information retrieval metrics, section 4.2",
    smoothing: Some(Smoothing { parameter: "sigma", sharper: Sharper::Smaller }),
    shift_invariant: true,
    defaults: || parameters(&SmoothApIndicatorConfig::new()),
    build: |params| Ok(Box::new(configure(NAME, SmoothApIndicatorConfig::new(), params)?.init()?)),
};

/// Configuration of [`SmoothApIndicator`].
#[derive(Config, Debug)]
pub struct SmoothApIndicatorConfig {
    /// Smoothing, in squared scores, above 0.
    #[config(default = 1.0)]
    pub sigma: f64,
}

impl SmoothApIndicatorConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// `sigma` not finite or not above 0.
    pub fn init(&self) -> Result<SmoothApIndicator, LossError> {
        Ok(SmoothApIndicator { sigma: error::positive(NAME, "sigma", self.sigma)? })
    }
}

/// `1 - 1/|l| sum_j P_j 1/j sum_{t <= j} P_t`
#[doc(alias = "MAP")]
#[doc(alias = "SmoothAP")]
#[derive(Module, Debug)]
pub struct SmoothApIndicator {
    sigma: f64,
}

impl RankingLoss for SmoothApIndicator {
    fn name(&self) -> &'static str {
        NAME
    }

    fn orientation(&self) -> Orientation {
        Orientation::NormalisedMeasure
    }

    fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
        lists.has_both_relevances()
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        let relevant = lists.relevance();
        let at_rank = indicator_sum(lists.scores.clone(), relevant.clone(), lists.mask.clone(), self.sigma);
        let at_rank = at_rank * lists.mask.clone();
        let ranks = lists.ranks();
        let precision =
            sum_at_or_above(ranks.clone(), at_rank.clone()) * lists.discounts_at(ranks, &Discount::Zipf, None);
        let sum = sum_documents(at_rank * precision);
        (sum / one_in_place_of_zero(sum_documents(relevant))).neg() + 1.0
    }
}

/// `out_i = sum over j with r_j <= r_i of v_j`, in O(n) memory: a logistic step between ranks, which differ by 1 at
/// least, is 0 or 1.
///
/// # Shapes
/// - `ranks` (distinct whole numbers), `v`, output: `[batch, documents]`
pub(super) fn sum_at_or_above(ranks: Tensor<2>, v: Tensor<2>) -> Tensor<2> {
    const STEEPNESS: f64 = 512.0;
    step_sum(ranks.detach().neg(), v.clone(), STEEPNESS, Step::Logistic) + v * 0.5
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Device};

    use super::*;
    use crate::loss::explain;

    #[test]
    fn two_documents_are_worked_by_hand() {
        // P_1 = a, P_2 = 1 - a: a a + (1 - a) / 2.
        let a = (-0.5f64).exp() / (1.0 + (-0.5f64).exp());
        let loss = SmoothApIndicatorConfig::new().with_sigma(2.0).init().unwrap();
        let found = explain(&loss, &[0.0, 1.0], &[1.0, 0.0], DType::F64).unwrap().value;
        assert!((found - (a * a + (1.0 - a) / 2.0)).abs() < 1e-12);
    }

    #[test]
    fn sums_run_over_the_ranks_ahead() {
        let device = Device::flex();
        let ranks = Tensor::<2>::from_floats([[3.0, 1.0, 2.0, 4.0]], &device);
        let v = Tensor::<2>::from_floats([[1.0, 10.0, 100.0, 1000.0]], &device);
        let sums = sum_at_or_above(ranks, v).into_data().try_to_vec::<f32>().unwrap();
        assert_eq!(sums, [111.0, 10.0, 110.0, 1111.0]);
    }
}
