//! What trees are fitted to: a registered loss as a function of the scores alone, with its derivatives.
//!
//! Any loss gives its gradient by automatic differentiation; its trees are least-squares fits of the negative
//! gradient. The logistic pair losses (`rank_net`, `lambda_ndcg`) also have a cheap second derivative, computed here
//! pair by pair, so that their leaves take Newton steps, as LambdaMART does.

use burn::nn::loss::Reduction;
use burn::tensor::{Bool, Device, Tensor, TensorData};
use rayon::prelude::*;
use serde::Deserialize;

use super::NAME;
use super::tree::Derivatives;
use crate::data::{Batcher, BatcherConfig, Dataset, Keep, RankingBatch};
use crate::learner::LearnerError;
use crate::loss::{LossSpec, RankingLoss};
use crate::measure::{Discount, Gain};

/// A loss of the scores of all documents: the mean over the queries with two labels.
pub(super) enum Objective<'a> {
    /// Any registered loss, by automatic differentiation.
    Surrogate(Surrogate<'a>),
    /// A weighted logistic pair loss, with its second derivative.
    Logistic(Logistic<'a>),
}

impl<'a> Objective<'a> {
    pub(super) fn new(spec: &LossSpec, data: &'a Dataset, device: &Device) -> Result<Self, LearnerError> {
        let loss = spec.build()?;
        Ok(match spec.name.as_str() {
            "rank_net" | "lambda_ndcg" => Objective::Logistic(Logistic::new(spec, data)?),
            _ => Objective::Surrogate(Surrogate::new(loss, data, device)?),
        })
    }

    /// Whether the derivatives have a curvature of their own.
    pub(super) fn has_curvature(&self) -> bool {
        matches!(self, Objective::Logistic(_))
    }

    /// The loss.
    pub(super) fn value(&self, scores: &[f64]) -> f64 {
        match self {
            Objective::Surrogate(surrogate) => surrogate.value(scores),
            Objective::Logistic(logistic) => logistic.derivatives(scores).0,
        }
    }

    /// The loss, and the derivatives of its sum over queries by each score.
    pub(super) fn derivatives(&self, scores: &[f64]) -> (f64, Derivatives) {
        match self {
            Objective::Surrogate(surrogate) => surrogate.derivatives(scores),
            Objective::Logistic(logistic) => logistic.derivatives(scores),
        }
    }
}

/// Labels and mask of queries padded to one length; their scores change from round to round.
struct Lists {
    queries: Vec<usize>,
    labels: Tensor<2>,
    mask: Tensor<2, Bool>,
}

/// A registered loss.
pub(super) struct Surrogate<'a> {
    loss: Box<dyn RankingLoss>,
    data: &'a Dataset,
    lists: Vec<Lists>,
    queries: f64,
    device: Device,
}

impl<'a> Surrogate<'a> {
    fn new(loss: Box<dyn RankingLoss>, data: &'a Dataset, device: &Device) -> Result<Self, LearnerError> {
        let config = BatcherConfig { keep: Keep::TwoLabels, shuffle: false, ..BatcherConfig::default() };
        let batcher = Batcher::new(data, &config, 0)
            .map_err(|error| LearnerError::Data { learner: NAME, reason: error.to_string() })?;
        let lists = |queries: Vec<usize>| {
            let RankingBatch { labels, mask, queries, .. } = RankingBatch::assemble(data, &queries, device);
            Lists { queries, labels, mask }
        };
        Ok(Self {
            loss,
            data,
            lists: batcher.epoch(0).into_iter().map(lists).collect(),
            queries: batcher.kept() as f64,
            device: device.clone(),
        })
    }

    fn padded(&self, lists: &Lists, scores: &[f64], device: &Device) -> Tensor<2> {
        let [rows, width] = lists.labels.dims();
        let mut values = vec![0.0f32; rows * width];
        for (row, &query) in values.chunks_mut(width).zip(&lists.queries) {
            row.iter_mut().zip(&scores[self.data.range(query)]).for_each(|(place, &score)| *place = score as f32);
        }
        Tensor::from_data(TensorData::new(values, [rows, width]), device)
    }

    fn sum(&self, lists: &Lists, scores: Tensor<2>) -> Tensor<1> {
        self.loss.forward(scores, lists.labels.clone(), lists.mask.clone(), Reduction::Sum)
    }

