//! The derivatives to which a tree is fitted.

use crate::data::RankingDataset;
use crate::measure::deviation_of;

/// The largest leaf value, in standard deviations of a query's scores. A leaf has this value if all its slopes have the
/// same sign. A Newton step on the logistic loss of a pair has the same length if both scores are equal.
const SPREADS: f64 = 2.0;

/// The minimum weight of a document relative to the mean weight, which keeps the total weight of every leaf above 0.
const LEAST: f64 = 1e-4;

/// The upper limit of the standard deviation of a query's scores. Without this limit, the scores would grow
/// exponentially over the rounds and overflow.
const LARGEST_SPREAD: f64 = 1e3;

/// The first and second derivatives of the loss with respect to each score, to which a tree is fitted.
#[derive(Debug, Clone, Default)]
pub(super) struct Derivatives {
    /// The first derivative `d loss / d score` of each document.
    pub gradient: Vec<f64>,
    /// The second derivative of each document, which is above 0, and equals 1 for all documents in a least-squares fit.
    pub curvature: Vec<f64>,
}

impl Derivatives {
    /// Replaces the curvatures so that a Newton step gives the leaf values of `Steps::Balance`:
    ///
    /// `-sum_i g_i / (sum_i (|g_i| + LEAST) / T_i)`, where `T_i` is [`SPREADS`] times the standard deviation of the
    /// scores in the query of document `i`.
    ///
    /// The leaf moves by up to `T_i` if all slopes have the same sign, and does not move if the slopes add up to 0. The
    /// sizes of the slopes serve as weights, scaled to a mean of 1. A sum of weights is therefore comparable to a
    /// number of documents.
    pub(super) fn balanced(&self, data: &RankingDataset, scores: &[f64]) -> Self {
        let total: f64 = self.gradient.iter().map(|slope| slope.abs()).sum();
        let factor = if total > 0.0 { self.gradient.len() as f64 / total } else { 1.0 };
        let mut curvature = Vec::with_capacity(self.gradient.len());
        for query in 0..data.queries() {
            let documents = data.range(query);
            let reach = SPREADS * spread(&scores[documents.clone()]);
            curvature.extend(self.gradient[documents].iter().map(|slope| (factor * slope.abs() + LEAST) / reach));
        }
        Self { gradient: self.gradient.iter().map(|slope| factor * slope).collect(), curvature }
    }
}

/// Returns the standard deviation of the scores of a query, at most [`LARGEST_SPREAD`], or 1 if all scores are equal.
/// The temperature of some losses is relative to the same deviation (`loss::temperature_unit`).
fn spread(scores: &[f64]) -> f64 {
    let deviation = deviation_of(scores.iter().copied());
    if deviation > 0.0 { deviation.clamp(1e-12, LARGEST_SPREAD) } else { 1.0 }
}
