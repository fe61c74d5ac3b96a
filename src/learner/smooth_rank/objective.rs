//! The trait through which SmoothRank fits a scorer of any kind.

use crate::learner::shared::rounds::Set;
use crate::loss::RankingLoss;
use crate::ranker::Model;

/// Computes the scores and the training losses of a scorer with given weights.
pub(super) trait Objective {
    /// Returns the sum of the losses over training queries, and its derivative with respect to each weight.
    fn value_and_gradient(&self, weights: &[f64], loss: &dyn RankingLoss) -> (f64, Vec<f64>);

    /// Returns the score of every training or validation document.
    fn scores(&self, weights: &[f64], set: Set) -> Vec<f64>;

    /// Returns the model with the given weights.
    fn model(&self, weights: &[f64]) -> Model;
}
