//! Surrogates and baselines, one file each. A config's `init` checks it and gives a [`RankingLoss`], whose `forward`
//! is the loss of a batch; [`LossSpec`] builds one by name, [`registry::LOSSES`] lists them.
//!
//! Every loss takes `scores [B, N]`, `labels [B, N]` and a Boolean `mask [B, N]` (true for a document) and keeps the
//! promises stated at [`RankingLoss`].
//!
//! # Papers
//! The documentation of this crate cites four papers by these names. Venue and date are given where the papers state
//! them.
//!
//! - **approximation-framework**: T. Qin, T.-Y. Liu and H. Li, A general approximation framework for direct
//!   optimization of information retrieval measures, technical report MSR-TR-2008-164, Microsoft Research Asia,
//!   November 2008.
//! - **direct-optimization**: J. Xu, H. Li, T.-Y. Liu, Y. Peng, M. Lu and W.-Y. Ma, Direct optimization of evaluation
//!   measures in learning to rank, technical report, Microsoft Research.
//! - **smoothrank**: O. Chapelle and M. Wu, Gradient descent optimization of smoothed information retrieval metrics,
//!   11 August 2009.
//! - **softrank-directness**: Y. He and T.-Y. Liu, Are algorithms directly optimizing IR measures really direct?

mod approx_ap;
mod approx_dcg;
mod approx_kendall_tau;
mod approx_ndcg;
mod approx_precision;
mod approx_rr;
mod curvature;
mod error;
mod explain;
mod exponential_fit;
mod fidelity;
mod gumbel;
mod lambda_loss;
mod lambda_ndcg;
mod list_mle;
mod list_net;
mod lists;
mod measure_context;
mod mse_gain;
mod neural_ndcg;
mod pairs;
mod pairwise_exponential;
mod pairwise_hinge;
mod pairwise_squared_hinge;
mod position_measures;
mod rank_net;
pub mod registry;
mod smooth_ap_indicator;
mod smooth_ap_rank;
mod smooth_dcg;
mod smooth_ndcg;
mod smooth_precision;
mod smooth_rr;
mod soft_dcg;
mod soft_ndcg;
mod soft_precision;
mod soft_rank;
mod softmax_cross_entropy;
mod transform;

pub use approx_ap::{ApproxAp, ApproxApConfig};
pub use approx_dcg::{ApproxDcg, ApproxDcgConfig};
pub use approx_kendall_tau::{ApproxKendallTau, ApproxKendallTauConfig};
pub use approx_ndcg::{ApproxNdcg, ApproxNdcgConfig};
pub use approx_precision::{ApproxPrecision, ApproxPrecisionConfig};
pub use approx_rr::{ApproxRr, ApproxRrConfig};
pub use burn::nn::loss::Reduction;
pub use curvature::{Curved, Derivatives};
pub use error::{LossError, MAX_EXPONENTIAL_LABEL};
pub use explain::{Explained, explain};
pub use exponential_fit::{ExponentialFit, ExponentialFitError, exponential_fit, is_completely_monotone};
pub use fidelity::{Fidelity, FidelityConfig};
pub use lambda_loss::{LambdaLoss, LambdaLossConfig, LambdaLossWeights};
pub use lambda_ndcg::{LambdaNdcg, LambdaNdcgConfig};
pub use list_mle::{ListMle, ListMleConfig};
pub use list_net::{ListNet, ListNetConfig};
pub use lists::Lists;
pub use measure_context::{MeasureContext, PositionFunction};
pub use mse_gain::{MseGain, MseGainConfig};
pub use neural_ndcg::{NeuralNdcg, NeuralNdcgConfig, neural_sort};
pub use pairwise_exponential::{PairwiseExponential, PairwiseExponentialConfig};
pub use pairwise_hinge::{PairwiseHinge, PairwiseHingeConfig};
pub use pairwise_squared_hinge::{PairwiseSquaredHinge, PairwiseSquaredHingeConfig};
pub use position_measures::{AveragePrecision, Dcg, Ndcg, PrecisionAt, ReciprocalRank};
pub use rank_net::{RankNet, RankNetConfig};
pub use registry::{LossEntry, LossSpec, Sharper, Smoothing};
pub use smooth_ap_indicator::{SmoothApIndicator, SmoothApIndicatorConfig};
pub use smooth_ap_rank::{SmoothApRank, SmoothApRankConfig};
pub use smooth_dcg::{SmoothDcg, SmoothDcgConfig};
pub use smooth_ndcg::{SmoothNdcg, SmoothNdcgConfig};
pub use smooth_precision::{SmoothPrecision, SmoothPrecisionConfig};
pub use smooth_rr::{SmoothRr, SmoothRrConfig};
pub use soft_dcg::{SoftDcg, SoftDcgConfig};
pub use soft_ndcg::{SoftNdcg, SoftNdcgConfig};
pub use soft_precision::{SoftPrecision, SoftPrecisionConfig};
pub use soft_rank::{Approximation, DiscountShape, Evaluation, ExpectedDiscount, rank_distribution};
pub use softmax_cross_entropy::{SoftmaxCrossEntropy, SoftmaxCrossEntropyConfig};
pub use transform::{Family, PositionMeasure, Surrogate, TransformError};

