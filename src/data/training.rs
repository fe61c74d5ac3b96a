//! The parts of a dataset that only training reads: weights of queries and documents, a teacher's scores, and
//! positions.
//!
//! With weights of queries, the mean of a loss over the queries is `sum w l / sum w`. A query of weight 2 counts like
//! two copies of the query, and a query of weight 0 does not count. Equal weights for all queries have no effect.
//!
//! Losses that support weights of documents decide which quantity a weight multiplies
//! ([`About::document_weights`](crate::loss::About::document_weights)). Weights of documents are not rescaled: if the
//! loss is a sum over documents, doubling all weights doubles it.
//!
//! From the scores of a teacher, a model may learn in addition to the labels, or in place of them. A document without a
//! score holds NaN. Measures and the selection of the best round never read these scores.

use std::borrow::Cow;

use burn::tensor::TensorData;

use super::dataset::RankingDataset;
use super::error::{DataError, check_count};
use super::padding::Padding;
use super::positions::Positions;
use crate::refusal::Refusal;

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

    /// Sets the weight of each document in training. Weights that are all 1 are not stored.
    ///
    /// # Errors
    /// Returns [`DataError::Refused`] if the numbers of weights and documents differ, a weight is negative or not
    /// finite, or all weights are 0.
    pub fn with_document_weights(mut self, weights: Vec<f32>) -> Result<Self, DataError> {
        self.document_weights = given("document", weights, self.documents())?;
        Ok(self)
    }

    /// Returns the dataset without weights, teacher and positions, because measures and model selection do not use
    /// them.
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
        check_weights("query", &self.query_weights, self.queries())?;
        let present: Vec<usize> = (0..self.queries()).filter(|&query| self.query_weights[query] > 0.0).collect();
        let mut data = if present.len() == self.queries() { self.clone() } else { self.select(&present) };
        let sum: f64 = data.query_weights.iter().copied().map(f64::from).sum();
        let mean = sum / present.len() as f64;
        let weights = data.query_weights.iter().map(|&weight| (f64::from(weight) / mean) as f32).collect();
        data.query_weights.clear();
        data.with_query_weights(weights).map(Cow::Owned)
    }

    /// Checks the weights, the teacher's scores and the positions.
    pub(super) fn check_training(&self) -> Result<(), Refusal> {
        check_weights("query", &self.query_weights, self.queries())?;
        check_weights("document", &self.document_weights, self.documents())?;
        self.check_teacher()?;
        self.check_positions()
    }

    /// Sets the score that a teacher gives each document, with NaN for a document that it has not scored. A loss that
    /// reads a teacher ([`About::reads_teacher`](crate::loss::About::reads_teacher)) learns from these scores. An empty
    /// vector removes the teacher.
    ///
    /// # Errors
    /// Returns [`DataError::Refused`] if the numbers of scores and documents differ, if a score is infinite, or if no
    /// document has a score.
    pub fn with_teacher(mut self, scores: Vec<f32>) -> Result<Self, DataError> {
        self.teacher = scores;
        self.check_teacher()?;
        Ok(self)
    }

    fn check_teacher(&self) -> Result<(), Refusal> {
        let scores = &self.teacher;
        if scores.is_empty() {
            return Ok(());
        }
        check_count("teacher", (scores.len(), "score"), (self.documents(), "document"))?;
        if let Some(place) = scores.iter().position(|score| score.is_infinite()) {
            let expected = "a finite number, or NaN for a document without a score";
            return Err(Refusal::new(format!("teacher[{place}]"), scores[place], expected));
        }
        if scores.iter().all(|score| score.is_nan()) {
            return Err(Refusal::new("teacher", "no score", "a score for some document"));
        }
        Ok(())
    }

    /// Gathers the teacher's scores into rows, with 0 for documents without a score, and whether each place has one.
    pub(crate) fn gather_teacher(&self, padding: &Padding) -> Option<[TensorData; 2]> {
        if self.teacher.is_empty() {
            return None;
        }
        let (scores, has) = scores_or_zero(padding.gather(&self.teacher).iter::<f32>());
        Some([TensorData::new(scores, padding.shape()), TensorData::new(has, padding.shape())])
    }

    /// Sets the position at which each document was shown; [`Positions::default`] removes them.
    ///
    /// # Errors
    /// Returns [`DataError::Refused`] if the numbers of positions and documents differ.
    pub fn with_positions(mut self, positions: Positions) -> Result<Self, DataError> {
        self.positions = positions;
        self.check_positions()?;
        Ok(self)
    }

    fn check_positions(&self) -> Result<(), Refusal> {
        if self.positions.is_empty() {
            return Ok(());
        }
        check_count("positions", (self.positions.of.len(), "position"), (self.documents(), "document, or none"))
    }

    /// Gathers positions into rows, with 0 for padding.
    pub(crate) fn gather_positions(&self, padding: &Padding) -> Option<TensorData> {
        (!self.positions.is_empty()).then(|| padding.gather(&self.positions.of).convert::<i64>())
    }
}

/// Returns a teacher's scores, with 0 for each missing score, and whether each score is present.
pub(super) fn scores_or_zero(scores: impl Iterator<Item = f32>) -> (Vec<f32>, Vec<bool>) {
    scores.map(|score| if score.is_nan() { (0.0, false) } else { (score, true) }).unzip()
}

