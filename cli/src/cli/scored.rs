//! Reads data for a ranker with the columns, features and missing values of its training data, and the scores of the
//! documents, from the ranker or from a file.

use burn_rank::data::Columns;
use burn_rank::data::letor::{Missing, ReadOptions};
use burn_rank::measure::{Rankings, Ties};
use burn_rank::workbench::{self, Like, absent_in_words, fewer_features};

use super::input::{ReadArgs, ScoringArgs};
use super::*;

/// A ranker, and the path by which messages name it.
pub type Loaded<'a> = (&'a Path, &'a Ranker);

/// How files are read. Two rankers with equal readings score the same data.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reading {
    options: ReadOptions,
    /// The columns that the ranker read in training; `None` without a ranker.
    columns: Option<Columns>,
    /// The names by which a table has the features. They are empty without a ranker, and if the ranker of another
    /// system knows only the order of its features.
    feature_names: Vec<String>,
    /// The number of features of the ranker.
    features: usize,
    is_imported: bool,
    ignores_labels: bool,
}

impl ReadArgs {
    /// Reads all files as one data set. If a ranker is given, the files are read as its training data were.
    pub fn read(&self, files: &[PathBuf], model: Option<Loaded>) -> Result<RankingDataset> {
        self.reading(model)?.read(files, model.map(|(path, _)| path), true)
    }

    /// Reads documents without the labels of tables, so a table may lack a label column.
    pub fn read_to_score(&self, files: &[PathBuf], model: Loaded) -> Result<RankingDataset> {
        Reading { ignores_labels: true, ..self.reading(Some(model))? }.read(files, Some(model.0), true)
    }

    /// Returns how files are read: by the options of the command, and otherwise as the training data of the ranker.
    pub fn reading(&self, model: Option<Loaded>) -> Result<Reading> {
        let Some((_, ranker)) = model else {
            return Ok(Reading { options: self.options(None)?, ..Reading::default() });
        };
        let config = &ranker.metadata().config;
        let is_imported = ranker.metadata().is_imported();
        let mut options = self.options(Some(config).filter(|_| !is_imported))?;
        if is_imported && ranker.takes_missing() && !self.keys()?.contains_key("missing") {
            options.missing = Missing::Keep;
        }
        // Readers keep missing values in both.
        if options.missing == Missing::Indicator {
            options.missing = Missing::Keep;
        }
        if !workbench::ignores_other_features(ranker) {
            options.features = options.features.or(Some(ranker.features()));
        }
        Ok(Reading {
            options,
            columns: Some(ranker.columns()),
            feature_names: workbench::names_in_tables(ranker),
            features: ranker.features(),
            is_imported,
            ignores_labels: false,
        })
    }
}

impl ScoringArgs {
    /// Reads data and their scores: from a file, or by the ranker that precedes the data. `usage` says what was
    /// expected if there are no data.
    pub fn scored(&self, scores: Option<&Path>, files: &[PathBuf], usage: &str) -> Result<(RankingDataset, Scored)> {
        match (scores, files) {
            (Some(scores), files) => {
                let data = self.reading.read(files, None)?;
                let scored = Scored::from_file(scores, &data)?;
                Ok((data, scored))
            }
            (None, [model, files @ ..]) if !files.is_empty() => {
                let device = self.device()?;
                let ranker = input::ranker(model, &device)?;
                let data = self.reading.read(files, Some((model, &ranker)))?;
                let scored = Scored::by_ranker(model, &ranker, &data, &device)?;
                Ok((data, scored))
            }
            _ => bail!("{usage}"),
        }
    }
}

impl Reading {
    /// Reads all files as one data set, for the ranker at `model`. If `tells_moves` is true, says how many rows were
    /// moved next to the other rows of their query.
    pub fn read(&self, files: &[PathBuf], model: Option<&Path>, tells_moves: bool) -> Result<RankingDataset> {
        let like = Like {
            features_from: self.columns.is_some().then_some(", as the ranker has"),
            feature_names: &self.feature_names,
            ranker: self.columns.clone(),
            least_features: self.features,
            has_changed_names: self.is_imported,
            ignores_labels: self.ignores_labels,
            ..Like::default()
        };
        let read = input::read_with(files, &self.options, &like, tells_moves)?;
        let taken_as = absent_in_words(&self.options);
        for file in read.widths.iter().filter(|file| file.features < self.features) {
            let (file, found) = (format!("{} has", file.path.display()), file.features);
            let ranker = format!("{} has", model.unwrap_or(Path::new("the ranker")).display());
            let warning = fewer_features(&file, found, &ranker, self.features, taken_as);
            terminal::say(format_args!("warning: {warning}"));
        }
        Ok(read.data)
    }

