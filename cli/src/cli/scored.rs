//! The scores of LETOR documents, either from a saved ranker or from a file.

use std::path::Path;

use burn::tensor::Device;
use burn_rank::data::RankingDataset;
use burn_rank::measure::{Convention, Rankings, Ties};
use burn_rank::ranker::Ranker;
use burn_rank::workbench::fewer_features;

use super::failure::Failure;
use super::progress::during;
use super::{input, terminal};

/// The scores of a dataset.
pub struct Scored {
    /// One score per document.
    scores: Vec<f32>,
    /// Numbers that replace the scores in rankings, if scores differ in the file but become equal when rounded to
    /// `f32`.
    places: Option<Vec<f32>>,
    /// The convention by which the ranker was selected.
    pub convention: Option<Convention>,
}

impl Scored {
    /// Scores the data with a ranker that was loaded from `path`.
    pub fn by_ranker(path: &Path, ranker: &Ranker, data: &RankingDataset, device: &Device) -> Result<Self, Failure> {
        if let Some(names) = &ranker.metadata().feature_names
            && ranker.metadata().config["import"].is_null()
            && let Some(at) = names.iter().zip(&data.feature_names).position(|(name, other)| name != other)
        {
            let (found, expected) = (&data.feature_names[at], &names[at]);
            let place = format!("feature {} of {}", at + 1, path.display());
            return Err(Failure::input(format!("{place}: found column `{found}` in the data, expected `{expected}`")));
        }
        warn_of_missing_features(path, ranker, data);
        let scores = during(&format!("scoring with {}", path.display()), || ranker.predict(data, device))?;
        Ok(Self { scores, places: None, convention: Some(ranker.metadata().convention.clone()) })
    }

    /// Reads the scores from a file with one score per line, in the order in which the documents were read.
    pub fn from_file(path: &Path, data: &RankingDataset) -> Result<Self, Failure> {
        let written = data.from_read_order(&input::scores(path, data.documents())?);
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

    /// Returns one score per document, rounded to `f32` like a ranker's scores.
    pub fn as_float32(&self) -> &[f32] {
        &self.scores
    }

    /// Returns the documents with their scores, from which measures are computed. Scores that differ in a file are not
    /// tied, except under a convention that compares them as `f32`.
    pub fn rankings<'a>(&'a self, data: &'a RankingDataset, convention: &Convention) -> Rankings<'a> {
        let places = self.places.as_ref().filter(|_| convention.ties != Ties::DocumentIdDescending);
        data.rankings(places.unwrap_or(&self.scores))
    }
}

/// Replaces scores with `f32` numbers in the same order; equal scores stay equal, and different scores stay different.
/// Infinite scores are kept, since -inf means that a document was not retrieved.
fn places(scores: &[f64]) -> Vec<f32> {
    let mut ascending: Vec<f64> = scores.to_vec();
    ascending.sort_by(f64::total_cmp);
    ascending.dedup();
    let place = |score: f64| ascending.partition_point(|other| *other < score) as f32;
    scores.iter().map(|&score| if score.is_infinite() { score as f32 } else { place(score) }).collect()
}

/// Warns if the data have fewer features than the ranker. Having fewer features is not an error, since LETOR text
/// leaves out features that are 0.
pub fn warn_of_missing_features(path: &Path, ranker: &Ranker, data: &RankingDataset) {
    let (found, expected) = (data.feature_count, ranker.features());
    if found < expected {
        let ranker = format!("{} has", path.display());
        terminal::say(format_args!("warning: {}", fewer_features("the data have", found, &ranker, expected, "0")));
    }
}