    fn value(&self, scores: &[f64]) -> f64 {
        let sums = self.lists.iter().map(|lists| number(self.sum(lists, self.padded(lists, scores, &self.device))));
        sums.sum::<f64>() / self.queries
    }

    fn derivatives(&self, scores: &[f64]) -> (f64, Derivatives) {
        let device = self.device.clone().autodiff();
        let mut gradient = vec![0.0; scores.len()];
        let mut total = 0.0;
        for lists in &self.lists {
            let padded = self.padded(lists, scores, &device).require_grad();
            let on_device = Lists {
                queries: Vec::new(),
                labels: lists.labels.clone().to_device(&device),
                mask: lists.mask.clone().to_device(&device),
            };
            let loss = self.sum(&on_device, padded.clone());
            total += number(loss.clone());
            let width = padded.dims()[1];
            // A loss that does not depend on the scores leaves no gradient.
            let Some(found) = padded.grad(&loss.backward()) else { continue };
            let found: Vec<f64> = found.into_data().iter::<f64>().collect();
            for (row, &query) in found.chunks(width).zip(&lists.queries) {
                let range = self.data.range(query);
                gradient[range.clone()].copy_from_slice(&row[..range.len()]);
            }
        }
        (total / self.queries, Derivatives { gradient, curvature: vec![1.0; scores.len()] })
    }
}

fn number(loss: Tensor<1>) -> f64 {
    loss.into_data().iter::<f64>().sum()
}

/// `sum_{y_i > y_j} w_ij log(1 + exp(-sigma (s_i - s_j)))`: RankNet with `w = 1`, LambdaRank with the change of NDCG@k.
pub(super) struct Logistic<'a> {
    data: &'a Dataset,
    sigma: f64,
    swap: Option<Swap>,
    queries: f64,
}

/// The change of NDCG@k when two documents swap places.
struct Swap {
    k: usize,
    gain: Gain,
}

/// The parameters read here, of either loss.
#[derive(Deserialize)]
struct Parameters {
    sigma: f64,
    #[serde(default)]
    k: Option<usize>,
    gain: Option<Gain>,
    #[serde(default)]
    mean_over_pairs: bool,
}

impl<'a> Logistic<'a> {
    fn new(spec: &LossSpec, data: &'a Dataset) -> Result<Self, LearnerError> {
        let refuse = |message: String| LearnerError::Config { key: "loss".into(), message };
        let parameters = crate::json::Value::Object(spec.resolved()?);
        let Parameters { sigma, k, gain, mean_over_pairs } =
            crate::json::from_value(parameters).map_err(|error| refuse(error.to_string()))?;
        if mean_over_pairs {
            return Err(refuse("trees take `rank_net` as a sum: set mean_over_pairs = false".into()));
        }
        let swap = gain.map(|gain| Swap { k: k.unwrap_or(usize::MAX), gain });
        let queries = (0..data.queries()).filter(|&q| data.has_two_labels(q)).count() as f64;
        Ok(Self { data, sigma, swap, queries })
    }

    fn derivatives(&self, scores: &[f64]) -> (f64, Derivatives) {
        let of_query = |query: usize| {
            let range = self.data.range(query);
            self.of_query(self.data.query_labels(query), &scores[range])
        };
        let found: Vec<(f64, Derivatives)> = (0..self.data.queries()).into_par_iter().map(of_query).collect();
        let mut all = Derivatives::default();
        let mut total = 0.0;
        for (loss, mut derivatives) in found {
            total += loss;
            all.gradient.append(&mut derivatives.gradient);
            all.curvature.append(&mut derivatives.curvature);
        }
        (total / self.queries, all)
    }

    fn of_query(&self, labels: &[f32], scores: &[f64]) -> (f64, Derivatives) {
        let n = labels.len();
        let weights = self.swap.as_ref().map(|swap| swap.places(labels, scores));
        let (mut total, mut gradient, mut curvature) = (0.0, vec![0.0; n], vec![0.0; n]);
        for i in 0..n {
            for j in 0..n {
                if labels[i] <= labels[j] {
                    continue;
                }
                let weight = weights
                    .as_ref()
                    .map_or(1.0, |places| (places[i].0 - places[j].0).abs() * (places[i].1 - places[j].1).abs());
                if weight == 0.0 {
                    continue;
                }
                let t = self.sigma * (scores[i] - scores[j]);
                let wrong = 1.0 / (1.0 + t.exp());
                total += weight * ((-t.abs()).exp().ln_1p() + (-t).max(0.0));
                let slope = weight * self.sigma * wrong;
                gradient[i] -= slope;
                gradient[j] += slope;
                let bend = slope * self.sigma * (1.0 - wrong);
                curvature[i] += bend;
                curvature[j] += bend;
            }
        }
        (total, Derivatives { gradient, curvature })
    }
}

