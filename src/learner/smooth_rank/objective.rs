//! The interface that SmoothRank requires of a scorer.

use crate::learner::shared::rounds::Set;
use crate::loss::RankingLoss;
use crate::ranker::Model;

/// Computes scores and training losses as functions of the weights.
pub(super) trait Objective {
    /// Returns the sum of the losses over training queries, and its derivative with respect to each weight.
    fn value_and_gradient(&self, weights: &[f64], loss: &dyn RankingLoss) -> (f64, Vec<f64>);

    /// Returns the score of every document of a set.
    fn scores(&self, weights: &[f64], set: Set) -> Vec<f64>;

    /// Returns the model with the given weights.
    fn model(&self, weights: &[f64]) -> Model;
}
