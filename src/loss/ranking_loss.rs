//! `RankingLoss`: the interface and the promises of every loss of a batch of lists.

use std::fmt::Debug;

use burn::nn::loss::Reduction;
use burn::tensor::{Bool, Tensor, TensorData};

use super::about::{About, Change};
use super::check::check_offsets;
use super::error::LossError;
use super::input::{LossInput, check_input, per_query, reduced};
use super::lists::Lists;
use super::packed::PackedLists;
use crate::data::Segments;
use crate::op::shape::difference;

/// The result of [`RankingLoss::changed`].
pub(super) type Changed = Result<Option<Box<dyn RankingLoss>>, LossError>;

/// A differentiable ranking loss.
///
/// # The mask
/// True at a document, false at padding. burn's own masks (`generate_padding_mask`, `MhaInput::mask_pad`) are the
/// opposite, true at padding: invert them with [`mask_from_padding`](super::mask_from_padding). With an inverted mask
/// there is usually nothing to learn, so every loss and every gradient is 0. [`try_forward`](RankingLoss::try_forward)
/// reports this.
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
/// before, or [`About::check_labels`] once for a whole dataset.
///
/// # Methods
/// An author writes `about` and `query_losses`, and `learnable` and `changed` only if their defaults do not fit. Users
/// call the others. [`forward`](RankingLoss::forward) takes padded tensors,
/// [`forward_packed`](RankingLoss::forward_packed) flat ones, and [`forward_lists`](RankingLoss::forward_lists) lists
/// of both kinds that carry more: weights of documents and queries, or the scores of a teacher.
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
    /// Returns the properties of the loss. A wrapper changes some properties of its loss:
    /// `About { held: None, ..inner.about() }`, or the `with_` methods outside this crate.
    fn about(&self) -> About<'_>;

    /// Loss of each query of clean lists, `[B]`. The caller sets the losses of degenerate queries to 0, and so the
    /// gradient that flows back. The derivatives at a degenerate query need only be finite.
    ///
    /// Scores may be of any float type, and burn refuses to mix types: make constants with
    /// `Tensor::from_data(.., (&device, lists.scores.dtype()))`, or cast them, as in `x.float().cast(lists.scores.dtype())`.
    fn query_losses(&self, lists: &Lists) -> Tensor<1>;

    /// True for the queries that have something to learn, `[B]`. By default these are the queries with two documents of
    /// different gains or, for a loss without a gain, of different labels.
    fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
        self.about().gain.map_or_else(|| lists.has_two_labels(), |gain| lists.has_two_gains(gain))
    }

    /// The same loss with one thing changed, as learners ask for it. `None`, the default, for what the loss does not
    /// have.
    ///
    /// # Errors
    /// A value out of the parameter's range.
    fn changed(&self, _change: Change<'_>) -> Result<Option<Box<dyn RankingLoss>>, LossError> {
        Ok(None)
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
        Lists::padded(scores, labels, mask).losses(self)
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
        self.forward_lists(&Lists::padded(scores, labels, mask), reduction)
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
        self.forward_lists(&Lists::padded(scores, labels, mask).with_query_weights(weights), reduction)
    }

    /// Reduced loss of lists without padding: flat scores, as a model gives for the (query, document) pairs of a step.
    /// The value and the gradient equal the values for padded lists up to the last digits. Noise is the same: it
    /// follows the number of the list and the rank of the document.
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
        self.forward_lists(&Lists::packed(scores, labels, segments), reduction)
    }

    /// Reduced loss of padded or packed lists: the mean or sum over the queries, weighted if the lists have weights of
    /// queries, as in [`forward_weighted`](RankingLoss::forward_weighted). [`Lists::losses`] gives the losses of the
    /// queries instead.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use burn_rank::prelude::*;
    ///
    /// let device = Device::flex();
    /// let scores = Tensor::<2>::from_floats([[0.2, 1.3], [0.7, 0.0]], &device);
    /// let labels = Tensor::<2>::from_floats([[1.0, 0.0], [1.0, 0.0]], &device);
    /// let mask = labels.clone().greater_equal_elem(0.0);
    /// let lists = Lists::padded(scores, labels, mask)
    ///     .with_document_weights(Tensor::from_floats([[4.0, 1.0], [1.0, 1.0]], &device))
    ///     .with_query_weights(Tensor::from_floats([1.0, 0.5], &device));
    /// let value = ApproxNdcgConfig::new().init()?.forward_lists(&lists, Reduction::Mean);
    /// assert_eq!(value.dims(), [1]);
    /// # Ok::<(), LossError>(())
    /// ```
    ///
    /// # Panics
    /// Weights of documents, if the loss does not take them ([`About::document_weights`]); different numbers of weights
    /// and queries; lists too long for the free memory ([`About::check_memory`]).
    #[track_caller]
    fn forward_lists(&self, lists: &dyn LossInput, reduction: Reduction) -> Tensor<1> {
        reduced(lists, per_query(lists, &|lists| lists.losses(self)), reduction)
    }

    /// Checks the input, then calls [`forward_lists`](RankingLoss::forward_lists). The check reads the tensors back
    /// from the device. [`Lists::try_padded`] and [`Lists::try_packed`] check the shapes.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use burn_rank::prelude::*;
    ///
    /// let device = Device::flex();
    /// let scores = Tensor::<2>::from_floats([[0.2, f32::NAN], [0.7, 0.0]], &device);
    /// let labels = Tensor::<2>::from_floats([[1.0, 0.0], [1.0, 0.0]], &device);
    /// let mask = labels.clone().greater_equal_elem(0.0);
    /// let lists = Lists::try_padded(scores, labels, mask)?;
    /// let refused = RankNetConfig::new().init()?.try_forward(&lists, Reduction::Mean);
    /// assert_eq!(refused.unwrap_err().to_string(), "query 1, document 2: score NaN, expected a finite number");
    /// # Ok::<(), LossError>(())
    /// ```
    ///
    /// # Errors
    /// No documents at all; at a document, a score that is not finite or a label outside the domain of the gain; a
    /// weight that is negative or not finite, or weights of documents for a loss that does not take them; different
    /// numbers of weights and queries. The message names the query and the document. Scores of a type in which their
    /// device does not compute. Also, on a backend that no feature of this crate turned on, a batch beyond the memory
    /// budget. Lists too long for the memory that is left ([`About::check_memory`]).
    ///
    /// [`LossError::NothingToLearn`] when no query has anything to learn; `forward` gives such a batch loss 0 and
    /// gradient 0. The usual cause is an inverted mask. A caller can handle this error separately if some of its
    /// batches have nothing to learn.
    fn try_forward(&self, lists: &dyn LossInput, reduction: Reduction) -> Result<Tensor<1>, LossError> {
        check_input(lists, self.about().gain, &|lists| self.learnable(lists))?;
        lists.rectangles().into_iter().try_for_each(|lists| lists.check_for(&self.about()))?;
        Ok(self.forward_lists(lists, reduction))
    }
}

