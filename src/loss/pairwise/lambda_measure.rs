//! LambdaRank for measures other than NDCG. The loss weights each pair in RankNet by how much the measure changes when
//! the two documents swap places.
//!
//! The loss is `sum_{y_i > y_j} |M - M(i and j swapped)| log(1 + exp(-sigma (s_i - s_j)))`. The measure `M` is average
//! precision, reciprocal rank, expected reciprocal rank or precision, within a cut-off. See Donmez, Svore and Burges,
//! On the local optimality of LambdaRank. The module `swap_change.rs` gives the formula for this change under each
//! measure. The pair weights carry no gradient. [`lambda_ndcg`] is the same loss for NDCG.
//!
//! The two normalizations are the same as in [`lambda_ndcg`]. `score_normalization` divides the weight of a pair by
//! `0.01 + |s_i - s_j|`, except in a list of equal scores. `query_normalization` multiplies the loss of a query by
//! `log2(1 + S) / S`. `S` is the sum of the magnitudes of the gradients of the query's pairs. Each pair counts twice,
//! once per document.
//!
//! The cost is O(n^2) time and memory, because tensors of document pairs are stored. A query whose documents are all
//! relevant or all irrelevant has loss 0. For expected reciprocal rank, only a query whose labels are all equal has
//! loss 0. Equal scores are ranked by position.
//!
//! [`lambda_ndcg`]: super::LambdaNdcg

use burn::tensor::Bool;
use burn::tensor::activation::{log_sigmoid, sigmoid};

use super::lambda_ndcg::{SCORE_OFFSET, query_factor, query_factors};
use super::swap_change::{SwapMeasure, Swaps, changes};
use crate::loss::curvature::by_score;
use crate::loss::prelude::*;
use crate::loss::surrogate::measures::stops;
use crate::op::differences;

/// The approximate number of stored values per document pair, as measured by `burn-rank bench`.
const NUMBERS_PER_PAIR: u64 = 3;

declare! {
    LambdaMeasureConfig,
    name: "lambda_measure",
    summary: "logistic loss weighted by the change of AP, RR, ERR or precision (LambdaRank)",
    formula: "sum_{y_i > y_j} |M - M(i and j swapped)| log(1 + exp(-sigma (s_i - s_j)))",
    cost: "O(n^2)",
    paper: "Donmez, Svore and Burges, On the local optimality of LambdaRank",
}

/// Configuration of [`LambdaMeasure`].
#[doc = example!("LambdaMeasureConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct LambdaMeasureConfig {
    /// Each pair is weighted by how much this measure changes when the two documents swap places.
    #[config(default = "SwapMeasure::Ap")]
    pub measure: SwapMeasure,
    /// The number of top ranks that count; `None` means 5 for precision and the whole list for other measures.
    pub k: Option<usize>,
    /// For expected reciprocal rank, the label of a perfect document, from 1 to 30. It is also the largest label
    /// allowed. Other measures ignore this parameter.
    #[config(default = 4)]
    pub maximum_grade: u32,
    /// The factor by which score differences are multiplied; must be above 0.
    #[config(default = 1.0)]
    pub sigma: f64,
    /// Whether to divide the weight of a pair by `0.01 + |s_i - s_j|`.
    #[config(default = false)]
    pub score_normalization: bool,
    /// Whether to multiply the loss of a query by `log2(1 + S) / S`. `S` is the sum of the magnitudes of its pairs'
    /// gradients.
    #[config(default = false)]
    pub query_normalization: bool,
}

impl LambdaMeasureConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `sigma` is not a finite number above 0, `k` is 0, or `maximum_grade` is outside 1 to 30.
    pub fn init(&self) -> Result<LambdaMeasure, LossError> {
        error::maximum_grade(NAME, self.maximum_grade)?;
        error::cutoff(NAME, self.k)?;
        error::positive(NAME, "sigma", self.sigma)?;
        Ok(LambdaMeasure { config: self.clone(), stops: stops(self.maximum_grade) })
    }
}