use std::fmt::Debug;

use burn::tensor::{Bool, DType, Device, Tensor, TensorData};

use crate::measure::Gain;

/// How the surrogate value and the loss are related.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orientation {
    /// The value is a normalised measure in `[0, 1]`: `loss = 1 - value`.
    NormalisedMeasure,
    /// The value is a measure without a fixed upper end: `loss = -value`.
    Measure,
    /// A loss to minimise: `value = loss`.
    Loss,
}

/// A differentiable ranking loss.
///
/// # Promises
/// - padding never matters: value and gradient are bit-equal whatever the padded scores and labels hold (NaN included);
/// - a query with nothing to learn ([`learnable`](RankingLoss::learnable)) has loss 0 and gradient 0, and counts in a
///   mean;
/// - permuting the documents of a query permutes the gradient and keeps the value (up to ties that go by position);
/// - value and gradient are finite for `|score| <= 1e4` and labels up to 1e4, where the gain allows those;
/// - constants take the type of the scores, so that `f64` scores give an `f64` loss.
///
/// `forward*` panic, as burn's own modules do, when shapes differ; values are not read back from the device. Use
/// [`try_forward`](RankingLoss::try_forward) where the input has not been checked before, or
/// [`check_labels`](RankingLoss::check_labels) once for a whole dataset.
pub trait RankingLoss: Debug + Send + Sync {
    /// Registered name, as in configuration files.
    fn name(&self) -> &'static str;

    /// How value and loss are related.
    fn orientation(&self) -> Orientation;

    /// Gain whose domain the labels must be in; `None`, the default, when any finite label will do.
    fn gain(&self) -> Option<&Gain> {
        None
    }

    /// Loss of each query of clean lists, `[B]`. Degenerate queries are zeroed by the caller, which also zeroes the
    /// gradient that comes back: the derivatives at a degenerate query need only be finite.
    fn query_losses(&self, lists: &Lists) -> Tensor<1>;

