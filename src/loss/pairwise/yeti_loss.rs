//! YetiLoss, which applies RankNet to neighbors in a noisy order. Each pair is weighted by the change in NDCG@k if its
//! two documents swap places.
//!
//! The loss is `1/S sum_draws sum_r |G_r - G_(r+1)| (D(r) - D(r + 1)) / Z log(1 + exp(-(s_i - s_j)))`. The documents
//! are ordered by their scores plus standard logistic noise, and `G_r` is the gain at rank `r`. Of the documents at
//! ranks `r` and `r + 1`, `i` has the larger gain, and `j` is the other. The weights are changes in NDCG@k, so
//! discounts beyond the cut-off are 0. No gradient passes through the weights or the noisy order.
//!
//! YetiRank (Gulin et al. 2011) weights pairs by label differences and a factor that decays with rank, not by the
//! change in a measure.
//!
//! The noise depends on `seed`, the index of the draw, and the document's rank by score, so all queries share it. The
//! gradient learner draws new noise for each row of the batch at every step, and boosted trees draw new noise in every
//! round. Other learners use the same noise throughout.
//!
//! The cost is O(n log n) for each of the `S` draws. A query whose gains are all equal has loss 0.

use burn::tensor::activation::log_sigmoid;

use crate::loss::noise::mean_over_draws;
use crate::loss::prelude::*;
use crate::op::rank;

declare! {
    YetiLossConfig,
    name: "yeti_loss",
    summary: "RankNet on neighbors of a noisy order, weighted by the change of NDCG",
    formula: "1/S sum_draws sum_r |G_r - G_(r+1)| (D(r) - D(r+1)) / Z log(1 + exp(-(s_i - s_j))), i the better of the two neighbors",
    cost: "O(n log n), times the draws",
    paper: "Lyzhin, Ustimenko, Gulin and Prokhorenkova, Which tricks are important for learning to rank?",
}

/// Configuration of [`YetiLoss`].
#[doc = example!("YetiLossConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct YetiLossConfig {
    /// The number of top ranks that count; `None` counts all ranks.
    pub k: Option<usize>,
    /// The function that maps a label to its gain.
    #[config(default = "Gain::Exp2")]
    pub gain: Gain,
    /// The number of draws of noise, from 1 to 10,000.
    #[config(default = 16)]
    pub samples: usize,
    /// The seed of the noise, to which `gradient` and `boosted_trees` add the run's seed and step.
    #[config(default = 0)]
    pub seed: u64,
}

impl YetiLossConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `k` is 0, `samples` is out of range, or the table of gains is invalid.
    pub fn init(&self) -> Result<YetiLoss, LossError> {
        error::cutoff(NAME, self.k)?;
        error::gain(NAME, &self.gain)?;
        error::draws(NAME, "samples", 1, self.samples)?;
        Ok(YetiLoss { config: self.clone(), noise: Noise::shared(self.seed) })
    }
}

/// The YetiLoss, `1/S sum_draws sum_r |G_r - G_(r+1)| (D(r) - D(r + 1)) / Z log(1 + exp(-(s_i - s_j)))`.
#[doc(alias = "YetiRank")]
#[derive(Module, Debug)]
pub struct YetiLoss {
    /// The checked parameters.
    #[module(skip)]
    config: YetiLossConfig,
    #[module(skip)]
    noise: Noise,
}

impl RankingLoss for YetiLoss {
    fn about(&self) -> About<'_> {
        About::new(NAME, Orientation::Loss).with_gain(&self.config.gain)
    }

    fn changed(&self, change: Change<'_>) -> Changed {
        self.noise.changed(change, |noise| Self { noise, ..self.clone() })
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        if lists.scores.dims()[1] < 2 {
            // Without neighbors, the loss is 0, or NaN where a score is NaN, but it has a gradient.
            return sum_documents(lists.scores.clone() * 0.0);
        }
        let gains = lists.gains(&self.config.gain);
        let ideal = lists.ideal_dcg(gains.clone(), &Discount::Log2, self.config.k);
        let (scores, worth) = (lists.centered(), gains / ideal.unsqueeze_dim(1));
        mean_over_draws(self.config.samples, |draw| self.of_one_draw(lists, &scores, &worth, draw))
    }
}

