//! Weights of queries and documents in training.
//!
//! With weights of queries, the mean of a loss over the queries is `sum w l / sum w`. A query of weight 2 counts like
//! two copies of the query, and a query of weight 0 does not count. Equal weights for all queries have no effect.
//!
//! Losses that support weights of documents decide which quantity a weight multiplies
//! ([`About::document_weights`](crate::loss::About::document_weights)). Weights of documents are not rescaled: if the
//! loss is a sum over documents, doubling all weights doubles it.

use std::borrow::Cow;

use super::dataset::RankingDataset;
use super::error::DataError;
use super::positions::Positions;
use crate::refusal::Refusal;
use crate::text::counted;

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

    /// Returns the dataset without weights, teacher and positions, because measures and model selection do not use them.
    pub fn without_weights(self) -> Self {
        Self {
            query_weights: Vec::new(),
            document_weights: Vec::new(),
            teacher: Vec::new(),
            positions: Positions::default(),
            ..self
        }
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

    /// Sets the weight of each document in training. Weights that are all 1 are not stored.
    ///
    /// # Errors
    /// Returns [`DataError::Refused`] if the numbers of weights and documents differ, a weight is negative or not
    /// finite, or all weights are 0.
    pub fn with_document_weights(mut self, weights: Vec<f32>) -> Result<Self, DataError> {
        self.document_weights = given("document", weights, self.documents())?;
        Ok(self)
    }

    pub(super) fn check_document_weights(&self) -> Result<(), DataError> {
        check("document", &self.document_weights, self.documents())
    }
}

/// Checks `count` given weights. Each weight must be finite and at least 0, and at least one must be above 0. Weights
/// that are all 1 become an empty vector.
fn given(what: &str, mut weights: Vec<f32>, count: usize) -> Result<Vec<f32>, DataError> {
    check_all(what, &weights, count)?;
    if weights.iter().all(|&weight| weight == 1.0) {
        weights.clear();
    }
    Ok(weights)
}

/// Checks stored weights, which must be empty or pass the checks of [`given`].
fn check(what: &str, weights: &[f32], count: usize) -> Result<(), DataError> {
    if weights.is_empty() { Ok(()) } else { check_all(what, weights, count) }
}

fn check_all(what: &str, weights: &[f32], count: usize) -> Result<(), DataError> {
    let key = format!("{what}_weights");
    if weights.len() != count {
        let found = counted(weights.len(), "weight");
        return Err(Refusal::new(key, found, format!("{count}, one per {what}")).into());
    }
    if let Some(place) = weights.iter().position(|weight| !(*weight >= 0.0 && weight.is_finite())) {
        let at = format!("{key}[{place}]");
        return Err(Refusal::new(at, weights[place], "a finite number of at least 0").into());
    }
    if !weights.is_empty() && weights.iter().all(|&weight| weight == 0.0) {
        return Err(Refusal::new(key, "0 everywhere", format!("above 0 for some {what}")).into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    mod of_queries {
        use super::super::*;

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

    mod of_documents {
        use super::super::*;

        fn three() -> RankingDataset {
            RankingDataset::builder()
                .features(vec![1.0, 2.0, 3.0], 1)
                .labels(vec![0.0, 1.0, 1.0])
                .query_sizes(&[2, 1])
                .build()
                .unwrap()
        }

        fn weighted(weights: &[f32]) -> RankingDataset {
            three().with_document_weights(weights.to_vec()).unwrap()
        }

        #[test]
        fn weights_of_one_are_none() {
            assert_eq!(weighted(&[1.0; 3]), three());
            assert_eq!(weighted(&[1.0; 3]).data_hash(), three().data_hash());
            assert_ne!(weighted(&[1.0, 2.0, 1.0]).data_hash(), three().data_hash());
            let data = RankingDataset::builder()
                .features(vec![1.0, 2.0], 1)
                .labels(vec![0.0, 1.0])
                .query_sizes(&[1, 1])
                .build()
                .unwrap();
            let of_queries = data.clone().with_query_weights(vec![1.0, 2.0]).unwrap();
            let of_documents = data.with_document_weights(vec![1.0, 2.0]).unwrap();
            assert_ne!(of_queries.data_hash(), of_documents.data_hash());
        }

        #[test]
        fn weights_follow_their_documents() {
            let data = weighted(&[3.0, 0.0, 2.0]);
            assert_eq!(data.select(&[1, 0]).document_weights, [2.0, 3.0, 0.0]);
            let mut other = three();
            other.query_ids = vec!["a".into(), "b".into()];
            let joined = RankingDataset::concat(&[&other, &data]).unwrap();
            assert_eq!(joined.document_weights, [1.0, 1.0, 1.0, 3.0, 0.0, 2.0]);
            let joined = RankingDataset::concat(&[&data, &other]).unwrap();
            assert_eq!(joined.document_weights, [3.0, 0.0, 2.0, 1.0, 1.0, 1.0]);
            let both = data.with_query_weights(vec![0.0, 4.0]).unwrap();
            assert_eq!(both.weighted_for_training().unwrap().document_weights, [2.0]);
        }

        #[test]
        fn weights_that_cannot_be_are_refused() {
            let expected = "a finite number of at least 0";
            for (weights, message) in [
                (vec![1.0], "document_weights = 1 weight: expected 3, one per document".to_string()),
                (vec![1.0, -1.0, 1.0], format!("document_weights[1] = -1: expected {expected}")),
                (vec![1.0, 1.0, f32::NAN], format!("document_weights[2] = NaN: expected {expected}")),
                (vec![0.0; 3], "document_weights = 0 everywhere: expected above 0 for some document".to_string()),
            ] {
                assert_eq!(three().with_document_weights(weights).unwrap_err().to_string(), message);
            }
        }
    }
}
