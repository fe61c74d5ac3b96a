//! Noise that does not change with the padding of a list.
//!
//! Noise of ranks depends on a seed and a document's rank, so it does not change with the order of a list either.
//! Documents with the same score are ranked by position. For fixed scores, the noise of each document is independent of
//! the noise of all other documents. Gumbel noise that is added to scores depends on a document's place in its list.
//!
//! Either all queries of a batch share the noise, or each list draws its own noise, selected by the index of the list.

use std::f64::consts::TAU;

use burn::tensor::{Tensor, TensorData};
use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::about::Change;
use super::lists::Lists;
use super::ranking_loss::{Changed, RankingLoss};
use crate::parallel;
use crate::seed::seed_for;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Distribution {
    /// The uniform distribution on (0, 1).
    Uniform,
    /// The standard Gumbel distribution, which makes noisy scores follow the Plackett-Luce model.
    Gumbel,
    /// The standard normal distribution.
    Normal,
    /// The standard logistic distribution. The difference of two standard Gumbel variables has this distribution.
    Logistic,
}

impl Distribution {
    /// Returns the name from which the random seeds for this distribution are derived.
    fn purpose(self) -> &'static str {
        match self {
            Self::Uniform => "uniform by rank",
            Self::Gumbel => "gumbel by rank",
            Self::Normal => "normal by rank",
            Self::Logistic => "logistic by rank",
        }
    }

    fn draw(self, random: &mut ChaCha8Rng) -> f64 {
        // The ends of (0, 1) are excluded, so every logarithm is finite.
        let mut uniform = || random.random::<f64>().clamp(f64::EPSILON, 1.0 - f64::EPSILON);
        match self {
            Self::Uniform => uniform(),
            Self::Gumbel => -(-uniform().ln()).ln(),
            // The Box-Muller transform.
            Self::Normal => (-2.0 * uniform().ln()).sqrt() * (TAU * uniform()).cos(),
            Self::Logistic => {
                let uniform = uniform();
                (uniform / (1.0 - uniform)).ln()
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Noise {
    pub seed: u64,
    /// Whether each row of a batch gets its own noise.
    pub by_row: bool,
}

impl Noise {
    /// Creates noise that all queries of a batch share.
    pub fn shared(seed: u64) -> Self {
        Self { seed, by_row: false }
    }

    /// Returns noise with the new seed `seed(self.seed)`, drawn separately for each row.
    pub fn reseeded(self, seed: &dyn Fn(u64) -> u64) -> Self {
        Self { seed: seed(self.seed), by_row: true }
    }

    /// Returns the loss that `with` builds from new noise, if the change asks for it.
    pub fn changed<L: RankingLoss + 'static>(self, change: Change<'_>, with: impl FnOnce(Self) -> L) -> Changed {
        let Change::Noise(seed) = change else { return Ok(None) };
        Ok(Some(Box::new(with(self.reseeded(seed)))))
    }

    /// Draws noise for the ranks 1 to `n` in the list with index `list`; `draw` is the index of the draw.
    pub fn of_ranks(self, distribution: Distribution, draw: usize, list: usize, n: usize) -> Vec<f64> {
        let mut random = ChaCha8Rng::seed_from_u64(seed_for(self.seed, distribution.purpose(), draw as u64));
        random.set_stream(list as u64);
        (0..n).map(|_| distribution.draw(&mut random)).collect()
    }

    /// Returns the noise for each document, `[B, N]`, 0 at padded places; `draw` is the index of the draw. The noise
    /// carries no gradient.
    pub fn of_documents(self, distribution: Distribution, draw: usize, lists: &Lists) -> Tensor<2> {
        let noise = self.of_rows(lists, &lists.scores, |list, n| self.of_ranks(distribution, draw, list, n));
        noise.expand(lists.scores.dims()).gather(1, (lists.ranks() - 1.0).int()) * lists.mask.clone()
    }

    /// Adds standard Gumbel noise to `scores`, `[B, N]`, by the place of each document in its list; `draw` is the index
    /// of the draw.
    pub fn added(self, lists: &Lists, scores: Tensor<2>, draw: usize) -> Tensor<2> {
        let noise = self.of_rows(lists, &scores, |list, n| gumbel_noise(self.seed, draw, list, n));
        scores + noise
    }

    /// Returns the noise that `of` draws for a list and a number of documents, `[B, N]`, or `[1, N]` if all lists share
    /// it, in the type of `like`.
    fn of_rows(self, lists: &Lists, like: &Tensor<2>, of: impl Fn(usize, usize) -> Vec<f64> + Sync) -> Tensor<2> {
        let [batch, n] = like.dims();
        let rows = if self.by_row { batch } else { 1 };
        let noise = parallel::map(0..rows, |row| of(if self.by_row { lists.number(row) } else { 0 }, n)).concat();
        Tensor::from_data(TensorData::new(noise, [rows, n]), (&like.device(), like.dtype()))
    }
}

/// Draws standard Gumbel noise `-log(-log u)` for the first `n` places of the list with index `list`.
fn gumbel_noise(seed: u64, draw: usize, list: usize, n: usize) -> Vec<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed_for(seed, "gumbel", draw as u64));
    random.set_stream(list as u64);
    // 1 - u is in (0, 1], so the inner logarithm is finite. The outer one needs a value below 1.
    let mut uniform = || (1.0 - random.random::<f64>()).min(1.0 - f64::EPSILON);
    (0..n).map(|_| -(-uniform().ln()).ln()).collect()
}

