//! Computes exact measures of tensors, and offers them as metrics of burn-train.
//!
//! [`evaluate`] measures a `[queries, documents]` tensor of scores. [`evaluate_packed`] measures flat scores, one query
//! after another. [`evaluate`] and [`evaluate_packed`] need no cargo feature. With the feature `train`, `RankingMetric`
//! logs a measure in burn's `SupervisedTraining`. [`exact_measure`](exact_measure()) turns a measure that is written
//! for a surrogate into an exact measure.

mod exact_measure;
#[cfg(feature = "train")]
mod ranking_metric;

pub use exact_measure::exact_measure;
#[cfg(feature = "train")]
#[cfg_attr(docsrs, doc(cfg(feature = "train")))]
pub use ranking_metric::{RankingInput, RankingMetric, RankingOutput};

use burn::backend::ExecutionError;
use burn::tensor::{Bool, Tensor, TensorData, TensorReadError};

use crate::data::{Segments, SegmentsError};
use crate::measure::{Convention, Evaluation, Evaluator, Measure, MeasureError, Rankings};
use crate::shape::difference;

/// The reason why tensors cannot be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MetricError {
    /// The tensors have different shapes.
    #[error("{}", difference(.what, .found, "scores", .scores))]
    Shape {
        /// The input with the wrong shape, which is `labels`, `mask` or `query_ids`.
        what: &'static str,
        /// The shape of the input.
        found: Vec<usize>,
        /// The shape of the scores.
        scores: Vec<usize>,
    },
    /// The flat scores do not form valid queries.
    #[error(transparent)]
    Segments(#[from] SegmentsError),
    /// The values of a tensor cannot be read from its device.
    #[error("the tensors cannot be read: {0}")]
    Read(#[from] TensorReadError),
    /// The scores, labels, measures or convention cannot be used.
    #[error(transparent)]
    Measure(#[from] MeasureError),
}

/// Computes measures of scored lists under a convention. Returns the value of each query, and the mean over the queries
/// that count.
///
/// Scores and labels are compared as `f32`, on the CPU. Tensors may live on an autodiff device.
///
/// # Shapes
/// - `scores` has the shape `[queries, documents]`. Documents with higher scores rank higher, and a document with the
///   score -inf is not retrieved.
/// - `labels` has the shape `[queries, documents]`, with values that the convention accepts; most accept 0 and above.
/// - `mask` has the shape `[queries, documents]`, and is true for documents and false for padding. Scores and labels of
///   padding are ignored. The meaning of `mask` is the opposite of burn's `mask_pad`.
///
/// # Errors
/// Returns [`MetricError::Shape`] if tensors have different shapes. Returns [`MetricError::Measure`] for a score of NaN
/// or +inf, a label that the convention rejects, or a measure for which no query counts. The number of the document is
/// its column, counted from 1. A convention that orders ties by document ids, such as `trec_eval`, gives an error for
/// lists with ties, because tensors have no document ids. [`MetricError::Measure`] also wraps the other errors of
/// [`measure::evaluate`](crate::measure::evaluate()).
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use burn_rank::measure::{Convention, Measure};
/// use burn_rank::metric;
///
/// let device = Device::default();
/// // Two lists; the second has one document less.
/// let scores = Tensor::<2>::from_floats([[0.3, 0.2, 0.1], [1.5, 0.5, 0.0]], &device);
/// let labels = Tensor::<2>::from_floats([[0.0, 2.0, 1.0], [1.0, 0.0, 0.0]], &device);
/// let mask = Tensor::<2, burn::tensor::Bool>::from_data([[true, true, true], [true, true, false]], &device);
///
/// let measures = [Measure::Ndcg(Some(10)), Measure::Ap(None)];
/// let found = metric::evaluate(scores, labels, mask, &measures, &Convention::default())?;
/// let (_, map) = found.means[1];
/// assert!((map - ((1.0 / 2.0 + 2.0 / 3.0) / 2.0 + 1.0) / 2.0).abs() < 1e-12);
/// assert_eq!(found.per_query[0][1], Some(1.0)); // NDCG@10 of the second list
/// # Ok::<(), burn_rank::metric::MetricError>(())
/// ```
pub fn evaluate(
    scores: Tensor<2>,
    labels: Tensor<2>,
    mask: Tensor<2, Bool>,
    measures: &[Measure],
    convention: &Convention,
) -> Result<Evaluation, MetricError> {
    let evaluator = Evaluator::new(measures, convention)?;
    let lists = FlatLists::read(scores, labels, mask)?;
    evaluator.evaluate(&lists.rankings()).map_err(|error| lists.at_column(error))
}

/// Computes measures of flat scores, `[documents]`, under a convention. Returns the value of each query, and the mean
/// over the queries that count, as [`evaluate`] does. Where the convention breaks ties by the order of documents, the
/// documents of a query are in the order of their rows.
///
/// # Shapes
/// - `scores` and `labels` have the shape `[documents]`, and `segments` tells to which query each document belongs.
///
/// # Errors
/// Returns [`MetricError::Segments`] if the numbers of documents in `segments` and scores differ. Returns the errors of
/// [`evaluate`] if another input is wrong.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use burn_rank::metric;
/// use burn_rank::prelude::*;
///
/// let device = Device::default();
/// let scores = Tensor::<1>::from_floats([0.3, 0.2, 0.1, 1.5, 0.5], &device);
/// let labels = Tensor::<1>::from_floats([0.0, 2.0, 1.0, 1.0, 0.0], &device);
/// let segments = Segments::from_lengths(&[3, 2])?;
/// let found = metric::evaluate_packed(scores, labels, &segments, &[Measure::Ap(None)], &Convention::default())?;
/// assert!((found.means[0].1 - ((1.0 / 2.0 + 2.0 / 3.0) / 2.0 + 1.0) / 2.0).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn evaluate_packed(
    scores: Tensor<1>,
    labels: Tensor<1>,
    segments: &Segments,
    measures: &[Measure],
    convention: &Convention,
) -> Result<Evaluation, MetricError> {
    let evaluator = Evaluator::new(measures, convention)?;
    let lists = FlatLists::read_packed(scores, labels, segments)?;
    Ok(evaluator.evaluate(&lists.rankings())?)
}

fn read(data: Result<TensorData, ExecutionError>) -> Result<TensorData, TensorReadError> {
    data.map_err(TensorReadError::from)
}

/// Checks that a tensor has the shape of the scores.
fn check_shape(what: &'static str, found: &[usize], scores: &[usize]) -> Result<(), MetricError> {
    if found == scores { Ok(()) } else { Err(MetricError::Shape { what, found: found.into(), scores: scores.into() }) }
}

/// The documents of consecutive lists, without padding.
struct FlatLists {
    scores: Vec<f32>,
    labels: Vec<f32>,
    offsets: Vec<usize>,
    /// The column of each document in padded tensors, counted from 1; empty if there was no padding.
    columns: Vec<usize>,
}

impl FlatLists {
    fn read(scores: Tensor<2>, labels: Tensor<2>, mask: Tensor<2, Bool>) -> Result<Self, MetricError> {
        let shape = scores.dims();
        check_shape("labels", &labels.dims(), &shape)?;
        check_shape("mask", &mask.dims(), &shape)?;
        let scores = read(scores.try_into_data())?;
        let (labels, mask) = (read(labels.try_into_data())?, read(mask.try_into_data())?);
        let mut lists = Self { scores: Vec::new(), labels: Vec::new(), offsets: vec![0], columns: Vec::new() };
        let mut places = scores.iter::<f32>().zip(labels.iter::<f32>()).zip(mask.iter::<bool>());
        for _ in 0..shape[0] {
            for (column, ((score, label), is_document)) in (1..).zip(places.by_ref().take(shape[1])) {
                if is_document {
                    lists.scores.push(score);
                    lists.labels.push(label);
                    lists.columns.push(column);
                }
            }
            lists.offsets.push(lists.scores.len());
        }
        Ok(lists)
    }

    fn read_packed(scores: Tensor<1>, labels: Tensor<1>, segments: &Segments) -> Result<Self, MetricError> {
        segments.check("scores", scores.dims()[0])?;
        check_shape("labels", &labels.dims(), &scores.dims())?;
        let (scores, labels) = (read(scores.try_into_data())?, read(labels.try_into_data())?);
        let in_order = |data: TensorData| segments.in_order(data.iter::<f32>().collect());
        let offsets = segments.offsets().into();
        Ok(Self { scores: in_order(scores), labels: in_order(labels), offsets, columns: Vec::new() })
    }

    /// Names the document in an error by its column, if it was read from padded tensors.
    fn at_column(&self, mut error: MeasureError) -> MetricError {
        if let MeasureError::Score { query, document, .. } | MeasureError::Label { query, document, .. } = &mut error
            && let Some(&column) = self.columns.get(self.offsets[*query - 1] + *document - 1)
        {
            *document = column;
        }
        error.into()
    }

    fn rankings(&self) -> Rankings<'_> {
        Rankings { scores: &self.scores, labels: &self.labels, offsets: &self.offsets, document_ids: &[] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;

    /// Returns three queries. The relevant document is the second of two in the first query, and the first of three in
    /// the second query. The third query has none.
    pub(super) fn lists() -> (Tensor<2>, Tensor<2>, Tensor<2, Bool>) {
        let device = Device::flex();
        (
            Tensor::from_data([[0.2, 0.1, f32::NAN], [3.0, 1.0, 2.0], [0.0, 1.0, 2.0]], &device),
            Tensor::from_data([[0.0, 1.0, 9.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], &device),
            Tensor::from_data([[true, true, false], [true, true, true], [true, true, true]], &device),
        )
    }

    fn convention(name: &str) -> Convention {
        Convention::preset(name).unwrap()
    }

    #[test]
    fn tensors_have_the_measures_of_their_lists_in_every_convention() {
        let rankings = Rankings {
            scores: &[0.2, 0.1, 3.0, 1.0, 2.0, 0.0, 1.0, 2.0],
            labels: &[0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            offsets: &[0, 2, 5, 8],
            document_ids: &[],
        };
        let measures = [Measure::Ndcg(Some(10)), Measure::Ap(None), Measure::Precision(Some(1))];
        for preset in ["standard", "letor", "sklearn", "lightgbm", "xgboost", "rax", "tfranking"] {
            let (scores, labels, mask) = lists();
            let found = evaluate(scores, labels, mask, &measures, &convention(preset)).unwrap();
            let expected = crate::measure::evaluate(&rankings, &measures, &convention(preset)).unwrap();
            assert_eq!(found, expected, "{preset}");
            assert_eq!((found.queries, found.empty_queries), (3, 1));
        }
    }

    #[test]
    fn flat_scores_have_the_measures_of_padded_ones() {
        let device = Device::flex();
        let measures = [Measure::Ndcg(Some(10)), Measure::Ap(None), Measure::Precision(Some(1))];
        let flat = |values: [f32; 8]| Tensor::<1>::from_data(values, &device);
        let one_after_another = (
            [0.2, 0.1, 3.0, 1.0, 2.0, 0.0, 1.0, 2.0],
            [0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            Segments::from_lengths(&[2, 3, 3]).unwrap(),
        );
        let in_turn = (
            [0.2, 3.0, 0.0, 0.1, 1.0, 1.0, 2.0, 2.0],
            [0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
            Segments::from_ids(&[0, 1, 2, 0, 1, 2, 1, 2]).unwrap(),
        );
        for preset in ["standard", "letor", "rax"] {
            let (scores, labels, mask) = lists();
            let padded = evaluate(scores, labels, mask, &measures, &convention(preset)).unwrap();
            for (scores, labels, segments) in [&one_after_another, &in_turn] {
                let (scores, labels) = (flat(*scores), flat(*labels));
                let found = evaluate_packed(scores, labels, segments, &measures, &convention(preset)).unwrap();
                assert_eq!(found, padded, "{preset}");
            }
        }
    }

    #[test]
    fn flat_tensors_that_do_not_fit_are_refused_with_the_query() {
        let device = Device::flex();
        let segments = Segments::from_lengths(&[2, 3]).unwrap();
        let refused = |scores: usize, labels: usize| {
            let (scores, labels) = (Tensor::<1>::ones([scores], &device), Tensor::<1>::ones([labels], &device));
            let found = evaluate_packed(scores, labels, &segments, &[Measure::Wta], &Convention::default());
            found.unwrap_err().to_string()
        };
        assert_eq!(refused(3, 3), "queries have 5 documents in all, scores are [3]: query 2 ends beyond the scores");
        assert_eq!(refused(5, 4), "labels are [4], scores [5]");
    }

    #[test]
    fn a_query_with_nothing_to_find_counts_as_the_convention_says() {
        let ndcg = |preset| {
            let (scores, labels, mask) = lists();
            evaluate(scores, labels, mask, &[Measure::Ndcg(Some(10))], &convention(preset)).unwrap()
        };
        let first = 1.0 / 3f64.log2();
        let standard = ndcg("standard");
        assert!((standard.means[0].1 - (first + 1.0) / 2.0).abs() < 1e-12);
        assert_eq!(standard.per_query[0][2], None);
        assert_eq!(ndcg("lightgbm").per_query[0][2], Some(1.0));
        assert_eq!(ndcg("rax").per_query[0][2], Some(0.0));
    }

    #[test]
    fn autodiff_and_f64_tensors_are_measured_as_any_other() {
        let (scores, labels, mask) = lists();
        let plain = evaluate(scores.clone(), labels.clone(), mask.clone(), &[Measure::Ap(None)], &convention("letor"));
        let graph = evaluate(
            scores.clone().autodiff().require_grad(),
            labels.clone(),
            mask.clone(),
            &[Measure::Ap(None)],
            &convention("letor"),
        );
        let wide =
            evaluate(scores.cast(burn::tensor::DType::F64), labels, mask, &[Measure::Ap(None)], &convention("letor"));
        let plain = plain.unwrap();
        assert_eq!(graph.unwrap(), plain);
        assert_eq!(wide.unwrap(), plain);
    }

    #[test]
    fn tensors_of_different_shapes_are_refused_with_both_shapes() {
        let (scores, labels, mask) = lists();
        let refused = |labels: Tensor<2>, mask: Tensor<2, Bool>| {
            let found = evaluate(scores.clone(), labels, mask, &[Measure::Ap(None)], &Convention::default());
            found.unwrap_err().to_string()
        };
        let one = labels.clone().narrow(0, 0, 1);
        assert_eq!(refused(one, mask.clone()), "labels are [1, 3], scores [3, 3]");
        let narrow = mask.slice([0..3, 0..1]);
        assert_eq!(refused(labels, narrow), "mask is [3, 1], scores [3, 3]");
    }

    #[test]
    fn what_has_no_measure_is_an_error() {
        let device = Device::flex();
        let all = |values: Vec<f32>| Tensor::<2>::from_data(TensorData::new(values, [1, 2]), &device);
        let mask = || all(vec![1.0, 1.0]).greater_elem(0.0);
        let message = |scores, labels| {
            let found = evaluate(scores, labels, mask(), &[Measure::Wta], &Convention::default());
            found.unwrap_err().to_string()
        };
        assert!(message(all(vec![f32::NAN, 0.0]), all(vec![0.0, 1.0])).starts_with("document 1 of query 1"));
        let padded = |scores: [f32; 3], labels: [f32; 3]| {
            let all = |values: [f32; 3]| Tensor::<2>::from_data([[1.0; 3], values], &device);
            let mask = Tensor::from_data([[false, true, true], [false, true, true]], &device);
            let found = evaluate(all(scores), all(labels), mask, &[Measure::Wta], &Convention::default());
            found.unwrap_err().to_string()
        };
        let score = padded([0.0, 1.0, f32::NAN], [0.0; 3]);
        assert!(score.starts_with("document 3 of query 2 has the score NaN"), "{score}");
        let label = padded([0.0; 3], [0.0, f32::NAN, 0.0]);
        assert!(label.starts_with("document 2 of query 2 has the label NaN"), "{label}");
        let nothing = message(all(vec![1.0, 0.0]), all(vec![0.0, 0.0]));
        assert!(nothing.starts_with("wta has no mean"), "{nothing}");
        let none = Tensor::<2>::zeros([0, 2], &device);
        let found = evaluate(none.clone(), none.clone(), none.equal_elem(1.0), &[Measure::Wta], &Convention::default());
        assert!(found.unwrap_err().to_string().contains("wta has no mean"));
    }
}
