//! NeuralSort replaces "document i is at rank r" with row `r` of its matrix,
//! `softmax_i(((n + 1 - 2 r) s_i - sum_j |s_i - s_j|) / sigma)`. The matrix is from Grover et al., Stochastic
//! optimization of sorting networks via continuous relaxations, equation 4. If only the rows within the cut-off are
//! used, NDCG under NeuralSort is PiRank with one level of sorting. PiRank is from Swezey et al., PiRank: scalable
//! learning to rank via differentiable sorting.

use std::sync::Arc;

use burn::config::Config;
use burn::tensor::{Int, Tensor};

use super::relaxed::{Indicators, Relaxation, Relaxed};
use super::soft_sort::softmax_over_documents;
use crate::loss::error::{self, LossError};
use crate::loss::lists::Lists;
use crate::loss::smoothing::{Sharper, Smoothing};
use crate::loss::temperature::{Temperature, TemperatureUnit};
use crate::op::{NeuralSortMatrix, distance_sum, neural_sort_sum};

/// The relaxation that replaces ranks with NeuralSort's matrix. The surrogate tends to the measure as `sigma` tends to
/// 0.
#[derive(Config, Debug, Copy, PartialEq)]
#[non_exhaustive]
pub struct NeuralSort {
    /// The temperature `sigma`, above 0.
    pub temperature: Temperature,
    /// The number of top ranks that the measure needs; `None` means that it needs all ranks.
    pub top: Option<usize>,
}

impl Relaxation for NeuralSort {
    fn name(&self) -> &'static str {
        "neural_sort"
    }

    fn check(&self, loss: &'static str) -> Result<(), LossError> {
        error::positive(loss, "sigma", self.temperature.value)?;
        error::at_least_one(loss, "top", self.top)?;
        Ok(())
    }

    fn smoothing(&self) -> Option<Smoothing> {
        Some(Smoothing { parameter: "sigma", sharper: Sharper::Smaller })
    }

    fn temperature_unit(&self) -> TemperatureUnit {
        self.temperature.unit
    }

    /// Returns 0. With a smoother matrix, the loss of three documents has minima at wrong orders.
    fn short_list_power(&self) -> u32 {
        0
    }

    fn with_parameter(&self, parameter: &str, value: f64) -> Option<Arc<dyn Relaxation>> {
        match parameter {
            "sigma" => Some(Arc::new(Self { temperature: self.temperature.with_value(value), ..*self })),
            _ => None,
        }
    }

    fn relax(&self, lists: &Lists, _sample: usize) -> Relaxed {
        let sort = NeuralSortMatrix {
            temperature: self.temperature.value,
            iterations: 0,
            transposed: false,
            ranks: self.top.unwrap_or(usize::MAX),
        };
        let (scores, mask) = (lists.centered(), lists.mask.clone());
        let at_ranks = move |values| neural_sort_sum(scores.clone(), values, mask.clone(), sort);
        let (all, sigma, top) = (lists.clone(), self.temperature.value, self.top.unwrap_or(usize::MAX));
        Relaxed::Indicators(Indicators::of_ranks(lists, at_ranks).with_matrix(move || matrix(&all, sigma, top)))
    }
}

/// Returns NeuralSort's matrix, `[batch, ranks, documents]`, which is 0 at padded documents and at ranks beyond those
/// needed.
fn matrix(lists: &Lists, sigma: f64, top: usize) -> Tensor<3> {
    let (scores, mask) = (lists.centered(), lists.mask.clone());
    let [batch, n] = mask.dims();
    let ranks = Tensor::<1, Int>::arange(1..n as i64 + 1, &mask.device()).float().cast(mask.dtype());
    let needed = ranks.clone().lower_equal_elem(top.min(n) as i64).float().cast(mask.dtype());
    let slopes = mask.clone().sum_dim(1).expand([batch, n]) + 1.0 - ranks.unsqueeze::<2>() * 2.0;
    let spread = distance_sum(scores.clone(), mask);
    let logits = slopes.unsqueeze_dim::<3>(2) * scores.unsqueeze_dim::<3>(1) - spread.unsqueeze_dim::<3>(1);
    softmax_over_documents(lists, logits * (1.0 / sigma)) * needed.reshape([1, n, 1])
}
