//! ListMLE: negative log likelihood of the labels' order under the Plackett-Luce model of the scores.
//!
//! `sum_{t <= k} (log sum_{u >= t} exp(s_(u)) - s_(t))`, where `(t)` is the document at place `t` in descending order
//! of labels, ties broken by position (Xia et al., Listwise approach to learning to rank: theory and algorithm,
//! equation 9). With a cut-off it is the likelihood of the first `k` places.
//!
//! Cost: O(n^2) comparisons for the order, O(n log n) for the suffix sums. These are log-sum-exp throughout, so nothing
//! underflows however far apart the scores are. A query whose labels are all equal has loss 0.

use burn::config::Config;
use burn::module::Module;
use burn::tensor::activation::log_sigmoid;
use burn::tensor::{Int, Tensor};

use crate::loss::entry::{LossEntry, configure, parameters};
use crate::loss::error::{self, LossError};
use crate::loss::lists::{Lists, order_of_ranks, sum_documents};
use crate::loss::ranking_loss::{Orientation, RankingLoss};
use crate::op::rank;

const NAME: &str = "list_mle";

pub(in crate::loss) const ENTRY: LossEntry = LossEntry {
    name: NAME,
    summary: "negative log likelihood of the labels' order under Plackett-Luce",
    formula: "sum_{t <= k} (log sum_{u >= t} exp(s_(u)) - s_(t)), documents by descending label",
    cost: "O(n^2)",
    paper: "Xia et al., Listwise approach to learning to rank: theory and algorithm, eq. (9)",
    smoothing: None,
    shift_invariant: true,
    defaults: || parameters(&ListMleConfig::new()),
    forms: None,
    build: |params| Ok(Box::new(configure(NAME, ListMleConfig::new(), params)?.init()?)),
};

/// Configuration of [`ListMle`].
#[derive(Config, Debug)]
pub struct ListMleConfig {
    /// Places that count; none for the whole list.
    pub k: Option<usize>,
}

impl ListMleConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// `k = 0`.
    pub fn init(&self) -> Result<ListMle, LossError> {
        Ok(ListMle { k: error::cutoff(NAME, self.k)? })
    }
}

/// `sum_{t <= k} (log sum_{u >= t} exp(s_(u)) - s_(t))`, documents by descending label.
#[doc(alias = "ListMLE")]
#[doc(alias = "Plackett-Luce")]
#[derive(Module, Debug)]
pub struct ListMle {
    k: Option<usize>,
}

impl RankingLoss for ListMle {
    fn name(&self) -> &'static str {
        NAME
    }

    fn orientation(&self) -> Orientation {
        Orientation::Loss
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        let order = label_order(lists);
        // Padding comes last in this order.
        let padded = lists.padded.clone().int().gather(1, order.clone()).greater_elem(0);
        // An offset that all scores share would cost the logarithms digits.
        let scores = lists.centered().gather(1, order);
        let [_, n] = scores.dims();
        let tails = suffix_log_sum_exp(scores.clone().mask_fill(padded.clone(), EMPTY));
        let terms = (tails - scores).mask_fill(padded, 0.0);
        sum_documents(terms.narrow(1, 0, self.k.unwrap_or(n).min(n)))
    }
}

/// The logarithm of an empty sum, small enough to vanish beside any score and large enough not to overflow.
pub(super) const EMPTY: f32 = f32::MIN / 4.0;

/// Document at each place by descending label, ties broken by position, padding last: `[B, N]`.
fn label_order(lists: &Lists) -> Tensor<2, Int> {
    let labels = lists.labels.clone().mask_fill(lists.padded.clone(), f32::MIN);
    order_of_ranks(rank(labels, lists.mask.ones_like()))
}

/// `out_t = log sum_{u >= t} exp(x_u)` by doubling: after step `d`, each place holds the sum over the next `2 d`.
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

    fn value(config: ListMleConfig, scores: &[f64], labels: &[f64]) -> f64 {
        explain(&config.init().unwrap(), scores, labels, DType::F64).unwrap().value
    }

    #[test]
    fn three_documents_are_worked_by_hand() {
        // Order by label: scores 2, 0, 1.
        let (first, second) = ((2f64.exp() + 1.0 + 1f64.exp()).ln() - 2.0, (1.0 + 1f64.exp()).ln());
        let found = value(ListMleConfig::new(), &[0.0, 1.0, 2.0], &[1.0, 0.0, 3.0]);
        assert!((found - first - second).abs() < 1e-12, "{found}");
        let top = value(ListMleConfig::new().with_k(Some(1)), &[0.0, 1.0, 2.0], &[1.0, 0.0, 3.0]);
        assert!((top - first).abs() < 1e-12, "{top}");
    }

    #[test]
    fn equal_labels_keep_their_order() {
        let tail = |s: &[f64]| s.iter().map(|s| s.exp()).sum::<f64>().ln();
        let expected = tail(&[3.0, 0.0, 1.0]) - 3.0 + tail(&[0.0, 1.0]) - 0.0;
        let found = value(ListMleConfig::new(), &[0.0, 3.0, 1.0], &[0.0, 1.0, 0.0]);
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
        let found = value(ListMleConfig::new(), &[1e4, 0.0, 1.0], &[2.0, 1.0, 0.0]);
        assert!((found - (1.0 + 1f64.exp()).ln()).abs() < 1e-9, "{found}");
    }
}
