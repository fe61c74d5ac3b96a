//! Approximate reciprocal rank.
//!
//! `sum_i l_i / p_i prod_{j != i} (1 - l_j sigmoid(beta (p_i - p_j)))`,
//! `p_i = 1 + sum_{j != i} phi(alpha (s_j - s_i))`. The product is the truncation of approximation-framework, section
//! 4.3, for "no relevant document ahead of i". Its logarithm is a sum of `-log(1 + exp(beta (p_i - p_j)))` over the
//! relevant documents, so no factor vanishes.
//!
//! Cost: O(n^2). A query whose documents are all relevant or all irrelevant has loss 0.

use burn::config::Config;

use super::measures::ReciprocalRank;
use super::relaxation::Approximate;
use super::transform::Surrogate;
use crate::loss::entry::LossEntry;
use crate::loss::error::LossError;
use crate::loss::smoothing::{Sharper, Smoothing};
use crate::loss::temperature::{self, Temperature, tempered};
use crate::op::Step;

const NAME: &str = "approx_rr";

pub(in crate::loss) const ENTRY: LossEntry = LossEntry {
    name: NAME,
    summary: "reciprocal rank at approximate positions",
    formula: "1 - sum_i l_i / p_i prod_{j != i} (1 - l_j sigmoid(beta (p_i - p_j))), p_i = 1 + sum_{j != i} phi(alpha (s_j - s_i))",
    cost: "O(n^2)",
    paper: "Qin, Liu and Li, A general approximation framework for direct optimization of IR measures, eq. (20), section 4.3",
    smoothing: Some(Smoothing { parameter: "alpha", sharper: Sharper::Larger }),
    shift_invariant: true,
    defaults: |given| temperature::defaults(&ApproxRrConfig::new(), given),
    forms: None,
    build: |params| Ok(Box::new(temperature::configure(NAME, ApproxRrConfig::new(), params)?.init()?)),
};

/// Configuration of [`ApproxRr`]. Its temperature trains scorers from scratch; [`paper`](Self::paper) has the paper's
/// temperature.
#[doc = example!("ApproxRrConfig")]
#[derive(Config, Debug)]
pub struct ApproxRrConfig {
    /// `alpha`, the steepness of the positions, above 0.
    #[config(default = "Temperature::spreads(20.0)")]
    pub temperature: Temperature,
    /// Steepness of the truncation function, above 0.
    #[config(default = 10.0)]
    pub beta: f64,
    /// Smooth step of the positions.
    #[config(default = "Step::Logistic")]
    pub step: Step,
}

tempered!(ApproxRrConfig, "alpha", 10.0, with_alpha);

impl ApproxRrConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// `alpha` or `beta` not finite or not above 0.
    pub fn init(&self) -> Result<ApproxRr, LossError> {
        let positions = Approximate { alpha: self.temperature.value, beta: self.beta, step: self.step };
        Surrogate::named(NAME, ReciprocalRank::new(), positions, self.temperature.unit)
    }
}

/// `1 - sum_i l_i / p_i prod_{j != i} (1 - l_j sigmoid(beta (p_i - p_j)))` at approximate positions `p_i`.
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
