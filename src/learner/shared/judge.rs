//! Computes a measure of the rankings that a learner's scores define, and the means of a surrogate and of the measure
//! that it approximates.

use super::context::Selection;
use crate::data::RankingDataset;
use crate::data::shards::own;
use crate::learner::error::Result;
use crate::loss::{LossError, Orientation, RankingLoss, idle_queries};
use crate::measure::{Evaluator, Measure, Rankings, mean, mean_of};

/// A measure and a convention that have been checked for compatibility.
pub(crate) struct Judge {
    pub(crate) measure: Measure,
    evaluator: Evaluator,
}

impl Judge {
    pub(crate) fn new(selection: &Selection) -> Result<Self> {
        let evaluator = Evaluator::new(&[selection.measure], &selection.convention)?;
        Ok(Self { measure: selection.measure, evaluator })
    }

    /// Returns the measure on each query, or `None` for a query that the convention leaves out. Scores are rounded to
    /// `f32` before they are compared, as in a saved model.
    pub(crate) fn values(&self, data: &RankingDataset, scores: &[f64]) -> Result<Vec<Option<f64>>> {
        let scores: Vec<f32> = scores.iter().map(|&score| score as f32).collect();
        Ok(self.evaluator.first_measure(&data.rankings(&scores))?)
    }

    /// Does the same as [`values`](Self::values), but divides the queries among the group of the data.
    pub(crate) fn shared_values(&self, data: &RankingDataset, scores: &[f64]) -> Result<Vec<Option<f64>>> {
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

    /// Returns the mean measure of the queries that the convention counts, or `None` if it counts none.
    pub(crate) fn mean(&self, data: &RankingDataset, scores: &[f64]) -> Result<Option<f64>> {
        Ok(mean(&self.values(data, scores)?))
    }
}

/// Returns the values of the queries that the convention counts.
pub(crate) fn counted(values: &[Option<f64>]) -> Vec<f64> {
    values.iter().copied().flatten().collect()
}

/// The name under which a round reports the mean of the surrogate over the training queries that contribute a gradient.
pub const SURROGATE: &str = "surrogate";

/// The name under which a round reports the mean of the selection measure over the same queries as for [`SURROGATE`].
pub const EXACT_LEARNABLE: &str = "exact_learnable";

/// Computes the means of a surrogate and of the selection measure over the training queries that contribute a gradient.
/// Other queries are left out, since their loss of 0 does not indicate a perfect ranking.
pub(crate) struct SurrogateValue {
    /// The training queries that contribute a gradient, with their weights.
    learnable: Vec<(usize, f64)>,
}

impl SurrogateValue {
    /// Returns `None` if the loss is not one minus a normalized measure, or if no query contributes a gradient. Also
    /// returns `None` if documents have weights, which measures do not read.
    ///
    /// # Errors
    /// [`LossError`] for labels that the loss does not accept.
    pub(crate) fn new(loss: &dyn RankingLoss, train: &RankingDataset) -> Result<Option<Self>, LossError> {
        let idle = idle_queries(loss, &train.labels, &train.teacher, &train.offsets)?;
        let weight = |query: usize| train.query_weights.get(query).map_or(1.0, |&weight| f64::from(weight));
        let learnable = (0..train.queries()).filter(|query| idle.binary_search(query).is_err());
        let learnable: Vec<(usize, f64)> = learnable.map(|query| (query, weight(query))).collect();
        let comparable = loss.about().orientation == Orientation::NormalizedMeasure
            && !learnable.is_empty()
            && train.document_weights.is_empty();
        Ok(comparable.then_some(Self { learnable }))
    }

    /// Returns the mean of the surrogate, given the weighted sum of the losses of all queries.
    pub(crate) fn figure(&self, losses: f64) -> (String, f64) {
        let total: f64 = self.learnable.iter().map(|(_, weight)| weight).sum();
        (SURROGATE.to_string(), 1.0 - losses / total)
    }

    /// Returns the mean of the selection measure, given its value on each training query. Returns `None` if the
    /// convention leaves out a query that contributes a gradient.
    pub(crate) fn exact_figure(&self, values: &[Option<f64>]) -> Option<(String, f64)> {
        let weighted = self.learnable.iter().map(|&(query, weight)| Some(values[query]? * weight));
        let weighted: Vec<f64> = weighted.collect::<Option<_>>()?;
        let mean_weight = mean_of(self.learnable.iter().map(|&(_, weight)| weight))?;
        Some((EXACT_LEARNABLE.to_string(), mean_of(weighted)? / mean_weight))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distributed::testing::in_processes;
    use crate::learner::testing::{context, dataset, random, shared};
    use crate::loss::LossSpec;

    #[test]
    fn processes_share_the_queries_and_find_the_same_error() {
        let mut data = random(7, 6, 2, 3);
        // A query that does not count.
        data.labels[6..12].fill(0.0);
        let mut context = context(None);
        context.selection.convention = crate::measure::Convention::default();
        let judge = Judge::new(&context.selection).unwrap();
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
        let judge = Judge::new(&context.selection).unwrap();
        let scores = [2.0, 1.0, 0.0];
        assert_eq!(counted(&judge.values(&data, &scores).unwrap()), [0.5, 0.0]);
        assert_eq!(judge.mean(&data, &scores).unwrap(), Some(0.25));
        context.selection.convention = crate::measure::Convention::default();
        let judge = Judge::new(&context.selection).unwrap();
        assert_eq!(counted(&judge.values(&data, &scores).unwrap()), [0.5]);
        assert_eq!(judge.mean(&data, &scores).unwrap(), Some(0.5));
        let empty = dataset(1, &[&[(0.0, &[0.0])]]);
        assert_eq!(judge.mean(&empty, &[1.0]).unwrap(), None);
    }

    #[test]
    fn queries_with_nothing_to_learn_do_not_raise_the_value() {
        let data = dataset(1, &[&[(0.0, &[0.0]), (1.0, &[1.0])], &[(1.0, &[0.0])], &[(0.0, &[0.0]), (2.0, &[1.0])]]);
        let value = |name: &str| SurrogateValue::new(&*LossSpec::new(name).build().unwrap(), &data).unwrap();
        let approx_ndcg = value("approx_ndcg").unwrap();
        assert_eq!(approx_ndcg.figure(0.5), ("surrogate".to_string(), 0.75));
        // A convention may count the second query as 1.
        let exact = approx_ndcg.exact_figure(&[Some(0.5), Some(1.0), Some(0.75)]);
        assert_eq!(exact, Some(("exact_learnable".to_string(), 0.625)));
        assert_eq!(approx_ndcg.exact_figure(&[Some(0.5), Some(1.0), None]), None);
        assert!(value("list_net").is_none());
    }

    #[test]
    fn both_means_are_weighted_alike() {
        let query: &[(f32, &[f32])] = &[(0.0, &[0.0]), (1.0, &[1.0])];
        let data = dataset(1, &[query, &[(1.0, &[0.0])], query]).with_query_weights(vec![3.0, 5.0, 1.0]).unwrap();
        let value = SurrogateValue::new(&*LossSpec::new("approx_ndcg").build().unwrap(), &data).unwrap().unwrap();
        // Losses 0.25 and 0.5: (3 x 0.25 + 0.5) / 4
        assert_eq!(value.figure(3.0 * 0.25 + 0.5), ("surrogate".to_string(), 0.6875));
        let exact = value.exact_figure(&[Some(0.75), None, Some(0.5)]);
        assert_eq!(exact, Some(("exact_learnable".to_string(), 0.6875)));
    }
}
