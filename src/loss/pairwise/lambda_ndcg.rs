//! LambdaRank, which weights each pair in RankNet by how much NDCG@k changes when the two documents swap places.
//!
//! The loss is `sum_{y_i > y_j} |G(y_i) - G(y_j)| |D(r_i) - D(r_j)| / Z log(1 + exp(-sigma (s_i - s_j)))`. Here `r_i`
//! is the rank of document `i` by score, and `D(r)` is the discount `1 / log2(1 + r)`, or 0 beyond the cut-off. The
//! pair weights carry no gradient, so the gradient is LambdaRank's (Burges, From RankNet to LambdaRank to LambdaMART,
//! section 4). If documents have weights, the weight of a pair is multiplied by the weight of its more relevant
//! document. `Z` depends only on the gains.
//!
//! The cut-offs `k` and `truncation` have different effects. The discount is 0 beyond rank `k`, so a pair's weight is
//! the change in NDCG@k when its documents swap places. A pair counts only if at least one of its documents is at rank
//! `truncation` or better. `Z` is the ideal DCG at `k` or, if `k` is not given, at `truncation`. Without `k`,
//! `truncation` works like LightGBM's `lambdarank_truncation_level`. Without `k`, a pair's weight is the change in DCG
//! over the whole list, divided by the ideal DCG within the truncation.
//!
//! The two normalizations together are LightGBM's `lambdarank_norm`; XGBoost has them as two options. The gradient
//! treats both normalizations as constants. With either normalization, it is therefore not the gradient of a function
//! of the scores.
//!
//! * `score_normalization` divides the weight of a pair by `0.01 + |s_i - s_j|`, except in a list of equal scores.
//! * `query_normalization` multiplies the loss of a query by `log2(1 + S) / S`. `S` is the sum of the magnitudes of the
//!   gradients of the query's pairs. Each pair counts twice, once per document.
//!
//! The cost is O(n^2), or O(k n) in boosted trees with a truncation `k`. A query whose labels are all equal has loss 0.
//! Equal scores are ranked by position.

use crate::loss::curvature;
use crate::loss::prelude::*;
use crate::op::{Distance, PairLoss, PairWeight, SlicePairWeight, pair_loss};

declare! {
    LambdaNdcgConfig,
    name: "lambda_ndcg",
    summary: "logistic loss weighted by the change of NDCG@k (LambdaRank)",
    formula: "sum_{y_i > y_j} |G(y_i) - G(y_j)| |D(r_i) - D(r_j)| / Z log(1 + exp(-sigma (s_i - s_j)))",
    cost: "O(n^2); long lists in float32 on the CPU O(n log n)",
    paper: "Burges, From RankNet to LambdaRank to LambdaMART, section 4",
}

/// Configuration of [`LambdaNdcg`].
#[doc = example!("LambdaNdcgConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct LambdaNdcgConfig {
    /// The factor by which score differences are multiplied; must be above 0.
    #[config(default = 1.0)]
    pub sigma: f64,
    /// Each pair is weighted by how much NDCG with this cut-off changes when the two documents swap places; `None`
    /// counts the whole list.
    pub k: Option<usize>,
    /// A pair counts only if at least one of its documents is at this rank or better, as in LightGBM; `None` counts all
    /// pairs.
    pub truncation: Option<usize>,
    /// The function that maps a label to its gain.
    #[config(default = "Gain::Exp2")]
    pub gain: Gain,
    /// Whether to divide the weight of a pair by `0.01 + |s_i - s_j|`.
    #[config(default = false)]
    pub score_normalization: bool,
    /// Whether to multiply the loss of a query by `log2(1 + S) / S`. `S` is the sum of the magnitudes of its pairs'
    /// gradients.
    #[config(default = false)]
    pub query_normalization: bool,
}

impl LambdaNdcgConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `sigma` is not a finite number above 0, `k` or `truncation` is 0, or the table of gains is
    /// invalid.
    pub fn init(&self) -> Result<LambdaNdcg, LossError> {
        error::positive(NAME, "sigma", self.sigma)?;
        error::cutoff(NAME, self.k)?;
        if let Some(last) = self.truncation {
            error::at_least_one(NAME, "truncation", last, "1 or more, or none")?;
        }
        error::gain(NAME, &self.gain)?;
        Ok(LambdaNdcg { config: self.clone() })
    }
}

/// The RankNet loss, with each pair weighted by `|G(y_i) - G(y_j)| |D(r_i) - D(r_j)| / Z`.
#[doc(alias = "LambdaRank")]
#[doc(alias = "LambdaMART")]
#[derive(Module, Debug)]
pub struct LambdaNdcg {
    /// The checked parameters.
    #[module(skip)]
    config: LambdaNdcgConfig,
}

/// The number that is added to the absolute score difference before a pair's weight is divided by the sum. It avoids
/// division by 0 for equal scores.
pub(super) const SCORE_OFFSET: f64 = 0.01;

