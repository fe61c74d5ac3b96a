//! Provides NDCG, MAP, MRR and every other measure as burn-train metrics.
//!
//! Any model whose output implements `Adaptor<RankingInput>` can log these metrics:
//!
//! ```
//! use burn_rank::metric::{RankingInput, RankingMetric};
//! use burn::tensor::Tensor;
//! use burn::train::metric::Adaptor;
//!
//! struct Output { scores: Tensor<2>, labels: Tensor<2>, mask: Tensor<2, burn::tensor::Bool> }
//!
//! impl Adaptor<RankingInput> for Output {
//!     fn adapt(&self) -> RankingInput {
//!         let Output { scores, labels, mask } = self;
//!         RankingInput::Lists { scores: scores.clone(), labels: labels.clone(), mask: mask.clone() }
//!     }
//! }
//!
//! let metrics = (RankingMetric::ndcg(Some(10)), RankingMetric::map(), RankingMetric::mrr());
//! // SupervisedTraining::new(..).metrics(metrics)
//! ```
//!
//! A model that scores pairs of a query and a document provides [`RankingInput::Packed`], which has flat scores with
//! query ids. A hand-written training loop can call a metric directly:
//!
//! ```
//! use burn_rank::metric::{RankingInput, RankingMetric};
//! use burn::data::dataloader::Progress;
//! use burn::tensor::{Device, Tensor};
//! use burn::train::metric::{Metric, MetricMetadata, Numeric};
//!
//! let device = Device::default();
//! let batch = RankingInput::Packed {
//!     scores: Tensor::from_floats([0.3, 1.5, 0.2, 0.1, 0.5], &device),
//!     labels: Tensor::from_floats([0.0, 1.0, 2.0, 1.0, 0.0], &device),
//!     query_ids: Tensor::from_ints([17, 4, 17, 17, 4], &device),
//! };
//! let mut mrr = RankingMetric::mrr();
//! mrr.update(&batch, &MetricMetadata { progress: Progress::new(1, 1, None), iteration: None, lr: None })?;
//! assert_eq!(mrr.value().expect("two queries count").current(), 0.75);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::HashMap;
use std::sync::Arc;

use burn::backend::ExecutionError;
use burn::tensor::{Bool, Int, Tensor, TensorReadError};
use burn::train::metric::state::{FormatOptions, NumericMetricState};
use burn::train::metric::{
    Adaptor, ItemLazy, LossInput, Metric, MetricAttributes, MetricMetadata, Numeric, NumericAttributes, NumericEntry,
    SerializedEntry,
};

use super::{FlatLists, MetricError, check_shape, read};
use crate::data::Segments;
use crate::measure::{Convention, Evaluator, Measure, MeasureError, mean_of};

/// The input of a [`RankingMetric`].
#[derive(Debug, Clone)]
// One value a batch: boxing the tensors would cost readers more than it saves.
#[allow(clippy::large_enum_variant)]
pub enum RankingInput {
    /// Scored lists, each of shape `[queries, documents]`; `mask` is true for a document.
    Lists {
        /// Scores.
        scores: Tensor<2>,
        /// Labels.
        labels: Tensor<2>,
        /// The mask, which is true for documents and false for padding.
        mask: Tensor<2, Bool>,
    },
    /// Flat scores and labels, each of shape `[documents]`, with the query id of each document. The documents of a
    /// query may be in any rows, but must all be in the same batch. Equal scores are treated as the convention says.
    Packed {
        /// Scores.
        scores: Tensor<1>,
        /// Labels.
        labels: Tensor<1>,
        /// The id of each document's query, which may be any number.
        query_ids: Tensor<1, Int>,
    },
    /// The values of a measure for queries that were already evaluated, one per query.
    Values(Vec<f64>),
}

impl RankingInput {
    /// Returns the values without their autodiff graph.
    fn without_autodiff(self) -> Self {
        match self {
            Self::Lists { scores, labels, mask } => Self::Lists {
                scores: scores.without_autodiff(),
                labels: labels.without_autodiff(),
                mask: mask.without_autodiff(),
            },
            Self::Packed { scores, labels, query_ids } => Self::Packed {
                scores: scores.without_autodiff(),
                labels: labels.without_autodiff(),
                query_ids: query_ids.without_autodiff(),
            },
            values => values,
        }
    }
}

/// Returns the segments for query ids, with queries in the order of their first occurrence.
fn segments(ids: Tensor<1, Int>, scores: usize) -> Result<Segments, MetricError> {
    check_shape("query_ids", &ids.dims(), &[scores])?;
    let mut numbers = HashMap::new();
    let ids = read(ids.try_into_data())?;
    let of = |id| {
        let next = numbers.len();
        *numbers.entry(id).or_insert(next)
    };
    Ok(Segments::from_ids(&ids.iter::<i64>().map(of).collect::<Vec<usize>>())?)
}

/// The output of a pass over a batch, from which metrics are computed.
#[derive(Debug, Clone)]
pub struct RankingOutput {
    /// The losses, `[queries]`.
    pub losses: Tensor<1>,
    /// The scores and labels from which measures are computed.
    pub ranked: RankingInput,
}