    /// Returns whether data that were read in this way are the same if they are read in the other way.
    pub fn is_as(&self, other: &Reading) -> bool {
        let mut other = Reading { is_imported: self.is_imported, ..other.clone() };
        let marks = |options: &ReadOptions| (options.absent, options.missing_value);
        if self.options.missing == Missing::Error && marks(&self.options) == marks(&other.options) {
            // There are no missing values.
            other.options.missing = Missing::Error;
        }
        *self == other
    }

    /// Completes the reading of a ranker of another system, which does not know the columns of labels and queries, and
    /// may know only the order of its features. `other` is a ranker that knows them.
    pub fn completed_by(mut self, other: &Reading) -> Reading {
        if self.is_imported {
            self.columns.clone_from(&other.columns);
            self.columns.iter_mut().for_each(|columns| columns.drop.clear());
            if self.feature_names.is_empty() && self.features == other.feature_names.len() {
                self.feature_names.clone_from(&other.feature_names);
            }
        }
        self
    }
}

/// The scores of a dataset.
pub struct Scored {
    /// One score per document, rounded to `f32` like a ranker's scores.
    pub scores: Vec<f32>,
    /// Numbers that replace the scores in rankings, if scores differ in the file but become equal when rounded to
    /// `f32`.
    places: Option<Vec<f32>>,
    /// The convention by which the ranker was selected.
    pub convention: Option<Convention>,
}

impl Scored {
    /// Scores data that were read for a ranker, which was loaded from `path`.
    pub fn by_ranker(path: &Path, ranker: &Ranker, data: &RankingDataset, device: &Device) -> Result<Self> {
        let scores = during(&format!("scoring with {}", path.display()), || ranker.predict(data, device))?;
        Ok(Self { scores, places: None, convention: Some(ranker.metadata().convention.clone()) })
    }

    /// Reads the scores from a file with one score per line, in the order in which the documents were read.
    pub fn from_file(path: &Path, data: &RankingDataset) -> Result<Self> {
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

    /// Returns the documents with their scores, from which measures are computed. Scores that differ in a file are not
    /// tied, except under a convention that compares them as `f32`.
    pub fn rankings<'a>(&'a self, data: &'a RankingDataset, convention: &Convention) -> Rankings<'a> {
        data.rankings(self.order(convention))
    }

    /// Returns the numbers by which the documents are ranked.
    pub fn order(&self, convention: &Convention) -> &[f32] {
        let places = self.places.as_ref().filter(|_| convention.ties != Ties::DocumentIdDescending);
        places.unwrap_or(&self.scores)
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
    pub fn read(args: &input::ReadArgs, files: &[PathBuf], model: Option<Loaded>) -> Result<Self> {
        let path = model.map(|(path, _)| path);
        let reading = args.reading(model)?;
        let data = reading.read(files, path, true)?;
        Ok(Self { files: files.to_vec(), reading, model: path.unwrap_or(Path::new("")).to_path_buf(), data })
    }

    /// Scores the documents with a ranker. If its training data had other columns or another treatment of missing
    /// values, the files are read again in this way.
    pub fn scored(&self, args: &input::ReadArgs, model: Loaded, device: &Device) -> Result<Scored> {
        let (path, ranker) = model;
        let reading = args.reading(Some(model))?.completed_by(&self.reading);
        if self.reading.is_as(&reading) {
            return Scored::by_ranker(path, ranker, &self.data, device);
        }
        let both = || format!("{} and {}", self.model.display(), path.display());
        if let Some(stream) = self.files.iter().find(|file| !file.is_file()) {
            let why = format!("{} were trained on different columns or treat missing values differently", both());
            bail!("{}: expected a file, since it is read twice: {why}", stream.display());
        }
        let own = reading.read(&self.files, Some(path), false)?;
        let (what, key) = if self.data.query_ids != own.query_ids || self.data.offsets != own.offsets {
            ("queries", "query")
        } else if self.data.labels != own.labels {
            ("labels", "label")
        } else {
            return Scored::by_ranker(path, ranker, &own, device);
        };
        let way = format!("expected the same: name the column with --read columns.{key}=NAME");
        bail!("{} were trained on different {what} of these data: {way}", both())
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
