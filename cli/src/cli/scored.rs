//! The scores of LETOR documents, either from a saved ranker or from a file.

use std::path::{Path, PathBuf};

use burn::tensor::Device;
use burn_rank::data::RankingDataset;
use burn_rank::measure::{Convention, Rankings, Ties};
use burn_rank::ranker::Ranker;

use super::reading::Reading;
use super::{Failure, Loaded, during, input};

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
    /// Scores data that were read for a ranker, which was loaded from `path`.
    pub fn by_ranker(path: &Path, ranker: &Ranker, data: &RankingDataset, device: &Device) -> Result<Self, Failure> {
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

/// Files that several systems score.
pub struct Common {
    files: Vec<PathBuf>,
    /// How the data are read, and the ranker for which they are read so.
    reading: Reading,
    model: PathBuf,
    pub data: RankingDataset,
}

impl Common {
    /// Reads the files for a ranker, or without one if only files of scores follow.
    pub fn read(args: &input::ReadArgs, files: &[PathBuf], model: Option<Loaded>) -> Result<Self, Failure> {
        let path = model.map(|(path, _)| path);
        let reading = args.reading(model)?;
        let data = reading.read(files, path)?;
        Ok(Self { files: files.to_vec(), reading, model: path.unwrap_or(Path::new("")).to_path_buf(), data })
    }

    /// Scores the documents with a ranker. If its training data had other columns or another treatment of missing
    /// values, the files are read again in this way.
    pub fn scored(&self, args: &input::ReadArgs, model: Loaded, device: &Device) -> Result<Scored, Failure> {
        let (path, ranker) = model;
        let reading = args.reading(Some(model))?.completed_by(&self.reading);
        if self.reading.is_as(&reading) {
            return Scored::by_ranker(path, ranker, &self.data, device);
        }
        let both = || format!("{} and {}", self.model.display(), path.display());
        if let Some(stream) = self.files.iter().find(|file| !file.is_file()) {
            let why = format!("{} were trained on other columns or treat missing values in another way", both());
            return Err(Failure::input(format!("{}: expected a file, to be read twice: {why}", stream.display())));
        }
        let own = reading.read_again(&self.files, path)?;
        let same = [
            (self.data.query_ids == own.query_ids && self.data.offsets == own.offsets, "queries", "query"),
            (self.data.labels == own.labels, "labels", "label"),
        ];
        if let Some((_, what, key)) = same.iter().find(|(is_same, ..)| !is_same) {
            let way = format!("expected the same: name the column by --read columns.{key}=NAME");
            return Err(Failure::input(format!("{} were trained on other {what} of these data, {way}", both())));
        }
        Scored::by_ranker(path, ranker, &own, device)
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
