//! Weak rankers, and the measure that each achieves on each query.

use serde::de::DeserializeOwned;

use crate::learner::prelude::*;
use crate::learner::shared::judge::{Judge, counted};

/// A kind of weak ranker, such as single features.
pub(super) trait WeakRankers {
    /// The type of one weak ranker, which is saved with the state of the fit.
    type Ranker: Serialize + DeserializeOwned;

    /// Chooses the weak ranker of a round, given the weight of each query, or returns `None` if no ranker is left.
    fn choose(
        &self,
        distribution: &[f64],
        round: usize,
        members: &[Member<Self::Ranker>],
    ) -> Result<Option<Self::Ranker>>;

    /// Returns the score that a weak ranker gives to each document.
    fn scores(&self, ranker: &Self::Ranker, data: &RankingDataset) -> Result<Vec<f64>>;

    /// Returns the measure `E` of a weak ranker on every query that the convention counts.
    fn values(&self, ranker: &Self::Ranker, judge: &Judge, train: &RankingDataset) -> Result<Vec<f64>> {
        measured(judge, train, &self.scores(ranker, train)?)
    }

    /// Returns the names and values that a round reports about its weak ranker.
    fn figures(&self, ranker: &Self::Ranker) -> Vec<(String, f64)>;

    /// Returns the model `sum_t alpha_t h_t`.
    fn model(&self, members: &[Member<Self::Ranker>]) -> Result<Model>;
}

/// A weak ranker `h_t` with its weight `alpha_t`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Member<R> {
    pub(super) alpha: f64,
    pub(super) ranker: R,
}

/// Returns the measure `E` of the scores on every query that the convention counts. Each process of the data's group
/// evaluates some of the queries.
pub(super) fn measured(judge: &Judge, data: &RankingDataset, scores: &[f64]) -> Result<Vec<f64>> {
    checked(judge, &judge.shared_values(data, scores)?)
}

/// Returns the values of the queries that the convention counts, which must lie in `[0, 1]`.
pub(super) fn checked(judge: &Judge, values: &[Option<f64>]) -> Result<Vec<f64>> {
    let values = counted(values);
    checks::in_unit_interval(judge.measure, &values)?;
    Ok(values)
}
