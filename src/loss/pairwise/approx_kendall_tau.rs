//! Approximate Kendall's tau between scores and labels.
//!
//! The surrogate is `sum_{y_i > y_j} tanh(alpha (s_i - s_j) / 2) / #{y_i > y_j}`. The sign of each score difference is
//! smoothed by the logistic step of approximation-framework, equation 19 (`2 sigmoid(t) - 1 = tanh(t / 2)`). The
//! surrogate is between -1 and 1. Pairs of documents with the same label do not count. If documents have weights, the
//! mean is weighted, and each pair has the weight of its more relevant document.
//!
//! Cost: O(n^2). A query whose labels are all equal has loss 0.

use super::pair_sum::sum_over_pairs;
use crate::loss::prelude::*;
use crate::op::PairLoss;

declare! {
    ApproxKendallTauConfig,
    name: "approx_kendall_tau",
    summary: "Kendall's tau with a smooth sign",
    formula: "-sum_{y_i > y_j} tanh(alpha (s_i - s_j) / 2) / #{y_i > y_j}",
    cost: "O(n^2); long lists in float32 on the CPU O(n log n)",
    paper: "Qin, Liu and Li, A general approximation framework for direct optimization of IR measures, eq. (19)",
    temperature: "alpha", sharper: sharper_if_larger, paper_value: 10.0, setter: with_alpha,
}

/// Configuration of [`ApproxKendallTau`]. The default temperature suits training from scratch; [`paper`](Self::paper)
/// uses the paper's temperature.
#[doc = example!("ApproxKendallTauConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct ApproxKendallTauConfig {
    /// The steepness `alpha` of the smooth sign; must be above 0.
    #[config(default = "Temperature::spreads(20.0)")]
    pub temperature: Temperature,
}

impl ApproxKendallTauConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `alpha` is not a finite number above 0.
    pub fn init(&self) -> Result<ApproxKendallTau, LossError> {
        let Temperature { value, unit } = self.temperature;
        Ok(ApproxKendallTau { alpha: error::positive(NAME, "alpha", value)?, scale: unit.into() })
    }
}

/// The negative smooth Kendall's tau, `-sum_{y_i > y_j} tanh(alpha (s_i - s_j) / 2) / #{y_i > y_j}`.
#[doc(alias = "rank correlation")]
#[derive(Module, Debug)]
pub struct ApproxKendallTau {
    alpha: f64,
    #[module(skip)]
    scale: Scale,
}

impl RankingLoss for ApproxKendallTau {
    fn about(&self) -> About<'_> {
        About::new(NAME, Orientation::Measure)
            .with_document_weights()
            .with_smoothing(ENTRY.smoothing)
            .with_held_constant(self.scale.held_constant())
    }

    fn changed(&self, change: Change<'_>) -> Changed {
        self.scale.changed(change, NAME, ("alpha", self.alpha), |alpha, scale| Self { alpha, scale })
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        // This is the same as Kendall's tau under approximate positions.
        let lists = &self.scale.of(lists, 2);
        // tanh(t / 2) = 1 - 2 sigmoid(-t)
        let misplaced = sum_over_pairs(lists, lists.centered() * self.alpha, PairLoss::SoftZeroOne, true);
        misplaced * 2.0 - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::value;

    #[test]
    fn three_documents_are_worked_by_hand() {
        // The pairs (2, 1) and (2, 0) are in order by 1 and 3, the pair (1, 0) by 2.
        let found = value(ApproxKendallTauConfig::new().with_alpha(2.0).init(), &[3.0, 2.0, 0.0], &[2.0, 1.0, 0.0]);
        let expected = (1f64.tanh() + 3f64.tanh() + 2f64.tanh()) / 3.0;
        assert!((found - expected).abs() < 1e-12, "{found}");
    }

    #[test]
    fn a_reversed_list_is_minus_one() {
        let found = value(ApproxKendallTauConfig::new().with_alpha(100.0).init(), &[0.0, 1.0, 2.0], &[2.0, 1.0, 0.0]);
        assert!((found + 1.0).abs() < 1e-12, "{found}");
    }
}