    /// Which queries have something to learn, `[B]`: by default those with two documents of different gains, or, for a
    /// loss without a gain, of different labels.
    fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
        self.gain().map_or_else(|| lists.has_two_labels(), |gain| lists.has_two_gains(gain))
    }

    /// How the loss is evaluated in lists of up to `documents` documents, and the measured errors of that; `None` for
    /// a loss that is its formula at every length.
    ///
    /// # Errors
    /// An approximation that was asked for and misses its tolerance at this length.
    fn approximation(&self, _documents: usize, _scores: DType) -> Result<Option<Approximation>, LossError> {
        Ok(None)
    }

    /// Second derivatives in closed form, for a loss that has them: boosted trees then take Newton steps. `None`, the
    /// default, for the others.
    fn curvature(&self) -> Option<&dyn Curved> {
        None
    }

    /// The same loss with its noise drawn anew, for each row of a batch apart, from `seed(own)` with `own` the seed of
    /// this loss: the gradient learner asks for it at every step. `None`, the default, for a loss without noise.
    fn reseeded(&self, _seed: &dyn Fn(u64) -> u64) -> Option<Box<dyn RankingLoss>> {
        None
    }

    /// Loss of each query.
    ///
    /// # Shapes
    /// - `scores`, `labels`, `mask`: `[batch, documents]`
    /// - output: `[batch]`
    fn forward_no_reduction(&self, scores: Tensor<2>, labels: Tensor<2>, mask: Tensor<2, Bool>) -> Tensor<1> {
        let lists = Lists::new(scores, labels, mask);
        let skipped = self.learnable(&lists).bool_not();
        self.query_losses(&lists).mask_fill(skipped, 0.0)
    }

    /// Reduced loss: mean (`Mean`, `Auto`, `BatchMean`) or sum over the queries of the batch.
    ///
    /// # Shapes
    /// - `scores`, `labels`, `mask`: `[batch, documents]`
    /// - output: `[1]`
    fn forward(&self, scores: Tensor<2>, labels: Tensor<2>, mask: Tensor<2, Bool>, reduction: Reduction) -> Tensor<1> {
        reduce(self.forward_no_reduction(scores, labels, mask), reduction)
    }

    /// Reduced loss with a weight for each query: `sum w l` (`Sum`) or `sum w l / sum w` (the means; 0 when all
    /// weights are 0). Weights carry no gradient.
    ///
    /// # Shapes
    /// - `scores`, `labels`, `mask`: `[batch, documents]`
    /// - `weights`: `[batch]`, 0 or above
    /// - output: `[1]`
    fn forward_weighted(
        &self,
        scores: Tensor<2>,
        labels: Tensor<2>,
        mask: Tensor<2, Bool>,
        weights: Tensor<1>,
        reduction: Reduction,
    ) -> Tensor<1> {
        reduce_weighted(self.forward_no_reduction(scores, labels, mask), weights, reduction)
    }

    /// [`forward`](RankingLoss::forward), or [`forward_weighted`](RankingLoss::forward_weighted) where there are
    /// weights, of input that is checked first. Reads the tensors back from the device.
    ///
    /// # Errors
    /// Different shapes or no documents at all; at a document, a score that is not finite or a label outside the
    /// domain of the gain; a weight that is negative or not finite. The message names the query and the document.
    fn try_forward(
        &self,
        scores: Tensor<2>,
        labels: Tensor<2>,
        mask: Tensor<2, Bool>,
        weights: Option<Tensor<1>>,
        reduction: Reduction,
    ) -> Result<Tensor<1>, LossError> {
        check_batch(self.gain(), &scores, &labels, &mask)?;
        match weights {
            None => Ok(self.forward(scores, labels, mask, reduction)),
            Some(weights) => {
                check_weights(&weights, scores.dims()[0])?;
                Ok(self.forward_weighted(scores, labels, mask, weights, reduction))
            }
        }
    }

    /// Checks the labels of a dataset, query `q` being `labels[offsets[q]..offsets[q + 1]]`, against the domain of the
    /// gain.
    ///
    /// # Errors
    /// The first label outside it, or offsets that do not partition the labels.
    fn check_labels(&self, labels: &[f32], offsets: &[usize]) -> Result<(), LossError> {
        check_offsets(labels.len(), offsets)?;
        for (query, range) in offsets.windows(2).enumerate() {
            for (document, &label) in labels[range[0]..range[1]].iter().enumerate() {
                check_label(self.gain(), query, document, f64::from(label))?;
            }
        }
        Ok(())
    }

    /// The queries of a dataset that have nothing to learn, in order; `offsets` as in
    /// [`check_labels`](RankingLoss::check_labels).
    ///
    /// # Errors
    /// Offsets that do not partition the labels.
    fn degenerate_queries(&self, labels: &[f32], offsets: &[usize]) -> Result<Vec<usize>, LossError> {
        check_offsets(labels.len(), offsets)?;
        let device = Device::flex();
        let learnable = |range: &[usize]| {
            let list = &labels[range[0]..range[1]];
            if list.is_empty() {
                return false;
            }
            let shape = [1, list.len()];
            let labels = Tensor::<2>::from_data(TensorData::new(list.to_vec(), shape), &device);
            let lists = Lists::new(labels.zeros_like(), labels, Tensor::<2>::ones(shape, &device).greater_elem(0.0));
            self.learnable(&lists).into_data().iter::<bool>().all(|found| found)
        };
        Ok(offsets.windows(2).enumerate().filter(|(_, range)| !learnable(range)).map(|(query, _)| query).collect())
    }
}

