//! `RankingLoss`, the trait that every loss implements, and the properties that every implementation must have.

use std::fmt::Debug;

use burn::nn::loss::Reduction;
use burn::tensor::{Bool, Element, Tensor, TensorData};

use super::about::{About, Change, check_offsets};
use super::error::LossError;
use super::input::{LossInput, check_input, per_query, reduced};
use super::lists::Lists;
use super::packed::PackedLists;
use crate::data::Segments;
use crate::shape::difference;

/// The result of [`RankingLoss::changed`].
pub(super) type Changed = Result<Option<Box<dyn RankingLoss>>, LossError>;

/// A differentiable ranking loss.
///
/// # The mask
/// The mask is true at a document and false at padding. Masks from burn (`generate_padding_mask`, `MhaInput::mask_pad`)
/// are true at padding, so invert them with [`mask_from_padding`](super::mask_from_padding). With an inverted mask, the
/// loss and every gradient are usually 0. [`try_forward`](RankingLoss::try_forward) returns an error if no query in the
/// batch gives a gradient.
///
/// # Promises
/// - The value and gradient are bit-identical for any padded scores and labels, even NaN.
/// - A query for which [`learnable`](RankingLoss::learnable) is false has loss 0 and gradient 0. It still counts as a
///   query in a mean over the batch.
/// - Permuting the documents of a query permutes the gradient and does not change the value, except that ties are
///   broken by position. Gumbel noise belongs to the place of a document, so it does not move with the document.
/// - The value and gradient are finite for `|score| <= 1e4` and for labels up to 1e4 that the gain allows.
/// - The loss has the type of the scores, so `f64` scores give an `f64` loss. Half-precision scores (`f16`, `bf16`)
///   give an `f32` loss, because these types do not represent every high rank exactly.
///
/// The `forward*` methods panic when shapes differ, as burn's own modules do (`labels are [1, 3], scores [2, 3]`). The
/// `forward*` methods do not read values back from the device. Use [`try_forward`](RankingLoss::try_forward) for
/// unchecked input, or check a whole dataset once with [`About::check_labels`].
///
/// # Methods
/// To write a loss, implement `about` and `query_losses`, and override `learnable` and `changed` only if their defaults
/// do not fit. The other methods are for users of a loss. [`forward`](RankingLoss::forward) accepts padded tensors, and
/// [`forward_packed`](RankingLoss::forward_packed) accepts flat ones. [`forward_lists`](RankingLoss::forward_lists)
/// accepts both kinds, with document weights, query weights, or a teacher's scores.
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
    /// Returns the properties of the loss. A wrapper returns the properties of the loss inside it, with some properties
    /// changed. Outside this crate, a wrapper changes properties with the `with_` methods.
    fn about(&self) -> About<'_>;

    /// Returns the loss of each query, `[B]`. The caller sets the loss and gradient to 0 for every query for which
    /// [`learnable`](Self::learnable) is false. The derivatives for these queries may have any finite values.
    ///
    /// Scores may have any float type, but burn's operations require tensors of the same type. Create constants with
    /// `Tensor::from_data(.., (&device, lists.scores.dtype()))`, or cast them with
    /// `x.float().cast(lists.scores.dtype())`.
    fn query_losses(&self, lists: &Lists) -> Tensor<1>;

    /// For each query, returns whether it can give a gradient, `[B]`. By default, a query can give a gradient if two
    /// documents differ in gain or, for a loss without a gain, in label.
    fn learnable(&self, lists: &Lists) -> Tensor<1, Bool> {
        self.about().gain.map_or_else(|| lists.has_two_labels(), |gain| lists.has_two_gains(gain))
    }

    /// Returns the same loss with the change that a learner requests. The default, `None`, means that the change does
    /// not apply to this loss.
    ///
    /// # Errors
    /// Returns an error if the new value of a parameter is out of range.
    fn changed(&self, _change: Change<'_>) -> Result<Option<Box<dyn RankingLoss>>, LossError> {
        Ok(None)
    }

    /// Returns the loss of each query.
    ///
    /// # Shapes
    /// - `scores`, `labels`, `mask`: `[batch, documents]`
    /// - output: `[batch]`
    ///
    /// # Panics
    /// Panics if the shapes differ.
    #[track_caller]
    fn forward_no_reduction(&self, scores: Tensor<2>, labels: Tensor<2>, mask: Tensor<2, Bool>) -> Tensor<1> {
        Lists::padded(scores, labels, mask).losses(self)
    }

    /// Returns the mean (`Mean`, `Auto`, `BatchMean`) or sum (`Sum`) of the losses over the queries of the batch.
    ///
    /// # Shapes
    /// - `scores`, `labels`, `mask`: `[batch, documents]`
    /// - output: `[1]`
    ///
    /// # Panics
    /// Panics if the shapes differ.
    #[track_caller]
    fn forward(&self, scores: Tensor<2>, labels: Tensor<2>, mask: Tensor<2, Bool>, reduction: Reduction) -> Tensor<1> {
        self.forward_lists(&Lists::padded(scores, labels, mask), reduction)
    }

    /// Returns the loss of a batch whose queries have weights: `sum w l` for `Sum`, and `sum w l / sum w` otherwise.
    /// The weighted mean is 0 if all weights are 0. Weights carry no gradient.
    ///
    /// # Shapes
    /// - `scores`, `labels`, `mask`: `[batch, documents]`
    /// - `weights`: `[batch]`, 0 or above
    /// - output: `[1]`
    ///
    /// # Panics
    /// Panics if the shapes differ, or if the numbers of weights and queries differ.
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

    /// Returns the mean or sum of the losses of unpadded lists, given a flat tensor with one score per (query,
    /// document) pair. Up to rounding, the value and gradient are the same as for padded lists. Padding does not change
    /// the noise either. The noise depends only on the index of the list and on the rank or place of the document.
    ///
    /// # Shapes
    /// - `scores`, `labels`: `[documents]`
    /// - output: `[1]`
    ///
    /// # Panics
    /// Panics if the numbers of scores, labels and documents in `segments` differ.
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

    /// Returns the mean or sum of the losses of padded or packed lists. If the lists have query weights, the losses are
    /// weighted as in [`forward_weighted`](RankingLoss::forward_weighted). To get the loss of each query instead, call
    /// [`Lists::losses`].
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use burn_rank::prelude::*;
    ///
    /// let device = Device::flex();
    /// let scores = Tensor::<2>::from_floats([[0.2, 1.3], [0.7, 0.0]], &device);
    /// let labels = Tensor::<2>::from_floats([[1.0, 0.0], [1.0, 0.0]], &device);
    /// let lists = Lists::whole(scores, labels)
    ///     .with_document_weights(Tensor::from_floats([[4.0, 1.0], [1.0, 1.0]], &device))
    ///     .with_query_weights(Tensor::from_floats([1.0, 0.5], &device));
    /// let value = ApproxNdcgConfig::new().init()?.forward_lists(&lists, Reduction::Mean);
    /// assert_eq!(value.dims(), [1]);
    /// # Ok::<(), LossError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if the lists have document weights that the loss does not accept ([`About::document_weights`]). Also
    /// panics if the numbers of weights and queries differ, or if the lists do not fit into the free memory
    /// ([`About::check_memory`]).
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
    /// let refused = RankNetConfig::new().init()?.try_forward(&Lists::whole(scores, labels), Reduction::Mean);
    /// assert_eq!(refused.unwrap_err().to_string(), "query 1, document 2: score NaN, expected a finite number");
    /// # Ok::<(), LossError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if there are no documents, if a document's score is not finite, or if its label is outside the
    /// domain of the gain. The error names a query and its document; in packed lists, it need not be the first bad
    /// query. Every weight must be finite and not negative, and there must be one query weight per query. If the lists
    /// have document weights, the loss must accept them. The device must compute in the type of the scores, and the
    /// lists must fit into the free memory ([`About::check_memory`]). On a backend that was not enabled through a
    /// feature of this crate, the batch must also fit the memory budget.
    ///
    /// Returns [`LossError::NothingToLearn`] if no query gives a gradient; `forward` returns loss 0 and gradient 0
    /// instead. The usual cause of this error is an inverted mask. If no query gives a gradient in some of your
    /// batches, handle this error separately.
    fn try_forward(&self, lists: &dyn LossInput, reduction: Reduction) -> Result<Tensor<1>, LossError> {
        let about = self.about();
        check_input(lists, &about, &|lists| self.learnable(&about.read(lists)))?;
        Ok(self.forward_lists(lists, reduction))
    }
}

