//! Reciprocal rank at approximate positions.
//!
//! The surrogate is `sum_i l_i / p_i prod_{j != i} (1 - l_j sigmoid(beta (p_i - p_j)))`, where
//! `p_i = 1 + sum_{j != i} phi(alpha (s_j - s_i))`. The product uses the truncation function from
//! approximation-framework, section 4.3, to approximate "no relevant document is above i". The product is computed as
//! the exponential of a sum of `-log(1 + exp(beta (p_i - p_j)))` over the relevant documents, so no factor underflows
//! to 0.
//!
//! Cost: O(n^2). A query whose documents are all relevant or all irrelevant has loss 0.

use burn::config::Config;

use super::measures::ReciprocalRank;
use super::relaxation::Approximate;
use super::transform::Surrogate;
use crate::loss::declare::declare;
use crate::loss::error::LossError;
use crate::loss::temperature::Temperature;
use crate::op::Step;

declare! {
    ApproxRrConfig,
    name: "approx_rr",
    summary: "reciprocal rank at approximate positions",
    formula: "1 - sum_i l_i / p_i prod_{j != i} (1 - l_j sigmoid(beta (p_i - p_j))), p_i = 1 + sum_{j != i} phi(alpha (s_j - s_i))",
    cost: "O(n^2)",
    paper: "Qin, Liu and Li, A general approximation framework for direct optimization of IR measures, eq. (20), section 4.3",
    temperature: "alpha", sharper: Larger, paper_value: 10.0, setter: with_alpha,
}

/// Configuration of [`ApproxRr`]. The default temperature suits training from scratch; [`paper`](Self::paper) uses the
/// paper's temperature.
#[doc = example!("ApproxRrConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct ApproxRrConfig {
    /// The steepness `alpha` of the approximate positions; must be above 0.
    #[config(default = "Temperature::spreads(20.0)")]
    pub temperature: Temperature,
    /// The steepness of the truncation function; must be above 0.
    #[config(default = 10.0)]
    pub beta: f64,
    /// The smooth step function `phi` of the approximate positions.
    #[config(default = "Step::Logistic")]
    pub step: Step,
}

impl ApproxRrConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `alpha` or `beta` is not a finite number above 0.
    pub fn init(&self) -> Result<ApproxRr, LossError> {
        let positions = Approximate { temperature: self.temperature, beta: self.beta, step: self.step };
        Surrogate::named(NAME, ReciprocalRank::new(), positions)
    }
}

/// The ApproxRR loss, `1 - sum_i l_i / p_i prod_{j != i} (1 - l_j sigmoid(beta (p_i - p_j)))`, at approximate positions
/// `p_i`.
#[doc(alias = "MRR")]
#[doc(alias = "ApproxMRR")]
#[doc(alias = "reciprocal rank")]
pub type ApproxRr = Surrogate<ReciprocalRank>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::value;

    #[test]
    fn equal_scores_are_worked_by_hand() {
        // Positions 2, 2, 2: two relevant documents, each ahead of the other with 1/2: 2 (1/2) (1/2).
        let found = value(ApproxRrConfig::paper().init(), &[0.0; 3], &[1.0, 1.0, 0.0]);
        assert!((found - 0.5).abs() < 1e-12, "{found}");
    }

    #[test]
    fn steep_steps_give_the_reciprocal_rank() {
        let config = ApproxRrConfig::new().with_alpha(300.0).with_beta(300.0);
        let found = value(config.init(), &[4.0, 3.0, 2.0, 1.0], &[0.0, 0.0, 1.0, 1.0]);
        assert!((found - 1.0 / 3.0).abs() < 1e-9, "{found}");
    }
}
