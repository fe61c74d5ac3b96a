//! The interface that PermuRank requires of a scorer: to minimize the bound over given working sets.

use super::working_sets::WorkingSets;
use crate::data::RankingDataset;
use crate::learner::solver::solved::Solved;
use crate::ranker::Model;

/// A scorer and how it minimizes the bound over given working sets.
pub(super) trait Bound {
    /// The parameters that every cost starts from.
    fn start(&self) -> Vec<f64>;

    /// Forgets the permutations of the previous cost.
    fn begin(&mut self, sets: &WorkingSets);

    /// Minimizes the bound from `start`.
    fn minimize(&mut self, sets: &WorkingSets, cost: f64, start: &[f64]) -> Result<Solved, String>;

    /// The score of every document.
    fn scores(&self, parameters: &[f64], data: &RankingDataset) -> Vec<f64>;

    /// The model with these parameters.
    fn model(&self, parameters: &[f64]) -> Model;
}
