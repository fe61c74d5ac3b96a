//! Implements the rounds of RankSVM, each of which minimizes the objective for one cost `C`.

use super::config::{NAME, RankSvm, RankSvmLoss};
use super::newton;
use super::risk::PairRisk;
use crate::data::RankingDataset;
use crate::learner::entry::RankingLearner;
use crate::learner::error::LearnerError;
use crate::learner::shared::context::{FitContext, Fitted};
use crate::learner::shared::cost_path;
use crate::learner::shared::rounds::Rounds;
use crate::learner::solver::cutting_plane::CuttingPlanes;

impl RankingLearner for RankSvm {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(
        &self,
        train: &RankingDataset,
        validation: Option<&RankingDataset>,
        context: &FitContext,
    ) -> Result<Fitted, LearnerError> {
        let rounds = Rounds::new(NAME, train, validation, context)?;
        let risk = PairRisk::new(train, self.config.weighting);
        let interrupted = || context.interrupted(train);
        cost_path::fit(rounds, &self.config, &self.costs, |cost, start| match self.config.loss {
            RankSvmLoss::Hinge => CuttingPlanes::new(cost).minimize(
                start,
                &|weights| risk.hinge(weights),
                self.config.tolerance,
                self.config.max_steps,
                &interrupted,
            ),
            RankSvmLoss::SquaredHinge => {
                let limits = (self.config.tolerance, self.config.max_steps);
                Ok(newton::minimize(&risk, cost, start, limits, &interrupted))
            }
        })
    }
}
