//! ListMLE, the negative log likelihood of the labels' order under the Plackett-Luce model of the scores.
//!
//! The loss is `sum_{t <= k} (log sum_{u >= t} exp(s_(u)) - s_(t))`, where `(t)` is the document at place `t` by
//! descending label. This is equation 9 of Xia et al., Listwise approach to learning to rank: theory and algorithm.
//! Ties are broken by position. With a cut-off `k`, only the likelihood of the first `k` places counts. If documents
//! have weights, the term of each place is multiplied by the weight of its document.
//!
//! With a `discount`, the term of place `t` is multiplied by `D(t)`, so the first places count more. ListMLE with a
//! discount is p-ListMLE (Lan et al., Position-aware ListMLE: a sequential learning process). The paper's weights
//! `2^{n - t} - 1` overflow in long lists. The discount `"exponential"`, `2^-t`, does not overflow. The ratios of its
//! values are nearly the ratios of the paper's weights.
//!
//! With `shuffle_ties`, documents with the same label are put in a random order. The random order depends on `seed` and
//! on the documents' ranks by score, in the same way for every query. The gradient learner draws new noise for each row
//! of the batch at every step, and boosted trees draw new noise in every round. Other learners use the same noise
//! throughout.
//!
//! Ordering the documents takes O(n^2) comparisons, and the suffix sums take O(n log n) time. The suffix sums are
//! computed as log-sum-exp, so nothing underflows even if scores are far apart. A query whose labels are all equal has
//! loss 0.

use burn::tensor::activation::log_sigmoid;
use burn::tensor::{Bool, Int};

use crate::loss::prelude::*;
use crate::loss::surrogate::names::DiscountShape;
use crate::op::rank;

declare! {
    ListMleConfig,
    name: "list_mle",
    summary: "negative log likelihood of the labels' order under Plackett-Luce",
    formula: "sum_{t <= k} (log sum_{u >= t} exp(s_(u)) - s_(t)), documents by descending label",
    cost: "O(n^2); long lists in float32 on the CPU O(n log n)",
    paper: "Xia et al., Listwise approach to learning to rank: theory and algorithm, eq. (9)",
}

/// Configuration of [`ListMle`].
#[doc = example!("ListMleConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct ListMleConfig {
    /// The number of places at the top of the label order that count; `None` counts all places.
    pub k: Option<usize>,
    /// The discount that weights each place by its rank; `None` weights all places equally.
    pub discount: Option<DiscountShape>,
    /// The exponent of the power discount, 0 or above; other discounts ignore it.
    #[config(default = 1.0)]
    pub exponent: f64,
    /// Whether to put documents with the same label in a random order.
    #[config(default = false)]
    pub shuffle_ties: bool,
    /// The seed of the random order, to which `gradient` and `boosted_trees` add the run's seed and step.
    #[config(default = 0)]
    pub seed: u64,
}

impl ListMleConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `k` is 0, or if the discount is invalid.
    pub fn init(&self) -> Result<ListMle, LossError> {
        let discount = self.discount.clone().map(|shape| shape.with_exponent(self.exponent));
        discount.iter().try_for_each(|discount| error::discount(NAME, discount))?;
        let ties = self.shuffle_ties.then_some(Noise::shared(self.seed));
        Ok(ListMle { k: error::cutoff(NAME, self.k)?, discount, ties })
    }
}

/// The ListMLE loss, `sum_{t <= k} (log sum_{u >= t} exp(s_(u)) - s_(t))`, over documents in descending order of
/// labels.
#[doc(alias = "ListMLE")]
#[doc(alias = "Plackett-Luce")]
#[derive(Module, Debug)]
pub struct ListMle {
    k: Option<usize>,
    #[module(skip)]
    discount: Option<Discount>,
    /// The noise that orders documents with the same label; `None` keeps their order in the list.
    #[module(skip)]
    ties: Option<Noise>,
}

impl RankingLoss for ListMle {
    fn about(&self) -> About<'_> {
        About::new(NAME, Orientation::Loss).with_document_weights()
    }

    fn changed(&self, change: Change<'_>) -> Changed {
        let (Change::Noise(seed), Some(ties)) = (change, self.ties) else { return Ok(None) };
        Ok(Some(Box::new(Self { ties: Some(ties.reseeded(seed)), ..self.clone() })))
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        let order = match self.ties {
            Some(noise) => shuffled_label_order(lists, noise),
            None => label_order(lists.labels.clone(), &lists.padded),
        };
        // Padding comes last in this order.
        let padded = lists.padded.clone().int().gather(1, order.clone()).greater_elem(0);
        // An offset shared by all scores would cost digits in the logarithms.
        let scores = lists.centered().gather(1, order.clone());
        let [_, n] = scores.dims();
        let tails = suffix_log_sum_exp(scores.clone().mask_fill(padded.clone(), EMPTY));
        let mut terms = (tails - scores).mask_fill(padded, 0.0);
        if let Some(weights) = &lists.document_weights {
            terms = terms * weights.clone().gather(1, order);
        }
        if let Some(discount) = &self.discount {
            let weights = row_like(&discount_table(discount, n, None), &terms);
            terms = terms * weights;
        }
        sum_documents(terms.narrow(1, 0, self.k.unwrap_or(n).min(n)))
    }
}

/// A stand-in for the logarithm of an empty sum: negligible next to any score, but small enough in magnitude not to
/// overflow.
pub(super) const EMPTY: f32 = f32::MIN / 4.0;

