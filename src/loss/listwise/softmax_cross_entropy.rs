//! Softmax cross entropy, with the labels as the target distribution over the documents of a query.
//!
//! The loss is `-sum_i y_i log softmax(s / temperature)_i`; with `normalize`, the labels are divided by their sum. With
//! `gumbel_samples = S > 0`, the loss of the scores `s_i + g_i` is averaged over `S` draws of standard Gumbel noise
//! `g`. In each draw, the noise orders the documents like a sample from the Plackett-Luce model. See Bruch et
//! al., A stochastic treatment of learning to rank scoring functions, section 4, and Bruch et al., An analysis of the
//! softmax cross entropy loss for learning to rank, equation 5.
//!
//! The noise depends on `seed`, the index of the draw, and the document's place in its list, so all queries share it.
//! With `noise_by_row`, the noise also depends on the index of the query in its batch. The same seed gives the same
//! loss. The gradient learner draws new noise for each row of the batch at every step, and boosted trees draw new noise
//! in every round. Other learners use the same noise throughout.
//!
//! If documents have weights, the labels are multiplied by them.
//!
//! The cost is O(n) for each draw. A query whose labels are all equal has loss 0.

use crate::loss::noise::mean_over_draws;
use crate::loss::prelude::*;

declare! {
    SoftmaxCrossEntropyConfig,
    name: "softmax_cross_entropy",
    summary: "cross entropy of labels and softmax of scores, optionally under Gumbel noise",
    formula: "-sum_i y_i log softmax(s / temperature)_i",
    cost: "O(n), times the draws",
    paper: "Bruch et al., An analysis of the softmax cross entropy loss for learning to rank, eq. (5)",
}

/// Configuration of [`SoftmaxCrossEntropy`]. By default, labels are not normalized and no noise is added.
#[doc = example!("SoftmaxCrossEntropyConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct SoftmaxCrossEntropyConfig {
    /// Whether to divide the labels by their sum.
    #[config(default = false)]
    pub normalize: bool,
    /// The number of draws of Gumbel noise, up to 10,000, or 0 for no noise.
    #[config(default = 0)]
    pub gumbel_samples: usize,
    /// The divisor of the scores, also without noise; must be above 0.
    #[config(default = 1.0)]
    pub temperature: f64,
    /// The seed of the noise, to which `gradient` and `boosted_trees` add the run's seed and step.
    #[config(default = 0)]
    pub seed: u64,
    /// Whether to draw separate noise for each row of a batch, as the gradient learner does.
    #[config(default = false)]
    pub noise_by_row: bool,
}

impl SoftmaxCrossEntropyConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `temperature` is not a finite number above 0, or if `gumbel_samples` exceeds 10,000.
    pub fn init(&self) -> Result<SoftmaxCrossEntropy, LossError> {
        error::positive(NAME, "temperature", self.temperature)?;
        error::draws(NAME, "gumbel_samples", 0, self.gumbel_samples)?;
        let noise = Noise { seed: self.seed, by_row: self.noise_by_row };
        Ok(SoftmaxCrossEntropy { config: self.clone(), noise, gain: Gain::Linear })
    }
}

/// The softmax cross-entropy loss, `-sum_i y_i log softmax(s / temperature)_i`.
#[doc(alias = "softmax loss")]
#[derive(Module, Debug)]
pub struct SoftmaxCrossEntropy {
    /// The checked parameters.
    #[module(skip)]
    config: SoftmaxCrossEntropyConfig,
    #[module(skip)]
    noise: Noise,
    /// The linear gain, which rejects negative labels because labels act as weights.
    #[module(skip)]
    gain: Gain,
}

impl RankingLoss for SoftmaxCrossEntropy {
    fn about(&self) -> About<'_> {
        About::new(NAME, Orientation::Loss).with_gain(&self.gain).with_document_weights()
    }

    fn changed(&self, change: Change<'_>) -> Changed {
        match self.config.gumbel_samples {
            0 => Ok(None),
            _ => self.noise.changed(change, |noise| Self { noise, ..self.clone() }),
        }
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        let target = lists.weighted(lists.labels.clone());
        let cross_entropy = |scores: Tensor<2>| {
            sum_documents(target.clone() * lists.log_softmax(scores * self.config.temperature.recip())).neg()
        };
        let loss = match self.config.gumbel_samples {
            0 => cross_entropy(lists.centered()),
            samples => mean_over_draws(samples, |draw| cross_entropy(self.noise.added(lists, lists.centered(), draw))),
        };
        if self.config.normalize { loss / one_in_place_of_zero(sum_documents(target.clone())) } else { loss }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;
    use crate::testing::value;

    #[test]
    fn two_documents_are_worked_by_hand() {
        // -2 log sigmoid(-1)
        let expected = 2.0 * (1.0 + 1f64.exp()).ln();
        let found = value(SoftmaxCrossEntropyConfig::new().init(), &[0.0, 1.0], &[2.0, 0.0]);
        assert!((found - expected).abs() < 1e-12, "{found}");
        let halved = value(SoftmaxCrossEntropyConfig::new().with_normalize(true).init(), &[0.0, 1.0], &[2.0, 0.0]);
        assert!((halved - expected / 2.0).abs() < 1e-12, "{halved}");
        let cooled = value(SoftmaxCrossEntropyConfig::new().with_temperature(0.5).init(), &[0.0, 0.5], &[2.0, 0.0]);
        assert!((cooled - expected).abs() < 1e-12, "{cooled}");
    }

    #[test]
    fn noise_depends_on_the_seed_and_the_number_of_draws() {
        let noisy = |seed, samples| {
            let config = SoftmaxCrossEntropyConfig::new().with_gumbel_samples(samples).with_seed(seed);
            value(config.init(), &[0.0, 1.0, 0.5], &[1.0, 0.0, 0.0])
        };
        assert_eq!(noisy(1, 4), noisy(1, 4));
        assert_ne!(noisy(1, 4), noisy(2, 4));
        assert_ne!(noisy(1, 4), noisy(1, 5));
    }

    #[test]
    fn noise_by_row_tells_equal_queries_apart() {
        let of = |noise_by_row: bool, filler: f32| -> Vec<f32> {
            let config = SoftmaxCrossEntropyConfig::new().with_gumbel_samples(2).with_noise_by_row(noise_by_row);
            let device = Device::flex();
            let row = |values: [f32; 4]| Tensor::<2>::from_floats([values, values], &device);
            let mask = row([1.0, 1.0, 1.0, 0.0]).greater_elem(0.5);
            let (scores, labels) = (row([0.0, 1.0, 0.5, filler]), row([1.0, 0.0, 0.0, filler]));
            config.init().unwrap().forward_no_reduction(scores, labels, mask).into_data().iter::<f32>().collect()
        };
        let (shared, own) = (of(false, 0.0), of(true, 0.0));
        assert_eq!(shared[0], shared[1]);
        assert_eq!(own[0], shared[0], "the first row has the noise of all");
        assert_ne!(own[0], own[1]);
        assert_eq!(of(true, f32::NAN), own, "padding");
    }
}
