//! The interface that SmoothRank requires of a scorer.

use crate::learner::shared::rounds::Set;
use crate::loss::RankingLoss;
use crate::ranker::Model;

/// Scores as a function of weights, with the losses of the training data.
pub(super) trait Objective {
    /// The sum of the losses over training queries, and its derivative with respect to each weight.
    fn value_and_gradient(&self, weights: &[f64], loss: &dyn RankingLoss) -> (f64, Vec<f64>);

    /// The score of every document of a set.
    fn scores(&self, weights: &[f64], set: Set) -> Vec<f64>;

    /// The model with these weights.
    fn model(&self, weights: &[f64]) -> Model;
}
