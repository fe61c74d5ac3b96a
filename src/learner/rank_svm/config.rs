//! Configuration of RankSVM.

use serde::{Deserialize, Serialize};

use crate::learner::entry::{LearnerConfig, Parts};
use crate::learner::error::LearnerError;
use crate::learner::shared::candidates::Candidates;
use crate::learner::shared::checks;

pub(super) const NAME: &str = "rank_svm";

/// The loss of a pair with score difference `t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankSvmLoss {
    /// `max(0, 1 - t)`, solved by cutting planes.
    #[default]
    Hinge,
    /// `max(0, 1 - t)^2`, solved by truncated Newton steps: the faster of the two.
    SquaredHinge,
}

/// Weighting of the pairs of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairWeighting {
    /// Every pair weighs 1.
    #[default]
    Pair,
    /// Every query weighs `1 / m`, shared by its pairs.
    Query,
}

/// Configuration of [`RankSvm`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RankSvmConfig {
    /// `C`, above 0: one value, or several to choose from on validation data.
    pub c: Candidates,
    /// Loss of a pair.
    pub loss: RankSvmLoss,
    /// Weight of a pair.
    pub weighting: PairWeighting,
    /// Largest duality gap, relative to the objective, above 0.
    pub tolerance: f64,
    /// Maximum number of cutting planes or Newton steps for one `C`, at least 1.
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

/// RankSVM, with checked parameters.
#[derive(Debug, Clone)]
pub struct RankSvm {
    pub(super) costs: Vec<f64>,
    pub(super) config: RankSvmConfig,
}
