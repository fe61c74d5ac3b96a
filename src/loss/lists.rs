//! `Lists`, a batch in which padded scores and labels are 0, and the quantities that most losses compute from it.

use std::sync::Arc;

use burn::tensor::activation::softmax;
use burn::tensor::{Bool, DType, IndexingUpdateOp, Int, Tensor};

use super::error::{LossError, same_shape};
use crate::measure::{Discount, Gain};
use crate::op::{Step, at_rank, centered, counted_step_sum, exp2, ideal_dcg, log_softmax, rank, step_sum};
use crate::shape::{assert_same, difference};

/// The scores, labels and mask of a batch, as every loss receives them, with padded scores and labels set to 0.
/// [`Lists::padded`] checks the shapes and creates the lists. [`Lists::packed`] creates [`PackedLists`] from scores
/// that are stored without padding.
///
/// [`PackedLists`]: super::PackedLists
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Lists {
    /// The scores, `[B, N]`, 0 at padded places; they carry the gradient.
    pub scores: Tensor<2>,
    /// The labels, `[B, N]`, 0 at padded places; they carry no gradient.
    pub labels: Tensor<2>,
    /// The mask, `[B, N]`, which is 1 for a document and 0 for padding, in the type of the scores.
    pub mask: Tensor<2>,
    /// True at padded places, `[B, N]`.
    pub padded: Tensor<2, Bool>,
    /// The weight of each document, `[B, N]`, in the type of the scores, 0 at padded places and without a gradient.
    /// `None` gives all documents the same weight. See [`About::document_weights`](super::About::document_weights).
    pub document_weights: Option<Tensor<2>>,
    /// The scores of a teacher, `[B, N]`, 0 where there is none, and which documents have one; `None` without a
    /// teacher.
    pub(in crate::loss) teacher: Option<(Tensor<2>, Tensor<2, Bool>)>,
    /// The weight of each query, `[B]`, or `None` if all queries count the same.
    pub(in crate::loss) query_weights: Option<Tensor<1>>,
    /// The labels as given, with any values at padded places, `[B, N]`. They are needed to try out an inverted mask.
    pub(in crate::loss) given: Tensor<2>,
    /// Nonzero at the documents whose positions the measure needs, `[B, N]`; `None` if it needs all positions.
    pub(in crate::loss) needed: Option<Tensor<2>>,
    /// The lists of a packed batch that the rows hold; `None` if the lists were not packed.
    pub(in crate::loss) among: Option<Arc<Among>>,
}

/// Which lists of a packed batch are in these rows, and the length of its longest list.
#[derive(Debug)]
pub(in crate::loss) struct Among {
    /// For each row, the index of its list in the packed batch.
    pub numbers: Vec<usize>,
    /// The number of documents in the longest list of the packed batch.
    pub longest: usize,
}

impl Lists {
    /// Creates lists from padded tensors. Half-precision scores become `f32`, because `f16` represents ranks exactly
    /// only up to 2048, and `bf16` only up to 256. The gradient still has the original type of the scores.
    ///
    /// # Shapes
    /// - `scores`, `labels`, `mask` (true at a document, false at padding): `[batch, documents]`
    ///
    /// # Panics
    /// Panics if the shapes differ.
    #[track_caller]
    pub fn padded(scores: Tensor<2>, labels: Tensor<2>, mask: Tensor<2, Bool>) -> Self {
        if let Err(error) = check_shapes(&scores, &labels, &mask) {
            panic!("{error}");
        }
        let padded = mask.clone().bool_not();
        let scores = in_float32_or_wider(scores);
        let dtype = scores.dtype();
        let given = labels.detach().cast(dtype);
        Self {
            scores: scores.mask_fill(padded.clone(), 0.0),
            labels: given.clone().mask_fill(padded.clone(), 0.0),
            mask: mask.float().cast(dtype),
            padded,
            needed: None,
            document_weights: None,
            teacher: None,
            query_weights: None,
            given,
            among: None,
        }
    }

