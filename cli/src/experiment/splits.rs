//! The splits of a cross-validation. Memory holds one copy of the data, plus another copy for each running fit.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use burn_rank::data::folds::Fold;
use burn_rank::data::{DataError, RankingDataset};
use burn_rank::refusal::Refusal;
use burn_rank::workbench::{self, Assembled};

use super::config::{CrossValidationConfig, DataConfig, FoldsConfig, SplitBy, SplitConfig, SyntheticConfig};
use super::record::{DataReport, Sets};
use super::split::{Split, discover};
use super::teacher::Rows;

/// The splits of a cross-validation, which are read when they are needed.
#[derive(Debug)]
pub struct Splits {
    source: Source,
    /// The numbers of the folds.
    numbers: Vec<usize>,
    contents: Vec<OnceLock<SplitContents>>,
    /// Warnings about the files read so far, each with the name of its fold.
    warnings: Mutex<Vec<(String, String)>>,
}

/// The facts about a split that are kept when its features are no longer in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitContents {
    /// The number of the fold, counted from 1.
    pub fold: usize,
    /// The statistics and the hashes of the split's sets.
    pub data: Sets<DataReport>,
    /// The names of the features; empty if they have none.
    pub feature_names: Vec<String>,
    /// The number of bytes of all features.
    pub bytes: usize,
    /// The identifiers of the test queries; empty without a test set.
    pub test_queries: Vec<String>,
}

/// Where the splits come from.
#[derive(Debug)]
enum Source {
    /// Each split has its own files.
    Files { data: Box<DataConfig>, folds: Vec<Fold>, last: Mutex<Option<(usize, Arc<Split>)>> },
    /// One dataset, whose queries are divided into folds.
    Queries { whole: Box<RankingDataset>, folds: Vec<Fold<usize>> },
    /// A single split with all data.
    One(Box<Split>),
}

impl DataConfig {
    /// Finds the splits of a cross-validation, without reading the files of folds.
    ///
    /// # Errors
    /// Returns a [`DataError`] if a folder or a dataset to divide cannot be read. Returns [`DataError::Refused`] if a
    /// fold does not exist, or if the data have neither folds nor a test set.
    pub fn splits(&self, cv: &CrossValidationConfig, seed: u64) -> Result<Splits, DataError> {
        let mut warnings = Vec::new();
        let (source, label) = match (&self.folds, &cv.split) {
            (Some(folder), _) => {
                let folds = asked(&cv.folds, discover(folder)?, |fold| fold.number)?;
                (Source::Files { data: Box::new(self.clone()), folds, last: Mutex::new(None) }, "")
            }
            (None, Some(FoldsConfig { folds, by })) => {
                let (whole, keys) = match by {
                    SplitBy::Query => (self.told_split(seed, &mut warnings)?.train, None),
                    by => {
                        let Assembled { data, keys, .. } = self.read_whole(by, &mut warnings)?;
                        (self.taught(data, &[], [&None; 2], &mut warnings)?, keys)
                    }
                };
                whole.check_values()?;
                let folds = workbench::folds::split_by(&whole, keys.as_ref(), *folds, seed);
                let folds = asked(&cv.folds, folds.map_err(|refusal| refusal.at("cv.split"))?, |fold| fold.number)?;
                (Source::Queries { whole: Box::new(whole), folds }, "all folds")
            }
            (None, None) => {
                self.check_test()?;
                let split = self.told_split(seed, &mut warnings)?;
                asked(&cv.folds, vec![split.fold], |fold| *fold)?;
                (Source::One(Box::new(split)), "fold 1")
            }
        };
        let warnings = warnings.into_iter().map(|warning| (label.to_string(), warning)).collect();
        Ok(Splits { warnings: Mutex::new(warnings), ..Splits::new(source) })
    }

    /// Rejects data that form a single split without a test set.
    fn check_test(&self) -> Result<(), Refusal> {
        let (key, found) = match (&self.synthetic, &self.split) {
            (Some(SyntheticConfig { test_queries: 0, .. }), _) => ("data.synthetic.test_queries", "0"),
            (None, Some(SplitConfig { shares: shares @ [.., 0.0], .. })) => {
                let expected = "a third share above 0, for test queries";
                return Err(Refusal::new("data.split.shares", format!("{shares:?}"), expected));
            }
            (None, None) if self.test.is_empty() => ("data.test", "nothing"),
            _ => return Ok(()),
        };
        let expected = "test queries: set cv.split to a number of folds, or give data.test or data.folds";
        Err(Refusal::new(key, found, expected))
    }
}

