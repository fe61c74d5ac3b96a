//! The splits of an experiment: which queries train, validate and test.

use std::path::PathBuf;

use super::config::{CrossValidationConfig, DataConfig, SyntheticConfig};
use crate::data::letor::{self, ReadOptions};
use crate::data::{DataError, Dataset, SynthConfig, folds};

/// Training, validation and test queries; the latter two may be absent.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// Number of the fold, from 1.
    pub fold: usize,
    /// Queries to train on.
    pub train: Dataset,
    /// Queries to select on.
    pub validation: Option<Dataset>,
    /// Queries to test on.
    pub test: Option<Dataset>,
}

impl Split {
    /// Bytes of all features.
    pub fn bytes(&self) -> usize {
        let sets = [Some(&self.train), self.validation.as_ref(), self.test.as_ref()];
        sets.into_iter().flatten().map(|data| size_of_val(data.features.as_slice())).sum()
    }
}

impl DataConfig {
    /// The one split that `train` uses.
    ///
    /// # Errors
    /// [`DataError`] of the folder, the files or the generator.
    pub fn split(&self) -> Result<Split, DataError> {
        match (&self.folds, &self.synthetic) {
            (Some(folder), _) => {
                let found = folds::discover(folder)?;
                let count = found.len();
                let fold =
                    found.into_iter().find(|fold| fold.number == self.fold).ok_or_else(|| DataError::Option {
                        option: "fold",
                        found: self.fold.to_string(),
                        expected: format!("from 1 to {count}, the folds of {}", folder.display()),
                    })?;
                self.read_fold(fold)
            }
            (None, Some(synthetic)) => synthetic.split(),
            (None, None) => self.read_split(1, &self.train, &self.validation, &self.test),
        }
    }

    /// Every split of a cross-validation.
    ///
    /// # Errors
    /// As [`split`](Self::split), and [`DataError::Option`] for data without folds.
    pub fn splits(&self, cv: &CrossValidationConfig, seed: u64) -> Result<Vec<Split>, DataError> {
        let mut splits = match (&self.folds, cv.split) {
            (Some(folder), _) => {
                folds::discover(folder)?.into_iter().map(|fold| self.read_fold(fold)).collect::<Result<Vec<_>, _>>()?
            }
            (None, Some(parts)) => {
                let whole = self.split()?.train;
                let select = |fold: folds::QueryFold| Split {
                    fold: fold.number,
                    train: whole.select(&fold.train),
                    validation: Some(whole.select(&fold.validation)),
                    test: Some(whole.select(&fold.test)),
                };
                folds::split(&whole, parts, seed)?.into_iter().map(select).collect()
            }
            (None, None) => vec![self.split()?],
        };
        if !cv.folds.is_empty() {
            splits.retain(|split| cv.folds.contains(&split.fold));
        }
        match splits.iter().find(|split| split.test.is_none()) {
            Some(_) => Err(DataError::Option {
                option: "cv",
                found: "data without a test set".to_string(),
                expected: "data.folds, data.test, or cv.split = the number of folds".to_string(),
            }),
            None if splits.is_empty() => Err(DataError::Option {
                option: "cv.folds",
                found: format!("{:?}", cv.folds),
                expected: "folds that the data have".to_string(),
            }),
            None => Ok(splits),
        }
    }

    fn read_fold(&self, fold: folds::Fold) -> Result<Split, DataError> {
        self.read_split(fold.number, &fold.train, &fold.validation, &fold.test)
    }

    fn read_split(
        &self,
        fold: usize,
        train: &[PathBuf],
        validation: &[PathBuf],
        test: &[PathBuf],
    ) -> Result<Split, DataError> {
        let train = letor::read(train, &self.read)?;
        // Sparse files may lack the last features; the training set decides how many there are.
        let like_train = ReadOptions { features: Some(train.feature_count), ..self.read.clone() };
        let other = |paths: &[PathBuf]| match paths {
            [] => Ok(None),
            paths => letor::read(paths, &like_train).map(Some),
        };
        Ok(Split { fold, validation: other(validation)?, test: other(test)?, train })
    }
}

impl SyntheticConfig {
    fn split(&self) -> Result<Split, DataError> {
        let others = self.validation_queries.saturating_add(self.test_queries);
        let queries = self.train_queries.saturating_add(others);
        let config = SynthConfig { queries, features: self.features, seed: self.seed, ..SynthConfig::default() };
        let whole = config.generate()?;
        let mut next = 0;
        let mut take = |count: usize| {
            let chosen: Vec<usize> = (next..next + count).collect();
            next += count;
            (count > 0).then(|| whole.select(&chosen))
        };
        let train = take(self.train_queries).ok_or_else(|| DataError::Option {
            option: "train_queries",
            found: "0".to_string(),
            expected: "at least 1".to_string(),
        })?;
        Ok(Split { fold: 1, train, validation: take(self.validation_queries), test: take(self.test_queries) })
    }
}