/// The RankNet loss, with each pair weighted by how much a measure changes when the two documents swap places.
#[doc(alias = "LambdaRank")]
#[doc(alias = "LambdaMAP")]
#[derive(Module, Debug)]
pub struct LambdaMeasure {
    /// The checked parameters.
    #[module(skip)]
    config: LambdaMeasureConfig,
    /// The probability that a reader stops at each label, for expected reciprocal rank.
    #[module(skip)]
    stops: Gain,
}

impl LambdaMeasure {
    fn is_graded(&self) -> bool {
        self.config.measure == SwapMeasure::Err
    }

    fn cutoff(&self) -> usize {
        let default = if self.config.measure == SwapMeasure::Precision { 5 } else { usize::MAX };
        self.config.k.unwrap_or(default)
    }
}

impl RankingLoss for LambdaMeasure {
    fn about(&self) -> About<'_> {
        let about = About::new(NAME, Orientation::Loss).with_held_constant(Some("the weights of pairs"));
        let about = about.with_curvature(self).with_numbers_per_pair(NUMBERS_PER_PAIR);
        About { gain: self.is_graded().then_some(&self.stops), ..about }
    }

    fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
        if self.is_graded() { lists.has_two_gains(&self.stops) } else { lists.has_both_relevances() }
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        let &LambdaMeasureConfig { measure, sigma, score_normalization, query_normalization, .. } = &self.config;
        // Everything is in the order of ranks from here on.
        let order = order_of_ranks(lists.ranks());
        let by_rank = |values: Tensor<2>| values.gather(1, order.clone());
        let ranked = by_rank(if self.is_graded() { lists.gains(&self.stops) } else { lists.relevance() });
        let (labels, mask) = (by_rank(lists.labels.clone()), by_rank(lists.mask.clone()));
        let mut weight = changes(measure, ranked, self.cutoff()) * mask.unsqueeze_dim::<3>(1);
        let apart = differences(&by_rank(lists.centered()));
        if score_normalization {
            // The first and the last rank are furthest apart.
            let distance = apart.clone().detach().abs();
            let equal = distance.clone().max_dim(2).max_dim(1).equal_elem(0.0).expand(distance.dims());
            weight = weight / (distance + SCORE_OFFSET).mask_fill(equal, 1.0);
        }
        // The score of the more relevant document minus the score of the other.
        let t = apart * differences(&labels).sign() * sigma;
        let sum = |pairs: Tensor<3>| -> Tensor<1> { sum_documents(pairs.sum_dim(2).squeeze_dim(2)) };
        let losses = sum(weight.clone() * log_sigmoid(t.clone())).neg();
        if !query_normalization {
            return losses;
        }
        losses * query_factors(sum(weight * sigmoid(t.detach().neg())) * sigma)
    }
}

