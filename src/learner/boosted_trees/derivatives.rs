//! The derivatives to which a tree is fitted.

use crate::data::RankingDataset;
use crate::measure::deviation_of;

/// The distance, in spreads of scores, by which a leaf moves if all its documents pull to one side. This distance
/// equals the Newton step of a logistic loss between equal scores.
const SPREADS: f64 = 2.0;

/// The smallest weight of a document, relative to the mean weight, which keeps the weight of every leaf above 0.
const LEAST: f64 = 1e-4;

/// The limit on the spread of scores. Without a limit, scores would grow by a share of their spread in each round and
/// overflow.
const LARGEST_SPREAD: f64 = 1e3;

/// First and second derivatives of the loss with respect to each score, to which a tree is fitted.
#[derive(Debug, Clone, Default)]
pub(super) struct Derivatives {
    /// The first derivative `d loss / d score` of each document.
    pub gradient: Vec<f64>,
    /// The second derivative of each document, above 0, or 1 for every document in least squares.
    pub curvature: Vec<f64>,
}

impl Derivatives {
    /// Returns derivatives that make the value of a leaf the balance of the slopes of its documents:
    ///
    /// `-sum_i g_i / (sum_i (|g_i| + LEAST) / T_i)`, where `T_i` is [`SPREADS`] times the spread of the scores of the
    /// query of document `i`.
    ///
    /// The leaf moves by up to `T_i` if all its documents pull to one side, and does not move if they are in balance.
    /// The weight of a document is the size of its slope, scaled to a mean of 1, so sums of weights are comparable to
    /// counts.
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
/// Losses with a temperature in spreads use the same deviation (`loss::temperature_unit`).
fn spread(scores: &[f64]) -> f64 {
    let deviation = deviation_of(scores.iter().copied());
    if deviation > 0.0 { deviation.clamp(1e-12, LARGEST_SPREAD) } else { 1.0 }
}