impl ItemLazy for RankingOutput {
    fn sync(self) -> Result<Self, ExecutionError> {
        self.losses.device().flush()?;
        Ok(Self { losses: self.losses.without_autodiff(), ranked: self.ranked.without_autodiff() })
    }
}

impl Adaptor<LossInput> for RankingOutput {
    fn adapt(&self) -> LossInput {
        LossInput::new(self.losses.clone())
    }
}

impl Adaptor<RankingInput> for RankingOutput {
    fn adapt(&self) -> RankingInput {
        self.ranked.clone()
    }
}

/// A burn-train metric that averages a measure over the queries of an epoch.
///
/// Queries that the convention leaves out do not count. A batch in which no query counts has no value. burn gives it
/// the entry "not available", which is not logged. A batch that cannot be measured has the value NaN, and its epoch has
/// the value NaN as well. A batch cannot be measured if a score is NaN or +inf, if a label has no gain in the measure,
/// or if tensors differ in shape. The log explains why a batch cannot be measured, but only for the first such batch of
/// an epoch.
#[derive(Clone)]
pub struct RankingMetric {
    name: Arc<String>,
    evaluator: Evaluator,
    state: NumericMetricState,
    /// Whether the most recent batch has a value: some of its queries count, or it could not be measured.
    has_value: bool,
    explained: bool,
}

impl RankingMetric {
    /// Creates a metric from a measure and a convention.
    ///
    /// Under a convention that orders ties by document ids, such as `trec_eval`, a batch with ties cannot be measured,
    /// because tensors have no document ids.
    ///
    /// # Errors
    /// Returns an error if the convention contradicts itself, or if the measure has a cut-off of 0.
    pub fn new(measure: Measure, convention: &Convention) -> Result<Self, MeasureError> {
        let name = Arc::new(format!("{measure} ({})", convention.name));
        let evaluator = Evaluator::new(&[measure], convention)?;
        Ok(Self { name, evaluator, state: NumericMetricState::new(), has_value: false, explained: false })
    }

    #[track_caller]
    fn standard(measure: Measure) -> Self {
        Self::new(measure, &Convention::default()).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Creates a metric for NDCG over the first `k` documents, under the default convention.
    ///
    /// # Panics
    /// Panics if `k` is 0; [`RankingMetric::new`] returns an error instead.
    #[track_caller]
    pub fn ndcg(k: Option<usize>) -> Self {
        Self::standard(Measure::Ndcg(k))
    }

    /// Creates a metric for mean average precision, under the default convention.
    pub fn map() -> Self {
        Self::standard(Measure::Ap(None))
    }

    /// Creates a metric for the mean reciprocal rank of the first relevant document, under the default convention.
    pub fn mrr() -> Self {
        Self::standard(Measure::ReciprocalRank(None))
    }

    /// Returns the values of the queries that count, or NaN if the batch cannot be measured.
    fn values(&mut self, input: &RankingInput) -> Result<Vec<f64>, TensorReadError> {
        let lists = match input {
            RankingInput::Values(values) => return Ok(values.clone()),
            RankingInput::Lists { scores, labels, mask } => {
                FlatLists::read(scores.clone(), labels.clone(), mask.clone())
            }
            RankingInput::Packed { scores, labels, query_ids } => segments(query_ids.clone(), scores.dims()[0])
                .and_then(|segments| FlatLists::read_packed(scores.clone(), labels.clone(), &segments)),
        };
        let measured = lists
            .and_then(|lists| self.evaluator.first_measure(&lists.rankings()).map_err(|error| lists.at_column(error)));
        match measured {
            Ok(values) => Ok(values.into_iter().flatten().collect()),
            Err(MetricError::Read(error)) => Err(error),
            Err(refused) => {
                if !self.explained {
                    log::warn!("{} is NaN: {refused}", self.name);
                    self.explained = true;
                }
                Ok(vec![f64::NAN])
            }
        }
    }
}

impl Metric for RankingMetric {
    type Input = RankingInput;

    fn name(&self) -> Arc<String> {
        self.name.clone()
    }

    fn attributes(&self) -> MetricAttributes {
        NumericAttributes { unit: None, higher_is_better: true }.into()
    }

    fn update(&mut self, item: &RankingInput, _: &MetricMetadata) -> Result<SerializedEntry, TensorReadError> {
        let values = self.values(item)?;
        let Some(mean) = mean_of(values.iter().copied()) else {
            // The state still holds the batch before, whose entry would be logged a second time.
            self.has_value = false;
            return Ok(SerializedEntry::not_available(None));
        };
        self.has_value = true;
        self.state.update(mean, values.len());
        Ok(self.state.compute_update(FormatOptions::new(self.name()).precision(4)))
    }

    fn compute(&mut self) -> Result<SerializedEntry, TensorReadError> {
        Ok(self.state.compute_final(FormatOptions::new(self.name()).precision(4)))
    }

    fn clear(&mut self) {
        self.state.reset();
        self.has_value = false;
        self.explained = false;
    }
}

impl Numeric for RankingMetric {
    fn value(&self) -> Option<NumericEntry> {
        self.has_value.then(|| self.state.current_value())
    }