    /// Creates lists of equal length, without padding.
    ///
    /// # Shapes
    /// - `scores`, `labels`: `[batch, documents]`
    ///
    /// # Panics
    /// Panics if the shapes differ.
    #[track_caller]
    pub fn whole(scores: Tensor<2>, labels: Tensor<2>) -> Self {
        let mask = Tensor::full(scores.dims(), true, &scores.device());
        Self::padded(scores, labels, mask)
    }

    /// Creates lists from padded tensors, and returns an error instead of panicking if the tensors are invalid.
    ///
    /// # Errors
    /// Returns [`LossError::Shape`] if the shapes differ, or [`LossError::Type`] if the device does not compute in the
    /// type of the scores.
    pub fn try_padded(scores: Tensor<2>, labels: Tensor<2>, mask: Tensor<2, Bool>) -> Result<Self, LossError> {
        check_shapes(&scores, &labels, &mask)?;
        match scores.device().supports_dtype(scores.dtype()) {
            true => Ok(Self::padded(scores, labels, mask)),
            false => Err(LossError::Type { found: scores.dtype() }),
        }
    }

    /// Records which lists of a packed batch are in the rows.
    pub(in crate::loss) fn among(self, among: Among) -> Self {
        Self { among: Some(Arc::new(among)), ..self }
    }

    /// Returns the index of the list in a row. This index selects the list's noise.
    pub(in crate::loss) fn number(&self, row: usize) -> usize {
        self.among.as_ref().map_or(row, |among| among.numbers[row])
    }

    /// Returns the length of the longest list in the packed batch, or the length of a row if no lists were packed.
    /// Losses choose their approximation for this length.
    pub(in crate::loss) fn longest(&self) -> usize {
        self.among.as_ref().map_or(self.scores.dims()[1], |among| among.longest)
    }

    /// Sets a weight of 0 or above for each document.
    ///
    /// # Shapes
    /// - `weights`: `[batch, documents]`, with any values at padded places
    ///
    /// # Panics
    /// Panics if `weights` and the scores differ in shape.
    #[track_caller]
    pub fn with_document_weights(self, weights: Tensor<2>) -> Self {
        assert_same("with_document_weights", ("scores", &self.scores), &[("weights", &weights)]);
        let weights = weights.detach().cast(self.scores.dtype()).mask_fill(self.padded.clone(), 0.0);
        Self { document_weights: Some(weights), ..self }
    }

    /// Sets a weight of 0 or above for each query. [`forward_lists`](super::RankingLoss::forward_lists) applies this
    /// weight to the query's loss.
    ///
    /// # Shapes
    /// - `weights`: `[batch]`
    pub fn with_query_weights(self, weights: Tensor<1>) -> Self {
        Self { query_weights: Some(weights.detach()), ..self }
    }

    /// Adds the scores of a teacher, for distillation. A loss then reads them in place of the labels, except that a
    /// [`Distillation`](super::Distillation) reads both. Losses without a gain accept any scores as labels. For
    /// example, `list_net` fits the softmax of the scores to the softmax of the teacher's scores. With `list_mle` and
    /// the pairwise losses, a model learns the teacher's order.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use burn_rank::prelude::*;
    ///
    /// let device = Device::flex().autodiff();
    /// let scores = Tensor::<2>::from_floats([[0.4, 0.1, -0.2]], &device).require_grad();
    /// let labels = Tensor::<2>::from_floats([[1.0, 0.0, 0.0]], &device);
    /// let teacher = Tensor::<2>::from_floats([[2.1, -0.3, 0.6]], &device);
    /// let lists = Lists::whole(scores.clone(), labels);
    /// let list_net = ListNetConfig::new().init()?;
    /// let loss = DistillationConfig::new().with_weight(2.0).init(list_net.clone(), list_net)?;
    /// let both = loss.forward_lists(&lists.with_teacher(teacher), Reduction::Mean);
    /// assert!(scores.grad(&both.backward()).is_some());
    /// # Ok::<(), LossError>(())
    /// ```
    ///
    /// # Shapes
    /// - `scores`: `[batch, documents]`, with any values at padded places; the scores of the teacher carry no gradient
    ///
    /// # Panics
    /// Panics if the teacher's scores and the lists differ in shape.
    #[track_caller]
    pub fn with_teacher(self, scores: Tensor<2>) -> Self {
        assert_same("with_teacher", ("scores", &self.scores), &[("the teacher's scores", &scores)]);
        let all = self.padded.clone().bool_not();
        self.with_teacher_where(scores, all)
    }

