//! `RankingLoss`: the interface and the promises of every loss of a batch of lists.

use std::fmt::Debug;

use burn::nn::loss::Reduction;
use burn::tensor::{Bool, DType, Device, Tensor, TensorData};

use super::approximation::Approximation;
use super::check::{check_batch, check_label, check_memory, check_offsets, check_weight_shape, check_weights};
use super::curvature::Curved;
use super::error::LossError;
use super::lists::Lists;
use super::packed::PackedLists;
use super::smoothing::Smoothing;
use crate::data::Segments;
use crate::json::Value;
use crate::measure::Gain;
use crate::op::shape::{assert_same, difference};

/// Relation between the surrogate value and the loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orientation {
    /// The value is a normalized measure in `[0, 1]`: `loss = 1 - value`.
    NormalizedMeasure,
    /// The value is a measure without a fixed upper end: `loss = -value`.
    Measure,
    /// A loss to minimize: `value = loss`.
    Loss,
}

/// A differentiable ranking loss.
///
/// # The mask
/// True at a document, false at padding. burn's own masks (`generate_padding_mask`, `MhaInput::mask_pad`) are the
/// opposite, true at padding: invert them with [`mask_from_padding`](super::mask_from_padding). An inverted mask
/// usually leaves nothing to learn, so that every loss and every gradient is 0.
/// [`try_forward`](RankingLoss::try_forward) reports this.
///
/// # Promises
/// - padding never matters: value and gradient are bit-equal whatever the padded scores and labels hold (NaN included);
/// - a query with nothing to learn ([`learnable`](RankingLoss::learnable)) has loss 0 and gradient 0, and counts in a
///   mean;
/// - permuting the documents of a query permutes the gradient and keeps the value (up to ties, which are broken by
///   position);
/// - value and gradient are finite for `|score| <= 1e4` and labels up to 1e4, where the gain allows those;
/// - constants take the type of the scores, so that `f64` scores give an `f64` loss. Scores of half precision (`f16`,
///   `bf16`), which cannot represent every high rank, are computed in `f32` and give an `f32` loss.
///
/// `forward*` panic, as burn's own modules do, when shapes differ (`labels are [1, 3], scores [2, 3]`). They do not
/// read values back from the device. Use [`try_forward`](RankingLoss::try_forward) where the input has not been checked
/// before, or [`check_labels`](RankingLoss::check_labels) once for a whole dataset.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use burn_rank::prelude::*;
///
/// let device = Device::flex();
/// let scores = Tensor::<2>::from_floats([[0.2, 1.3], [0.7, 0.0]], &device);
/// let labels = Tensor::<2>::from_floats([[1.0, 0.0], [1.0, 0.0]], &device);
/// let mask = Tensor::<2>::from_floats([[1.0, 1.0], [1.0, 0.0]], &device).greater_elem(0.5);
/// let losses = RankNetConfig::new().init()?.forward_no_reduction(scores, labels, mask).into_data();
/// assert_eq!(losses.to_vec::<f32>().unwrap()[1], 0.0); // one document: nothing to learn
/// # Ok::<(), LossError>(())
/// ```
pub trait RankingLoss: Debug + Send + Sync {
    /// The name of the loss. For a registered loss, the name used in configuration files.
    fn name(&self) -> &'static str;

    /// Returns the relation between value and loss.
    fn orientation(&self) -> Orientation;

    /// Gain whose domain the labels must be in; `None`, the default, if any finite label is allowed.
    fn gain(&self) -> Option<&Gain> {
        None
    }

    /// Whether [`query_losses`](RankingLoss::query_losses) takes [weights of documents](Lists::document_weights), as
    /// [inverse propensities](crate::data::ClickModel) are. By default it does not.
    ///
    /// A loss that is a sum over documents takes a weighted sum, one that is a mean a weighted mean. A pair of documents
    /// has the weight of the more relevant one. A surrogate of a measure multiplies the gain or the relevance of each
    /// document, in the ideal value too. Weights of 1 change no bit. A loss that does not read
    /// [`Lists::document_weights`] leaves this method out.
    ///
    /// # Errors
    /// [`LossError::DocumentWeights`] for a loss that does not take them.
    fn check_document_weights(&self) -> Result<(), LossError> {
        Err(LossError::DocumentWeights { loss: self.name(), reason: "it is not defined for weighted documents" })
    }

    /// Loss of each query of clean lists, `[B]`. The caller sets the losses of degenerate queries to 0, and so the
    /// gradient that flows back. The derivatives at a degenerate query need only be finite.
    ///
    /// Scores may be of any float type, and burn refuses to mix types: make constants with
    /// `Tensor::from_data(.., (&device, lists.scores.dtype()))`, or cast them, as in `x.float().cast(lists.scores.dtype())`.
    fn query_losses(&self, lists: &Lists) -> Tensor<1>;