impl YetiLoss {
    /// Returns the loss, `[B]`, summed over neighbors in the noisy order of one draw.
    fn of_one_draw(&self, lists: &Lists, scores: &Tensor<2>, worth: &Tensor<2>, draw: usize) -> Tensor<1> {
        let [_, n] = worth.dims();
        let noise = self.noise.of_documents(Distribution::Logistic, draw, lists);
        let order = order_of_ranks(rank(scores.clone().detach() + noise, lists.mask.clone()));
        // The value at each rank minus the value at the next. Padded documents are last, and no pair with one counts.
        let drop = |values: &Tensor<2>| {
            let ranked = values.clone().gather(1, order.clone());
            ranked.clone().narrow(1, 0, n - 1) - ranked.narrow(1, 1, n - 1)
        };
        let below = lists.mask.clone().gather(1, order.clone()).narrow(1, 1, n - 1);
        let discounts = discount_table(&Discount::Log2, n, self.config.k);
        let steps: Vec<f64> = discounts.windows(2).map(|pair| pair[0] - pair[1]).collect();
        let exchange = drop(worth) * below * row_like(&steps, worth);
        let ahead = drop(scores) * exchange.clone().sign();
        sum_documents(exchange.abs() * log_sigmoid(ahead)).neg()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::explained;

    fn softplus(t: f64) -> f64 {
        (1.0 + t.exp()).ln()
    }

    #[test]
    fn two_documents_are_neighbors_in_every_draw() {
        let found = explained(YetiLossConfig::new().init(), &[0.5, 1.0], &[2.0, 1.0]);
        let step = 1.0 - 1.0 / 3f64.log2();
        let weight = (3.0 - 1.0) * step / (3.0 + 1.0 / 3f64.log2());
        assert!((found.loss - weight * softplus(0.5)).abs() < 1e-12, "{found:?}");
        let slope = weight / (1.0 + (-0.5f64).exp());
        assert!((found.grad[0] + slope).abs() < 1e-12 && (found.grad[1] - slope).abs() < 1e-12, "{found:?}");
    }

    /// The test sums the loss over draws, document by document, with noise that depends on the documents' ranks by
    /// score.
    #[test]
    fn neighbors_are_those_of_the_noisy_order() {
        let (scores, labels, k) = ([0.4, -0.3, 1.1, 0.2], [1.0, 2.0, 0.0, 0.0], 3);
        let gains = labels.map(|y: f64| y.exp2() - 1.0);
        let discount = |rank: usize| if rank <= k { 1.0 / (1.0 + rank as f64).log2() } else { 0.0 };
        let ideal = 3.0 + discount(2);
        for seed in 0..5 {
            let samples = 3;
            let config = YetiLossConfig::new().with_k(Some(k)).with_samples(samples).with_seed(seed);
            let found = explained(config.init(), &scores, &labels);
            let mut expected = 0.0;
            for draw in 0..samples {
                let noise = Noise::shared(seed).of_ranks(Distribution::Logistic, draw, 0, 4);
                // By score, the documents have ranks 2, 4, 1 and 3.
                let noisy = [scores[0] + noise[1], scores[1] + noise[3], scores[2] + noise[0], scores[3] + noise[2]];
                let mut order = [0, 1, 2, 3];
                order.sort_by(|&a, &b| noisy[b].total_cmp(&noisy[a]));
                for rank in 1..4 {
                    let (a, b) = (order[rank - 1], order[rank]);
                    let weight = (gains[a] - gains[b]).abs() * (discount(rank) - discount(rank + 1)) / ideal;
                    let ahead = (scores[a] - scores[b]) * (gains[a] - gains[b]).signum();
                    expected += weight * softplus(-ahead) / samples as f64;
                }
            }
            assert!((found.loss - expected).abs() < 1e-12, "{seed}: {} {expected}", found.loss);
        }
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        assert!(YetiLossConfig::new().with_samples(0).init().is_err());
        assert!(YetiLossConfig::new().with_k(Some(0)).init().is_err());
    }
}
