//! ApproxAP, the average precision at approximate positions.
//!
//! The surrogate is `1/|l| sum_i l_i / p_i (1 + sum_{j != i} l_j sigmoid(beta (p_i - p_j)))`, where
//! `p_i = 1 + sum_{j != i} phi(alpha (s_j - s_i))` (approximation-framework, equation 22). The second sigmoid in
//! equation 22 is the truncation function from section 4.3. The surrogate tends to AP as `alpha` and `beta` grow
//! (Theorem 5).
//!
//! Cost: O(n^2). A query whose documents are all relevant or all irrelevant has loss 0.

use burn::config::Config;

use super::measures::AveragePrecision;
use super::relaxation::Approximate;
use super::transform::Surrogate;
use crate::loss::declare::declare;
use crate::loss::error::LossError;
use crate::loss::temperature::Temperature;
use crate::op::Step;

declare! {
    ApproxApConfig,
    name: "approx_ap",
    summary: "average precision at approximate positions",
    formula: "1 - 1/|l| sum_i l_i / p_i (1 + sum_{j != i} l_j sigmoid(beta (p_i - p_j))), p_i = 1 + sum_{j != i} phi(alpha (s_j - s_i))",
    cost: "O(n^2); long lists in float32 on the CPU O(n log n)",
    paper: "Qin, Liu and Li, A general approximation framework for direct optimization of IR measures, eq. (22)",
    temperature: "alpha", sharper: Larger, paper_value: 10.0, setter: with_alpha,
}

/// Configuration of [`ApproxAp`]. The default temperature suits training from scratch; [`paper`](Self::paper) uses the
/// paper's temperature.
#[doc = example!("ApproxApConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct ApproxApConfig {
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

impl ApproxApConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `alpha` or `beta` is not a finite number above 0.
    pub fn init(&self) -> Result<ApproxAp, LossError> {
        let positions = Approximate { temperature: self.temperature, beta: self.beta, step: self.step };
        Surrogate::named(NAME, AveragePrecision::new(), positions)
    }
}

/// The ApproxAP loss, `1 - 1/|l| sum_i l_i / p_i (1 + sum_{j != i} l_j sigmoid(beta (p_i - p_j)))`, at approximate
/// positions `p_i`.
#[doc(alias = "MAP")]
#[doc(alias = "ApproxMAP")]
#[doc(alias = "mean average precision")]
pub type ApproxAp = Surrogate<AveragePrecision>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::value;

    #[test]
    fn equal_scores_are_worked_by_hand() {
        // Positions 2, 2, 2; each relevant document has half of the other ahead: (1 + 1/2) / 2.
        let found = value(ApproxApConfig::paper().init(), &[0.0; 3], &[1.0, 1.0, 0.0]);
        assert!((found - 0.75).abs() < 1e-12, "{found}");
    }

    #[test]
    fn steep_steps_give_average_precision() {
        // Relevant documents at ranks 1 and 3: (1 + 2/3) / 2.
        let config = ApproxApConfig::new().with_alpha(300.0).with_beta(300.0);
        let found = value(config.init(), &[3.0, 2.0, 1.0], &[1.0, 0.0, 2.0]);
        assert!((found - 5.0 / 6.0).abs() < 1e-9, "{found}");
    }
}
