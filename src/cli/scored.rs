//! Scores of LETOR documents, by a saved ranker or from a file.

use std::path::Path;

use burn::tensor::Device;

use super::{Failure, input};
use crate::data::RankingDataset;
use crate::measure::{Convention, Rankings, Ties};
use crate::ranker::Ranker;

/// The scores of a dataset.
pub struct Scored {
    /// One score a document.
    scores: Vec<f32>,
    /// Places in the order of a query, for scores that are equal as `f32` only.
    places: Option<Vec<f32>>,
    /// The convention that the ranker was selected in.
    pub convention: Option<Convention>,
}

impl Scored {
    /// By a saved ranker.
    pub fn by_ranker(path: &Path, data: &RankingDataset, device: &Device) -> Result<Self, Failure> {
        let ranker = input::ranker(path, device)?;
        warn_of_missing_features(path, &ranker, data);
        let scores = ranker.predict(data, device)?;
        Ok(Self { scores, places: None, convention: Some(ranker.metadata().convention.clone()) })
    }

    /// From a file of one score a line.
    pub fn from_file(path: &Path, data: &RankingDataset) -> Result<Self, Failure> {
        let written = input::scores(path, data.documents())?;
        // Finite scores stay finite.
        let narrow =
            |score: f64| if score.is_infinite() { score as f32 } else { (score as f32).clamp(f32::MIN, f32::MAX) };
        let scores: Vec<f32> = written.iter().map(|&score| narrow(score)).collect();
        let exact = written.iter().zip(&scores).all(|(&written, &score)| f64::from(score) == written);
        let places = (!exact).then(|| {
            let queries = data.offsets.windows(2).map(|range| &written[range[0]..range[1]]);
            queries.flat_map(places).collect()
        });
        Ok(Self { scores, places, convention: None })
    }

    /// One score a document, rounded as rankers give them.
    pub fn as_float32(&self) -> &[f32] {
        &self.scores
    }

    /// What measures are computed on. Scores that a file tells apart are not equal, except in a convention that
    /// compares them as `f32`.
    pub fn rankings<'a>(&'a self, data: &'a RankingDataset, convention: &Convention) -> Rankings<'a> {
        let places = self.places.as_ref().filter(|_| convention.ties != Ties::DocumentIdDescending);
        data.rankings(places.unwrap_or(&self.scores))
    }
}

/// Numbers in the same order that `f32` tells apart, equal where scores are; -inf, not retrieved, stays.
fn places(scores: &[f64]) -> Vec<f32> {
    let mut ascending: Vec<f64> = scores.to_vec();
    ascending.sort_by(f64::total_cmp);
    ascending.dedup();
    let place = |score: f64| ascending.partition_point(|other| *other < score) as f32;
    scores.iter().map(|&score| if score.is_infinite() { score as f32 } else { place(score) }).collect()
}

/// Says when the data have fewer features than the ranker: LETOR text leaves out what is 0, so that it may be right.
pub fn warn_of_missing_features(path: &Path, ranker: &Ranker, data: &RankingDataset) {
    let (found, expected) = (data.feature_count, ranker.model().features());
    if found < expected {
        eprintln!(
            "warning: the data have features 1 to {found}, {} has {expected}: the others are taken as 0",
            path.display()
        );
    }
}
