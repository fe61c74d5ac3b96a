//! Implements the rounds of SVMmap, each of which minimizes the objective for one cost `C`.

use super::config::{NAME, SvmMap, SvmMapConfig};
use super::risk::ApRisk;
use crate::data::RankingDataset;
use crate::learner::entry::RankingLearner;
use crate::learner::error::LearnerError;
use crate::learner::shared::context::{FitContext, Fitted};
use crate::learner::shared::cost_path;
use crate::learner::shared::rounds::Rounds;
use crate::learner::solver::cutting_plane::CuttingPlanes;

impl RankingLearner for SvmMap {
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
        let risk = ApRisk::new(train)?;
        let SvmMapConfig { tolerance, max_steps, .. } = &self.config;
        cost_path::fit(rounds, &self.config, &self.costs, |cost, start| {
            CuttingPlanes::new(cost)
                .minimize(start, &|weights| risk.at(weights), *tolerance, *max_steps, &|| context.interrupted(train))
        })
    }
}