    /// True for the queries that have something to learn, `[B]`. By default these are the queries with two documents of
    /// different gains or, for a loss without a gain, of different labels.
    fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
        self.gain().map_or_else(|| lists.has_two_labels(), |gain| lists.has_two_gains(gain))
    }

    /// Describes how the loss is evaluated in lists of up to `documents` documents, with the measured errors. `None`
    /// for a loss that follows its formula at every length.
    ///
    /// # Errors
    /// An approximation that was asked for misses its tolerance at this length.
    fn approximation(&self, _documents: usize, _scores: DType) -> Result<Option<Approximation>, LossError> {
        Ok(None)
    }

    /// Returns the bytes of the arrays over pairs of documents that the loss holds for `batch` lists of up to `documents`
    /// documents, forward and backward: an estimate. 0, the default, for a loss whose memory grows with the documents, or
    /// that keeps pairs within the [memory budget](crate::op::Execution::with_memory_budget).
    fn pair_memory(&self, _batch: usize, _documents: usize, _scores: DType) -> u64 {
        0
    }

    /// Checks that the [arrays over pairs](RankingLoss::pair_memory) of a batch fit into the free memory, on a device
    /// that uses the memory of the process, before anything is computed.
    ///
    /// # Errors
    /// [`LossError::Memory`], with the bytes that are needed. No batch is rejected if the system does not report its
    /// free memory.
    fn check_memory(&self, batch: usize, documents: usize, scores: DType, device: &Device) -> Result<(), LossError> {
        check_memory(self.name(), self.pair_memory(batch, documents, scores), [batch, documents], device)
    }

    /// Second derivatives in closed form, for a loss that has them; boosted trees then take Newton steps. `None`, the
    /// default, for the others.
    fn curvature(&self) -> Option<&dyn Curved> {
        None
    }

    /// Returns whether the gradient is an unbiased estimate of the gradient of the expected value over the loss's
    /// noise, instead of the gradient of the value, which may be constant nearly everywhere. True for estimators over
    /// sampled rankings; `false` by default.
    fn estimates_gradient(&self) -> bool {
        false
    }

    /// Names the quantity that the gradient takes as constant although it changes with the scores, such as the spread
    /// of the scores or the weights of pairs by rank. `None`, the default, means that the gradient is the gradient of
    /// the value. A line search, which compares values, takes such a loss
    /// [`differentiated`](RankingLoss::differentiated), or rejects it.
    fn held(&self) -> Option<&'static str> {
        None
    }

    /// Returns the same loss with the gradient of its value. `None`, the default, for a loss that holds nothing, and for
    /// one that cannot do without.
    fn differentiated(&self) -> Option<Box<dyn RankingLoss>> {
        None
    }

    /// Returns the same loss with its noise drawn anew, separately for each row of a batch, from `seed(own)`, where
    /// `own` is the seed of this loss. The gradient learner asks for it at every step. `None`, the default, for a loss
    /// without noise.
    fn reseeded(&self, _seed: &dyn Fn(u64) -> u64) -> Option<Box<dyn RankingLoss>> {
        None
    }

    /// Returns everything that the loss depends on except its name, for the state of a fit and for records: only a loss
    /// of the same name and parameters can continue a fit. By default the text of `Debug`, which is enough if it shows
    /// every field and no address. Registered losses are recorded by their configuration instead.
    fn parameters(&self) -> Value {
        Value::from(format!("{self:?}"))
    }

    /// The temperature of the loss, for annealing and SmoothRank; `None`, the default, for a loss without one. A loss
    /// that has one also overrides [`with_parameter`](RankingLoss::with_parameter).
    fn smoothing(&self) -> Option<Smoothing> {
        None
    }

    /// The same loss with one parameter changed, as annealing asks for it.
    ///
    /// # Errors
    /// A value out of the parameter's range; [`LossError::Fixed`], the default, for a parameter that does not move.
    fn with_parameter(&self, parameter: &str, _value: f64) -> Result<Box<dyn RankingLoss>, LossError> {
        Err(LossError::Fixed { loss: self.name(), parameter: parameter.into() })
    }

    /// Loss of each query.
    ///
    /// # Shapes
    /// - `scores`, `labels`, `mask`: `[batch, documents]`
    /// - output: `[batch]`
    ///
    /// # Panics
    /// Different shapes.
    #[track_caller]
    fn forward_no_reduction(&self, scores: Tensor<2>, labels: Tensor<2>, mask: Tensor<2, Bool>) -> Tensor<1> {
        self.forward_lists(&Lists::new(scores, labels, mask))
    }

    /// Loss of each query of clean lists, whose documents may have [weights](Lists::with_document_weights): `[B]`.
    /// Whether a query has something to learn depends only on its labels.
    ///
    /// # Panics
    /// Weights of documents, if the loss does not take them
    /// ([`check_document_weights`](RankingLoss::check_document_weights)); lists too long for the free memory
    /// ([`check_memory`](RankingLoss::check_memory)).
    #[track_caller]
    fn forward_lists(&self, lists: &Lists) -> Tensor<1> {
        if lists.document_weights.is_some()
            && let Err(error) = self.check_document_weights()
        {
            panic!("{error}");
        }
        let [batch, documents] = lists.scores.dims();
        if let Err(error) = self.check_memory(batch, documents, lists.scores.dtype(), &lists.scores.device()) {
            panic!("{error}");
        }
        let learnable = self.learnable(lists);
        let losses = self.query_losses(lists);
        assert_per_query(self.name(), "losses", losses.dims(), lists);
        assert_per_query(self.name(), "learnable queries", learnable.dims(), lists);
        losses.mask_fill(learnable.bool_not(), 0.0)
    }

    /// Reduced loss: mean (`Mean`, `Auto`, `BatchMean`) or sum over the queries of the batch.
    ///
    /// # Shapes
    /// - `scores`, `labels`, `mask`: `[batch, documents]`
    /// - output: `[1]`
    ///
    /// # Panics
    /// Different shapes.
    #[track_caller]
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
    ///
    /// # Panics
    /// Different shapes, or different numbers of weights and queries.
    #[track_caller]
    fn forward_weighted(
        &self,
        scores: Tensor<2>,
        labels: Tensor<2>,
        mask: Tensor<2, Bool>,
        weights: Tensor<1>,
        reduction: Reduction,
    ) -> Tensor<1> {
        if let Err(error) = check_weight_shape(&weights, ("scores", &scores.dims())) {
            panic!("{error}");
        }
        reduce_weighted(self.forward_no_reduction(scores, labels, mask), weights, reduction)
    }

    /// Checks the input, then calls [`forward`](RankingLoss::forward), or
    /// [`forward_weighted`](RankingLoss::forward_weighted) if there are weights. The check reads the tensors back from
    /// the device.
    ///
    /// # Errors
    /// Different shapes or no documents at all; at a document, a score that is not finite or a label outside the domain
    /// of the gain; a weight that is negative or not finite. The message names the query and the document. Scores of a
    /// type in which their device does not compute. Also, on a backend that no feature of this crate turned on, a batch
    /// beyond the memory budget. Lists too long for the memory that is left
    /// ([`check_memory`](RankingLoss::check_memory)).
    ///
    /// [`LossError::NothingToLearn`] when no query has anything to learn; `forward` gives such a batch loss 0 and
    /// gradient 0. The usual cause is an inverted mask. A caller whose batches may truly have nothing to learn can
    /// handle this error separately.
    fn try_forward(
        &self,
        scores: Tensor<2>,
        labels: Tensor<2>,
        mask: Tensor<2, Bool>,
        weights: Option<Tensor<1>>,
        reduction: Reduction,
    ) -> Result<Tensor<1>, LossError> {
        check_batch(self.gain(), &scores, &labels, &mask)?;
        if let Some(weights) = &weights {
            check_weights(weights, ("scores", &scores.dims()))?;
        }
        let [batch, documents] = scores.dims();
        self.check_memory(batch, documents, scores.dtype(), &scores.device())?;
        check_learnable(self, &scores, &labels, &mask)?;
        Ok(match weights {
            None => self.forward(scores, labels, mask, reduction),
            Some(weights) => self.forward_weighted(scores, labels, mask, weights, reduction),
        })
    }

    /// Reduced loss of lists without padding: flat scores, as a model gives for the (query, document) pairs of a step.
    /// The value and the gradient equal the values for padded lists up to the last digits. Noise is the same: it
    /// follows the number of the list and the rank of the document.
    ///
    /// [`Lists::packed`] with [`forward_packed_lists`](RankingLoss::forward_packed_lists) takes weights of documents too.
    ///
    /// # Shapes
    /// - `scores`, `labels`: `[documents]`
    /// - output: `[1]`
    ///
    /// # Panics
    /// Different numbers of scores, labels and documents in `segments`.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use burn_rank::prelude::*;
    ///
    /// let device = Device::flex().autodiff();
    /// let scores = Tensor::<1>::from_floats([0.2, 1.3, -0.4, 0.7, 0.1], &device).require_grad();
    /// let labels = Tensor::<1>::from_floats([0.0, 1.0, 2.0, 0.0, 1.0], &device);
    /// let segments = Segments::from_lengths(&[3, 2])?;
    /// let loss = ListNetConfig::new().init()?;
    /// let value = loss.forward_packed(scores, labels, &segments, Reduction::Mean);
    /// assert_eq!(value.dims(), [1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    fn forward_packed(
        &self,
        scores: Tensor<1>,
        labels: Tensor<1>,
        segments: &Segments,
        reduction: Reduction,
    ) -> Tensor<1> {
        reduce(self.forward_packed_lists(&Lists::packed(scores, labels, segments)), reduction)
    }

    /// Loss of each query of lists without padding, `[queries]`, which [`reduce`] and [`reduce_weighted`] reduce.
    ///
    /// # Panics
    /// As [`forward_lists`](RankingLoss::forward_lists).
    #[track_caller]
    fn forward_packed_lists(&self, lists: &PackedLists) -> Tensor<1> {
        lists.per_query(|lists| self.forward_lists(lists))
    }

    /// Checks the input, then calls [`forward_packed`](RankingLoss::forward_packed), or reduces with the weights if there
    /// are any. The check reads the tensors back from the device.
    ///
    /// # Errors
    /// The errors of [`try_forward`](RankingLoss::try_forward), and [`LossError::Segments`] if `segments` and scores
    /// have different numbers of documents. The message names the query.
    fn try_forward_packed(
        &self,
        scores: Tensor<1>,
        labels: Tensor<1>,
        segments: &Segments,
        weights: Option<Tensor<1>>,
        reduction: Reduction,
    ) -> Result<Tensor<1>, LossError> {
        let lists = PackedLists::new(scores, labels, segments)?;
        if let Some(weights) = &weights {
            check_weights(weights, ("queries", &[segments.queries()]))?;
        }
        lists.check(self.gain())?;
        for lists in lists.rectangles() {
            let [batch, documents] = lists.scores.dims();
            self.check_memory(batch, documents, lists.scores.dtype(), &lists.scores.device())?;
        }
        if !lists.rectangles().any(|lists| self.learnable(lists).any().into_scalar::<bool>()) {
            return Err(LossError::NothingToLearn { queries: segments.queries(), inverted: 0 });
        }
        let losses = self.forward_packed_lists(&lists);
        Ok(match weights {
            None => reduce(losses, reduction),
            Some(weights) => reduce_weighted(losses, weights, reduction),
        })
    }

    /// Checks the labels of a dataset against the domain of the gain. Query `q` is
    /// `labels[offsets[q]..offsets[q + 1]]`.
    ///
    /// # Errors
    /// The first label outside the domain, or offsets that do not partition the labels.
    fn check_labels(&self, labels: &[f32], offsets: &[usize]) -> Result<(), LossError> {
        check_offsets(labels.len(), offsets)?;
        for (query, range) in offsets.windows(2).enumerate() {
            for (document, &label) in labels[range[0]..range[1]].iter().enumerate() {
                check_label(self.gain(), query, document, f64::from(label))?;
            }
        }
        Ok(())
    }

    /// Returns the queries of a dataset that have nothing to learn, in order. `offsets` are as in
    /// [`check_labels`](RankingLoss::check_labels).
    ///
    /// # Errors
    /// Offsets that do not partition the labels.
    fn degenerate_queries(&self, labels: &[f32], offsets: &[usize]) -> Result<Vec<usize>, LossError> {
        check_offsets(labels.len(), offsets)?;
        let device = crate::device::host();
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
///
/// # Panics
/// Different numbers of weights and losses.
#[track_caller]
pub fn reduce_weighted(losses: Tensor<1>, weights: Tensor<1>, reduction: Reduction) -> Tensor<1> {
    assert_same("reduce_weighted", ("losses", &losses), &[("weights", &weights)]);
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

/// Panics unless a loss or a measure gave one value for each query.
#[track_caller]
pub(super) fn assert_per_query(name: &str, what: &str, found: [usize; 1], lists: &Lists) {
    let shape = lists.scores.dims();
    assert!(found == shape[..1], "{name}: {} (one per query)", difference(what, &found, "scores", &shape));
}

/// Checks that some query of a checked batch has something to learn. The error says how many would have with the mask
/// inverted.
fn check_learnable<L: RankingLoss + ?Sized>(
    loss: &L,
    scores: &Tensor<2>,
    labels: &Tensor<2>,
    mask: &Tensor<2, Bool>,
) -> Result<(), LossError> {
    let learnable = |mask: Tensor<2, Bool>| {
        let lists = Lists::new(scores.clone().detach(), labels.clone(), mask);
        loss.learnable(&lists).into_data().iter::<bool>().filter(|found| *found).count()
    };
    if learnable(mask.clone()) > 0 {
        return Ok(());
    }
    Err(LossError::NothingToLearn { queries: scores.dims()[0], inverted: learnable(mask.clone().bool_not()) })
}
