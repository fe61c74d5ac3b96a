//! Binary cross entropy, which takes each score for the log odds that its document is relevant.
//!
//! The loss is `-1/n sum_i (w y_i log sigmoid(s_i) + (1 - y_i) log(1 - sigmoid(s_i)))`, where `y_i` is the gain of the
//! label, from 0 to 1. It is the usual loss of a cross-encoder. `positive_weight` is the factor `w` of the relevant
//! part: a list with few relevant documents may need more than 1. If documents have weights, the mean is a weighted
//! mean.
//!
//! The labels must have gains from 0 to 1. For grades, give a table: `gain = { table = [0, 1, 1, 1] }` takes grades of
//! 1 and above for relevant.
//!
//! Cost: O(n). A query with one document is enough to learn from. Adding a constant to the scores changes this loss.

use burn::tensor::Bool;
use burn::tensor::activation::log_sigmoid;

use crate::loss::prelude::*;

declare! {
    BinaryCrossEntropyConfig,
    name: "binary_cross_entropy",
    summary: "cross entropy of each document's relevance and the logistic of its score",
    formula: "-1/n sum_i (w G(y_i) log sigmoid(s_i) + (1 - G(y_i)) log(1 - sigmoid(s_i)))",
    cost: "O(n)",
    paper: "Nogueira and Cho, Passage re-ranking with BERT, eq. (1)",
}

/// Configuration of [`BinaryCrossEntropy`].
#[doc = example!("BinaryCrossEntropyConfig", ".with_gain(burn_rank::measure::Gain::Table(vec![0.0, 1.0, 1.0]))")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct BinaryCrossEntropyConfig {
    /// The weight of the relevant part of each document; must be above 0.
    #[config(default = 1.0)]
    pub positive_weight: f64,
    /// The function that maps a label to its gain, which must be from 0 to 1.
    #[config(default = "Gain::Linear")]
    pub gain: Gain,
}

impl BinaryCrossEntropyConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `positive_weight` is not a finite number above 0, or if a table of gains is invalid or has a
    /// gain outside [0, 1].
    pub fn init(&self) -> Result<BinaryCrossEntropy, LossError> {
        let gain = error::gain(NAME, &self.gain)?;
        match &gain {
            Gain::Table(table) if table.iter().any(|gain| !(0.0..=1.0).contains(gain)) => {
                return Err(LossError::parameter(NAME, "gain", format!("{table:?}"), "gains from 0 to 1"));
            }
            _ => {}
        }
        let positive_weight = error::positive(NAME, "positive_weight", self.positive_weight)?;
        Ok(BinaryCrossEntropy { positive_weight, gain })
    }
}

/// The binary cross entropy of each document's relevance and the logistic of its score.
#[doc(alias = "BCE")]
#[doc(alias = "BCEWithLogits")]
#[doc(alias = "pointwise")]
#[derive(Module, Debug)]
pub struct BinaryCrossEntropy {
    positive_weight: f64,
    #[module(skip)]
    gain: Gain,
}

impl RankingLoss for BinaryCrossEntropy {
    fn about(&self) -> About<'_> {
        About::new(NAME, Orientation::Loss).with_gain_to_one(&self.gain).with_document_weights().with_curvature(self)
    }

    fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
        lists.counts().greater_elem(0.0)
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        let relevant = lists.gains(&self.gain);
        let other = lists.mask.clone() - relevant.clone();
        // log(1 - sigmoid(s)) = log sigmoid(-s), which stays finite.
        let yes = log_sigmoid(lists.scores.clone()) * relevant * self.positive_weight;
        let no = log_sigmoid(lists.scores.clone().neg()) * other;
        let weights = sum_documents(lists.weighted(lists.mask.clone()));
        sum_documents(lists.weighted(yes + no)).neg() / one_in_place_of_zero(weights)
    }
}

impl Curved for BinaryCrossEntropy {
    fn derivatives(&self, labels: &[f32], scores: &[f64], weights: Option<&[f32]>) -> Derivatives {
        let weight = |document: usize| weights.map_or(1.0, |weights| f64::from(weights[document]));
        let total: f64 = (0..labels.len()).map(weight).sum();
        let mut found = Derivatives::none(labels.len());
        for document in (0..labels.len()).filter(|_| total > 0.0) {
            let (share, score) = (weight(document) / total, scores[document]);
            let gain = self.gain.of(f64::from(labels[document]));
            let (yes, no) = (self.positive_weight * gain, 1.0 - gain);
            // log(1 + exp(score)) without overflow, and the chance that the document is relevant.
            let softplus = score.max(0.0) + (-score.abs()).exp().ln_1p();
            let chance = (score - softplus).exp();
            found.loss += share * (yes * (softplus - score) + no * softplus);
            found.gradient[document] = share * (no * chance - yes * (1.0 - chance));
            found.curvature[document] = share * (yes + no) * chance * (1.0 - chance);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::value;

    fn log_sigmoid(t: f64) -> f64 {
        -(-t).exp().ln_1p()
    }

    #[test]
    fn three_documents_are_worked_by_hand() {
        let (scores, labels) = ([2.0, -1.0, 0.5], [1.0, 0.0, 0.25]);
        let half = 0.25 * log_sigmoid(0.5) + 0.75 * log_sigmoid(-0.5);
        let expected = -(log_sigmoid(2.0) + log_sigmoid(1.0) + half) / 3.0;
        assert!((value(BinaryCrossEntropyConfig::new().init(), &scores, &labels) - expected).abs() < 1e-12);
        let half = 2.0 * 0.25 * log_sigmoid(0.5) + 0.75 * log_sigmoid(-0.5);
        let expected = -(2.0 * log_sigmoid(2.0) + log_sigmoid(1.0) + half) / 3.0;
        let config = BinaryCrossEntropyConfig::new().with_positive_weight(2.0);
        assert!((value(config.init(), &scores, &labels) - expected).abs() < 1e-12);
    }

    #[test]
    fn one_document_is_enough_and_large_scores_stay_finite() {
        let loss = || BinaryCrossEntropyConfig::new().init();
        assert!((value(loss(), &[0.0], &[1.0]) - 2f64.ln()).abs() < 1e-12);
        assert!((value(loss(), &[-1e4], &[1.0]) - 1e4).abs() < 1e-9);
        assert_eq!(value(loss(), &[1e4], &[1.0]), 0.0);
    }

    #[test]
    fn gains_above_one_are_refused() {
        let config = BinaryCrossEntropyConfig::new().with_gain(Gain::Table(vec![0.0, 2.0]));
        assert!(config.init().unwrap_err().to_string().contains("gains from 0 to 1"));
        let check = |gain: Gain| {
            let loss = BinaryCrossEntropyConfig::new().with_gain(gain).init().unwrap();
            loss.about().check_labels(&[0.0, 1.0, 3.0], &[0, 3]).map_err(|error| error.to_string())
        };
        let expected = "query 1, document 3: label 3, expected a label with a gain from 0 to 1 (grades need \
                        `gain = { table = [0, 1, 1, 1] }`)";
        assert_eq!(check(Gain::Linear).unwrap_err(), expected);
        assert_eq!(check(Gain::Table(vec![0.0, 1.0, 1.0, 1.0])), Ok(()));
    }
}
