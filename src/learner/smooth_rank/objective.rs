//! What SmoothRank asks of a scorer.

use crate::learner::error::LearnerError;
use crate::learner::shared::judge::Judge;
use crate::loss::RankingLoss;
use crate::ranker::Model;

/// Scores as a function of weights, with the losses of the training data.
pub(super) trait Objective {
    /// The sum of the losses over training queries, and its derivative by each weight.
    fn value_and_gradient(&self, weights: &[f64], loss: &dyn RankingLoss) -> (f64, Vec<f64>);

    /// The measure of each training query, `None` where it does not count, and the mean on the validation data, where
    /// there are any and one query counts.
    fn merits(&self, weights: &[f64], judge: &Judge) -> Result<(Vec<Option<f64>>, Option<f64>), LearnerError>;

    /// The model with these weights.
    fn model(&self, weights: &[f64]) -> Model;
}
