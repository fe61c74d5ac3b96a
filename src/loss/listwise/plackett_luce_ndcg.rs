//! Plackett-Luce NDCG, the expected NDCG of rankings drawn from the Plackett-Luce model, estimated by the algorithm
//! PL-Rank-3.
//!
//! A ranking `y` is drawn document by document. Document `d` comes next with probability `pi(d | above) = softmax(s)_d`
//! among the remaining documents. Let `rho_d = G(y_d) / Z`, let `D` be the discounts and `K` the cut-off, and let
//! `W_k = sum_{k <= x <= K} D(x) rho_{y_x}`. The derivative of the expected NDCG with respect to `s_d` is the
//! expectation of
//!
//! `W_{r_d + 1} + sum_{k <= min(r_d, K)} pi(d | y_1 .. y_{k-1}) (D(k) rho_d - W_k)`, where `r_d` is the rank of `d` in
//! `y`
//!
//! PL-Rank-3 is due to Oosterhuis, Learning-to-rank at the speed of sampling: Plackett-Luce gradient estimation with
//! minimal computational complexity. The value and gradient are means over `samples` rankings, each drawn by sorting
//! scores with Gumbel noise. The mean of the gradient over the documents is subtracted, because its expectation is 0.
//!
//! **The gradient is an unbiased estimate** of the gradient of the expected NDCG ([`About::estimates_gradient`]). The
//! value is a mean over a finite number of rankings, so it changes only where two noisy scores swap places. Everywhere
//! else, its own gradient is 0.
//!
//! The noise depends on `seed`, the index of the draw, and the document's rank by score, so all queries share it. The
//! gradient learner draws new noise for each row of the batch at every step, and boosted trees draw new noise in every
//! round. Other learners use the same noise throughout.
//!
//! Each of the `samples` rankings takes one sort and O(n log n) prefix sums. A query whose labels are all equal has
//! loss 0.

use super::list_mle::{EMPTY, suffix_log_sum_exp};
use crate::loss::estimate::Estimate;
use crate::loss::prelude::*;
use crate::op::rank;

declare! {
    PlackettLuceNdcgConfig,
    name: "plackett_luce_ndcg",
    summary: "expected NDCG of rankings drawn from the Plackett-Luce model (PL-Rank-3)",
    formula: "1 - E[NDCG@k(y)], y ~ Plackett-Luce(s); gradient by sum_k pi(d | y_1 .. y_{k-1}) (D(k) rho_d - W_k) and W",
    cost: "O(n log n), times the rankings",
    paper: "Oosterhuis, Learning-to-rank at the speed of sampling: Plackett-Luce gradient estimation with minimal computational complexity",
}

/// Configuration of [`PlackettLuceNdcg`].
#[doc = example!("PlackettLuceNdcgConfig")]
#[derive(Config, Debug)]
#[non_exhaustive]
pub struct PlackettLuceNdcgConfig {
    /// The number of top ranks that count; `None` counts all ranks.
    pub k: Option<usize>,
    /// The function that maps a label to its gain.
    #[config(default = "Gain::Exp2")]
    pub gain: Gain,
    /// The number of rankings to draw, from 1 to 10,000.
    #[config(default = 16)]
    pub samples: usize,
    /// The seed of the rankings, to which `gradient` and `boosted_trees` add the run's seed and step.
    #[config(default = 0)]
    pub seed: u64,
}

impl PlackettLuceNdcgConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if `k` is 0, `samples` is out of range, or the table of gains is invalid.
    pub fn init(&self) -> Result<PlackettLuceNdcg, LossError> {
        error::cutoff(NAME, self.k)?;
        error::gain(NAME, &self.gain)?;
        error::draws(NAME, "samples", 1, self.samples)?;
        Ok(PlackettLuceNdcg { config: self.clone(), noise: Noise::shared(self.seed) })
    }
}

/// The loss `1 - E[NDCG@k]` of rankings drawn from the Plackett-Luce model, with an estimated gradient.
#[doc(alias = "PL-Rank-3")]
#[doc(alias = "policy gradient")]
#[derive(Module, Debug)]
pub struct PlackettLuceNdcg {
    /// The checked parameters.
    #[module(skip)]
    config: PlackettLuceNdcgConfig,
    #[module(skip)]
    noise: Noise,
}

impl RankingLoss for PlackettLuceNdcg {
    fn about(&self) -> About<'_> {
        About::new(NAME, Orientation::NormalizedMeasure).with_gain(&self.config.gain).with_estimated_gradient()
    }

    fn changed(&self, change: Change<'_>) -> Changed {
        self.noise.changed(change, |noise| Self { noise, ..self.clone() })
    }

    fn query_losses(&self, lists: &Lists) -> Tensor<1> {
        let of_draw = |worth: &Tensor<2>, draw| self.of_one_ranking(lists, worth, draw);
        Estimate::ndcg(lists, &self.config.gain, self.config.k, self.config.samples, of_draw).loss(lists)
    }
}