impl Lists {
    /// Returns the loss of each query, `[B]`, without its weight. Whether a query can give a gradient
    /// ([`learnable`](RankingLoss::learnable)) depends only on its labels.
    ///
    /// # Panics
    /// Panics if the lists have document weights that the loss does not accept ([`About::document_weights`]), or a
    /// teacher that a sum does not accept ([`About::plus`]). Also panics if the lists do not fit into the free memory
    /// ([`About::check_memory`]).
    #[track_caller]
    pub fn losses<L: RankingLoss + ?Sized>(&self, loss: &L) -> Tensor<1> {
        let about = loss.about();
        if let Err(error) = self.check_for(&about) {
            panic!("{error}");
        }
        let lists = about.read(self);
        let learnable = loss.learnable(&lists);
        let losses = loss.query_losses(&lists);
        assert_per_query(about.name, "losses", losses.dims(), self);
        assert_per_query(about.name, "learnable queries", learnable.dims(), self);
        losses_of_scores(losses, &lists).mask_fill(learnable.bool_not(), 0.0)
    }

    /// Creates one list without padding from its scores, `[1, documents]`, its labels, and the scores of a teacher, NaN
    /// where there is none.
    pub(super) fn of_one<T: Element>(scores: Tensor<2>, labels: &[T], teacher: Option<&[T]>) -> Self {
        let (shape, options) = (scores.dims(), (&scores.device(), scores.dtype()));
        let tensor = |values: &[T]| Tensor::<2>::from_data(TensorData::new(values.to_vec(), shape), options);
        let lists = Self::whole(scores, tensor(labels));
        match teacher.map(tensor) {
            Some(teacher) => lists.with_teacher_where(teacher.clone(), teacher.is_nan().bool_not()),
            None => lists,
        }
    }