impl Curved for LambdaMeasure {
    fn derivatives(&self, labels: &[f32], scores: &[f64], _: Option<&[f32]>) -> Derivatives {
        let &LambdaMeasureConfig { measure, sigma, score_normalization, query_normalization, .. } = &self.config;
        let n = labels.len();
        let order = by_score(scores);
        let by_rank: Vec<f64> = order.iter().map(|&document| f64::from(labels[document])).collect();
        let swaps = Swaps::new(measure, &by_rank, &self.stops, self.cutoff());
        let apart = scores.windows(2).any(|pair| pair[0] != pair[1]);
        let mut found = Derivatives::none(n);
        let mut slopes = 0.0;
        for p in 0..n {
            for (q, change) in (p + 1..).zip(swaps.after(p)).filter(|(_, change)| *change > 0.0) {
                let (mut more, mut less) = (order[p], order[q]);
                if by_rank[p] < by_rank[q] {
                    (more, less) = (less, more);
                }
                let difference = scores[more] - scores[less];
                let divisor = if score_normalization && apart { SCORE_OFFSET + difference.abs() } else { 1.0 };
                let weight = change / divisor;
                let t = sigma * difference;
                let u = (-t.abs()).exp();
                let wrong = if t < 0.0 { 1.0 } else { u } / (1.0 + u);
                let (slope, bend) = (weight * sigma * wrong, weight * sigma.powi(2) * u / (1.0 + u).powi(2));
                found.loss += weight * ((-t).max(0.0) + u.ln_1p());
                found.gradient[more] -= slope;
                found.gradient[less] += slope;
                found.curvature[more] += bend;
                found.curvature[less] += bend;
                slopes += slope;
            }
        }
        if query_normalization {
            found.multiply(query_factor(slopes));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::value;

    fn logistic(t: f64) -> f64 {
        (-t).exp().ln_1p()
    }

    #[test]
    fn average_precision_is_worked_by_hand() {
        // Ranks: irrelevant, relevant, irrelevant, relevant: AP = (1/2 + 2/4) / 2. Swapped pairs give
        // 1 and 2: (1 + 2/4) / 2, 1 and 4: (1 + 2/2) / 2, 2 and 3: (1/3 + 2/4) / 2, 3 and 4: (1/2 + 2/3) / 2.
        let (scores, labels) = ([4.0, 2.0, 1.0, 0.5], [0.0, 1.0, 0.0, 3.0]);
        let expected = 0.25 * logistic(-2.0)
            + 0.5 * logistic(-3.5)
            + (0.5 - 5.0 / 12.0) * logistic(1.0)
            + (7.0 / 12.0 - 0.5) * logistic(-0.5);
        let found = value(LambdaMeasureConfig::new().init(), &scores, &labels);
        assert!((found - expected).abs() < 1e-12, "{found}");
    }

    #[test]
    fn precision_has_a_cutoff_of_five_where_none_is_given() {
        let (mut labels, scores) = ([0.0; 7], [7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0]);
        labels[5] = 1.0;
        let found = value(LambdaMeasureConfig::new().with_measure(SwapMeasure::Precision).init(), &scores, &labels);
        let expected: f64 = (1..=5).map(|above| 0.2 * logistic(-f64::from(above))).sum();
        assert!((found - expected).abs() < 1e-12, "{found}");
    }

    #[test]
    fn grades_count_for_expected_reciprocal_rank_alone() {
        // Chances to stop 15/16 and 3/16 at ranks 2 and 1: ERR = 3/16 + 13/16 15/32 and 15/16 + 1/16 3/32.
        let change = (15.0 / 16.0 + 3.0 / 512.0) - (3.0 / 16.0 + 195.0 / 512.0);
        let config = |measure| LambdaMeasureConfig::new().with_measure(measure);
        let found = value(config(SwapMeasure::Err).init(), &[0.0, 1.0], &[4.0, 2.0]);
        assert!((found - change * logistic(-1.0)).abs() < 1e-12, "{found}");
        assert_eq!(value(config(SwapMeasure::Ap).init(), &[0.0, 1.0], &[4.0, 2.0]), 0.0);
    }

    #[test]
    fn normalizations_are_worked_by_hand() {
        // One pair, which changes the reciprocal rank by 1/2; scores 0.5 apart.
        let (loss, slope) = (0.5 * logistic(-0.5), 0.5 / (1.0 + (-0.5f64).exp()));
        let config = || LambdaMeasureConfig::new().with_measure(SwapMeasure::Rr);
        let of = |config: LambdaMeasureConfig| value(config.init(), &[1.0, 1.5], &[1.0, 0.0]);
        assert!((of(config().with_score_normalization(true)) - loss / 0.51).abs() < 1e-12);
        let by_query = of(config().with_query_normalization(true));
        assert!((by_query - loss * (1.0 + 2.0 * slope).log2() / (2.0 * slope)).abs() < 1e-12, "{by_query}");
        let equal = |config: LambdaMeasureConfig| value(config.init(), &[3.0, 3.0], &[0.0, 1.0]);
        assert_eq!(equal(config().with_score_normalization(true)), equal(config()));
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        assert!(LambdaMeasureConfig::new().with_k(Some(0)).init().is_err());
        assert!(LambdaMeasureConfig::new().with_sigma(0.0).init().is_err());
        assert!(LambdaMeasureConfig::new().with_maximum_grade(31).init().is_err());
    }
}