    /// Adds the scores of a teacher that has scored the documents where `has` is true only, as
    /// [`with_teacher`](Self::with_teacher) does. The other documents are left out of what learns from the teacher.
    ///
    /// # Shapes
    /// - `scores`, `has`: `[batch, documents]`, with any values at padded places
    ///
    /// # Panics
    /// Panics if the teacher's scores, `has` and the lists differ in shape.
    #[track_caller]
    pub fn with_teacher_where(self, scores: Tensor<2>, has: Tensor<2, Bool>) -> Self {
        assert_same("with_teacher_where", ("scores", &self.scores), &[("the teacher's scores", &scores)]);
        let (found, expected) = (has.dims(), self.scores.dims());
        let which = "the mask of the teacher's scores";
        assert!(found == expected, "with_teacher_where: {}", difference(which, &found, "scores", &expected));
        let padded = self.padded.clone().bool_or(has.bool_not());
        let scores = scores.detach().cast(self.scores.dtype()).mask_fill(padded.clone(), 0.0);
        Self { teacher: Some((scores, padded.bool_not())), ..self }
    }

    /// Returns the documents that a teacher has scored, with its scores as their labels; `None` without a teacher. A
    /// loss that reads labels and teacher ([`About::needs_teacher`](super::About::needs_teacher)) calls it.
    pub fn taught(&self) -> Option<Self> {
        let (labels, has) = self.teacher.clone()?;
        let padded = has.clone().bool_not();
        let weights = self.document_weights.clone();
        Some(Self {
            scores: self.scores.clone().mask_fill(padded.clone(), 0.0),
            given: labels.clone(),
            labels,
            mask: has.float().cast(self.scores.dtype()),
            document_weights: weights.map(|weights| weights.mask_fill(padded.clone(), 0.0)),
            padded,
            teacher: None,
            ..self.clone()
        })
    }

    /// Multiplies `x`, `[B, N]`, by the document weights, if there are any.
    ///
    /// # Panics
    /// Panics if `x` and the scores differ in shape.
    #[track_caller]
    pub fn weighted(&self, x: Tensor<2>) -> Tensor<2> {
        assert_same("weighted", ("scores", &self.scores), &[("x", &x)]);
        match &self.document_weights {
            Some(weights) => x * weights.clone(),
            None => x,
        }
    }

    /// Requests positions only for the documents where `needed` is not 0, or for all documents if `needed` is `None`.
    pub(in crate::loss) fn needing(self, needed: Option<Tensor<2>>) -> Self {
        Self { needed: needed.map(Tensor::detach), ..self }
    }

    /// Returns a tensor `[B, N]` that is 1 at relevant documents (label 1 or above) and 0 elsewhere.
    pub fn relevance(&self) -> Tensor<2> {
        self.labels.clone().greater_equal_elem(1.0).float().cast(self.scores.dtype()) * self.mask.clone()
    }

    /// Returns the number of documents in each query, `[B]`.
    pub fn counts(&self) -> Tensor<1> {
        sum_documents(self.mask.clone())
    }

