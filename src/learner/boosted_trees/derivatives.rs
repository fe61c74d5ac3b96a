//! The derivatives that a tree is fitted to.

use crate::data::RankingDataset;
use crate::measure::deviation_of;

/// Distance, in spreads of scores, that a leaf moves if all its documents pull to one side. It equals the Newton step,
/// in scores, of a logistic loss between equal scores.
const SPREADS: f64 = 2.0;

/// The smallest weight of a document, relative to a mean of 1. So no leaf has weight 0.
const LEAST: f64 = 1e-4;

/// The largest spread that counts. Without a limit, scores would grow by a share of their spread in each round and
/// overflow.
const LARGEST_SPREAD: f64 = 1e3;

/// First and second derivatives of the loss with respect to each score, to which a tree is fitted.
#[derive(Debug, Clone, Default)]
pub(super) struct Derivatives {
    /// `d loss / d score` of each document.
    pub gradient: Vec<f64>,
    /// Second derivative, above 0, or 1 throughout for least squares.
    pub curvature: Vec<f64>,
}

impl Derivatives {
    /// Returns the derivatives that make the value of a leaf the balance of the slopes of its documents,
    ///
    /// `-sum_i g_i / (sum_i (|g_i| + LEAST) / T_i)`, `T_i` = [`SPREADS`] times the spread of the scores of the query of
    /// `i`:
    ///
    /// the leaf moves by up to `T_i` if all its documents pull to one side, and not at all if they are in balance. The
    /// weight of a document is the size of its slope, scaled to a mean of 1. So sums of weights count documents.
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

/// The standard deviation of the scores of a query, as in a loss whose temperature counts in spreads
/// (`loss::temperature_unit`), at most [`LARGEST_SPREAD`]. It is 1 if all scores are equal.
fn spread(scores: &[f64]) -> f64 {
    let deviation = deviation_of(scores.iter().copied());
    if deviation > 0.0 { deviation.clamp(1e-12, LARGEST_SPREAD) } else { 1.0 }
}
