//! Losses whose gradient is estimated from sampled rankings.

use super::prelude::*;

/// The value and gradient of a measure, estimated from sampled rankings.
pub(super) struct Estimate {
    /// The estimated measure of each query, `[B]`.
    pub value: Tensor<1>,
    /// The estimated derivatives of the measure with respect to the scores, `[B, N]`, 0 at padded places.
    pub slopes: Tensor<2>,
}

impl Estimate {
    /// Averages the estimates of NDCG@k from `draws` sampled rankings. The function `of` computes the estimate for one
    /// draw, given the gains divided by the ideal DCG, `[B, N]`.
    pub fn ndcg(
        lists: &Lists,
        gain: &Gain,
        k: Option<usize>,
        draws: usize,
        of: impl Fn(&Tensor<2>, usize) -> Self,
    ) -> Self {
        let gains = lists.gains(gain);
        let ideal = lists.ideal_dcg(gains.clone(), &Discount::Log2, k);
        let worth = gains / ideal.unsqueeze_dim(1);
        let sum = (1..draws)
            .map(|draw| of(&worth, draw))
            .fold(of(&worth, 0), |sum, one| Self { value: sum.value + one.value, slopes: sum.slopes + one.slopes });
        let share = 1.0 / draws as f64;
        Self { value: sum.value * share, slopes: sum.slopes * share }
    }

    /// Returns the loss `1 - value`, `[B]`. The gradient of this loss consists of the negated estimated derivatives.
    /// The mean derivative of each list is subtracted first. Adding a constant to all scores changes no rank, so the
    /// derivatives should add up to 0.
    pub fn loss(self, lists: &Lists) -> Tensor<1> {
        let count = one_in_place_of_zero(lists.counts());
        let common = (sum_documents(self.slopes.clone()) / count).unsqueeze_dim::<2>(1);
        let slopes = (self.slopes - common) * lists.mask.clone();
        // The value is 0, or NaN where a score is NaN, but it has a gradient.
        let moved = lists.scores.clone() - lists.scores.clone().detach();
        (self.value.detach() + sum_documents(slopes.detach() * moved)).neg() + 1.0
    }
}
