//! The trait through which PermuRank minimizes its bound, for a scorer of any kind.

use super::working_sets::WorkingSets;
use crate::data::RankingDataset;
use crate::learner::solver::solved::Solved;
use crate::ranker::Model;

/// A scorer that can minimize the bound over given working sets of permutations.
pub(super) trait Bound {
    /// Returns the parameters from which the fit at every cost starts.
    fn start(&self) -> Vec<f64>;

    /// Prepares for a new cost, by forgetting the permutations for the previous cost.
    fn begin(&mut self, sets: &WorkingSets);

    /// Minimizes the bound over the working sets, starting from the parameters `start`.
    fn minimize(&mut self, sets: &WorkingSets, cost: f64, start: &[f64]) -> Result<Solved, String>;

    /// Returns the score of every document for the given parameters.
    fn scores(&self, parameters: &[f64], data: &RankingDataset) -> Vec<f64>;

    /// Returns the model with the given parameters.
    fn model(&self, parameters: &[f64]) -> Model;
}
