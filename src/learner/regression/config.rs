//! Configuration of ridge regression.

use serde::{Deserialize, Serialize};

use crate::learner::entry::{LearnerConfig, Parts};
use crate::learner::error::LearnerError;
use crate::learner::shared::candidates::Candidates;
use crate::measure::Gain;

pub(super) const NAME: &str = "regression";

/// Configuration of [`Regression`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RegressionConfig {
    /// The penalty on the squared weights: one value above 0, or a list from which the best value is chosen on
    /// validation data.
    pub lambda: Candidates,
    /// Whether the relevant documents and all other documents have the same total weight.
    pub balanced: bool,
    /// Whether to fit an intercept in addition to the weights.
    pub intercept: bool,
    /// The gain of each label. The regression predicts these gains.
    pub gain: Gain,
}

impl Default for RegressionConfig {
    fn default() -> Self {
        Self { lambda: Candidates::powers_of_ten(-6, 1), balanced: true, intercept: true, gain: Gain::Exp2 }
    }
}

impl LearnerConfig for RegressionConfig {
    type RankingLearner = Regression;

    fn check(&self, _: &Parts) -> Result<Regression, LearnerError> {
        self.gain.check()?;
        Ok(Regression { lambdas: self.lambda.positive("lambda")?, config: self.clone() })
    }
}

/// The learner that fits gains by ridge regression, with checked parameters.
#[derive(Debug, Clone)]
pub struct Regression {
    pub(super) lambdas: Vec<f64>,
    pub(super) config: RegressionConfig,
}
