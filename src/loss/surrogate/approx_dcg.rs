//! ApproxDCG, the unnormalized DCG at approximate positions.
//!
//! The surrogate is `sum_i G(y_i) / log2(1 + p_i)`, where `p_i = 1 + sum_{j != i} phi(alpha (s_j - s_i))`
//! (approximation-framework, equations 20 and 21). Unlike ApproxNDCG, ApproxDCG gives more weight to queries with
//! larger gains.
//!
//! Cost: O(n^2). A query whose labels are all equal has loss 0.

use burn::config::Config;

use super::measures::Dcg;
use super::relaxation::Approximate;
use super::transform::Surrogate;
use crate::loss::declare::declare;
use crate::loss::error::LossError;
use crate::loss::temperature::Temperature;
use crate::measure::Gain;
use crate::op::Step;

declare! {
    ApproxDcgConfig,
    name: "approx_dcg",
    summary: "DCG at approximate positions",
    formula: "-sum_i G(y_i) / log2(1 + p_i), p_i = 1 + sum_{j != i} phi(alpha (s_j - s_i))",
    cost: "O(n^2); long lists in float32 on the CPU O(n log n)",
    paper: "Qin, Liu and Li, A general approximation framework for direct optimization of IR measures, eq. (20), (21)",
    temperature: "alpha", sharper: Larger, paper_value: 10.0, setter: with_alpha,
}

/// Configuration of [`ApproxDcg`]. The default temperature suits training from scratch; [`paper`](Self::paper) uses the
/// paper's temperature.
#[doc = example!("ApproxDcgConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct ApproxDcgConfig {
    /// The steepness `alpha` of the approximate positions; must be above 0.
    #[config(default = "Temperature::spreads(20.0)")]
    pub temperature: Temperature,
    /// The function that maps a label to its gain.
    #[config(default = "Gain::Exp2")]
    pub gain: Gain,
    /// The smooth step function `phi` of the approximate positions.
    #[config(default = "Step::Logistic")]
    pub step: Step,
}

impl ApproxDcgConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `alpha` is not a finite number above 0, or if the table of gains is invalid.
    pub fn init(&self) -> Result<ApproxDcg, LossError> {
        // Without a cut-off `beta` has no effect.
        let positions = Approximate { temperature: self.temperature, beta: 1.0, step: self.step };
        Surrogate::named(NAME, Dcg { gain: self.gain.clone(), ..Dcg::default() }, positions)
    }
}

/// The ApproxDCG loss, `-sum_i G(y_i) / log2(1 + p_i)`, at approximate positions `p_i`.
pub type ApproxDcg = Surrogate<Dcg>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::value;

    #[test]
    fn equal_scores_are_worked_by_hand() {
        // Three documents at position 1 + 2/2: (3 + 1 + 0) / log2(3).
        let found = value(ApproxDcgConfig::paper().init(), &[0.0; 3], &[2.0, 1.0, 0.0]);
        assert!((found - 4.0 / 3f64.log2()).abs() < 1e-12, "{found}");
        let linear = value(ApproxDcgConfig::paper().with_gain(Gain::Linear).init(), &[0.0; 3], &[2.0, 1.0, 0.0]);
        assert!((linear - 3.0 / 3f64.log2()).abs() < 1e-12, "{linear}");
    }
}
