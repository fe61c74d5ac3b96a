//! The scores of a teacher, from which a model may learn in addition to the labels, or in place of them.
//!
//! A document without a score holds NaN. Measures and the selection of the best round never read these scores.

use burn::tensor::TensorData;

use super::dataset::RankingDataset;
use super::error::DataError;
use super::padding::Padding;
use crate::refusal::Refusal;
use crate::text::counted;

impl RankingDataset {
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

    pub(super) fn check_teacher(&self) -> Result<(), DataError> {
        let (scores, documents) = (&self.teacher, self.documents());
        if scores.is_empty() {
            return Ok(());
        }
        if scores.len() != documents {
            let found = counted(scores.len(), "score");
            return Err(Refusal::new("teacher", found, format!("{documents}, one per document")).into());
        }
        if let Some(place) = scores.iter().position(|score| score.is_infinite()) {
            let expected = "a finite number, or NaN for a document without a score";
            return Err(Refusal::new(format!("teacher[{place}]"), scores[place], expected).into());
        }
        if scores.iter().all(|score| score.is_nan()) {
            return Err(Refusal::new("teacher", "no score", "a score for some document").into());
        }
        Ok(())
    }

    /// Gathers the teacher's scores into rows, with 0 for documents without a score, and whether each place has one.
    pub(crate) fn gather_teacher(&self, padding: &Padding) -> Option<[TensorData; 2]> {
        if self.teacher.is_empty() {
            return None;
        }
        let mut scores: Vec<f32> = padding.gather(&self.teacher).iter::<f32>().collect();
        let has: Vec<bool> = scores.iter().map(|score| !score.is_nan()).collect();
        scores.iter_mut().filter(|score| score.is_nan()).for_each(|score| *score = 0.0);
        Some([TensorData::new(scores, padding.shape()), TensorData::new(has, padding.shape())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