impl Splits {
    fn new(source: Source) -> Self {
        let numbers: Vec<usize> = match &source {
            Source::Files { folds, .. } => folds.iter().map(|fold| fold.number).collect(),
            Source::Queries { folds, .. } => folds.iter().map(|fold| fold.number).collect(),
            Source::One(split) => vec![split.fold],
        };
        let contents = numbers.iter().map(|_| OnceLock::new()).collect();
        Self { source, numbers, contents, warnings: Mutex::default() }
    }

    /// Reports the warnings about the files read so far, each with its fold.
    pub(super) fn tell(&self, mut listener: impl FnMut(&str, &str)) {
        let warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        warnings.iter().for_each(|(fold, warning)| listener(fold, warning));
    }

    /// Returns the rows of the data as given, to which the test queries of all splits belong. `data` is the section
    /// that was split.
    ///
    /// # Errors
    /// Returns a [`DataError`] if a file cannot be read, or if test queries of two folds have the same name.
    pub(super) fn rows(&self, data: &DataConfig) -> Result<Rows, DataError> {
        match (&self.source, &data.split) {
            (Source::Files { .. }, _) => data.rows_of_folds().map(Option::unwrap_or_default),
            (Source::Queries { whole, .. }, _) => Ok(Rows::of(whole)),
            // The sets of the split have lost the order of the file.
            (Source::One(_), Some(split)) => {
                data.read_whole(&split.by, &mut Vec::new()).map(|whole| Rows::of(&whole.data))
            }
            (Source::One(split), None) => Ok(split.test.as_ref().map(Rows::of).unwrap_or_default()),
        }
    }

    /// Returns the number of splits.
    pub fn count(&self) -> usize {
        self.contents.len()
    }

    /// Returns the numbers of the folds, counted from 1, in the order of the splits.
    pub fn folds(&self) -> impl Iterator<Item = usize> {
        self.numbers.iter().copied()
    }

    /// Returns the files of each split, or `None` if the splits do not have separate files.
    pub(super) fn files(&self) -> Option<&[Fold]> {
        match &self.source {
            Source::Files { folds, .. } => Some(folds),
            _ => None,
        }
    }

    /// Returns whether the splits divide the queries of a single dataset, rather than each having its own files.
    pub(super) fn cuts(&self) -> bool {
        matches!(self.source, Source::Queries { .. })
    }

    /// Returns the facts about the split with index `at`, which was read.
    ///
    /// # Panics
    /// Panics if `at` is not below [`count`](Self::count).
    pub fn contents(&self, at: usize, split: &Split) -> &SplitContents {
        self.contents[at].get_or_init(|| SplitContents::of(split))
    }

    /// Returns a copy of the split with index `at`. If `again` is true, the data stay in memory for the next call. They
    /// stay there until another split is read.
    ///
    /// # Errors
    /// Returns a [`DataError`] if a file is invalid. Returns [`DataError::Changed`] if the file has changed since it
    /// was first read.
    ///
    /// # Panics
    /// Panics if `at` is not below [`count`](Self::count).
    pub fn read(&self, at: usize, again: bool) -> Result<Split, DataError> {
        match &self.source {
            Source::Files { data, folds, last } => {
                let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
                let split = match last.take().filter(|(held, _)| *held == at) {
                    Some((_, split)) => split,
                    None => Arc::new(self.read_files(data, &folds[at], at)?),
                };
                *last = again.then(|| (at, split.clone()));
                drop(last);
                Ok(Arc::unwrap_or_clone(split))
            }
            Source::Queries { whole, folds } => {
                let Fold { number, train, validation, test, .. } = &folds[at];
                // Only training queries have weights.
                let other = |queries: &[usize]| Some(whole.select(queries).without_weights());
                let (validation, test) = (other(validation), other(test));
                Ok(Split { fold: *number, train: whole.select(train), validation, test })
            }
            Source::One(split) => Ok((**split).clone()),
        }
    }

    /// Reads the files of a fold, and returns an error if their data have changed since the first reading.
    fn read_files(&self, data: &DataConfig, fold: &Fold, at: usize) -> Result<Split, DataError> {
        let mut warnings = Vec::new();
        let split = data.read_fold(fold, &mut warnings)?;
        split.check()?;
        let found = SplitContents::of(&split);
        match self.contents[at].get() {
            Some(contents) if contents.data != found.data => Err(DataError::Changed { fold: fold.number }),
            Some(_) => Ok(split),
            None => {
                self.contents[at].get_or_init(|| found);
                let mut all = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
                all.extend(warnings.into_iter().map(|warning| (format!("fold {}", fold.number), warning)));
                Ok(split)
            }
        }
    }
}