    fn running_value(&self) -> Option<NumericEntry> {
        let running = self.state.running_value();
        matches!(running, NumericEntry::Aggregated { count: 1.., .. }).then_some(running)
    }

    fn final_value(&self) -> NumericEntry {
        self.state.final_value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::data::dataloader::Progress;

    fn metadata() -> MetricMetadata {
        MetricMetadata { progress: Progress::new(1, 1, None), iteration: Some(1), lr: None }
    }

    fn lists() -> RankingInput {
        let (scores, labels, mask) = super::super::tests::lists();
        RankingInput::Lists { scores, labels, mask }
    }

    /// Returns one list without a relevant document.
    fn nothing_to_find() -> RankingInput {
        let RankingInput::Lists { scores, labels, mask } = lists() else { unreachable!("lists are lists") };
        let third = |tensor: Tensor<2>| tensor.narrow(0, 2, 1);
        RankingInput::Lists { scores: third(scores), labels: third(labels), mask: mask.narrow(0, 2, 1) }
    }

    #[test]
    fn an_epoch_is_the_mean_over_the_queries_that_count() {
        for (mut metric, first) in [
            (RankingMetric::map(), 0.5),
            (RankingMetric::mrr(), 0.5),
            (RankingMetric::ndcg(Some(10)), 1.0 / 3f64.log2()),
        ] {
            metric.update(&lists(), &metadata()).unwrap();
            assert!((metric.value().unwrap().current() - (first + 1.0) / 2.0).abs() < 1e-9);
            metric.update(&RankingInput::Values(vec![0.0; 2]), &metadata()).unwrap();
            metric.compute().unwrap();
            assert!((metric.final_value().current() - (first + 1.0) / 4.0).abs() < 1e-9);
            metric.clear();
            metric.update(&RankingInput::Values(vec![0.25]), &metadata()).unwrap();
            assert_eq!(metric.running_value().unwrap().current(), 0.25);
        }
    }

    #[test]
    fn a_batch_in_which_no_query_counts_does_not_repeat_the_line_before() {
        let mut metric = RankingMetric::map();
        let entry = metric.update(&nothing_to_find(), &metadata()).unwrap();
        assert!(entry.is_not_available(), "{}", entry.serialized);
        assert!(metric.value().is_none() && metric.running_value().is_none());
        let entry = metric.update(&lists(), &metadata()).unwrap();
        assert_eq!(entry.serialized, "0.75,2");
        let entry = metric.update(&nothing_to_find(), &metadata()).unwrap();
        assert!(entry.is_not_available(), "{}", entry.serialized);
        assert!(metric.value().is_none());
        assert_eq!(metric.running_value().unwrap().current(), 0.75);
        assert_eq!(metric.compute().unwrap().serialized, "0.75,final");
        assert_eq!(metric.final_value().current(), 0.75);
    }

    #[test]
    fn a_batch_that_cannot_be_measured_is_nan() {
        let RankingInput::Lists { scores, labels, mask } = lists() else { unreachable!("lists are lists") };
        let narrow = RankingInput::Lists { scores: scores.clone(), labels: labels.clone().narrow(0, 0, 1), mask };
        let padded = RankingInput::Lists { mask: labels.clone().greater_equal_elem(0.0), scores, labels };
        for refused in [narrow, padded] {
            let mut metric = RankingMetric::map();
            metric.update(&lists(), &metadata()).unwrap();
            metric.update(&refused, &metadata()).unwrap();
            assert!(metric.value().unwrap().current().is_nan());
            assert!(metric.final_value().current().is_nan());
        }
    }

    /// Flat scores with query ids get the same values as lists, even if documents of all lists alternate.
    #[test]
    fn flat_scores_are_measured_by_their_query_ids() {
        let device = burn::tensor::Device::flex();
        let packed = |ids: &[i64]| RankingInput::Packed {
            scores: Tensor::from_floats([0.2, 3.0, 0.0, 0.1, 1.0, 1.0, 2.0, 2.0], &device),
            labels: Tensor::from_floats([0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0], &device),
            query_ids: Tensor::from_ints(ids, &device),
        };
        let mut padded = RankingMetric::map();
        padded.update(&lists(), &metadata()).unwrap();
        let mut metric = RankingMetric::map();
        metric.update(&packed(&[-5, 1 << 20, 9, -5, 1 << 20, 9, 1 << 20, 9]), &metadata()).unwrap();
        assert_eq!(metric.value().unwrap().current(), padded.value().unwrap().current());
        metric.update(&packed(&[0, 1]), &metadata()).unwrap();
        assert!(metric.value().unwrap().current().is_nan());
    }

    #[test]
    fn names_say_measure_and_convention() {
        assert_eq!(*RankingMetric::ndcg(Some(10)).name(), "ndcg@10 (standard)");
        let MetricAttributes::Numeric(attributes) = RankingMetric::map().attributes() else { panic!("not numeric") };
        assert!(attributes.higher_is_better);
    }
}
