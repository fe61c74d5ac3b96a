//! A measure with its convention, applied to the scores a learner holds.

use super::{FitContext, LearnerError, Selection};
use crate::data::Dataset;
use crate::measure::{Evaluator, Measure, Rankings, mean};

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
    pub(crate) fn of_selection(context: &FitContext) -> Result<Self, LearnerError> {
        Self::new(&context.selection)
    }

    /// The measure.
    pub(crate) fn measure(&self) -> Measure {
        self.measure
    }

    /// The value of each query, in parallel; `None` where the convention leaves the query out. Scores are compared as
    /// `f32`, the type in which a model gives them.
    pub(crate) fn values(&self, data: &Dataset, scores: &[f64]) -> Result<Vec<Option<f64>>, LearnerError> {
        let scores: Vec<f32> = scores.iter().map(|&score| score as f32).collect();
        let Dataset { labels, offsets, document_ids, .. } = data;
        Ok(self.evaluator.first_measure(&Rankings { scores: &scores, labels, offsets, document_ids })?)
    }

    /// The values of the queries that count, in order.
    pub(crate) fn counted(&self, data: &Dataset, scores: &[f64]) -> Result<Vec<f64>, LearnerError> {
        Ok(self.values(data, scores)?.into_iter().flatten().collect())
    }

    /// The mean over the queries that count; 0 when none does.
    pub(crate) fn mean(&self, data: &Dataset, scores: &[f64]) -> Result<f64, LearnerError> {
        Ok(mean(&self.values(data, scores)?).unwrap_or(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::testing::{context, dataset};

    #[test]
    fn values_follow_the_convention() {
        let data = dataset(1, &[&[(0.0, &[0.0]), (1.0, &[0.0])], &[(0.0, &[0.0])]]);
        let mut context = context(None);
        let judge = Judge::of_selection(&context).unwrap();
        let scores = [2.0, 1.0, 0.0];
        assert_eq!(judge.values(&data, &scores).unwrap(), [Some(0.5), Some(0.0)]);
        assert_eq!(judge.mean(&data, &scores).unwrap(), 0.25);
        context.selection.convention = crate::measure::Convention::default();
        let judge = Judge::of_selection(&context).unwrap();
        assert_eq!(judge.values(&data, &scores).unwrap(), [Some(0.5), None]);
        assert_eq!((judge.counted(&data, &scores).unwrap(), judge.mean(&data, &scores).unwrap()), (vec![0.5], 0.5));
    }
}
