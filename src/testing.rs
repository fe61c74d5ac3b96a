//! Functions that unit tests of several modules share: the loss of one list, the values of a tensor, and random
//! numbers.

use std::fmt::Debug;

use burn::tensor::{DType, Tensor};
use chacha20::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::loss::{Explained, RankingLoss, explain};
pub(crate) use crate::op::scattered;

/// Returns the value and the gradient of a loss on one list, in float64.
#[track_caller]
pub(crate) fn explained<L: RankingLoss>(loss: Result<L, impl Debug>, scores: &[f64], labels: &[f64]) -> Explained {
    explain(&loss.unwrap(), scores, labels, DType::F64).unwrap()
}

/// Returns the value of a loss on one list, in float64.
#[track_caller]
pub(crate) fn value<L: RankingLoss>(loss: Result<L, impl Debug>, scores: &[f64], labels: &[f64]) -> f64 {
    explained(loss, scores, labels).value
}

/// Returns the values of a tensor, row by row.
pub(crate) fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data().iter::<f64>().collect()
}

/// Returns a random number generator that depends only on the seed.
pub(crate) fn random(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// Draws a number from the standard normal distribution.
#[cfg(feature = "significance")]
pub(crate) fn normal(random: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (random.random_range(f64::MIN_POSITIVE..1.0), random.random());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// Returns `n` independent numbers in [-1, 1) that depend only on the seed.
pub(crate) fn uniform(seed: u64, n: usize) -> Vec<f64> {
    let mut random = random(seed);
    (0..n).map(|_| random.random_range(-1.0..1.0)).collect()
}
