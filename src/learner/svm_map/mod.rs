//! SVMmap (Yue et al., 2007) is a support vector machine whose risk is an upper bound on one minus average precision
//! (direct-optimization, section 5.3).
//!
//! ```text
//! min over w    1/2 ||w||^2 + C / m sum_q max over rankings pi of q  [ (1 - AP(pi)) - w . (Psi*_q - Psi_q(pi)) ]
//! Psi_q(pi) = 1 / (|R_q| |I_q|)  sum over relevant k, irrelevant l    (+1 if pi has k ahead of l, else -1) (x_k - x_l)
//! ```
//!
//! The risk is a sum over the `m` queries that have both relevant documents (label 1 or above) and irrelevant
//! documents. The objective is minimized by one-slack cutting planes. Each plane combines the most violated rankings of
//! all queries. Each ranking is found exactly, in O(n log n) (see `risk`). The solver stops when the duality
//! gap is at most `tolerance` times the objective.
//!
//! Each `C` in the list is one round, which starts from the solution for the previous `C`. The selection measure
//! chooses the best round.

mod risk;
#[cfg(test)]
mod tests;

use crate::learner::prelude::*;
use crate::learner::shared::cost_path;
use crate::learner::solver::cutting_plane;
use risk::ApRisk;

const NAME: &str = "svm_map";

pub(super) const ENTRY: LearnerEntry = LearnerEntry {
    summary: "support vector machine whose risk bounds one minus average precision, to a duality gap",
    paper: "Yue, Finley, Radlinski and Joachims, A support vector method for optimizing average precision",
    ..LearnerEntry::of::<SvmMapConfig>(NAME)
};

/// The configuration of SVMmap. A checked configuration is the learner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SvmMapConfig {
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
    type RankingLearner = Self;

    fn check(&self, _: &Parts) -> Result<Self> {
        self.c.check("c")?;
        checks::positive("tolerance", self.tolerance)?;
        checks::at_least("max_steps", self.max_steps, 1)?;
        Ok(self.clone())
    }
}

impl RankingLearner for SvmMapConfig {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, job: Job) -> Result<Fitted> {
        let rounds = Rounds::new(NAME, job)?;
        let Some(risk) = ApRisk::new(job.train) else {
            let reason = "no training query has both relevant (label 1 or more) and irrelevant (label 0) documents, so \
                          average precision cannot be learned: check the labels, or choose another learner";
            return Err(LearnerError::data(NAME, reason));
        };
        let risk = |weights: &[f64]| risk.at(weights);
        cost_path::fit(rounds, self, self.c.values(), |cost, start| {
            cutting_plane::minimize(cost, start, &risk, self.tolerance, self.max_steps, &|| job.interrupted())
        })
    }
}
