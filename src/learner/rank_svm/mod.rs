//! RankSVM (Herbrich et al., 2000; Joachims, 2002) is a support vector machine on all ordered pairs of documents. The
//! solver stops when its duality gap is small enough.
//!
//! ```text
//! min over w    1/2 ||w||^2 + C sum_q omega_q sum over pairs (i, j) of q, y_i > y_j    l(w . x_i - w . x_j)
//! ```
//!
//! The loss of a pair is `l(t) = max(0, 1 - t)` (`hinge`) or its square (`squared_hinge`). With `weighting = "pair"`,
//! `omega_q = 1`, so every pair counts the same, and long queries dominate the objective. With `weighting = "query"`,
//! `omega_q = 1 / (m |P_q|)`. Here `m` is the number of queries with pairs, and `|P_q|` is the number of pairs of query
//! q. In this case, `C` multiplies the average over these queries of their mean loss per pair.
//!
//! Pairs are never enumerated: the objective and its gradient cost O(n log n) per query (see `pairs`). The hinge is
//! minimized by cutting planes, whose quadratic programs give lower bounds on the minimum. The squared hinge is
//! minimized by truncated Newton steps (Chapelle and Keerthi, 2010). For the squared hinge, the dual point
//! `alpha = 2 C omega max(0, 1 - t)` leaves a duality gap of exactly `||gradient||^2 / 2`.
//!
//! Each `C` in the list is one round, which starts from the solution for the previous `C`. The selection measure
//! chooses the best round. A query whose labels are all equal has no pairs and is ignored.

mod newton;
mod pairs;
mod risk;
#[cfg(test)]
mod tests;

use crate::learner::prelude::*;
use crate::learner::shared::cost_path;
use crate::learner::solver::cutting_plane;
use risk::{PairRisk, PairWeighting};

const NAME: &str = "rank_svm";

pub(super) const ENTRY: LearnerEntry = LearnerEntry {
    summary: "support vector machine over all pairs of documents, to a duality gap",
    paper: "Joachims, Optimizing search engines using clickthrough data",
    ..LearnerEntry::of::<RankSvmConfig>(NAME)
};

/// The loss of a pair, as a function of the score difference `t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RankSvmLoss {
    /// The hinge `max(0, 1 - t)`, minimized by cutting planes.
    #[default]
    Hinge,
    /// The squared hinge `max(0, 1 - t)^2`, minimized by truncated Newton steps, which are faster.
    SquaredHinge,
}

/// The configuration of RankSVM. A checked configuration is the learner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RankSvmConfig {
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
    type RankingLearner = Self;

    fn check(&self, _: &Parts) -> Result<Self> {
        self.c.check("c")?;
        checks::positive("tolerance", self.tolerance)?;
        checks::at_least("max_steps", self.max_steps, 1)?;
        Ok(self.clone())
    }
}

impl RankingLearner for RankSvmConfig {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, job: Job) -> Result<Fitted> {
        let rounds = Rounds::new(NAME, job)?;
        let risk = PairRisk::new(job.train, self.weighting);
        let hinge = |weights: &[f64]| risk.hinge(weights);
        let (limits, stop) = ((self.tolerance, self.max_steps), || job.interrupted());
        cost_path::fit(rounds, self, self.c.values(), |cost, start| match self.loss {
            RankSvmLoss::Hinge => cutting_plane::minimize(cost, start, &hinge, limits.0, limits.1, &stop),
            RankSvmLoss::SquaredHinge => Ok(newton::minimize(&risk, cost, start, limits, &stop)),
        })
    }
}
