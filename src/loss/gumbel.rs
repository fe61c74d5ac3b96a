//! Gumbel noise that depends only on a seed and a document's place in its list, not on the padding. Either all queries
//! of a batch share the noise, or each list draws its own noise, selected by the index of the list.

use burn::tensor::{Tensor, TensorData};
use chacha20::ChaCha8Rng;
use rand::RngExt;
use rand::SeedableRng;

use super::lists::Lists;
use crate::parallel;
use crate::seed::seed_for;

/// Draws standard Gumbel noise `-log(-log u)` for the first `n` places of the list with index `list`.
fn gumbel_noise(seed: u64, sample: usize, list: usize, n: usize) -> impl Iterator<Item = f64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed_for(seed, "gumbel", sample as u64));
    random.set_stream(list as u64);
    // 1 - u is in (0, 1], so the inner logarithm is finite. The outer one needs a value below 1.
    let mut uniform = move || (1.0 - random.random::<f64>()).min(1.0 - f64::EPSILON);
    (0..n).map(move |_| -(-uniform().ln()).ln())
}

/// Adds the same noise to the scores of every query, `[B, N]`.
pub(super) fn perturbed(scores: Tensor<2>, seed: u64, sample: usize) -> Tensor<2> {
    let [_, n] = scores.dims();
    let noise = gumbel_noise(seed, sample, 0, n).collect();
    add(scores, noise, [1, n])
}

/// Adds separate noise to the scores of each list, `[B, N]`.
pub(super) fn perturbed_by_list(lists: &Lists, scores: Tensor<2>, seed: u64, sample: usize) -> Tensor<2> {
    let [batch, n] = scores.dims();
    let of = |row| gumbel_noise(seed, sample, lists.number(row), n).collect::<Vec<f64>>();
    add(scores, parallel::map(0..batch, of).concat(), [batch, n])
}

fn add(scores: Tensor<2>, noise: Vec<f64>, shape: [usize; 2]) -> Tensor<2> {
    let options = (&scores.device(), scores.dtype());
    let noise = Tensor::<2>::from_data(TensorData::new(noise, shape), options);
    scores + noise
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;
    use crate::loss::lists::Among;

    fn noise(seed: u64, sample: usize, row: usize, n: usize) -> Vec<f64> {
        gumbel_noise(seed, sample, row, n).collect()
    }

    #[test]
    fn the_moments_are_those_of_the_distribution() {
        let noise = noise(7, 0, 0, 100_000);
        let mean = noise.iter().sum::<f64>() / noise.len() as f64;
        let variance = noise.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / noise.len() as f64;
        assert!((mean - 0.577_215_664_9).abs() < 0.02, "{mean}");
        assert!((variance - std::f64::consts::PI.powi(2) / 6.0).abs() < 0.05, "{variance}");
    }

    #[test]
    fn a_longer_list_begins_with_the_same_noise() {
        assert_eq!(noise(1, 2, 0, 10)[..4], noise(1, 2, 0, 4));
        assert_ne!(noise(1, 2, 0, 4), noise(1, 3, 0, 4));
        assert_ne!(noise(1, 2, 0, 4), noise(1, 2, 1, 4));
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
        let by_list = |lists: &Lists| rows(perturbed_by_list(lists, lists.scores.clone(), 5, 1));
        let (shared, own) = (rows(perturbed(lists(4).scores, 5, 1)), by_list(&lists(4)));
        assert!(shared[0] == shared[1] && shared[0] == shared[2] && shared[0] == own[0]);
        assert!(own[0] != own[1] && own[1] != own[2] && own[0] != own[2]);
        assert_eq!(by_list(&lists(9)), own);
        let numbered = by_list(&lists(4).among(Among { numbers: vec![2, 7, 0], longest: 4 }));
        assert!(numbered[0] == own[2] && numbered[2] == own[0] && !own.contains(&numbered[1]));
    }
}