/// Returns the document at each place in descending order of labels, `[B, N]`. Ties are broken by position, and padding
/// comes last.
fn label_order(labels: Tensor<2>, padded: &Tensor<2, Bool>) -> Tensor<2, Int> {
    let labels = labels.mask_fill(padded.clone(), f32::MIN);
    order_of_ranks(rank(labels.clone(), labels.ones_like()))
}

/// Returns the document at each place in descending order of labels, with ties broken by noise.
fn shuffled_label_order(lists: &Lists, noise: Noise) -> Tensor<2, Int> {
    let drawn = noise.of_documents(Distribution::Uniform, 0, lists);
    let shuffled = order_of_ranks(rank(drawn, lists.mask.clone()));
    let labels = lists.labels.clone().gather(1, shuffled.clone());
    let padded = lists.mask.clone().gather(1, shuffled.clone()).lower_elem(0.5);
    shuffled.gather(1, label_order(labels, &padded))
}

/// Returns `out_t = log sum_{u >= t} exp(x_u)` in `log2 N` steps, each of which doubles the number of summed places.
/// The step with distance `d` extends the sum at each place to the `2 d` places that begin at that place.
pub(super) fn suffix_log_sum_exp(mut x: Tensor<2>) -> Tensor<2> {
    let [batch, n] = x.dims();
    let mut d = 1;
    while d < n {
        let beyond = Tensor::<2>::full([batch, d], EMPTY, (&x.device(), x.dtype()));
        let shifted = Tensor::cat(vec![x.clone().narrow(1, d, n - d), beyond], 1);
        // log(e^a + e^b) = a - log sigmoid(a - b)
        x = x.clone() - log_sigmoid(x - shifted);
        d *= 2;
    }
    x
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType;

    use super::*;
    use crate::loss::explain;
    use crate::testing::value;

    #[test]
    fn three_documents_are_worked_by_hand() {
        // Order by label: scores 2, 0, 1.
        let (first, second) = ((2f64.exp() + 1.0 + 1f64.exp()).ln() - 2.0, (1.0 + 1f64.exp()).ln());
        let found = value(ListMleConfig::new().init(), &[0.0, 1.0, 2.0], &[1.0, 0.0, 3.0]);
        assert!((found - first - second).abs() < 1e-12, "{found}");
        let top = value(ListMleConfig::new().with_k(Some(1)).init(), &[0.0, 1.0, 2.0], &[1.0, 0.0, 3.0]);
        assert!((top - first).abs() < 1e-12, "{top}");
    }

    #[test]
    fn places_are_weighted_by_their_discount() {
        let (first, second) = ((2f64.exp() + 1.0 + 1f64.exp()).ln() - 2.0, (1.0 + 1f64.exp()).ln());
        let config = ListMleConfig::new().with_discount(Some(DiscountShape::Exponential));
        let found = value(config.init(), &[0.0, 1.0, 2.0], &[1.0, 0.0, 3.0]);
        assert!((found - first / 2.0 - second / 4.0).abs() < 1e-12, "{found}");
        let config = ListMleConfig::new().with_discount(Some(DiscountShape::Power));
        assert!(config.with_exponent(-1.0).init().is_err());
    }

    /// Every order of tied documents occurs about equally often, and the labels stay in order.
    #[test]
    fn ties_are_in_a_random_order() {
        let tail = |s: &[f64]| s.iter().map(|s| s.exp()).sum::<f64>().ln();
        let first = tail(&[3.0, 0.0, 1.0]) - 3.0;
        let orders = [first + tail(&[0.0, 1.0]) - 0.0, first + tail(&[0.0, 1.0]) - 1.0];
        let mut counts = [0; 2];
        for seed in 0..200 {
            let config = ListMleConfig::new().with_shuffle_ties(true).with_seed(seed);
            let found = value(config.init(), &[0.0, 3.0, 1.0], &[0.0, 1.0, 0.0]);
            let order = orders.iter().position(|expected| (found - expected).abs() < 1e-12);
            counts[order.expect("one of both orders")] += 1;
        }
        assert!(counts.iter().all(|count| (70..=130).contains(count)), "{counts:?}");
        assert!(ListMleConfig::new().init().unwrap().changed(Change::Noise(&|own| own)).unwrap().is_none());
    }

    #[test]
    fn equal_labels_keep_their_order() {
        let tail = |s: &[f64]| s.iter().map(|s| s.exp()).sum::<f64>().ln();
        let expected = tail(&[3.0, 0.0, 1.0]) - 3.0 + tail(&[0.0, 1.0]) - 0.0;
        let found = value(ListMleConfig::new().init(), &[0.0, 3.0, 1.0], &[0.0, 1.0, 0.0]);
        assert!((found - expected).abs() < 1e-12, "{found}");
    }

    #[test]
    fn a_common_offset_costs_no_digits() {
        let loss = ListMleConfig::new().init().unwrap();
        let found = explain(&loss, &[1e4; 3], &[1.0, 0.0, 2.0], DType::F32).unwrap().value;
        assert!((found - 6f64.ln()).abs() < 1e-6, "{found}");
    }

    #[test]
    fn suffixes_far_below_the_largest_score_do_not_underflow() {
        // Places with scores 1e4, 0, 1: the last two terms are 0 + log(1 + e) and 0.
        let found = value(ListMleConfig::new().init(), &[1e4, 0.0, 1.0], &[2.0, 1.0, 0.0]);
        assert!((found - (1.0 + 1f64.exp()).ln()).abs() < 1e-9, "{found}");
    }
}
