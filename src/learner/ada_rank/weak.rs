//! The interface that AdaRank requires of a family of weak rankers.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::data::RankingDataset;
use crate::distributed::Processes;
use crate::learner::error::LearnerError;
use crate::learner::shared::checks::in_unit_interval;
use crate::learner::shared::judge::{Judge, counted};
use crate::ranker::Model;

/// A family of weak rankers.
pub(super) trait WeakRankers {
    /// The form in which a weak ranker is saved.
    type Ranker: Serialize + DeserializeOwned;

    /// Chooses the weak ranker of a round for a distribution over queries, or returns `None` if none is left.
    fn choose(
        &self,
        distribution: &[f64],
        round: usize,
        members: &[Member<Self::Ranker>],
    ) -> Result<Option<Self::Ranker>, LearnerError>;

    /// Returns a weak ranker's scores of all documents.
    fn scores(&self, ranker: &Self::Ranker, data: &RankingDataset) -> Result<Vec<f64>, LearnerError>;

    /// Returns the measure `E` of a weak ranker on every query that the convention counts.
    fn values(
        &self,
        ranker: &Self::Ranker,
        judge: &Judge,
        train: &RankingDataset,
        processes: &dyn Processes,
    ) -> Result<Vec<f64>, LearnerError> {
        measured(judge, train, &self.scores(ranker, train)?, processes)
    }

    /// Returns the figures to report about a weak ranker, by name.
    fn figures(&self, ranker: &Self::Ranker) -> Vec<(String, f64)>;

    /// Returns the model `sum_t alpha_t h_t`.
    fn model(&self, members: &[Member<Self::Ranker>]) -> Result<Model, LearnerError>;
}

/// A weak ranker with its weight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Member<R> {
    pub(super) alpha: f64,
    pub(super) ranker: R,
}

/// Returns the measure `E` on every query that the convention counts. Each process measures some of the queries.
pub(super) fn measured(
    judge: &Judge,
    data: &RankingDataset,
    scores: &[f64],
    processes: &dyn Processes,
) -> Result<Vec<f64>, LearnerError> {
    let values = counted(&judge.shared_values(data, scores, processes)?);
    in_unit_interval(judge.measure(), &values)?;
    Ok(values)
}
