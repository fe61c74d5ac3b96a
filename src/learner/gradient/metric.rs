//! NDCG, MAP, MRR and every other measure as burn-train metrics.
//!
//! Any model whose output has an `Adaptor<RankingInput>` can log them:
//!
//! ```
//! use burn_rank::learner::gradient::{RankingInput, RankingMetric};
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

use std::sync::Arc;

use burn::tensor::{Bool, Tensor, TensorReadError};
use burn::train::metric::state::{FormatOptions, NumericMetricState};
use burn::train::metric::{
    Metric, MetricAttributes, MetricMetadata, Numeric, NumericAttributes, NumericEntry, SerializedEntry,
};

use crate::measure::{Convention, Evaluator, Measure, MeasureError, Rankings};

/// What a [`RankingMetric`] is computed from.
#[derive(Debug, Clone)]
// One value a batch: boxing the tensors would cost readers more than it saves.
#[allow(clippy::large_enum_variant)]
pub enum RankingInput {
    /// Scored lists, `[queries, documents]` each; `mask` is true for a document.
    Lists {
        /// Scores.
        scores: Tensor<2>,
        /// Labels.
        labels: Tensor<2>,
        /// True for a document, false for padding.
        mask: Tensor<2, Bool>,
    },
    /// Values of queries that were measured before.
    Values(Vec<f64>),
}

impl RankingInput {
    /// The same values, off the autodiff graph.
    pub(super) fn without_autodiff(self) -> Self {
        match self {
            Self::Lists { scores, labels, mask } => Self::Lists {
                scores: scores.without_autodiff(),
                labels: labels.without_autodiff(),
                mask: mask.without_autodiff(),
            },
            values => values,
        }
    }
}

/// A measure, averaged over the queries of an epoch, as a burn-train metric.
///
/// Queries that the convention leaves out do not count. Where it refuses a batch (a score that is NaN, a label that the
/// measure has no gain for) the value is NaN.
#[derive(Clone)]
pub struct RankingMetric {
    name: Arc<String>,
    evaluator: Evaluator,
    state: NumericMetricState,
}

impl RankingMetric {
    /// A measure in a convention.
    ///
    /// # Errors
    /// A convention that contradicts itself.
    pub fn new(measure: Measure, convention: &Convention) -> Result<Self, MeasureError> {
        let name = Arc::new(format!("{measure} ({})", convention.name));
        Ok(Self { name, evaluator: Evaluator::new(&[measure], convention)?, state: NumericMetricState::new() })
    }

    fn standard(measure: Measure) -> Self {
        Self::new(measure, &Convention::default()).expect("the default convention is valid")
    }

    /// NDCG over the first `k` documents, in the default convention.
    pub fn ndcg(k: Option<usize>) -> Self {
        Self::standard(Measure::Ndcg(k))
    }

    /// Mean average precision, in the default convention.
    pub fn map() -> Self {
        Self::standard(Measure::Ap(None))
    }

    /// Mean reciprocal rank of the first relevant document, in the default convention.
    pub fn mrr() -> Self {
        Self::standard(Measure::ReciprocalRank(None))
    }

    /// Values of the queries that count.
    fn values(&self, input: &RankingInput) -> Result<Vec<f64>, TensorReadError> {
        let (scores, labels, mask) = match input {
            RankingInput::Values(values) => return Ok(values.clone()),
            RankingInput::Lists { scores, labels, mask } => (scores, labels, mask),
        };
        let width = mask.dims()[1].max(1);
        let scores: Vec<f32> = scores.clone().try_into_data()?.iter::<f32>().collect();
        let labels: Vec<f32> = labels.clone().try_into_data()?.iter::<f32>().collect();
        let mask: Vec<bool> = mask.clone().try_into_data()?.iter::<bool>().collect();
        let documents =
            |values: &[f32]| values.iter().zip(&mask).filter(|(_, kept)| **kept).map(|(value, _)| *value).collect();
        let (scores, labels): (Vec<f32>, Vec<f32>) = (documents(&scores), documents(&labels));
        let mut offsets = vec![0];
        for list in mask.chunks(width) {
            offsets.push(offsets[offsets.len() - 1] + list.iter().filter(|kept| **kept).count());
        }
        let rankings = Rankings { scores: &scores, labels: &labels, offsets: &offsets, document_ids: &[] };
        Ok(match self.evaluator.first_measure(&rankings) {
            Ok(values) => values.into_iter().flatten().collect(),
            Err(_) => vec![f64::NAN],
        })
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
        if !values.is_empty() {
            self.state.update(values.iter().sum::<f64>() / values.len() as f64, values.len());
        }
        Ok(self.state.compute_update(FormatOptions::new(self.name()).precision(4)))
    }

    fn compute(&mut self) -> Result<SerializedEntry, TensorReadError> {
        Ok(self.state.compute_final(FormatOptions::new(self.name()).precision(4)))
    }

    fn clear(&mut self) {
        self.state.reset();
    }
}

impl Numeric for RankingMetric {
    fn value(&self) -> Option<NumericEntry> {
        Some(self.state.current_value())
    }

    fn running_value(&self) -> Option<NumericEntry> {
        Some(self.state.running_value())
    }

    fn final_value(&self) -> NumericEntry {
        self.state.final_value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::data::dataloader::Progress;
    use burn::tensor::Device;

    fn metadata() -> MetricMetadata {
        MetricMetadata { progress: Progress::new(1, 1, None), iteration: Some(1), lr: None }
    }

    /// Three queries: relevant document second of two, first of three, and none.
    fn lists() -> RankingInput {
        let device = Device::flex();
        RankingInput::Lists {
            scores: Tensor::from_data([[0.2, 0.1, f32::NAN], [3.0, 1.0, 2.0], [0.0, 1.0, 2.0]], &device),
            labels: Tensor::from_data([[0.0, 1.0, 9.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], &device),
            mask: Tensor::from_data([[true, true, false], [true, true, true], [true, true, true]], &device),
        }
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
    fn names_say_measure_and_convention() {
        assert_eq!(*RankingMetric::ndcg(Some(10)).name(), "ndcg@10 (standard)");
        let MetricAttributes::Numeric(attributes) = RankingMetric::map().attributes() else { panic!("not numeric") };
        assert!(attributes.higher_is_better);
    }
}
