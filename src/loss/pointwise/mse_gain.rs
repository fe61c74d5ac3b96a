//! The squared error of the scores as predictions of the gains.
//!
//! The loss is `1/n sum_i w_i (s_i - G(y_i))^2`, with `w_i = 1` by default. If `balanced` is set, `w_i` is
//! `n / (2 |l|)` for a relevant document and `n / (2 (n - |l|))` for an irrelevant one. Relevant and irrelevant
//! documents then have the same total weight in each query. In contrast, smoothrank, section 7.1, balances them over
//! the whole data set. If documents have weights, all means are weighted means.
//!
//! Cost: O(n). A query whose labels are all equal has loss 0, because its labels do not say how to order its documents.
//! Adding a constant to the scores changes this loss.

use crate::loss::prelude::*;

declare! {
    MseGainConfig,
    name: "mse_gain",
    summary: "squared error against the gains",
    formula: "1/n sum_i w_i (s_i - G(y_i))^2",
    cost: "O(n)",
    paper: "Chapelle and Wu, Gradient descent optimization of smoothed information retrieval metrics, section 7",
}

/// Configuration of [`MseGain`].
#[doc = example!("MseGainConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct MseGainConfig {
    /// Whether relevant and irrelevant documents get the same total weight.
    #[config(default = false)]
    pub balanced: bool,
    /// The function that maps a label to its gain.
    #[config(default = "Gain::Exp2")]
    pub gain: Gain,
}

impl MseGainConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if the table of gains is invalid.
    pub fn init(&self) -> Result<MseGain, LossError> {
        Ok(MseGain { balanced: self.balanced, gain: error::gain(NAME, &self.gain)? })
    }
}

/// The squared error of scores against gains, `1/n sum_i w_i (s_i - G(y_i))^2`.
#[doc(alias = "pointwise")]
#[doc(alias = "regression")]
#[doc(alias = "squared error")]
#[derive(Module, Debug)]
pub struct MseGain {
    balanced: bool,
    #[module(skip)]
    gain: Gain,
}

impl RankingLoss for MseGain {
    fn about(&self) -> About<'_> {
        About::new(NAME, Orientation::Loss).with_gain(&self.gain).with_document_weights()
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        let residual = (lists.scores.clone() - lists.gains(&self.gain)) * lists.mask.clone();
        let squares = residual.powi_scalar(2);
        if !self.balanced {
            let weights = lists.weighted(lists.mask.clone());
            return sum_documents(lists.weighted(squares)) / one_in_place_of_zero(sum_documents(weights));
        }
        let relevance = lists.relevance();
        let mean = |part: Tensor<2>| {
            let part = lists.weighted(part);
            sum_documents(squares.clone() * part.clone()) / one_in_place_of_zero(sum_documents(part))
        };
        (mean(relevance.clone()) + mean(lists.mask.clone() - relevance)) * 0.5
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::value;

    #[test]
    fn three_documents_are_worked_by_hand() {
        // Gains 3, 0, 0: errors 1, 1, 2.
        let (scores, labels) = ([2.0, 1.0, -2.0], [2.0, 0.0, 0.0]);
        assert_eq!(value(MseGainConfig::new().init(), &scores, &labels), 2.0);
        // Relevant 1, irrelevant (1 + 4) / 2.
        assert_eq!(value(MseGainConfig::new().with_balanced(true).init(), &scores, &labels), 1.75);
        // Gains 2, 0, 0: errors 0, 1, 2.
        let linear = value(MseGainConfig::new().with_gain(Gain::Linear).init(), &scores, &labels);
        assert!((linear - 5.0 / 3.0).abs() < 1e-15, "{linear}");
    }
}
