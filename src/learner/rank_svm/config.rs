//! Configuration of RankSVM.

use serde::{Deserialize, Serialize};

use crate::learner::entry::{LearnerConfig, Parts};
use crate::learner::error::LearnerError;
use crate::learner::shared::candidates::Candidates;
use crate::learner::shared::checks;

pub(super) const NAME: &str = "rank_svm";

/// The loss of a pair, as a function of the score difference `t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankSvmLoss {
    /// The hinge `max(0, 1 - t)`, minimized by cutting planes.
    #[default]
    Hinge,
    /// The squared hinge `max(0, 1 - t)^2`, minimized by truncated Newton steps, which are faster.
    SquaredHinge,
}

/// How much each pair of documents counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairWeighting {
    /// Every pair weighs 1.
    #[default]
    Pair,
    /// Each of the `m` queries has a total weight of `1 / m`, divided equally among its pairs.
    Query,
}

/// Configuration of [`RankSvm`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RankSvmConfig {
    /// The cost `C`: one value above 0, or a list from which the best value is chosen on validation data.
    pub c: Candidates,
    /// The loss of a pair of documents.
    pub loss: RankSvmLoss,
    /// How much each pair of documents counts.
    pub weighting: PairWeighting,
    /// The solver stops when the duality gap, relative to the objective, is at most this number. Must be above 0.
    pub tolerance: f64,
    /// The maximum number of cutting-plane rounds or Newton steps for each `C`, at least 1.
    pub max_steps: usize,
}

impl Default for RankSvmConfig {
    fn default() -> Self {
        Self {
            c: Candidates::powers_of_ten(-5, 0),
            loss: RankSvmLoss::default(),
            weighting: PairWeighting::default(),
            tolerance: 1e-5,
            max_steps: 1000,
        }
    }
}

impl LearnerConfig for RankSvmConfig {
    type RankingLearner = RankSvm;

    fn check(&self, _: &Parts) -> Result<RankSvm, LearnerError> {
        let costs = self.c.positive("c")?;
        checks::positive("tolerance", self.tolerance)?;
        checks::at_least("max_steps", self.max_steps, 1)?;
        Ok(RankSvm { costs, config: self.clone() })
    }
}

/// The learner RankSVM with checked parameters.
#[derive(Debug, Clone)]
pub struct RankSvm {
    pub(super) costs: Vec<f64>,
    pub(super) config: RankSvmConfig,
}
