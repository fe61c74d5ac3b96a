//! StochasticRank, the expected NDCG of scores with normal noise. Its gradient is estimated coordinate by coordinate.
//!
//! The noisy scores `b_j = s_j - mu y_j + sigma e_j`, with standard normal `e_j`, determine a ranking. If the noise of
//! all other documents is fixed, the expectation over the noise of document `i` has a derivative in closed form. NDCG
//! jumps where `i` passes another document, so the derivative has one term for each other document:
//!
//! `g_i = sum_{j != i} (G_i - G_j) (D(r_j) - D(r_j + 1)) / Z  phi((b_j - s_i + mu y_i) / sigma) / sigma`.
//!
//! Here `r_j` is the rank of `j` among all documents but `i`, and `phi` is the standard normal density. See Ustimenko
//! and Prokhorenkova, StochasticRank: global optimization of scale-free discrete functions. The parameter `mu` lowers
//! relevant documents in the noisy order. Documents with equal or nearly equal scores are therefore treated as if they
//! were in the worst order. The value and gradient are means over `samples` draws. The mean of the gradient over the
//! documents is subtracted, because its expectation is 0.
//!
//! **The gradient is an unbiased estimate** of the gradient of the expected NDCG, not the gradient of the value
//! ([`About::estimates_gradient`]). With `mu = 0`, the expected NDCG equals the value of `soft_ndcg` in the exact
//! model.
//!
//! The noise depends on `seed`, the index of the draw, and the document's rank by score, so all queries share it. The
//! gradient learner draws new noise for each row of the batch at every step, and boosted trees draw new noise in every
//! round. Other learners use the same noise throughout.
//!
//! The cost is O(n^2) memory, and O(n^2) time for each of the `samples` draws. A query whose labels are all equal has
//! loss 0.

use crate::loss::estimate::Estimate;
use crate::loss::prelude::*;
use crate::op::{at_rank, differences, rank};

/// The approximate number of stored values per document pair, as measured by `burn-rank bench`.
const NUMBERS_PER_PAIR: u64 = 4;

declare! {
    StochasticRankConfig,
    name: "stochastic_rank",
    summary: "expected NDCG of scores with normal noise, its gradient estimated by coordinates",
    formula: "1 - E[NDCG@k(s - mu y + sigma e)]; gradient by sum_j (G_i - G_j) (D(r_j) - D(r_j + 1)) / Z phi((b_j - s_i + mu y_i) / sigma) / sigma",
    cost: "O(n^2), times the draws",
    paper: "Ustimenko and Prokhorenkova, StochasticRank: global optimization of scale-free discrete functions",
    temperature: "sigma", sharper: sharper_if_smaller, paper_value: 1.0, setter: with_sigma,
}

/// Configuration of [`StochasticRank`].
#[doc = example!("StochasticRankConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct StochasticRankConfig {
    /// The standard deviation `sigma` of a noisy score; must be above 0.
    #[config(default = "Temperature::scores(1.0)")]
    pub temperature: Temperature,
    /// How far a document's score is lowered per unit of its label, 0 or above.
    #[config(default = 0.0)]
    pub mu: f64,
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

impl StochasticRankConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `sigma` is not a finite number above 0, `mu` is negative, `k` is 0, `samples` is out of
    /// range, or the table of gains is invalid.
    pub fn init(&self) -> Result<StochasticRank, LossError> {
        let Temperature { value, unit } = self.temperature;
        Ok(StochasticRank {
            sigma: error::positive(NAME, "sigma", value)?,
            scale: unit.into(),
            mu: error::not_negative(NAME, "mu", self.mu)?,
            k: error::cutoff(NAME, self.k)?,
            gain: error::gain(NAME, &self.gain)?,
            samples: error::draws(NAME, "samples", 1, self.samples)?,
            noise: Noise::shared(self.seed),
        })
    }
}

/// The loss `1 - E[NDCG@k]` of scores with normal noise, with an estimated gradient.
#[doc(alias = "coordinate conditional sampling")]
#[derive(Module, Debug)]
pub struct StochasticRank {
    sigma: f64,
    #[module(skip)]
    scale: Scale,
    mu: f64,
    k: Option<usize>,
    #[module(skip)]
    gain: Gain,
    samples: usize,
    #[module(skip)]
    noise: Noise,
}

