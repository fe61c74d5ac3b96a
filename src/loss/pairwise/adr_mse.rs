//! ADR-MSE, the squared error of smooth ranks as predictions of a teacher's ranks, with a discount.
//!
//! The loss is `1/n sum_i (r_i - a_i)^2 / log2(1 + r_i)` (Schlatt et al., Rank-DistiLLM, arXiv 2405.07920, section 3).
//! Here `r_i` is the rank of document `i` by the teacher's scores ([`Lists::with_teacher`]), or by its labels if there
//! is no teacher. Documents that are equal to the teacher share the average of their ranks. The smooth rank by score is
//! `a_i = 1 + sum_{j != i} sigmoid(alpha (s_j - s_i))`. The temperature is in scores by default, as in the paper.
//!
//! Cost: O(n^2). A query whose documents have the same teacher's score has loss 0.

use crate::loss::equal_labels::EqualLabels;
use crate::loss::prelude::*;
use crate::op::{Step, log2_discount, rank};

declare! {
    AdrMseConfig,
    name: "adr_mse",
    summary: "squared error of smooth ranks against a teacher's ranks",
    formula: "1/n sum_i (r_i - a_i)^2 / log2(1 + r_i), a_i = 1 + sum_{j != i} sigmoid(alpha (s_j - s_i))",
    cost: "O(n^2); long lists in float32 on the CPU O(n log n)",
    paper: "Schlatt et al., Rank-DistiLLM: closing the effectiveness gap between cross-encoders and LLMs, section 3",
    temperature: "alpha", sharper: sharper_if_larger, paper_value: 1.0, setter: with_alpha,
}

/// Configuration of [`AdrMse`]. The default temperature is the paper's.
#[doc = example!("AdrMseConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct AdrMseConfig {
    /// The steepness `alpha` of the smooth ranks; must be above 0.
    #[config(default = "Temperature::scores(1.0)")]
    pub temperature: Temperature,
}

impl AdrMseConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `alpha` is not a finite number above 0.
    pub fn init(&self) -> Result<AdrMse, LossError> {
        let Temperature { value, unit } = self.temperature;
        Ok(AdrMse { alpha: error::positive(NAME, "alpha", value)?, scale: unit.into() })
    }
}

/// The discounted squared error of smooth ranks against a teacher's, `1/n sum_i (r_i - a_i)^2 / log2(1 + r_i)`.
#[doc(alias = "ADR-MSE")]
#[doc(alias = "distillation")]
#[derive(Module, Debug)]
pub struct AdrMse {
    alpha: f64,
    #[module(skip)]
    scale: Scale,
}

impl RankingLoss for AdrMse {
    fn about(&self) -> About<'_> {
        About::new(NAME, Orientation::Loss)
            .of_teacher()
            .with_smoothing(ENTRY.smoothing)
            .with_held_constant(self.scale.held_constant())
    }

    fn changed(&self, change: Change<'_>) -> Changed {
        self.scale.changed(change, NAME, ("alpha", self.alpha), |alpha, scale| Self { alpha, scale })
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        let groups = EqualLabels::of(lists);
        let places = rank(lists.labels.clone(), lists.mask.clone());
        let padded = lists.padded.clone();
        // Padded places have rank 1, whose discount is 1.
        let ranks = (groups.sums(places) / groups.counts().mask_fill(padded.clone(), 1.0)).mask_fill(padded, 1.0);
        let smooth = self.scale.of(lists, 0).approximate_positions(self.alpha, Step::Logistic);
        let errors = (smooth - ranks.clone()).powi_scalar(2) * log2_discount(ranks) * lists.mask.clone();
        sum_documents(errors) / one_in_place_of_zero(lists.counts())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::value;

    #[test]
    fn three_documents_are_worked_by_hand() {
        // The teacher puts the second document first, and the others share the ranks 2 and 3.
        let (s, ranks) = ([1.0, 0.0, -1.0], [2.5, 1.0, 2.5]);
        let sigmoid = |t: f64| 1.0 / (1.0 + (-t).exp());
        let smooth = |i: usize| 1.0 + (0..3).filter(|&j| j != i).map(|j| sigmoid(2.0 * (s[j] - s[i]))).sum::<f64>();
        let error = |i: usize| (ranks[i] - smooth(i)).powi(2) / (1.0f64 + ranks[i]).log2();
        let expected = (error(0) + error(1) + error(2)) / 3.0;
        let found = value(AdrMseConfig::new().with_alpha(2.0).init(), &s, &[0.5, 4.0, 0.5]);
        assert!((found - expected).abs() < 1e-12, "{found}");
    }

    #[test]
    fn a_sharp_step_compares_the_ranks_themselves() {
        // Ranks 1, 2, 3 by score and 2, 3, 1 by teacher.
        let found = value(AdrMseConfig::new().with_alpha(300.0).init(), &[1.0, 0.0, -1.0], &[2.0, 1.0, 3.0]);
        assert!((found - (1.0 / 3f64.log2() + 0.5 + 4.0) / 3.0).abs() < 1e-12, "{found}");
    }

    #[test]
    fn a_batch_of_single_documents_has_no_loss() {
        assert_eq!(value(AdrMseConfig::new().init(), &[0.5], &[2.0]), 0.0);
    }
}
