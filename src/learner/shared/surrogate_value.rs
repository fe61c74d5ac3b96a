//! The value of a surrogate in the units of its measure, and the exact measure of the same queries: a learning curve
//! shows one beside the other.

use crate::data::RankingDataset;
use crate::loss::{LossError, Orientation, RankingLoss};
use crate::measure::mean_of;

/// Name of the surrogate's mean over the training queries with something to learn, among the figures of a round.
pub const SURROGATE: &str = "surrogate";

/// Name of the selection measure's mean over the same queries.
pub const EXACT_LEARNABLE: &str = "exact_learnable";

/// A surrogate and the selection measure over the training queries with something to learn.
pub(crate) struct SurrogateValue {
    /// Whether a training query has something to learn.
    learnable: Vec<bool>,
}

impl SurrogateValue {
    /// `None` for a loss that is not one minus a normalised measure, and for data with nothing to learn.
    ///
    /// # Errors
    /// Labels outside the domain of the loss.
    pub(crate) fn new(loss: &dyn RankingLoss, train: &RankingDataset) -> Result<Option<Self>, LossError> {
        let mut learnable = vec![true; train.queries()];
        for query in loss.degenerate_queries(&train.labels, &train.offsets)? {
            learnable[query] = false;
        }
        let comparable = loss.orientation() == Orientation::NormalizedMeasure && learnable.contains(&true);
        Ok(comparable.then_some(Self { learnable }))
    }

    /// The mean over the queries with something to learn, from the sum of the losses of all queries. The other queries
    /// have loss 0, which does not stand for a measure of 1.
    pub(crate) fn figure(&self, losses: f64) -> (String, f64) {
        let learnable = self.learnable.iter().filter(|learnable| **learnable).count();
        (SURROGATE.to_string(), 1.0 - losses / learnable as f64)
    }

    /// The mean of the selection measure over the same queries, from its value on each training query; `None` if the
    /// convention leaves one of them out.
    pub(crate) fn exact_figure(&self, values: &[Option<f64>]) -> Option<(String, f64)> {
        let of_learnable = values.iter().zip(&self.learnable).filter(|(_, learnable)| **learnable);
        let values: Option<Vec<f64>> = of_learnable.map(|(value, _)| *value).collect();
        Some((EXACT_LEARNABLE.to_string(), mean_of(values?)?))
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
}
