//! Reads the test queries of every fold in a finished cross-validation. Also reads the scores of each fold's selected
//! fit.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use burn_rank::data::{DataError, RankingDataset};
use burn_rank::measure::{Convention, Evaluation, Evaluator, Measure, MeasureError, mean};
use burn_rank::ranker::{Ranker, RankerError};

use super::config::{ConfigError, Document, Experiment};
use super::cross_validation::{KEPT, RANKERS, SCORES, kept_file};
use super::folder::{CONFIG, REPORT};
use super::record::{CrossValidationReport, Report, over_seeds};
use super::split::Split;

/// A finished cross-validation that kept the scores or the rankers of its selected fits.
#[derive(Debug, Clone)]
pub struct KeptRun {
    /// The folder of the run.
    pub folder: PathBuf,
    /// The configuration of the run.
    pub config: Experiment,
    /// The report of the run.
    pub report: CrossValidationReport,
    /// The folds of the run, in the order of the report.
    pub folds: Vec<KeptFold>,
}

/// The test queries of one fold, with the scores of its selected fit.
#[derive(Debug, Clone)]
pub struct KeptFold {
    /// The test queries of the fold, before normalization.
    pub test: RankingDataset,
    /// The scores of the test documents, one list per seed.
    pub scores: Vec<Vec<f32>>,
}

/// The reasons why a finished cross-validation cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeptError {
    /// A file that cannot be read or is malformed.
    #[error("{path}: {found}")]
    File {
        /// The file.
        path: PathBuf,
        /// A description of what is wrong with the file.
        found: String,
    },
    /// Test queries that differ from those in the report of the run.
    #[error("{folder}: the test queries of fold {fold} are not those of the run; its data have changed or moved")]
    Data {
        /// The folder of the run.
        folder: PathBuf,
        /// The fold.
        fold: usize,
    },
    /// A fit for which neither the scores nor the ranker was kept.
    #[error(
        "{folder}: found neither scores nor a ranker of fold {fold}, seed {seed}; `cv --resume --keep scores` keeps them"
    )]
    Nothing {
        /// The folder of the run.
        folder: PathBuf,
        /// The fold.
        fold: usize,
        /// The seed.
        seed: u64,
    },
    /// A configuration that is not valid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Data that cannot be read.
    #[error(transparent)]
    Unreadable(#[from] DataError),
    /// A ranker that cannot be used.
    #[error(transparent)]
    Ranker(#[from] RankerError),
    /// A measure that cannot be computed.
    #[error(transparent)]
    Measure(#[from] MeasureError),
}

impl KeptRun {
    /// Returns whether the folder holds a report and kept files.
    pub fn is_in(folder: &Path) -> bool {
        folder.join(REPORT).is_file() && folder.join(KEPT).is_dir()
    }

    /// Reads a run and its data files, which must not have moved or changed. If the scores were not kept, they are
    /// computed from the kept rankers on the device.
    ///
    /// # Errors
    /// Returns a [`KeptError`] if files are absent or malformed, or if the data have changed.
    pub fn read(folder: &Path, device: &Device) -> Result<Self, KeptError> {
        let path = folder.join(REPORT);
        let refuse = |found: String| KeptError::File { path: path.clone(), found };
        let bytes = fs::read(&path).map_err(|error| refuse(error.to_string()))?;
        let report = match serde_json::from_slice(&bytes).map_err(|error| refuse(error.to_string()))? {
            Report::Cv(report) => report,
            Report::Train(_) => return Err(refuse("found the report of a `train` run, expected that of `cv`".into())),
        };
        let config = Experiment::from_document(&Document::read(&folder.join(CONFIG), &[])?)?;
        let splits = config.data.splits(&config.cv, config.seed)?;
        let mut folds = Vec::new();
        for (result, details) in report.result.folds.iter().zip(&report.details) {
            let changed = || KeptError::Data { folder: folder.to_path_buf(), fold: result.fold };
            let at = splits.folds().position(|fold| fold == result.fold).ok_or_else(changed)?;
            let test = splits.read(at, false)?.test.ok_or_else(changed)?;
            if details.data.test.as_ref().is_none_or(|data| data.hash != test.data_hash()) {
                return Err(changed());
            }
            let of_seed = |seed: &u64| scores(folder, result.fold, *seed, &test, device);
            let scores = report.result.seeds.iter().map(of_seed).collect::<Result<_, _>>()?;
            folds.push(KeptFold { test, scores });
        }
        Ok(Self { folder: folder.to_path_buf(), config, report, folds })
    }

    /// Reads the data of the first fold, without normalizing them.
    ///
    /// # Errors
    /// Returns a [`DataError`] if a file is invalid.
    pub fn first_split(&self) -> Result<Split, DataError> {
        self.config.data.splits(&self.config.cv, self.config.seed)?.read(0, false)
    }

    /// Computes measures on the test queries of all folds, averaged over seeds.
    ///
    /// # Errors
    /// Returns [`KeptError::Measure`] if a measure does not accept the labels.
    pub fn evaluate(&self, measures: &[Measure], convention: &Convention) -> Result<Evaluation, KeptError> {
        let evaluator = Evaluator::new(measures, convention)?;
        let mut per_query: Vec<Vec<Option<f64>>> = vec![Vec::new(); measures.len()];
        let (mut queries, mut empty_queries) = (0, 0);
        for fold in &self.folds {
            let test = &fold.test;
            let of_seed = |scores: &Vec<f32>| evaluator.evaluate(&test.rankings(scores));
            let of_seeds = fold.scores.iter().map(of_seed).collect::<Result<Vec<Evaluation>, _>>()?;
            for (m, values) in per_query.iter_mut().enumerate() {
                values.extend(over_seeds(of_seeds.iter().map(|of| &of.per_query[m])));
            }
            queries += test.queries();
            empty_queries += (0..test.queries()).filter(|&query| !test.has_relevant(query)).count();
        }
        let means = measures.iter().copied().zip(per_query.iter().map(|of| mean(of).unwrap_or(f64::NAN))).collect();
        Ok(Evaluation { convention: convention.clone(), queries, empty_queries, means, per_query })
    }
}

/// Reads the scores of one fit, or computes them with its ranker.
fn scores(
    folder: &Path,
    fold: usize,
    seed: u64,
    test: &RankingDataset,
    device: &Device,
) -> Result<Vec<f32>, KeptError> {
    let path = folder.join(kept_file(SCORES, fold, seed));
    let refuse = |found: String| KeptError::File { path: path.clone(), found };
    match fs::read_to_string(&path) {
        Ok(text) => {
            let number =
                |line: &str| line.parse::<f32>().map_err(|_| refuse(format!("found `{line}`, expected a score")));
            let scores = text.lines().map(number).collect::<Result<Vec<f32>, _>>()?;
            match scores.len() == test.documents() {
                true => Ok(scores),
                false => Err(refuse(format!("found {} scores, expected {}", scores.len(), test.documents()))),
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let ranker = folder.join(kept_file(RANKERS, fold, seed));
            match ranker.is_file() {
                true => Ok(Ranker::load(&ranker, device)?.predict(test, device)?),
                false => Err(KeptError::Nothing { folder: folder.to_path_buf(), fold, seed }),
            }
        }
        Err(error) => Err(refuse(error.to_string())),
    }
}
