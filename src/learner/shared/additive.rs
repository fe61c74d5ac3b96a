//! Keeps the scores of a sum of models, to which a learner adds one model after another.

use super::context::Job;
use super::rounds::Set;
use crate::data::RankingDataset;

/// The scores of a sum of models on the training data and, if there are any, on the validation data.
pub(crate) struct Additive<'a>(pub(crate) Vec<(Set, &'a RankingDataset, Vec<f64>)>);

impl<'a> Additive<'a> {
    /// Starts with no models, so that every score is 0.
    pub(crate) fn new(job: Job<'a>) -> Self {
        let sets = [Set::Training, Set::Validation].into_iter().zip(job.sets());
        Self(sets.map(|(set, (_, data))| (set, data, vec![0.0; data.documents()])).collect())
    }

    /// Returns the current score of every training or validation document.
    pub(crate) fn on(&self, set: Set) -> &[f64] {
        self.0.iter().find(|(own, ..)| *own == set).map_or(&[], |(_, _, scores)| scores)
    }
}