/// Returns the mean of `of(draw)` over the draws 0 to `draws - 1`; `draws` is at least 1.
pub(super) fn mean_over_draws(draws: usize, of: impl Fn(usize) -> Tensor<1>) -> Tensor<1> {
    (1..draws).map(&of).fold(of(0), |sum, one| sum + one) * (1.0 / draws as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::lists::Among;
    use burn::tensor::Device;

    #[test]
    fn the_moments_are_those_of_the_distributions() {
        let cases = [
            (Distribution::Uniform, 0.5, 1.0 / 12.0),
            (Distribution::Gumbel, 0.577_215_664_9, std::f64::consts::PI.powi(2) / 6.0),
            (Distribution::Normal, 0.0, 1.0),
            (Distribution::Logistic, 0.0, std::f64::consts::PI.powi(2) / 3.0),
        ];
        for (distribution, mean, variance) in cases {
            let noise = Noise::shared(7).of_ranks(distribution, 0, 0, 100_000);
            let found = noise.iter().sum::<f64>() / noise.len() as f64;
            let spread = noise.iter().map(|x| (x - found).powi(2)).sum::<f64>() / noise.len() as f64;
            assert!((found - mean).abs() < 0.02, "{distribution:?}: {found}");
            assert!((spread - variance).abs() < 0.05, "{distribution:?}: {spread}");
        }
    }

    /// Compares the noise of a query with scores 3, 1 and 2 with the noise of the same query in another order, with
    /// padding.
    #[test]
    fn noise_goes_with_the_document_whatever_the_order_and_the_padding() {
        let of = |noise: Noise, scores: [[f32; 4]; 2]| -> Vec<f64> {
            let scores = Tensor::<2>::from_floats(scores, &Device::flex());
            let mask = scores.clone().greater_elem(0.0);
            let lists = Lists::padded(scores.clone(), scores, mask);
            noise.of_documents(Distribution::Normal, 1, &lists).into_data().iter().collect()
        };
        let shared = of(Noise::shared(5), [[3.0, 1.0, 2.0, 0.0], [2.0, 0.0, 3.0, 1.0]]);
        assert_eq!([shared[0], shared[1], shared[2], shared[3]], [shared[6], shared[7], shared[4], 0.0]);
        assert_ne!(shared[0], shared[1]);
        let own = of(Noise::shared(5).reseeded(&|seed| seed), [[3.0, 1.0, 2.0, 0.0]; 2]);
        assert_eq!(own[..4], shared[..4], "the first row has the noise that is shared");
        assert_ne!(own[..3], own[4..7]);
        let again = Noise::shared(5).reseeded(&|seed| seed + 1);
        assert_ne!(of(again, [[3.0, 1.0, 2.0, 0.0]; 2])[..3], own[..3]);
    }

    #[test]
    fn the_moments_are_those_of_the_distribution() {
        let noise = gumbel_noise(7, 0, 0, 100_000);
        let mean = noise.iter().sum::<f64>() / noise.len() as f64;
        let variance = noise.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / noise.len() as f64;
        assert!((mean - 0.577_215_664_9).abs() < 0.02, "{mean}");
        assert!((variance - std::f64::consts::PI.powi(2) / 6.0).abs() < 0.05, "{variance}");
    }

    #[test]
    fn a_longer_list_begins_with_the_same_noise() {
        assert_eq!(gumbel_noise(1, 2, 0, 10)[..4], gumbel_noise(1, 2, 0, 4));
        assert_ne!(gumbel_noise(1, 2, 0, 4), gumbel_noise(1, 3, 0, 4));
        assert_ne!(gumbel_noise(1, 2, 0, 4), gumbel_noise(1, 2, 1, 4));
    }

    #[test]
    fn lists_share_noise_or_have_their_own_whatever_the_padding() {
        let lists = |n: usize| {
            let scores = Tensor::<2>::zeros([3, n], &Device::flex());
            Lists::padded(scores.clone(), scores.clone(), scores.equal_elem(0.0))
        };
        let rows = |scores: Tensor<2>| -> Vec<Vec<f32>> {
            let n = scores.dims()[1];
            let values: Vec<f32> = scores.into_data().iter::<f32>().collect();
            values.chunks(n).map(|row| row[..4].to_vec()).collect()
        };
        let by_list = |lists: &Lists| rows(Noise { seed: 5, by_row: true }.added(lists, lists.scores.clone(), 1));
        let (shared, own) = (rows(Noise::shared(5).added(&lists(4), lists(4).scores, 1)), by_list(&lists(4)));
        assert!(shared[0] == shared[1] && shared[0] == shared[2] && shared[0] == own[0]);
        assert!(own[0] != own[1] && own[1] != own[2] && own[0] != own[2]);
        assert_eq!(by_list(&lists(9)), own);
        let numbered = by_list(&lists(4).among(Among { numbers: vec![2, 7, 0], longest: 4 }));
        assert!(numbered[0] == own[2] && numbered[2] == own[0] && !own.contains(&numbered[1]));
    }
}