impl Swap {
    /// Gain over the ideal DCG, and discount at the rank by score (equal scores by position), of each document.
    fn places(&self, labels: &[f32], scores: &[f64]) -> Vec<(f64, f64)> {
        let discount = |rank: usize| if rank <= self.k { Discount::Log2.at(rank) } else { 0.0 };
        let gains: Vec<f64> = labels.iter().map(|&label| self.gain.of(f64::from(label))).collect();
        let mut best = gains.clone();
        best.sort_by(|a, b| b.total_cmp(a));
        let ideal: f64 = best.iter().zip(1..).map(|(gain, rank)| gain * discount(rank)).sum();
        let mut order: Vec<usize> = (0..labels.len()).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        let mut places: Vec<(f64, f64)> =
            gains.iter().map(|gain| (if ideal > 0.0 { gain / ideal } else { 0.0 }, 0.0)).collect();
        order.iter().zip(1..).for_each(|(&document, rank)| places[document].1 = discount(rank));
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::testing::dataset;

    fn data() -> Dataset {
        let row: &[f32] = &[0.0];
        dataset(
            1,
            &[
                &[(2.0, row), (0.0, row), (1.0, row), (0.0, row)],
                &[(1.0, row), (1.0, row)],
                &[(0.0, row), (1.0, row), (2.0, row)],
            ],
        )
    }

    const SCORES: [f64; 9] = [0.5, 1.25, -0.25, 0.75, 3.0, 1.0, 0.5, -1.5, 0.0];

    #[test]
    fn the_pair_by_pair_gradient_is_that_of_the_registered_loss() {
        let data = data();
        for spec in [
            LossSpec::new("rank_net").with("sigma", 1.5),
            LossSpec::new("lambda_ndcg"),
            LossSpec::new("lambda_ndcg").with("k", 2).with("sigma", 0.5),
        ] {
            let logistic = Logistic::new(&spec, &data).unwrap().derivatives(&SCORES);
            let surrogate = Surrogate::new(spec.build().unwrap(), &data, &Device::flex()).unwrap().derivatives(&SCORES);
            assert!((logistic.0 - surrogate.0).abs() < 1e-5, "{spec:?}");
            for (pairs, autodiff) in logistic.1.gradient.iter().zip(&surrogate.1.gradient) {
                assert!((pairs - autodiff).abs() < 1e-5, "{spec:?}: {pairs} {autodiff}");
            }
        }
    }

    #[test]
    fn the_curvature_is_the_derivative_of_the_gradient() {
        let data = data();
        let objective = Objective::new(&LossSpec::new("rank_net"), &data, &Device::flex()).unwrap();
        let (_, found) = objective.derivatives(&SCORES);
        for document in 0..SCORES.len() {
            let at = |step: f64| {
                let mut scores = SCORES;
                scores[document] += step;
                objective.derivatives(&scores).1.gradient[document]
            };
            let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((found.curvature[document] - difference).abs() < 1e-8);
        }
    }

    #[test]
    fn a_surrogate_has_the_gradient_of_its_value() {
        let data = data();
        let objective = Objective::new(&LossSpec::new("approx_ndcg"), &data, &Device::flex()).unwrap();
        let (value, found) = objective.derivatives(&SCORES);
        assert!((value - objective.value(&SCORES)).abs() < 1e-6);
        let mut scores = SCORES;
        scores[2] += 1e-2;
        let above = objective.value(&scores);
        scores[2] -= 2e-2;
        // The value is a mean over the two queries with two labels, the gradient that of the sum.
        let difference = 2.0 * (above - objective.value(&scores)) / 2e-2;
        assert!((found.gradient[2] - difference).abs() < 1e-3, "{} {difference}", found.gradient[2]);
        assert_eq!(found.gradient[4..6], [0.0, 0.0]);
    }
}
