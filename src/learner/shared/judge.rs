//! Computes a measure of the rankings that a learner's scores define.

use super::context::{FitContext, Selection};
use crate::data::RankingDataset;
use crate::data::shards::own;
use crate::learner::error::LearnerError;
use crate::measure::{Evaluator, Measure, Rankings, mean};

/// A measure and a convention that have been checked for compatibility.
pub(crate) struct Judge {
    measure: Measure,
    evaluator: Evaluator,
}

impl Judge {
    pub(crate) fn new(selection: &Selection) -> Result<Self, LearnerError> {
        let evaluator = Evaluator::new(&[selection.measure], &selection.convention)?;
        Ok(Self { measure: selection.measure, evaluator })
    }

    /// Creates a judge that computes the selection measure.
    pub(crate) fn from_context(context: &FitContext) -> Result<Self, LearnerError> {
        Self::new(&context.selection)
    }

    /// Returns the measure.
    pub(crate) fn measure(&self) -> Measure {
        self.measure
    }

    /// Returns the measure on each query, or `None` for a query that the convention leaves out. Scores are rounded to
    /// `f32` before they are compared, as in a saved model.
    pub(crate) fn values(&self, data: &RankingDataset, scores: &[f64]) -> Result<Vec<Option<f64>>, LearnerError> {
        let scores: Vec<f32> = scores.iter().map(|&score| score as f32).collect();
        self.values_of_model(data, &scores)
    }

    /// Does the same as [`values`](Self::values), but divides the queries among the group of the data.
    pub(crate) fn shared_values(
        &self,
        data: &RankingDataset,
        scores: &[f64],
    ) -> Result<Vec<Option<f64>>, LearnerError> {
        let group = data.group();
        if group.count() == 1 {
            return self.values(data, scores);
        }
        let queries = own(data.queries(), group);
        let documents = data.offsets[queries.start]..data.offsets[queries.end];
        let scores_of_own: Vec<f32> = scores[documents.clone()].iter().map(|&score| score as f32).collect();
        let offsets: Vec<usize> =
            data.offsets[queries.start..=queries.end].iter().map(|offset| offset - documents.start).collect();
        let rankings = Rankings {
            scores: &scores_of_own,
            labels: &data.labels[documents.clone()],
            offsets: &offsets,
            document_ids: data.document_ids.get(documents).unwrap_or_default(),
        };
        let own = self.evaluator.first_measure(&rankings);
        if group.any(own.is_err()) {
            // The error names the query by its number in the data, and is the same in every process.
            return self.values(data, scores);
        }
        let numbers = |value: Option<f64>| [f64::from(u8::from(value.is_some())), value.unwrap_or_default()];
        let all = group.gather_numbers(own?.into_iter().flat_map(numbers).collect());
        Ok(all.as_chunks().0.iter().map(|&[counts, value]| (counts == 1.0).then_some(value)).collect())
    }

    /// Does the same as [`values`](Self::values) for scores that are already `f32`.
    pub(crate) fn values_of_model(
        &self,
        data: &RankingDataset,
        scores: &[f32],
    ) -> Result<Vec<Option<f64>>, LearnerError> {
        Ok(self.evaluator.first_measure(&data.rankings(scores))?)
    }

    /// Returns the mean measure of the queries that the convention counts, or `None` if it counts none.
    pub(crate) fn mean(&self, data: &RankingDataset, scores: &[f64]) -> Result<Option<f64>, LearnerError> {
        Ok(mean(&self.values(data, scores)?))
    }
}

/// Returns the values of the queries that the convention counts.
pub(crate) fn counted(values: &[Option<f64>]) -> Vec<f64> {
    values.iter().copied().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distributed::testing::in_processes;
    use crate::learner::testing::{context, dataset, random, shared};

    #[test]
    fn processes_share_the_queries_and_find_the_same_error() {
        let mut data = random(7, 6, 2, 3);
        // A query that does not count.
        data.labels[6..12].fill(0.0);
        let mut context = context(None);
        context.selection.convention = crate::measure::Convention::default();
        let judge = Judge::from_context(&context).unwrap();
        let mut scores: Vec<f64> = data.features.to_slice().iter().step_by(2).map(|&x| f64::from(x)).collect();
        let expected = judge.values(&data, &scores).unwrap();
        assert_eq!(expected.iter().position(Option::is_none), Some(1));
        let named = (0..data.documents()).map(|document| format!("d{document:02}")).collect();
        for data in [data.clone(), RankingDataset { document_ids: named, ..data.clone() }] {
            for count in 1..10 {
                let found = in_processes(count, |group| judge.shared_values(&shared(&data, group), &scores).unwrap());
                assert!(found.iter().all(|found| *found == expected), "{count} processes");
            }
        }
        scores[5 * 6 + 2] = f64::NAN;
        let found =
            in_processes(3, |group| judge.shared_values(&shared(&data, group), &scores).unwrap_err().to_string());
        assert!(found.iter().all(|found| found.contains("document 3 of query 6 has the score NaN")), "{found:?}");
    }

    #[test]
    fn values_follow_the_convention() {
        let data = dataset(1, &[&[(0.0, &[0.0]), (1.0, &[0.0])], &[(0.0, &[0.0])]]);
        let mut context = context(None);
        let judge = Judge::from_context(&context).unwrap();
        let scores = [2.0, 1.0, 0.0];
        assert_eq!(counted(&judge.values(&data, &scores).unwrap()), [0.5, 0.0]);
        assert_eq!(judge.mean(&data, &scores).unwrap(), Some(0.25));
        context.selection.convention = crate::measure::Convention::default();
        let judge = Judge::from_context(&context).unwrap();
        assert_eq!(counted(&judge.values(&data, &scores).unwrap()), [0.5]);
        assert_eq!(judge.mean(&data, &scores).unwrap(), Some(0.5));
        let empty = dataset(1, &[&[(0.0, &[0.0])]]);
        assert_eq!(judge.mean(&empty, &[1.0]).unwrap(), None);
    }
}
