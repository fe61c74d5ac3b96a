//! LambdaLoss, a family of weighted logistic losses that bound NDCG.
//!
//! The loss is `sum w_ij log2(1 + exp(-sigma (s_i - s_j)))`. The weights `w_ij` depend on the gains `G = G(y) / Z`, the
//! ranks `r` by score, and the discount `D(r) = 1 / log2(1 + r)`:
//!
//! | `weights` | pairs | `w_ij` |
//! |---|---|---|
//! | `ndcg_loss1` | all, `i = j` too | `G_i D(r_i)` |
//! | `ndcg_loss2` | `y_i > y_j` | `abs(G_i - G_j) (D(d) - D(d + 1))`, `d = abs(r_i - r_j)` |
//! | `ndcg_loss2_pp` | `y_i > y_j` | `abs(G_i - G_j) (mu (D(d) - D(d + 1)) + abs(D(r_i) - D(r_j)))` |
//!
//! The weights are those in equations 12 to 16 of Wang et al., The LambdaLoss framework for ranking metric
//! optimization. The paper's D is 1/D here. The weights carry no gradient. A cut-off truncates `D(r)` and `Z`, but not
//! the difference `D(d) - D(d + 1)`. If documents have weights, the weight of document `i` multiplies `w_ij`, while `Z`
//! depends only on the gains.
//!
//! Cost: O(n^2). A query whose labels are all equal has loss 0. Equal scores are ranked by position.

use std::f64::consts::LOG2_E;

use serde::{Deserialize, Serialize};

use super::lambda_ndcg::lambda_weight;
use super::pair_sum::loss_over_others;
use crate::loss::prelude::*;
use crate::op::{PairLoss, PairWeight, pair_loss};

declare! {
    LambdaLossConfig,
    name: "lambda_loss",
    summary: "logistic losses weighted to bound NDCG (NDCG-Loss1, 2 and 2++)",
    formula: "sum w_ij log2(1 + exp(-sigma (s_i - s_j)))",
    cost: "O(n^2)",
    paper: "Wang et al., The LambdaLoss framework for ranking metric optimization, eq. (12)-(16)",
}

/// The pair weights of a [`LambdaLoss`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LambdaLossWeights {
    /// The weights `G_i D(r_i)`, for all pairs.
    #[serde(rename = "ndcg_loss1")]
    NdcgLoss1,
    /// The weights `|G_i - G_j| (D(d) - D(d + 1))`, where `d = |r_i - r_j|`.
    #[serde(rename = "ndcg_loss2")]
    NdcgLoss2,
    /// The weights `|G_i - G_j| (mu (D(d) - D(d + 1)) + |D(r_i) - D(r_j)|)`, where `d = |r_i - r_j|`.
    #[serde(rename = "ndcg_loss2_pp")]
    NdcgLoss2Pp,
}

/// Configuration of [`LambdaLoss`].
#[doc = example!("LambdaLossConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct LambdaLossConfig {
    /// The formula for the weight of a pair.
    #[config(default = "LambdaLossWeights::NdcgLoss2Pp")]
    pub weights: LambdaLossWeights,
    /// The factor of the rank-distance term in `ndcg_loss2_pp`; must be 0 or above.
    #[config(default = 10.0)]
    pub mu: f64,
    /// The factor by which score differences are multiplied; must be above 0.
    #[config(default = 1.0)]
    pub sigma: f64,
    /// The number of top ranks that count; `None` counts all ranks.
    pub k: Option<usize>,
    /// The function that maps a label to its gain.
    #[config(default = "Gain::Exp2")]
    pub gain: Gain,
}

impl LambdaLossConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `sigma` is not a finite number above 0, `mu` is negative, `k` is 0, or the table of gains is
    /// invalid.
    pub fn init(&self) -> Result<LambdaLoss, LossError> {
        error::not_negative(NAME, "mu", self.mu)?;
        error::positive(NAME, "sigma", self.sigma)?;
        error::cutoff(NAME, self.k)?;
        error::gain(NAME, &self.gain)?;
        Ok(LambdaLoss { config: self.clone() })
    }
}

/// The logistic loss with base-2 logarithms over document pairs, weighted by [`LambdaLossWeights`].
#[doc(alias = "NDCG-Loss2++")]
#[doc(alias = "NDCGLoss")]
#[derive(Module, Debug)]
pub struct LambdaLoss {
    /// The checked parameters.
    #[module(skip)]
    config: LambdaLossConfig,
}

impl RankingLoss for LambdaLoss {
    fn about(&self) -> About<'_> {
        About::new(NAME, Orientation::Loss)
            .with_gain(&self.config.gain)
            .with_document_weights()
            .with_held_constant(Some("the weights of pairs"))
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        let &LambdaLossConfig { weights, mu, sigma, k, ref gain } = &self.config;
        let (scores, mask) = (lists.centered() * sigma, lists.mask.clone());
        let ordered = |absolute, gap| {
            let weight = lambda_weight(lists, gain, [k; 2], (absolute, gap), None);
            pair_loss(scores.clone(), lists.labels.clone(), mask.clone(), &weight, PairLoss::Logistic) * LOG2_E
        };
        // The value of a document is the sum over the pairs in which it comes first.
        sum_documents(lists.weighted(match weights {
            LambdaLossWeights::NdcgLoss1 => {
                let discount = lists.discounts_at(lists.ranks(), &Discount::Log2, k);
                let gains = lists.gains(gain);
                let ideal = lists.ideal_dcg(gains.clone(), &Discount::Log2, k);
                let weight = gains * discount / ideal.unsqueeze_dim(1);
                let others = PairWeight::Document(weight.clone());
                // The pair i = j has loss log2 2 = 1.
                weight + loss_over_others(scores, mask, &others, PairLoss::Logistic) * LOG2_E
            }
            LambdaLossWeights::NdcgLoss2 => ordered(0.0, 1.0),
            LambdaLossWeights::NdcgLoss2Pp => ordered(1.0, mu),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::value;

    fn discount(r: f64) -> f64 {
        1.0 / (1.0 + r).log2()
    }

    #[test]
    fn two_documents_are_worked_by_hand() {
        // The relevant document is at rank 2; G = 1, Z = 1, one pair with difference -1, and i = j.
        let pair = (1.0 + 1f64.exp()).log2();
        let step = discount(1.0) - discount(2.0);
        for (weights, expected) in [
            (LambdaLossWeights::NdcgLoss1, discount(2.0) * (pair + 1.0)),
            (LambdaLossWeights::NdcgLoss2, step * pair),
            (LambdaLossWeights::NdcgLoss2Pp, (5.0 * step + step) * pair),
        ] {
            let config = LambdaLossConfig::new().with_weights(weights).with_mu(5.0);
            let found = value(config.init(), &[0.0, 1.0], &[1.0, 0.0]);
            assert!((found - expected).abs() < 1e-12, "{weights:?}: {found}");
        }
    }

    #[test]
    fn a_rank_distance_of_two_takes_the_second_discount_step() {
        // Ranks 1, 2, 3 for labels 1, 0, 0: distances 1 and 2.
        let config = LambdaLossConfig::new().with_weights(LambdaLossWeights::NdcgLoss2);
        let pair = |t: f64| (1.0 + (-t).exp()).log2();
        let expected = (discount(1.0) - discount(2.0)) * pair(1.0) + (discount(2.0) - discount(3.0)) * pair(2.0);
        let found = value(config.init(), &[2.0, 1.0, 0.0], &[1.0, 0.0, 0.0]);
        assert!((found - expected).abs() < 1e-12, "{found}");
    }
}
