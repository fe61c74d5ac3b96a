//! Losses that sum or average a function of the score difference over pairs with different labels. The sums over pairs
//! that these losses use are defined here too.
//!
//! If documents have weights, a pair has the weight of its more relevant document, and the mean over pairs is a
//! weighted mean.

use crate::loss::curvature;
use crate::loss::prelude::*;
use crate::op::{PairLoss, PairWeight, SlicePairWeight, pair_loss};

/// The loss `sum_{y_i > y_j} l(scale (s_i - s_j))`, or the mean over these pairs.
#[derive(Module, Debug)]
pub struct PairSum {
    #[module(skip)]
    pub(super) name: &'static str,
    #[module(skip)]
    pub(super) loss: PairLoss,
    /// The factor that multiplies score differences, if any.
    pub(super) scale: Option<f64>,
    /// Whether to divide the loss by the number of pairs.
    pub(super) mean: bool,
}

impl RankingLoss for PairSum {
    fn about(&self) -> About<'_> {
        let about = About::new(self.name, Orientation::Loss).with_document_weights();
        match self.loss {
            PairLoss::Logistic => about.with_curvature(self),
            _ => about,
        }
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        let scores = match self.scale {
            Some(scale) => lists.centered() * scale,
            None => lists.scores.clone(),
        };
        sum_over_pairs(lists, scores, self.loss, self.mean)
    }
}

/// Gives the derivatives of the logistic loss; the other pair losses do not offer them.
impl Curved for PairSum {
    fn derivatives(&self, labels: &[f32], scores: &[f64], weights: Option<&[f32]>) -> Derivatives {
        let weight = |document: usize| weights.map_or(1.0, |weights| f64::from(weights[document]));
        // The sum of the weights of all pairs.
        let below = |label: f32| labels.iter().filter(|other| **other < label).count() as f64;
        let pairs: f64 = labels.iter().enumerate().map(|(document, &label)| below(label) * weight(document)).sum();
        let share = if self.mean && pairs > 0.0 { pairs.recip() } else { 1.0 };
        let shares = vec![share; labels.len()];
        let of_pairs = SlicePairWeight::Document(&shares[..]);
        curvature::logistic(labels, scores, self.scale.unwrap_or(1.0), of_pairs, weights, None).0
    }
}

/// For each query, returns `sum_{y_i > y_j} l(x_i - x_j)` or the mean over these pairs, `[B]`.
pub(super) fn sum_over_pairs(lists: &Lists, x: Tensor<2>, loss: PairLoss, mean: bool) -> Tensor<1> {
    let sum = |x: Tensor<2>, loss: PairLoss| {
        // The sum of a document is over the pairs in which it is the more relevant one.
        sum_documents(lists.weighted(pair_loss(x, lists.labels.clone(), lists.mask.clone(), &PairWeight::Unit, loss)))
    };
    if !mean {
        return sum(x, loss);
    }
    // A hinge of margin 1 between equal scores counts the pairs.
    let pairs = sum(x.zeros_like(), PairLoss::Hinge { margin: 1.0 });
    sum(x, loss) / one_in_place_of_zero(pairs)
}

/// For each document `i`, returns `sum_{j != i} w_ij l(x_i - x_j)` over all other documents `j` with `mask = 1`,
/// whatever their labels, `[B, N]`.
pub(in crate::loss) fn loss_over_others(
    x: Tensor<2>,
    mask: Tensor<2>,
    weight: &PairWeight,
    loss: PairLoss,
) -> Tensor<2> {
    let place = places_like(&x);
    // The pairs with i after j in the list, then those with i before j.
    let one_way = |order: Tensor<2>| pair_loss(x.clone(), order, mask.clone(), weight, loss);
    one_way(place.clone()) + one_way(place.neg())
}
