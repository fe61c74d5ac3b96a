//! Configuration of SVMmap.

use serde::{Deserialize, Serialize};

use crate::learner::entry::{LearnerConfig, Parts};
use crate::learner::error::LearnerError;
use crate::learner::shared::candidates::Candidates;
use crate::learner::shared::checks;

pub(super) const NAME: &str = "svm_map";

/// Configuration of [`SvmMap`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SvmMapConfig {
    /// The cost `C`: one value above 0, or a list from which the best value is chosen on validation data.
    pub c: Candidates,
    /// The solver stops when the duality gap, relative to the objective, is at most this number. Must be above 0.
    pub tolerance: f64,
    /// The maximum number of cutting-plane rounds for each `C`, at least 1.
    pub max_steps: usize,
}

impl Default for SvmMapConfig {
    fn default() -> Self {
        Self { c: Candidates::powers_of_ten(0, 4), tolerance: 1e-4, max_steps: 1000 }
    }
}

impl LearnerConfig for SvmMapConfig {
    type RankingLearner = SvmMap;

    fn check(&self, _: &Parts) -> Result<SvmMap, LearnerError> {
        let costs = self.c.positive("c")?;
        checks::positive("tolerance", self.tolerance)?;
        checks::at_least("max_steps", self.max_steps, 1)?;
        Ok(SvmMap { costs, config: self.clone() })
    }
}

/// The learner SVMmap with checked parameters.
#[derive(Debug, Clone)]
pub struct SvmMap {
    pub(super) costs: Vec<f64>,
    pub(super) config: SvmMapConfig,
}