    /// Returns the gain of each document, `[B, N]`, 0 at padded places. For labels outside the domain of the gain, the
    /// result is meaningless; see [`About::check_labels`](super::About::check_labels).
    pub fn gains(&self, gain: &Gain) -> Tensor<2> {
        let y = self.labels.clone();
        let gains = match gain {
            Gain::Exp2 => exp2(y) - 1.0,
            Gain::Exp2Raw => exp2(y),
            Gain::Linear => y,
            Gain::Table(table) => table.iter().enumerate().fold(y.zeros_like(), |sum, (label, &g)| {
                sum + y.clone().equal_elem(label as f64).float().cast(y.dtype()) * g
            }),
        };
        gains * self.mask.clone()
    }

    /// Returns a tensor, `[B, N]`, that is nonzero at exactly the documents with a nonzero gain, or `None` if no gain
    /// is 0. For `Exp2` and `Linear`, the function returns the labels, because a gain is 0 exactly where the label
    /// is 0.
    pub(in crate::loss) fn gaining(&self, gain: &Gain) -> Option<Tensor<2>> {
        match gain {
            Gain::Exp2 | Gain::Linear => Some(self.labels.clone()),
            Gain::Exp2Raw => None,
            Gain::Table(_) => Some(self.gains(gain)),
        }
    }

    /// Returns the ranks by descending score, `[B, N]`, counted from 1, with ties broken by position. The ranks carry
    /// no gradient.
    pub fn ranks(&self) -> Tensor<2> {
        rank(self.scores.clone(), self.mask.clone())
    }

    /// For each query, subtracts the score nearest to 0 from all scores, `[B, N]`; padded places are 0. A loss that
    /// multiplies scores before it subtracts them from each other needs centered scores. Without centering, an offset
    /// shared by all scores would determine the rounding errors. Subtracting a score farther from 0 would add larger
    /// rounding errors. Centering changes no score differences. No gradient passes through the score that is
    /// subtracted, so the gradient is exact only for a loss that an offset of all scores does not change.
    pub fn centered(&self) -> Tensor<2> {
        centered(self.scores.clone(), self.mask.clone())
    }

    /// Returns the approximate positions `1 + sum_{j != i} phi(alpha (s_j - s_i))` (approximation-framework, equation
    /// 20), `[B, N]`. In a [`Surrogate`](super::Surrogate), documents whose positions the measure does not need have
    /// position 1.
    pub fn approximate_positions(&self, alpha: f64, step: Step) -> Tensor<2> {
        let (scores, mask) = (self.scores.clone(), self.mask.clone());
        // The sum includes the term j = i, which is phi(0) = 1/2.
        let sums = match &self.needed {
            Some(needed) => counted_step_sum(scores, mask, needed.clone(), alpha, step),
            None => step_sum(scores, mask, alpha, step),
        };
        sums + 0.5
    }

    /// Returns the discounts at integer ranks `[B, N]`, 0 beyond the cut-off and at padded places. The discounts carry
    /// no gradient.
    ///
    /// # Panics
    /// Panics if `ranks` and the scores differ in shape.
    #[track_caller]
    pub fn discounts_at(&self, ranks: Tensor<2>, discount: &Discount, k: Option<usize>) -> Tensor<2> {
        assert_same("discounts_at", ("scores", &self.scores), &[("ranks", &ranks)]);
        let table = discount_table(discount, ranks.dims()[1], k);
        at_rank(ranks, table) * self.mask.clone()
    }

    /// For each query, returns the largest `sum_i gains_i D(r_i)` over all orders of its documents, `[B]`. A value of 0
    /// is replaced by 1, so the result can be a divisor.
    ///
    /// # Panics
    /// Panics if `gains` and the scores differ in shape.
    #[track_caller]
    pub fn ideal_dcg(&self, gains: Tensor<2>, discount: &Discount, k: Option<usize>) -> Tensor<1> {
        assert_same("ideal_dcg", ("scores", &self.scores), &[("gains", &gains)]);
        let discounts = discount_table(discount, self.mask.dims()[1], k);
        one_in_place_of_zero(ideal_dcg(gains, self.mask.clone(), discounts))
    }