/// Checks given weights. Weights that are all 1 become an empty vector.
fn given(what: &str, mut weights: Vec<f32>, count: usize) -> Result<Vec<f32>, Refusal> {
    check_count(&format!("{what}_weights"), (weights.len(), "weight"), (count, what))?;
    check_weights(what, &weights, count)?;
    if weights.iter().all(|&weight| weight == 1.0) {
        weights.clear();
    }
    Ok(weights)
}

/// Checks `count` weights, or none. Each weight must be finite and at least 0, and at least one must be above 0.
fn check_weights(what: &str, weights: &[f32], count: usize) -> Result<(), Refusal> {
    if weights.is_empty() {
        return Ok(());
    }
    let key = format!("{what}_weights");
    check_count(&key, (weights.len(), "weight"), (count, what))?;
    if let Some(place) = weights.iter().position(|weight| !(*weight >= 0.0 && weight.is_finite())) {
        let at = format!("{key}[{place}]");
        return Err(Refusal::new(at, weights[place], "a finite number of at least 0"));
    }
    if weights.iter().all(|&weight| weight == 0.0) {
        return Err(Refusal::new(key, "0 everywhere", format!("above 0 for some {what}")));
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

    mod of_teachers {
        use super::super::*;

        fn three() -> RankingDataset {
            let data = RankingDataset::builder().features(vec![1.0, 2.0, 3.0], 1).labels(vec![0.0, 1.0, 2.0]);
            data.query_sizes(&[2, 1]).build().unwrap()
        }

        #[test]
        fn scores_follow_their_queries() {
            let data = three().with_teacher(vec![0.5, f32::NAN, -2.0]).unwrap();
            let turned = data.select(&[1, 0]);
            assert_eq!((turned.teacher[0], turned.teacher[1], turned.teacher[2].is_nan()), (-2.0, 0.5, true));
            assert_ne!(data.data_hash(), three().data_hash());
            let padding = Padding::from_queries(&data, &[0, 1]);
            let [scores, has] = data.gather_teacher(&padding).unwrap();
            assert_eq!(scores.iter::<f32>().collect::<Vec<_>>(), [0.5, 0.0, -2.0, 0.0]);
            assert_eq!(has.iter::<bool>().collect::<Vec<_>>()[..3], [true, false, true]);
            let mut other = three();
            other.query_ids = vec!["3".into(), "4".into()];
            let joined = RankingDataset::concat(&[&data, &other]).unwrap();
            assert_eq!(joined.teacher.iter().filter(|score| score.is_nan()).count(), 4);
            assert!(three().gather_teacher(&padding).is_none());
        }

        #[test]
        fn scores_that_cannot_be_are_refused() {
            for (scores, message) in [
                (vec![1.0], "teacher = 1 score: expected 3, one per document"),
                (
                    vec![1.0, f32::INFINITY, 0.0],
                    "teacher[1] = inf: expected a finite number, or NaN for a document without a score",
                ),
                (vec![f32::NAN; 3], "teacher = no score: expected a score for some document"),
            ] {
                assert_eq!(three().with_teacher(scores).unwrap_err().to_string(), message);
            }
            assert!(three().with_teacher(Vec::new()).is_ok());
        }
    }

    mod of_positions {
        use super::super::*;

        fn three() -> RankingDataset {
            let data = RankingDataset::builder().features(vec![1.0, 2.0, 1.0], 1).labels(vec![0.0, 1.0, 1.0]);
            data.query_sizes(&[2, 1]).build().unwrap()
        }

        #[test]
        fn positions_follow_their_documents() {
            let data = three().with_positions(Positions::new(["top", "2", "2"])).unwrap();
            assert_eq!(data.positions.counts(), [1, 2]);
            let turned = data.select(&[1, 0]);
            assert_eq!(turned.positions.of_each().collect::<Vec<_>>(), ["2", "top", "2"]);
            let padding = Padding::from_queries(&data, &[1, 0]);
            let gathered = data.gather_positions(&padding).unwrap();
            assert_eq!(gathered.iter::<i64>().collect::<Vec<_>>(), [1, 0, 0, 1]);
            let mut other = three().with_positions(Positions::new(["2", "3", "top"])).unwrap();
            other.query_ids = vec!["a".to_string(), "b".to_string()];
            let joined = RankingDataset::concat(&[&data, &other]).unwrap();
            assert_eq!(joined.positions.names(), ["top", "2", "3"]);
            assert_eq!(joined.positions.of_documents(), [0, 1, 1, 1, 2, 0]);
            joined.check().unwrap();
            other.positions = Positions::default();
            let message = RankingDataset::concat(&[&data, &other]).unwrap_err().to_string();
            assert_eq!(message, "dataset: positions of a part is none, expected positions in all parts, or in none");
        }

        #[test]
        fn positions_are_part_of_the_hash_and_of_training_alone() {
            let plain = three();
            let data = plain.clone().with_positions(Positions::new(["1", "2", "1"])).unwrap();
            assert_ne!(data.data_hash(), plain.data_hash());
            assert_ne!(
                data.data_hash(),
                plain.clone().with_positions(Positions::new(["1", "2", "2"])).unwrap().data_hash()
            );
            // Names that do not occur change nothing.
            assert_eq!(data.select(&[1]).data_hash(), {
                let one = plain.select(&[1]);
                one.with_positions(Positions::new(["1"])).unwrap().data_hash()
            });
            assert_eq!(data.without_weights(), plain);
            let message = plain.with_positions(Positions::new(["1"])).unwrap_err().to_string();
            assert_eq!(message, "positions = 1 position: expected 3, one per document, or none");
        }
    }
}