/// Reduces per-query losses `[B]` to `[1]`.
pub fn reduce(losses: Tensor<1>, reduction: Reduction) -> Tensor<1> {
    match reduction {
        Reduction::Sum => losses.sum(),
        Reduction::Mean | Reduction::Auto | Reduction::BatchMean => losses.mean(),
    }
}

/// Reduces per-query losses `[B]` with weights `[B]` to `[1]`; see [`RankingLoss::forward_weighted`].
pub fn reduce_weighted(losses: Tensor<1>, weights: Tensor<1>, reduction: Reduction) -> Tensor<1> {
    let weights = weights.detach().cast(losses.dtype());
    let sum = (losses * weights.clone()).sum();
    match reduction {
        Reduction::Sum => sum,
        Reduction::Mean | Reduction::Auto | Reduction::BatchMean => {
            let total = weights.sum();
            let none = total.clone().equal_elem(0.0);
            sum / total.mask_fill(none, 1.0)
        }
    }
}

/// Checks shapes, and scores and labels at documents.
fn check_batch(
    gain: Option<&Gain>,
    scores: &Tensor<2>,
    labels: &Tensor<2>,
    mask: &Tensor<2, Bool>,
) -> Result<(), LossError> {
    let [queries, documents] = scores.dims();
    let expected = vec![queries, documents];
    if queries * documents == 0 {
        let (found, expected) = (expected, vec![queries.max(1), documents.max(1)]);
        return Err(LossError::Shape { what: "scores", found, expected });
    }
    for (what, found) in [("labels", labels.dims()), ("mask", mask.dims())] {
        if found != [queries, documents] {
            return Err(LossError::Shape { what, found: found.to_vec(), expected });
        }
    }
    let scores = scores.to_data().convert_dtype(DType::F64);
    let labels = labels.to_data().convert_dtype(DType::F64);
    let mask = mask.to_data();
    let places = scores.iter::<f64>().zip(labels.iter::<f64>()).zip(mask.iter::<bool>());
    for (i, ((score, label), _)) in places.enumerate().filter(|(_, (_, document))| *document) {
        let (query, document) = (i / documents, i % documents);
        if !score.is_finite() {
            return Err(LossError::Score { query, document, found: score });
        }
        check_label(gain, query, document, label)?;
    }
    Ok(())
}

fn check_weights(weights: &Tensor<1>, queries: usize) -> Result<(), LossError> {
    let [found] = weights.dims();
    if found != queries {
        return Err(LossError::Shape { what: "weights", found: vec![found], expected: vec![queries] });
    }
    let data = weights.to_data();
    let bad = data.iter::<f64>().enumerate().find(|(_, weight)| !weight.is_finite() || *weight < 0.0);
    bad.map_or(Ok(()), |(query, found)| Err(LossError::Weight { query, found }))
}

fn check_label(gain: Option<&Gain>, query: usize, document: usize, found: f64) -> Result<(), LossError> {
    error::label_problem(gain, found)
        .map_or(Ok(()), |expected| Err(LossError::Label { query, document, found, expected }))
}

fn check_offsets(documents: usize, offsets: &[usize]) -> Result<(), LossError> {
    let found = match offsets {
        [] => "none".to_string(),
        [first, ..] if *first != 0 => format!("the first at {first}"),
        [.., last] if *last != documents => format!("the last at {last}"),
        _ => match offsets.windows(2).find(|two| two[0] > two[1]) {
            Some(two) => format!("{} after {}", two[1], two[0]),
            None => return Ok(()),
        },
    };
    Err(LossError::Offsets { found, documents })
}
