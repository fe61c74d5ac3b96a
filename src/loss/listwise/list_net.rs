//! ListNet, the cross entropy between the top-one distributions of the labels and the scores.
//!
//! The loss is `-sum_i softmax(y)_i log softmax(s)_i` (Cao et al., Learning to rank: from pairwise approach to listwise
//! approach, section 4.3). The target distribution is the softmax of the labels. If documents have weights, the target
//! probabilities are multiplied by them.
//!
//! Cost: O(n). A query whose labels are all equal has loss 0.

use crate::loss::prelude::*;

declare! {
    ListNetConfig,
    name: "list_net",
    summary: "cross entropy of the top-one distributions",
    formula: "-sum_i softmax(y)_i log softmax(s)_i",
    cost: "O(n)",
    paper: "Cao et al., Learning to rank: from pairwise approach to listwise approach, section 4.3",
}

/// Configuration of [`ListNet`].
#[doc = example!("ListNetConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct ListNetConfig {}

impl ListNetConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Currently returns no error, because every value is valid.
    pub fn init(&self) -> Result<ListNet, LossError> {
        Ok(ListNet)
    }
}

/// The ListNet loss, `-sum_i softmax(y)_i log softmax(s)_i`.
#[doc(alias = "top-one cross entropy")]
#[derive(Module, Debug)]
pub struct ListNet;

impl RankingLoss for ListNet {
    fn about(&self) -> About<'_> {
        About::new(NAME, Orientation::Loss).with_document_weights()
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        let target = lists.weighted(lists.log_softmax(lists.labels.clone()).exp() * lists.mask.clone());
        sum_documents(target * lists.log_softmax(lists.scores.clone())).neg()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::value;

    #[test]
    fn two_documents_are_worked_by_hand() {
        // Target sigmoid(1) for the relevant document, prediction sigmoid(-2).
        let sigmoid = |t: f64| 1.0 / (1.0 + (-t).exp());
        let expected = -sigmoid(1.0) * sigmoid(-2.0).ln() - sigmoid(-1.0) * sigmoid(2.0).ln();
        let found = value(ListNetConfig::new().init(), &[0.0, 2.0], &[1.0, 0.0]);
        assert!((found - expected).abs() < 1e-12, "{found}");
    }
}