    /// Returns the logarithm of the softmax of `x` over the documents of each query, `[B, N]`, 0 at padded places.
    ///
    /// # Panics
    /// Panics if `x` and the scores differ in shape.
    #[track_caller]
    pub fn log_softmax(&self, x: Tensor<2>) -> Tensor<2> {
        assert_same("log_softmax", ("scores", &self.scores), &[("x", &x)]);
        log_softmax(x, self.mask.clone())
    }

    /// Returns the softmax over the documents of a list for each rank, `[B, ranks, N]`, 0 at padded documents.
    pub(super) fn softmax_of_ranks(&self, logits: Tensor<3>) -> Tensor<3> {
        let padded = self.padded.clone().unsqueeze_dim::<3>(1).expand(logits.dims());
        // The fill value is finite, so a row with only padding does not give 0 / 0.
        softmax(logits.mask_fill(padded, -1e30), 2) * self.mask.clone().unsqueeze_dim::<3>(1)
    }

    /// Returns whether each query has two documents with different labels, `[B]`.
    pub fn has_two_labels(&self) -> Tensor<1, Bool> {
        self.has_two(self.labels.clone())
    }

    /// Returns whether each query has two documents with different gains, `[B]`.
    pub fn has_two_gains(&self, gain: &Gain) -> Tensor<1, Bool> {
        match gain {
            // Only a table gives two labels the same gain.
            Gain::Table(table) if (1..table.len()).any(|label| table[..label].contains(&table[label])) => {
                self.has_two(self.gains(gain))
            }
            _ => self.has_two_labels(),
        }
    }

    /// Returns whether each query has two documents that differ in `values`, `[B]`.
    fn has_two(&self, values: Tensor<2>) -> Tensor<1, Bool> {
        let highest = values.clone().mask_fill(self.padded.clone(), f32::MIN).max_dim(1);
        let lowest = values.mask_fill(self.padded.clone(), f32::MAX).min_dim(1);
        highest.greater(lowest).squeeze_dim(1)
    }

    /// Returns whether each query has both a relevant and an irrelevant document, `[B]`.
    pub fn has_both_relevances(&self) -> Tensor<1, Bool> {
        let relevant = sum_documents(self.relevance());
        relevant.clone().greater_elem(0.0).bool_and(relevant.lower(self.counts()))
    }
}

/// Checks that the tensors of a batch have the same shape.
pub(super) fn check_shapes(scores: &Tensor<2>, labels: &Tensor<2>, mask: &Tensor<2, Bool>) -> Result<(), LossError> {
    let shape = scores.dims();
    let expected = ("scores", &shape[..]);
    same_shape(("labels", &labels.dims()), expected)?;
    same_shape(("mask", &mask.dims()), expected)
}

/// Converts a mask that is true at padding into a mask that is true at documents. In burn, the `mask_pad` of an
/// attention module's input and the result of `generate_padding_mask` are true at padding.
///
/// ```
/// use burn::nn::attention::generate_padding_mask;
/// use burn::tensor::{Bool, Device, Tensor};
/// use burn_rank::loss::mask_from_padding;
///
/// // Two lists of documents by number, of three and of one document; 0 is padding.
/// let padded = generate_padding_mask(0, vec![vec![7, 3, 9], vec![4]], None, &Device::flex());
/// let mask: Tensor<2, Bool> = mask_from_padding(padded.mask);
/// let document: Vec<bool> = mask.into_data().iter::<bool>().collect();
/// assert_eq!(document, [true, true, true, true, false, false]);
/// ```
pub fn mask_from_padding(padding: Tensor<2, Bool>) -> Tensor<2, Bool> {
    padding.bool_not()
}

