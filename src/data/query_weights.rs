//! Weights of queries in training.
//!
//! With weights, the mean of a loss over the queries is `sum w l / sum w`. A query of weight 2 counts like two copies
//! of the query, and a query of weight 0 does not count. Equal weights for all queries have no effect.

use std::borrow::Cow;

use super::dataset::RankingDataset;
use super::error::DataError;
use super::weights::{check, given};

impl RankingDataset {
    /// Sets the weight of each query in training. Weights that are all 1 are not stored.
    ///
    /// # Errors
    /// Returns [`DataError::Refused`] if the numbers of weights and queries differ, a weight is negative or not finite,
    /// or all weights are 0.
    pub fn with_query_weights(mut self, weights: Vec<f32>) -> Result<Self, DataError> {
        self.query_weights = given("query", weights, self.queries())?;
        Ok(self)
    }

    /// Returns the dataset without weights, because measures and model selection do not use weights.
    pub fn without_weights(self) -> Self {
        Self { query_weights: Vec::new(), document_weights: Vec::new(), ..self }
    }

    /// Returns the dataset as learners use it, without queries of weight 0. The weights are scaled to a mean of 1, so
    /// they do not change the size of training steps. A dataset without weights is returned unchanged.
    ///
    /// # Errors
    /// Returns [`DataError::Refused`] if all weights are 0.
    pub fn weighted_for_training(&self) -> Result<Cow<'_, RankingDataset>, DataError> {
        if self.query_weights.is_empty() {
            return Ok(Cow::Borrowed(self));
        }
        self.check_query_weights()?;
        let present: Vec<usize> = (0..self.queries()).filter(|&query| self.query_weights[query] > 0.0).collect();
        let mut data = if present.len() == self.queries() { self.clone() } else { self.select(&present) };
        let sum: f64 = data.query_weights.iter().copied().map(f64::from).sum();
        let mean = sum / present.len() as f64;
        let weights = data.query_weights.iter().map(|&weight| (f64::from(weight) / mean) as f32).collect();
        data.query_weights.clear();
        data.with_query_weights(weights).map(Cow::Owned)
    }

    pub(super) fn check_query_weights(&self) -> Result<(), DataError> {
        check("query", &self.query_weights, self.queries())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> RankingDataset {
        let labels = vec![0.0, 1.0, 1.0, 0.0, 2.0, 0.0];
        RankingDataset::builder()
            .features(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 1)
            .labels(labels)
            .query_sizes(&[2, 2, 2])
            .build()
            .unwrap()
    }

    fn weighted(weights: &[f32]) -> RankingDataset {
        three().with_query_weights(weights.to_vec()).unwrap()
    }

    #[test]
    fn weights_of_one_are_none() {
        assert_eq!(weighted(&[1.0; 3]), three());
        assert_eq!(weighted(&[1.0; 3]).data_hash(), three().data_hash());
        assert_ne!(weighted(&[1.0, 2.0, 1.0]).data_hash(), three().data_hash());
    }

    #[test]
    fn learners_take_weights_of_mean_one_and_no_query_of_weight_zero() {
        assert!(matches!(three().weighted_for_training().unwrap(), Cow::Borrowed(_)));
        let taken = weighted(&[3.0, 0.0, 1.0]).weighted_for_training().unwrap().into_owned();
        assert_eq!((taken.query_weights, taken.query_ids), (vec![1.5, 0.5], vec!["1".to_string(), "3".into()]));
        assert_eq!(*weighted(&[0.1; 3]).weighted_for_training().unwrap(), three());
        assert_eq!(*weighted(&[5.0, 0.0, 5.0]).weighted_for_training().unwrap(), three().select(&[0, 2]));
    }

    #[test]
    fn what_learners_take_is_shared_as_the_dataset_is() {
        crate::distributed::testing::in_processes(2, |group| {
            for weights in [[3.0, 2.0, 1.0], [3.0, 0.0, 1.0]] {
                let mut data = weighted(&weights);
                assert_eq!(data.group().count(), 1);
                data.share_with(group);
                let taken = data.weighted_for_training().unwrap();
                assert_eq!((taken.group().count(), taken.group().rank()), (2, group.rank()));
            }
        });
    }

    #[test]
    fn weights_follow_their_queries() {
        let data = weighted(&[3.0, 0.0, 1.0]);
        assert_eq!(data.select(&[2, 0]).query_weights, [1.0, 3.0]);
        let mut other = three();
        other.query_ids = vec!["a".into(), "b".into(), "c".into()];
        let joined = RankingDataset::concat(&[&other, &data]).unwrap();
        assert_eq!(joined.query_weights, [1.0, 1.0, 1.0, 3.0, 0.0, 1.0]);
        assert_eq!(RankingDataset::concat(&[&data, &other]).unwrap().query_weights, [3.0, 0.0, 1.0, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn weights_that_cannot_be_are_refused() {
        for (weights, message) in [
            (vec![1.0], "query_weights = 1 weight: expected 3, one per query"),
            (vec![1.0, -1.0, 1.0], "query_weights[1] = -1: expected a finite number of at least 0"),
            (vec![1.0, 1.0, f32::NAN], "query_weights[2] = NaN: expected a finite number of at least 0"),
            (vec![0.0; 3], "query_weights = 0 everywhere: expected above 0 for some query"),
        ] {
            assert_eq!(three().with_query_weights(weights).unwrap_err().to_string(), message);
        }
    }
}
