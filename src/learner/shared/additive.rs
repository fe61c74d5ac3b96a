//! Keeps the scores of a sum of models, to which a learner adds one model after another.

use super::context::Job;
use super::rounds::Set;
use crate::data::RankingDataset;
use crate::learner::error::LearnerError;

/// The scores of a sum of models on training and on validation data.
pub(crate) struct Additive<'a> {
    train: (&'a RankingDataset, Vec<f64>),
    validation: Option<(&'a RankingDataset, Vec<f64>)>,
}

impl<'a> Additive<'a> {
    /// Starts with no models, so that every score is 0.
    pub(crate) fn new(job: Job<'a>) -> Self {
        let zeros = |data: &'a RankingDataset| (data, vec![0.0; data.documents()]);
        Self { train: zeros(job.train), validation: job.validation.map(zeros) }
    }

    /// Sets the initial scores of each dataset to `scores(data)`.
    pub(crate) fn set(&mut self, scores: impl Fn(&RankingDataset) -> Vec<f64>) {
        self.train.1 = scores(self.train.0);
        if let Some((data, own)) = &mut self.validation {
            *own = scores(data);
        }
    }

    /// Adds a model to the sum: `add(data, scores)` must add the model's scores for the documents in `data` to
    /// `scores`.
    pub(crate) fn add(
        &mut self,
        add: impl Fn(&RankingDataset, &mut [f64]) -> Result<(), LearnerError>,
    ) -> Result<(), LearnerError> {
        self.add_to_train(&add)?;
        self.add_to_validation(add)
    }

    /// Adds a model as [`add`](Self::add) does, but only for the training data.
    pub(crate) fn add_to_train(
        &mut self,
        add: impl FnOnce(&RankingDataset, &mut [f64]) -> Result<(), LearnerError>,
    ) -> Result<(), LearnerError> {
        add(self.train.0, &mut self.train.1)
    }

    /// Adds a model as [`add`](Self::add) does, but only for the validation data. Does nothing if there are no
    /// validation data.
    pub(crate) fn add_to_validation(
        &mut self,
        add: impl FnOnce(&RankingDataset, &mut [f64]) -> Result<(), LearnerError>,
    ) -> Result<(), LearnerError> {
        self.validation.as_mut().map_or(Ok(()), |(data, scores)| add(data, scores))
    }

    /// Returns the current score of every training document.
    pub(crate) fn on_train(&self) -> &[f64] {
        &self.train.1
    }

    /// Returns the current score of every training or validation document.
    pub(crate) fn on(&self, set: Set) -> &[f64] {
        match set {
            Set::Training => &self.train.1,
            Set::Validation => self.validation.as_ref().map_or(&[], |(_, scores)| scores),
        }
    }
}