impl Lists {
    /// Loss of each query, `[B]`. Whether a query has something to learn depends only on its labels.
    ///
    /// # Panics
    /// Weights of documents, if the loss does not take them ([`About::document_weights`]); lists too long for the free
    /// memory ([`About::check_memory`]).
    #[track_caller]
    pub fn losses<L: RankingLoss + ?Sized>(&self, loss: &L) -> Tensor<1> {
        let about = loss.about();
        if let Err(error) = self.check_for(&about) {
            panic!("{error}");
        }
        let learnable = loss.learnable(self);
        let losses = loss.query_losses(self);
        assert_per_query(about.name, "losses", losses.dims(), self);
        assert_per_query(about.name, "learnable queries", learnable.dims(), self);
        losses.mask_fill(learnable.bool_not(), 0.0)
    }

    /// Checks that a loss takes the lists, without reading a tensor back.
    fn check_for(&self, about: &About<'_>) -> Result<(), LossError> {
        if self.document_weights.is_some() {
            about.check_document_weights()?;
        }
        let [batch, documents] = self.scores.dims();
        about.check_memory(batch, documents, self.scores.dtype(), &self.scores.device())
    }
}

impl PackedLists {
    /// Loss of each query, `[queries]`: [`Lists::losses`].
    ///
    /// # Panics
    /// As [`Lists::losses`].
    #[track_caller]
    pub fn losses<L: RankingLoss + ?Sized>(&self, loss: &L) -> Tensor<1> {
        per_query(self, &|lists| lists.losses(loss))
    }
}

/// Returns the queries of a dataset in which a loss has nothing to learn, in order. Query `q` is
/// `labels[offsets[q]..offsets[q + 1]]`.
///
/// # Errors
/// Offsets that do not partition the labels.
pub fn degenerate_queries<L: RankingLoss + ?Sized>(
    loss: &L,
    labels: &[f32],
    offsets: &[usize],
) -> Result<Vec<usize>, LossError> {
    check_offsets(labels.len(), offsets)?;
    let device = crate::device::host();
    let learnable = |range: &[usize]| {
        let list = &labels[range[0]..range[1]];
        if list.is_empty() {
            return false;
        }
        let shape = [1, list.len()];
        let labels = Tensor::<2>::from_data(TensorData::new(list.to_vec(), shape), &device);
        let lists = Lists::padded(labels.zeros_like(), labels, Tensor::<2>::ones(shape, &device).greater_elem(0.0));
        loss.learnable(&lists).into_data().iter::<bool>().all(|found| found)
    };
    Ok(offsets.windows(2).enumerate().filter(|(_, range)| !learnable(range)).map(|(query, _)| query).collect())
}

/// Panics unless a loss or a measure gave one value for each query.
#[track_caller]
pub(super) fn assert_per_query(name: &str, what: &str, found: [usize; 1], lists: &Lists) {
    let shape = lists.scores.dims();
    assert!(found == shape[..1], "{name}: {} (one per query)", difference(what, &found, "scores", &shape));
}