impl RankingLoss for StochasticRank {
    fn about(&self) -> About<'_> {
        About::new(NAME, Orientation::NormalizedMeasure)
            .with_gain(&self.gain)
            .with_smoothing(ENTRY.smoothing)
            .with_held_constant(self.scale.held_constant())
            .with_estimated_gradient()
            .with_numbers_per_pair(NUMBERS_PER_PAIR)
    }

    fn changed(&self, change: Change<'_>) -> Changed {
        if let Change::Noise(seed) = change {
            return Ok(Some(Box::new(Self { noise: self.noise.reseeded(seed), ..self.clone() })));
        }
        self.scale.changed(change, NAME, ("sigma", self.sigma), |sigma, scale| Self { sigma, scale, ..self.clone() })
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        let lists = &self.scale.of(lists, 0);
        let of_draw = |worth: &Tensor<2>, draw| self.of_one_draw(lists, worth, draw);
        Estimate::ndcg(lists, &self.gain, self.k, self.samples, of_draw).loss(lists)
    }
}

impl StochasticRank {
    /// Returns the NDCG for one draw of noise, and the derivatives estimated from this draw.
    fn of_one_draw(&self, lists: &Lists, worth: &Tensor<2>, draw: usize) -> Estimate {
        let [_, n] = worth.dims();
        let means = lists.centered().detach() - lists.labels.clone() * self.mu;
        let noisy = means.clone() + self.noise.of_documents(Distribution::Normal, draw, lists) * self.sigma;
        let ranks = rank(noisy.clone(), lists.mask.clone());
        let value = sum_documents(worth.clone() * lists.discounts_at(ranks.clone(), &Discount::Log2, self.k));
        // The gain or loss of passing a document, by its rank among the others.
        let discounts = discount_table(&Discount::Log2, n + 1, self.k);
        let steps: Vec<f64> = discounts.windows(2).map(|pair| pair[0] - pair[1]).collect();
        let step = |ranks: Tensor<2>| -> Tensor<3> { at_rank(ranks, steps.clone()).unsqueeze_dim(1) };
        let square = [worth.dims()[0], n, n];
        // Without a document above it, the other document is one rank higher.
        let above = differences(&ranks).greater_elem(0.0);
        let step =
            step(ranks.clone()).expand(square).mask_where(above, step((ranks - 1.0).clamp_min(1.0)).expand(square));
        let from: Tensor<3> = means.unsqueeze_dim(2);
        let to: Tensor<3> = noisy.unsqueeze_dim(1);
        let distance = (to - from) * self.sigma.recip();
        let density = (distance.square() * -0.5).exp() * (1.0 / (self.sigma * std::f64::consts::TAU.sqrt()));
        // The term j = i is 0, because a document is worth as much as itself.
        let gained = differences(worth).neg();
        let slopes = gained * step * density * lists.mask.clone().unsqueeze_dim::<3>(1);
        Estimate { value, slopes: slopes.sum_dim(2).squeeze_dim::<2>(2) * lists.mask.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::explained;

    #[test]
    fn two_documents_are_worked_by_hand() {
        // The relevant document may be at rank 1 or 2. It passes the other, which is at rank 1 among all but itself.
        let (scores, labels, sigma, mu) = ([0.5, 1.0], [1.0, 0.0], 0.75, 0.25);
        let step = 1.0 - 1.0 / 3f64.log2();
        for seed in 0..6 {
            // Document 1 has the first rank by score.
            let noise = Noise::shared(seed).of_ranks(Distribution::Normal, 0, 0, 2);
            let noisy = [0.25 + sigma * noise[1], 1.0 + sigma * noise[0]];
            let density =
                |distance: f64| (-0.5 * (distance / sigma).powi(2)).exp() / (sigma * std::f64::consts::TAU.sqrt());
            let (first, second) = (step * density(noisy[1] - 0.25), -step * density(noisy[0] - 1.0));
            let config = StochasticRankConfig::new().with_sigma(sigma).with_mu(mu).with_samples(1).with_seed(seed);
            let found = explained(config.init(), &scores, &labels);
            let value = if noisy[0] > noisy[1] { 1.0 } else { 1.0 / 3f64.log2() };
            assert!((found.value - value).abs() < 1e-12);
            let slope = (first - second) / 2.0;
            assert!(
                (found.grad[0] + slope).abs() < 1e-12 && (found.grad[1] - slope).abs() < 1e-12,
                "{found:?} {slope}"
            );
        }
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        assert!(StochasticRankConfig::new().with_samples(0).init().is_err());
        assert!(StochasticRankConfig::new().with_sigma(0.0).init().is_err());
        assert!(StochasticRankConfig::new().with_mu(-1.0).init().is_err());
    }
}