/// Converts half precision to `f32`, and keeps wider types.
pub(super) fn in_float32_or_wider(x: Tensor<2>) -> Tensor<2> {
    match x.dtype() {
        DType::F16 | DType::BF16 => x.cast(DType::F32),
        _ => x,
    }
}

/// Sums over the documents of each query, from `[B, N]` to `[B]`.
pub fn sum_documents(x: Tensor<2>) -> Tensor<1> {
    x.sum_dim(1).squeeze_dim(1)
}

/// Returns the document at each rank, `[B, N]`. The input is the rank of each document, counted from 1, as [`rank`]
/// returns it.
pub(super) fn order_of_ranks(ranks: Tensor<2>) -> Tensor<2, Int> {
    let [batch, n] = ranks.dims();
    // The clamp keeps indices in range, whatever the ranks of NaN are.
    let places = (ranks - 1.0).int().clamp(0, n as i64 - 1);
    let documents = Tensor::<1, Int>::arange(0..n as i64, &places.device()).unsqueeze::<2>().expand([batch, n]);
    places.zeros_like().scatter(1, places, documents, IndexingUpdateOp::Add).clamp(0, n as i64 - 1)
}

/// Returns the values as a row, `[1, values]`, on the device and in the type of `like`.
pub(super) fn row_like(values: &[f64], like: &Tensor<2>) -> Tensor<2> {
    Tensor::<1>::from_data(values, (&like.device(), like.dtype())).unsqueeze()
}

/// Returns the numbers 1 to N, `[B, N]`, on the device and in the type of `like`, `[B, N]`.
pub(super) fn places_like(like: &Tensor<2>) -> Tensor<2> {
    let [batch, n] = like.dims();
    let places = Tensor::<1, Int>::arange(1..n as i64 + 1, &like.device()).float().cast(like.dtype());
    places.unsqueeze::<2>().expand([batch, n])
}

/// Returns the value before each value of a row, `[B, N]`; before the first one, itself.
pub(super) fn ones_before(x: Tensor<2>) -> Tensor<2> {
    let places = (places_like(&x) - 2.0).clamp_min(0.0).int();
    x.gather(1, places)
}

/// Replaces 0 with 1, so the result can be a divisor.
pub(super) fn one_in_place_of_zero(x: Tensor<1>) -> Tensor<1> {
    let zero = x.clone().equal_elem(0.0);
    x.mask_fill(zero, 1.0)
}