/// Returns `log2(1 + S) / S`, or 1 if `S` is 0. `S` is twice the sum of the absolute slopes of a query's pairs.
pub(super) fn query_factor(slopes: f64) -> f64 {
    let both = 2.0 * slopes;
    if both > 0.0 { both.ln_1p() * std::f64::consts::LOG2_E / both } else { 1.0 }
}

/// Returns the [`query_factor`] of each query, `[B]`.
pub(super) fn query_factors(slopes: Tensor<1>) -> Tensor<1> {
    let both = slopes * 2.0;
    let none = both.clone().equal_elem(0.0);
    let both = both.mask_fill(none.clone(), 1.0);
    (both.clone().log1p() / both * std::f64::consts::LOG2_E).mask_fill(none, 1.0)
}

impl RankingLoss for LambdaNdcg {
    fn about(&self) -> About<'_> {
        About::new(NAME, Orientation::Loss)
            .with_gain(&self.config.gain)
            .with_document_weights()
            .with_curvature(self)
            .with_held_constant(Some("the weights of pairs"))
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        let config = &self.config;
        let distance = config.score_normalization.then_some(SCORE_OFFSET);
        let weight = lambda_weight(lists, &config.gain, [config.k, self.ideal_cutoff()], (1.0, 0.0), distance);
        let (scores, labels, mask) = (lists.centered() * config.sigma, lists.labels.clone(), lists.mask.clone());
        // Pairs of two documents beyond the truncation are subtracted again.
        let beyond = config.truncation.map(|last| {
            let within = lists.ranks().lower_equal_elem(last as f64);
            mask.clone().mask_fill(within, 0.0)
        });
        // The sum of a document is over the pairs in which it is the more relevant one.
        let sum = |scores: Tensor<2>, loss| {
            let of_pairs = |mask| pair_loss(scores.clone(), labels.clone(), mask, &weight, loss);
            let all = of_pairs(mask.clone());
            sum_documents(lists.weighted(match &beyond {
                Some(beyond) => all - of_pairs(beyond.clone()),
                None => all,
            }))
        };
        let losses = sum(scores.clone(), PairLoss::Logistic);
        if !config.query_normalization {
            return losses;
        }
        // The slope of the logistic loss is the soft zero-one loss.
        losses * query_factors(sum(scores.detach(), PairLoss::SoftZeroOne) * config.sigma)
    }
}

impl Curved for LambdaNdcg {
    fn derivatives(&self, labels: &[f32], scores: &[f64], weights: Option<&[f32]>) -> Derivatives {
        let config = &self.config;
        let places = self.places(labels, scores);
        let [gain, discount, rank] = places.each_ref().map(Vec::as_slice);
        let apart = scores.windows(2).any(|pair| pair[0] != pair[1]);
        let distance = (config.score_normalization && apart).then_some(Distance { scores, offset: SCORE_OFFSET });
        let weight = SlicePairWeight::Lambda { gain, discount, rank, absolute: 1.0, gap: 0.0, distance };
        let (mut found, slopes) = curvature::logistic(labels, scores, config.sigma, weight, weights, config.truncation);
        if config.query_normalization {
            found.multiply(query_factor(slopes));
        }
        found
    }
}

impl LambdaNdcg {
    fn ideal_cutoff(&self) -> Option<usize> {
        self.config.k.or(self.config.truncation)
    }

    /// Returns for each document its gain divided by the ideal DCG, the discount at its rank by score, and this rank,
    /// counted from 1. Equal scores are ranked by position.
    fn places(&self, labels: &[f32], scores: &[f64]) -> [Vec<f64>; 3] {
        let last = self.config.k.unwrap_or(usize::MAX);
        let discount = |rank: usize| if rank <= last { Discount::Log2.at(rank) } else { 0.0 };
        let mut gain: Vec<f64> = labels.iter().map(|&label| self.config.gain.of(f64::from(label))).collect();
        let mut best = gain.clone();
        best.sort_unstable_by(|a, b| b.total_cmp(a));
        let cutoff = self.ideal_cutoff().unwrap_or(usize::MAX);
        let ideal: f64 = best.iter().take(cutoff).zip(1..).map(|(gain, rank)| gain * discount(rank)).sum();
        gain.iter_mut().for_each(|gain| *gain = if ideal > 0.0 { *gain / ideal } else { 0.0 });
        let (mut discounts, mut ranks) = (vec![0.0; labels.len()], vec![0.0; labels.len()]);
        for (document, rank) in curvature::by_score(scores).into_iter().zip(1..) {
            discounts[document] = discount(rank);
            ranks[document] = rank as f64;
        }
        [gain, discounts, ranks]
    }
}

