//! A measure with its convention, applied to the scores a learner holds.

use super::context::{FitContext, Selection};
use crate::data::RankingDataset;
use crate::learner::error::LearnerError;
use crate::measure::{Evaluator, Measure, mean};

/// A measure with its convention, checked.
pub(crate) struct Judge {
    measure: Measure,
    evaluator: Evaluator,
}

impl Judge {
    pub(crate) fn new(selection: &Selection) -> Result<Self, LearnerError> {
        let evaluator = Evaluator::new(&[selection.measure], &selection.convention)?;
        Ok(Self { measure: selection.measure, evaluator })
    }

    /// The measure that selects among rounds.
    pub(crate) fn from_context(context: &FitContext) -> Result<Self, LearnerError> {
        Self::new(&context.selection)
    }

    /// The measure.
    pub(crate) fn measure(&self) -> Measure {
        self.measure
    }

    /// The value of each query; `None` where the convention leaves the query out. Scores are compared as `f32`, the
    /// type in which a model gives them.
    pub(crate) fn values(&self, data: &RankingDataset, scores: &[f64]) -> Result<Vec<Option<f64>>, LearnerError> {
        let scores: Vec<f32> = scores.iter().map(|&score| score as f32).collect();
        self.values_of_model(data, &scores)
    }

    /// [`values`](Self::values) of the scores of a model.
    pub(crate) fn values_of_model(
        &self,
        data: &RankingDataset,
        scores: &[f32],
    ) -> Result<Vec<Option<f64>>, LearnerError> {
        Ok(self.evaluator.first_measure(&data.rankings(scores))?)
    }

    /// The value of each query that counts, in order.
    pub(crate) fn counted(&self, data: &RankingDataset, scores: &[f64]) -> Result<Vec<f64>, LearnerError> {
        Ok(counted(&self.values(data, scores)?))
    }

    /// The mean over the queries that count; `None` when none does.
    pub(crate) fn mean(&self, data: &RankingDataset, scores: &[f64]) -> Result<Option<f64>, LearnerError> {
        Ok(mean(&self.values(data, scores)?))
    }
}

/// The values of the queries that count.
pub(crate) fn counted(values: &[Option<f64>]) -> Vec<f64> {
    values.iter().copied().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::testing::{context, dataset};

    #[test]
    fn values_follow_the_convention() {
        let data = dataset(1, &[&[(0.0, &[0.0]), (1.0, &[0.0])], &[(0.0, &[0.0])]]);
        let mut context = context(None);
        let judge = Judge::from_context(&context).unwrap();
        let scores = [2.0, 1.0, 0.0];
        assert_eq!(judge.counted(&data, &scores).unwrap(), [0.5, 0.0]);
        assert_eq!(judge.mean(&data, &scores).unwrap(), Some(0.25));
        context.selection.convention = crate::measure::Convention::default();
        let judge = Judge::from_context(&context).unwrap();
        assert_eq!(judge.counted(&data, &scores).unwrap(), [0.5]);
        assert_eq!(judge.mean(&data, &scores).unwrap(), Some(0.5));
        let empty = dataset(1, &[&[(0.0, &[0.0])]]);
        assert_eq!(judge.mean(&empty, &[1.0]).unwrap(), None);
    }
}