impl PlackettLuceNdcg {
    /// Returns the NDCG of one sampled ranking, and the derivatives estimated from this ranking.
    fn of_one_ranking(&self, lists: &Lists, worth: &Tensor<2>, draw: usize) -> Estimate {
        let [batch, n] = worth.dims();
        let scores = lists.centered().detach();
        let noisy = scores.clone() + self.noise.of_documents(Distribution::Gumbel, draw, lists);
        let ranks = rank(noisy, lists.mask.clone());
        let order = order_of_ranks(ranks.clone());
        let by_rank = |values: Tensor<2>| values.gather(1, order.clone());
        let (mask, worth, scores) = (by_rank(lists.mask.clone()), by_rank(worth.clone()), by_rank(scores));
        let padded = mask.clone().lower_elem(0.5);
        let discounts = row_like(&discount_table(&Discount::Log2, n, self.config.k), &worth).expand([batch, n]);
        let placed = worth.clone() * discounts.clone();
        let value = sum_documents(placed.clone());
        // `W_k`, and its part below rank k.
        let from_here = placed.clone().flip([1]).cumsum(1).flip([1]);
        let below = from_here.clone() - placed;
        // The logarithm of the sum of the exponentials that remain at each rank.
        let left = suffix_log_sum_exp(scores.clone().mask_fill(padded.clone(), EMPTY)).mask_fill(padded.clone(), 0.0);
        // Computes sum_{k <= r} v_k exp(s_r - left_k) in logarithms, for values of 0 or above.
        let chances = |values: Tensor<2>| {
            let none = values.clone().lower_equal_elem(0.0);
            let logs = (values.mask_fill(none.clone(), 1.0).log() - left.clone()).mask_fill(none, EMPTY);
            // The exponent is unbounded at padded places.
            (prefix_log_sum_exp(logs) + scores.clone()).mask_fill(padded.clone(), EMPTY).exp()
        };
        let slopes = below + worth * chances(discounts) - chances(from_here);
        let slopes = slopes * mask;
        Estimate { value, slopes: slopes.gather(1, (ranks - 1.0).int()) * lists.mask.clone() }
    }
}

/// Returns `out_r = log sum_{k <= r} exp(x_k)` in `log2 N` steps, each of which doubles the number of summed places.
/// The step with distance `d` extends the sum at each place to the `2 d` places that end at that place.
fn prefix_log_sum_exp(mut x: Tensor<2>) -> Tensor<2> {
    let [batch, n] = x.dims();
    let mut d = 1;
    while d < n {
        let beyond = Tensor::<2>::full([batch, d], EMPTY, (&x.device(), x.dtype()));
        let shifted = Tensor::cat(vec![beyond, x.clone().narrow(1, 0, n - d)], 1);
        // Unlike the form with a gradient, this is exact where either sum is empty.
        let smaller = (x.clone() - shifted.clone()).abs().neg().exp().log1p();
        x = x.max_pair(shifted) + smaller;
        d *= 2;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::explained;

    const SCORES: [f64; 5] = [0.4, -1.0, 1.3, 0.1, -0.3];
    const LABELS: [f64; 5] = [1.0, 3.0, 0.0, 2.0, 0.0];

    /// Evaluates the estimated gradient by its definition, rank by rank; `order` lists the documents from rank 1.
    fn by_definition(order: &[usize], k: usize) -> (f64, Vec<f64>) {
        let discount = |rank: usize| if rank <= k { 1.0 / (1.0 + rank as f64).log2() } else { 0.0 };
        let ideal: f64 = [7.0, 3.0, 1.0].iter().zip(1..).map(|(gain, rank)| gain * discount(rank)).sum();
        let worth = LABELS.map(|label| (label.exp2() - 1.0) / ideal);
        let rest = |from: usize| -> f64 { (from..=5).map(|rank| discount(rank) * worth[order[rank - 1]]).sum() };
        let mut slopes = [0.0; 5];
        for (place, &d) in order.iter().enumerate() {
            let rank = place + 1;
            slopes[d] = rest(rank + 1);
            for at in 1..=rank.min(k) {
                let left: f64 = order[at - 1..].iter().map(|&other| SCORES[other].exp()).sum();
                slopes[d] += SCORES[d].exp() / left * (discount(at) * worth[d] - rest(at));
            }
        }
        let mean = slopes.iter().sum::<f64>() / 5.0;
        (rest(1), slopes.iter().map(|slope| slope - mean).collect())
    }

    #[test]
    fn the_estimate_is_that_of_the_definition() {
        for (k, seed) in [(5, 0), (5, 1), (3, 2), (1, 3)] {
            let mut by_score: Vec<usize> = (0..5).collect();
            by_score.sort_by(|&a, &b| SCORES[b].total_cmp(&SCORES[a]));
            let mut noisy = SCORES;
            let noise = Noise::shared(seed).of_ranks(Distribution::Gumbel, 0, 0, 5);
            by_score.iter().zip(noise).for_each(|(&document, noise)| noisy[document] += noise);
            let mut order: Vec<usize> = (0..5).collect();
            order.sort_by(|&a, &b| noisy[b].total_cmp(&noisy[a]));
            let (value, slopes) = by_definition(&order, k);
            let config = PlackettLuceNdcgConfig::new().with_k(Some(k)).with_samples(1).with_seed(seed);
            let found = explained(config.init(), &SCORES, &LABELS);
            assert!((found.value - value).abs() < 1e-12, "@{k}: {} {value}", found.value);
            for (found, slope) in found.grad.iter().zip(&slopes) {
                assert!((found + slope).abs() < 1e-12, "@{k}: {found} {slope}");
            }
        }
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        assert!(PlackettLuceNdcgConfig::new().with_samples(0).init().is_err());
        assert!(PlackettLuceNdcgConfig::new().with_k(Some(0)).init().is_err());
    }
}
