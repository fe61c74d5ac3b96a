//! Functions that unit tests of several modules share: a loss of one list, the values of a tensor, and numbers without
//! structure.

use std::fmt::Debug;

use burn::tensor::{DType, Tensor};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::loss::{Explained, RankingLoss, explain};
pub(crate) use crate::op::scattered;

/// Value, loss and gradient of one list in float64.
#[track_caller]
pub(crate) fn explained<L: RankingLoss>(loss: Result<L, impl Debug>, scores: &[f64], labels: &[f64]) -> Explained {
    explain(&loss.unwrap(), scores, labels, DType::F64).unwrap()
}

/// The value of one list in float64.
#[track_caller]
pub(crate) fn value<L: RankingLoss>(loss: Result<L, impl Debug>, scores: &[f64], labels: &[f64]) -> f64 {
    explained(loss, scores, labels).value
}

/// The values of a tensor, row by row.
pub(crate) fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data().iter::<f64>().collect()
}

/// A generator of numbers, the same whenever the seed is.
pub(crate) fn random(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// `n` independent numbers in [-1, 1), the same whenever the seed is.
pub(crate) fn uniform(seed: u64, n: usize) -> Vec<f64> {
    let mut random = random(seed);
    (0..n).map(|_| random.random_range(-1.0..1.0)).collect()
}