/// Returns the discounts of the ranks 1 to `n`, 0 beyond the cut-off.
pub(super) fn discount_table(discount: &Discount, n: usize, k: Option<usize>) -> Vec<f64> {
    let top = k.unwrap_or(n);
    (1..=n).map(|r| if r <= top { discount.at(r) } else { 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    /// Returns one query with labels 2, 0 and 1, and one query with labels 1 and 1 and a padded place.
    fn lists() -> Lists {
        let device = Device::flex();
        let scores = Tensor::from_floats([[0.5, 2.0, 1.0], [1.0, 3.0, f32::NAN]], &device);
        let labels = Tensor::from_floats([[2.0, 0.0, 1.0], [1.0, 1.0, f32::NAN]], &device);
        let mask = Tensor::<2>::from_floats([[1.0, 1.0, 1.0], [1.0, 1.0, 0.0]], &device).greater_elem(0.5);
        Lists::padded(scores, labels, mask)
    }

    fn values<const D: usize>(x: Tensor<D>) -> Vec<f64> {
        x.into_data().iter::<f64>().collect()
    }

    #[test]
    fn padding_is_zero_everywhere() {
        let lists = lists();
        assert_eq!(values(lists.relevance()), [1.0, 0.0, 1.0, 1.0, 1.0, 0.0]);
        assert_eq!(values(lists.counts()), [3.0, 2.0]);
        assert_eq!(values(lists.gains(&Gain::Exp2)), [3.0, 0.0, 1.0, 1.0, 1.0, 0.0]);
        assert_eq!(values(lists.gains(&Gain::Exp2Raw)), [4.0, 1.0, 2.0, 2.0, 2.0, 0.0]);
        assert_eq!(values(lists.gains(&Gain::Table(vec![0.5, 2.0, 7.0]))), [7.0, 0.5, 2.0, 2.0, 2.0, 0.0]);
        assert_eq!(values(lists.ranks())[..5], [3.0, 1.0, 2.0, 2.0, 1.0]);
    }

    #[test]
    fn weights_multiply_documents_and_vanish_at_padding() {
        let weights = Tensor::<2>::from_floats([[2.0, 0.5, 0.0], [1.0, 3.0, f32::NAN]], &Device::flex());
        let weighted = lists().with_document_weights(weights);
        assert_eq!(values(weighted.weighted(weighted.labels.clone())), [4.0, 0.0, 0.0, 1.0, 3.0, 0.0]);
        assert_eq!(values(lists().weighted(lists().labels)), [2.0, 0.0, 1.0, 1.0, 1.0, 0.0]);
    }

    #[test]
    fn centering_removes_a_common_offset() {
        let device = Device::flex();
        let scores = [[1e4, 1e4 + 1.0, 1e4 + 0.25], [1e4, 1e-3, -2e-3], [-3.0, -5.0, 7.0]];
        let mask = [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 0.0]];
        let scores = Tensor::<2>::from_floats(scores, &device);
        let mask = Tensor::<2>::from_floats(mask, &device).greater_elem(0.5);
        let found = values(Lists::padded(scores.clone(), scores, mask).centered());
        assert_eq!(found[..3], [0.0, 1.0, 0.25]);
        // Subtracting 1e4 would lose the difference between the other two.
        assert!((found[1 + 3] - found[2 + 3] - 3e-3).abs() < 1e-9, "{found:?}");
        assert_eq!(found[6..], [0.0, -2.0, 0.0]);
    }

    #[test]
    fn discounts_stop_at_the_cutoff() {
        let lists = lists();
        let discounts = values(lists.discounts_at(lists.ranks(), &Discount::Zipf, Some(2)));
        assert_eq!(discounts, [0.0, 1.0, 0.5, 0.5, 1.0, 0.0]);
    }

    #[test]
    fn ideal_dcg_sorts_by_gain() {
        let ideal = |gain: &Gain, discount: &Discount, k| lists().ideal_dcg(lists().gains(gain), discount, k);
        // Zipf discounts 1, 1/2, 1/3: 3 + 1/2 and 1 + 1/2.
        assert_eq!(values(ideal(&Gain::Exp2, &Discount::Zipf, None)), [3.5, 1.5]);
        assert_eq!(values(ideal(&Gain::Exp2, &Discount::Zipf, Some(1))), [3.0, 1.0]);
        assert_eq!(values(ideal(&Gain::Table(vec![0.0; 3]), &Discount::Zipf, None)), [1.0, 1.0]);
    }

    #[test]
    fn queries_with_equal_labels_or_relevances_are_recognized() {
        assert_eq!(values(lists().has_two_labels().float()), [1.0, 0.0]);
        // Labels 2 0 1 and 1 1.
        let by_gain = |table: &[f64]| values(lists().has_two_gains(&Gain::Table(table.to_vec())).float());
        assert_eq!(by_gain(&[0.0, 1.0, 2.0]), [1.0, 0.0]);
        assert_eq!(by_gain(&[0.0, 0.0, 2.0]), [1.0, 0.0]);
        assert_eq!(by_gain(&[2.0, 2.0, 2.0]), [0.0, 0.0]);
        assert_eq!(values(lists().has_two_gains(&Gain::Exp2).float()), [1.0, 0.0]);
        assert_eq!(values(lists().has_both_relevances().float()), [1.0, 0.0]);
    }
}