/// Returns pair weights, computed from each document's gain divided by the ideal DCG, and from the discount at its rank
/// by score. The discounts are 0 beyond rank `k`, and `ideal` is the cut-off of the ideal DCG. With a `distance`, each
/// weight is divided by `distance` plus the pair's score difference, except in lists of equal scores.
pub(super) fn lambda_weight(
    lists: &Lists,
    gain: &Gain,
    [k, ideal]: [Option<usize>; 2],
    (absolute, gap): (f64, f64),
    distance: Option<f64>,
) -> PairWeight {
    let rank = lists.ranks();
    let gains = lists.gains(gain);
    let mut scale = lists.ideal_dcg(gains.clone(), &Discount::Log2, ideal);
    let distance = distance.map(|offset| {
        // Centered scores that are all equal are all 0.
        let scores = lists.centered().detach();
        let equal = scores.clone().abs().max_dim(1).squeeze_dim::<1>(1).equal_elem(0.0);
        scale = scale.clone().mask_where(equal, scale.clone() / offset);
        Distance { scores, offset }
    });
    PairWeight::Lambda {
        gain: gains / scale.unsqueeze_dim(1),
        discount: lists.discounts_at(rank.clone(), &Discount::Log2, k),
        rank,
        absolute,
        gap,
        distance,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::value;

    #[test]
    fn three_documents_are_worked_by_hand() {
        // Ranks 2, 3, 1; Z = 3 + 1/log2(3) for labels 2, 1, 0.
        let discount = |r: f64| 1.0 / (1.0 + r).log2();
        let logistic = |t: f64| (1.0 + (-t).exp()).ln();
        let pairs = 2.0 * (discount(2.0) - discount(3.0)) * logistic(1.0)
            + 3.0 * (discount(1.0) - discount(2.0)) * logistic(-1.0)
            + (discount(1.0) - discount(3.0)) * logistic(-2.0);
        let found = value(LambdaNdcgConfig::new().init(), &[1.0, 0.0, 2.0], &[2.0, 1.0, 0.0]);
        assert!((found - pairs / (3.0 + discount(2.0))).abs() < 1e-12, "{found}");
    }

    #[test]
    fn pairs_below_the_cutoff_do_not_count() {
        // Only the pair with the document at rank 1 changes NDCG@1: gains 3 and 1 against 0, discount 1, Z = 3.
        let logistic = |t: f64| (1.0 + (-t).exp()).ln();
        let found = value(LambdaNdcgConfig::new().with_k(Some(1)).init(), &[1.0, 0.0, 2.0], &[2.0, 1.0, 0.0]);
        assert!((found - (logistic(-1.0) + logistic(-2.0) / 3.0)).abs() < 1e-12, "{found}");
    }

    #[test]
    fn a_truncation_leaves_out_pairs_alone() {
        // Ranks 2, 3, 1: the first two are beyond a truncation of 1, other pairs weigh as in the whole list. Z = 3.
        let discount = |r: f64| 1.0 / (1.0 + r).log2();
        let logistic = |t: f64| (1.0 + (-t).exp()).ln();
        let pairs =
            3.0 * (discount(1.0) - discount(2.0)) * logistic(-1.0) + (discount(1.0) - discount(3.0)) * logistic(-2.0);
        let found = value(LambdaNdcgConfig::new().with_truncation(Some(1)).init(), &[1.0, 0.0, 2.0], &[2.0, 1.0, 0.0]);
        assert!((found - pairs / 3.0).abs() < 1e-12, "{found}");
        let whole = |config: LambdaNdcgConfig| value(config.init(), &[1.0, 0.0, 2.0], &[2.0, 1.0, 0.0]);
        assert!(
            (whole(LambdaNdcgConfig::new().with_truncation(Some(3))) - whole(LambdaNdcgConfig::new())).abs() < 1e-12
        );
        assert!(LambdaNdcgConfig::new().with_truncation(Some(0)).init().is_err());
    }

    #[test]
    fn normalizations_are_worked_by_hand() {
        // One pair: gain 1 over Z = 1, ranks 2 and 1, scores 0.5 apart.
        let (discounts, t) = (1.0 - 1.0 / 3f64.log2(), -0.5f64);
        let (loss, slope) = (discounts * (-t).exp().ln_1p(), discounts / (1.0 + t.exp()));
        let of = |config: LambdaNdcgConfig| value(config.init(), &[1.0, 1.5], &[1.0, 0.0]);
        let config = LambdaNdcgConfig::new();
        assert!((of(config.clone()) - loss).abs() < 1e-12);
        let by_score = of(config.clone().with_score_normalization(true));
        assert!((by_score - loss / 0.51).abs() < 1e-12, "{by_score}");
        let by_query = of(config.clone().with_query_normalization(true));
        assert!((by_query - loss * (1.0 + 2.0 * slope).log2() / (2.0 * slope)).abs() < 1e-12, "{by_query}");
        // Equal scores are not divided by the offset.
        let equal = |config: LambdaNdcgConfig| value(config.init(), &[3.0, 3.0], &[1.0, 0.0]);
        assert_eq!(equal(config.clone().with_score_normalization(true)), equal(config));
    }
}
