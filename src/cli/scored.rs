//! Scores of LETOR documents, by a saved ranker or from a file.

use std::path::Path;

use burn::tensor::Device;

use super::{Failure, input};
use crate::data::Dataset;
use crate::measure::{Convention, Rankings};
use crate::ranker::Ranker;

/// The scores of a dataset.
pub struct Scored {
    /// One score a document.
    pub scores: Vec<f32>,
    /// The convention that the ranker was selected in.
    pub convention: Option<Convention>,
}

impl Scored {
    /// By a saved ranker.
    pub fn by_ranker(path: &Path, data: &Dataset, device: &Device) -> Result<Self, Failure> {
        let ranker = Ranker::load(path, device)?;
        warn_of_missing_features(path, &ranker, data);
        let scores = ranker.predict(data, device)?;
        Ok(Self { scores, convention: Some(ranker.metadata().convention.clone()) })
    }

    /// From a file of one score a line.
    pub fn from_file(path: &Path, data: &Dataset) -> Result<Self, Failure> {
        Ok(Self { scores: input::scores(path, data.documents())?, convention: None })
    }

    /// What measures are computed on.
    pub fn rankings<'a>(&'a self, data: &'a Dataset) -> Rankings<'a> {
        data.rankings(&self.scores)
    }
}

/// Says when the data have fewer features than the ranker: LETOR text leaves out what is 0, so that it may be right.
pub fn warn_of_missing_features(path: &Path, ranker: &Ranker, data: &Dataset) {
    let (found, expected) = (data.feature_count, ranker.model().features());
    if found < expected {
        eprintln!(
            "warning: the data have features 1 to {found}, {} has {expected}: the others are taken as 0",
            path.display()
        );
    }
}