impl SplitContents {
    fn of(split: &Split) -> Self {
        Self {
            fold: split.fold,
            data: Sets::from_split(split),
            feature_names: split.train.feature_names.clone(),
            bytes: split.bytes(),
            test_queries: split.test.as_ref().map(|test| test.query_ids.clone()).unwrap_or_default(),
        }
    }
}

/// Returns the folds with the given numbers, or all folds if no number is given.
///
/// # Errors
/// Returns a [`Refusal`] for a fold that the data do not have.
fn asked<F>(numbers: &[usize], folds: Vec<F>, number: impl Fn(&F) -> usize) -> Result<Vec<F>, Refusal> {
    if let Some(missing) = numbers.iter().find(|asked| !folds.iter().any(|fold| number(fold) == **asked)) {
        let expected = format!("from 1 to {}, the folds of the data", folds.len());
        return Err(Refusal::new("cv.folds", format!("{missing} in {numbers:?}"), expected));
    }
    Ok(folds.into_iter().filter(|fold| numbers.is_empty() || numbers.contains(&number(fold))).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::experiment::{Document, Experiment};
    use burn_rank::data::folds;

    fn splits(data: &str, cv: &str) -> Result<Splits, DataError> {
        let text = format!("{cv}\nlearner = {{ kind = \"regression\" }}\n[data]\n{data}\n");
        let document = Document::parse(Path::new("a.toml"), text, &[]).unwrap();
        let config = Experiment::from_document(&document).unwrap();
        config.data.splits(&config.cv, config.seed)
    }

    #[test]
    fn files_are_read_again_for_another_split_and_must_be_what_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let part = |number: usize, value: f32| {
            let text = format!("0 qid:{number} 1:{value}\n1 qid:{number} 1:2\n");
            fs::write(folder.path().join(format!("S{number}.txt")), text).unwrap();
        };
        (1..=3).for_each(|number| part(number, 0.5));
        let splits = splits(&format!("folds = {:?}", folder.path()), "cv = { folds = [1, 3] }").unwrap();
        assert_eq!(splits.folds().collect::<Vec<_>>(), [1, 3]);
        let first = splits.read(0, true).unwrap();
        let contents = |at| splits.contents(at, &splits.read(at, true).unwrap());
        assert_eq!((contents(0).fold, contents(0).bytes), (1, 24));
        part(1, 0.25);
        assert!(splits.read(0, true).unwrap() == first, "held in memory");
        assert!(splits.read(0, false).unwrap() == first, "held in memory, for the last time");
        let error = splits.read(0, true).unwrap_err();
        let expected = "fold 1: found other data than at the start, expected files that do not change while `cv` runs";
        assert_eq!(error.to_string(), expected);
        part(1, 0.5);
        assert!(splits.read(0, true).unwrap() == first);
        assert_eq!(contents(1).test_queries, ["2"]);
        part(1, 0.25);
        assert!(matches!(splits.read(0, true), Err(DataError::Changed { fold: 1 })), "the last one read is another");
    }

    #[test]
    fn weights_are_of_training_alone() {
        let whole = RankingDataset::builder()
            .features(vec![1.0; 6], 1)
            .labels(vec![1.0; 6])
            .query_sizes(&[1; 6])
            .build()
            .unwrap();
        let whole = whole.with_query_weights(vec![2.0; 6]).unwrap().with_document_weights(vec![3.0; 6]).unwrap();
        let folds = folds::split(&whole, 3, 1).unwrap();
        let splits = Splits::new(Source::Queries { whole: Box::new(whole), folds });
        let split = splits.read(0, false).unwrap();
        assert_eq!((split.train.query_weights.len(), split.train.document_weights.len()), (2, 2));
        for set in [split.validation.unwrap(), split.test.unwrap()] {
            assert!(set.query_weights.is_empty() && set.document_weights.is_empty());
        }
    }

    #[test]
    fn every_query_of_one_dataset_is_tested_once() {
        let data = "synthetic = { train_queries = 7, validation_queries = 0, test_queries = 0 }";
        let splits = splits(data, "cv = { split = 3 }").unwrap();
        let mut tested: Vec<String> = Vec::new();
        for at in 0..splits.count() {
            let split = splits.read(at, true).unwrap();
            let contents = splits.contents(at, &split);
            assert_eq!((split.fold, split.bytes()), (contents.fold, contents.bytes));
            assert_eq!(split.test.unwrap().query_ids, contents.test_queries);
            tested.extend_from_slice(&contents.test_queries);
        }
        tested.sort();
        let mut all = splits.read(0, true).unwrap();
        let mut ids: Vec<String> = all.sets_mut().flat_map(|set| set.query_ids.clone()).collect();
        ids.sort();
        assert_eq!(tested, ids);
    }
}
