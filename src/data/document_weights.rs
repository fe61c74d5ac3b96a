//! Weights of documents in training, for losses that support such weights.
//!
//! The loss decides which quantity a weight multiplies
//! ([`About::document_weights`](crate::loss::About::document_weights)). Weights are not rescaled: if the loss is a sum
//! over documents, doubling all weights doubles it.

use super::dataset::RankingDataset;
use super::error::DataError;
use super::weights::{check, given};

impl RankingDataset {
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

#[cfg(test)]
mod tests {
    use super::*;

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