    /// Returns whether every list can give a gradient, which is read back from the device.
    pub(super) fn are_learnable<L: RankingLoss + ?Sized>(&self, loss: &L) -> bool {
        loss.learnable(&loss.about().read(self)).into_data().iter::<bool>().all(|found| found)
    }

    /// Checks that a loss accepts the lists, without reading a tensor back from the device.
    pub(super) fn check_for(&self, about: &About<'_>) -> Result<(), LossError> {
        if self.document_weights.is_some() {
            about.check_document_weights()?;
        }
        if self.teacher.is_some() && about.mixes_teacher {
            let expected = "a `Distillation` of both in place of the sum";
            return Err(LossError::parameter(about.name, "teacher", "scores that one part is not made for", expected));
        }
        let [batch, documents] = self.scores.dims();
        about.check_memory(batch, documents, self.scores.dtype(), &self.scores.device())
    }
}

impl PackedLists {
    /// Returns the loss of each query, `[queries]`, as [`Lists::losses`] does.
    ///
    /// # Panics
    /// Panics for the same reasons as [`Lists::losses`].
    #[track_caller]
    pub fn losses<L: RankingLoss + ?Sized>(&self, loss: &L) -> Tensor<1> {
        per_query(self, &|lists| lists.losses(loss))
    }
}

/// Returns, in ascending order, the indices of the queries in a dataset that contribute no gradient to a loss. The
/// labels of query `q` are `labels[offsets[q]..offsets[q + 1]]`.
///
/// # Errors
/// Returns an error if the offsets do not partition the labels.
pub fn degenerate_queries<L: RankingLoss + ?Sized>(
    loss: &L,
    labels: &[f32],
    offsets: &[usize],
) -> Result<Vec<usize>, LossError> {
    idle_queries(loss, labels, &[], offsets)
}

/// Does the same as [`degenerate_queries`] for documents with the scores of a teacher, NaN where there is none;
/// `teacher` is empty without one.
pub(crate) fn idle_queries<L: RankingLoss + ?Sized>(
    loss: &L,
    labels: &[f32],
    teacher: &[f32],
    offsets: &[usize],
) -> Result<Vec<usize>, LossError> {
    check_offsets(labels.len(), offsets)?;
    let device = crate::device::host();
    let learnable = |range: &[usize]| {
        let range = range[0]..range[1];
        if range.is_empty() {
            return false;
        }
        let scores = Tensor::<2>::zeros([1, range.len()], &device);
        let teacher = (!teacher.is_empty()).then(|| &teacher[range.clone()]);
        Lists::of_one(scores, &labels[range.clone()], teacher).are_learnable(loss)
    };
    Ok(offsets.windows(2).enumerate().filter(|(_, range)| !learnable(range)).map(|(query, _)| query).collect())
}

/// Returns losses that have a gradient with respect to the scores, which is 0 if the losses do not depend on them.
/// burn computes no gradient of a tensor that has no path to a leaf.
pub(super) fn losses_of_scores(losses: Tensor<1>, lists: &Lists) -> Tensor<1> {
    if losses.is_tracked() || !lists.scores.is_tracked() {
        return losses;
    }
    losses + lists.scores.clone().mask_fill(lists.mask.clone().greater_equal_elem(0.0), 0.0).sum_dim(1).squeeze_dim(1)
}

/// Panics unless a loss or measure returned one value for each query.
#[track_caller]
pub(super) fn assert_per_query(name: &str, what: &str, found: [usize; 1], lists: &Lists) {
    let shape = lists.scores.dims();
    assert!(found == shape[..1], "{name}: {} (one per query)", difference(what, &found, "scores", &shape));
}
