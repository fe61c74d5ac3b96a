//! Computes the means of a surrogate and of the measure that it approximates. Both means are taken over the same
//! queries, so that learning curves can show both.

use crate::data::RankingDataset;
use crate::loss::{LossError, Orientation, RankingLoss, degenerate_queries};
use crate::measure::mean_of;

/// The name under which a round reports the mean of the surrogate over the training queries that contribute a gradient.
pub const SURROGATE: &str = "surrogate";

/// The name under which a round reports the mean of the selection measure over the same queries as for [`SURROGATE`].
pub const EXACT_LEARNABLE: &str = "exact_learnable";

/// Computes the means of a surrogate and of the selection measure over the training queries that contribute a gradient.
pub(crate) struct SurrogateValue {
    /// For each training query, whether it contributes a gradient.
    learnable: Vec<bool>,
    /// The weight of each training query; empty if all queries weigh the same.
    weights: Vec<f32>,
}

impl SurrogateValue {
    /// Returns `None` if the loss is not one minus a normalized measure, or if no query contributes a gradient. Also
    /// returns `None` if documents have weights, which measures do not read.
    ///
    /// # Errors
    /// [`LossError`] for labels that the loss does not accept.
    pub(crate) fn new(loss: &dyn RankingLoss, train: &RankingDataset) -> Result<Option<Self>, LossError> {
        let mut learnable = vec![true; train.queries()];
        for query in degenerate_queries(loss, &train.labels, &train.offsets)? {
            learnable[query] = false;
        }
        let comparable = loss.about().orientation == Orientation::NormalizedMeasure
            && learnable.contains(&true)
            && train.document_weights.is_empty();
        Ok(comparable.then(|| Self { learnable, weights: train.query_weights.clone() }))
    }

    /// Returns the mean of the surrogate, given the weighted sum of the losses of all queries. Queries that contribute
    /// no gradient are left out, since their loss of 0 does not indicate a perfect ranking.
    pub(crate) fn figure(&self, losses: f64) -> (String, f64) {
        let learnable = (0..self.learnable.len()).filter(|&query| self.learnable[query]);
        let total: f64 = learnable.map(|query| self.weight(query)).sum();
        (SURROGATE.to_string(), 1.0 - losses / total)
    }

    fn weight(&self, query: usize) -> f64 {
        self.weights.get(query).map_or(1.0, |&weight| f64::from(weight))
    }

    /// Returns the mean of the selection measure, given its value on each training query. Queries that contribute no
    /// gradient are left out. Returns `None` if the convention leaves out any of the remaining queries.
    pub(crate) fn exact_figure(&self, values: &[Option<f64>]) -> Option<(String, f64)> {
        let learnable: Vec<usize> = (0..values.len()).filter(|&query| self.learnable[query]).collect();
        let weighted: Option<Vec<f64>> =
            learnable.iter().map(|&query| Some(values[query]? * self.weight(query))).collect();
        let mean_weight = mean_of(learnable.iter().map(|&query| self.weight(query)))?;
        Some((EXACT_LEARNABLE.to_string(), mean_of(weighted?)? / mean_weight))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::testing::dataset;
    use crate::loss::LossSpec;

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
