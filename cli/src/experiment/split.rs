//! The division of an experiment's queries into training, validation and test queries.

use std::path::{Path, PathBuf};

use burn_rank::data::letor::{ReadOptions, Weights};
use burn_rank::data::{DataError, Input, RankingDataset, folds};
use burn_rank::refusal::Refusal;
use burn_rank::workbench::dataset::cut;
use burn_rank::workbench::text::{counted, shortened};
use burn_rank::workbench::{self, Assembled, FileWidth, Like, absent_in_words, fewer_features, numbered, read_like};

use super::config::{DataConfig, SplitBy, SplitConfig, SyntheticConfig};
use super::teacher::{Rows, teach};

/// Training, validation and test queries; the latter two may be absent.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// The number of the fold, counted from 1.
    pub fold: usize,
    /// Queries to train on.
    pub train: RankingDataset,
    /// Queries to select on.
    pub validation: Option<RankingDataset>,
    /// Queries to test on.
    pub test: Option<RankingDataset>,
}

impl Split {
    /// Returns the number of bytes of all features.
    pub fn bytes(&self) -> usize {
        self.sets().map(|(_, data)| data.features.len() * size_of::<f32>()).sum()
    }

    /// Returns the sets, each with its name, in the order of use.
    pub(crate) fn sets(&self) -> impl Iterator<Item = (&'static str, &RankingDataset)> {
        let sets =
            [("train", Some(&self.train)), ("validation", self.validation.as_ref()), ("test", self.test.as_ref())];
        sets.into_iter().filter_map(|(name, data)| Some((name, data?)))
    }

    pub(super) fn sets_mut(&mut self) -> impl Iterator<Item = &mut RankingDataset> {
        [Some(&mut self.train), self.validation.as_mut(), self.test.as_mut()].into_iter().flatten()
    }

    /// Divides each set into `shards` shards, so that a group can share the work. If the features are streamed, each
    /// process reads only its own shards.
    ///
    /// # Errors
    /// Returns a [`Refusal`] if there are more shards than training queries.
    pub(crate) fn cut(&mut self, shards: usize) -> Result<(), Refusal> {
        let queries = self.train.queries();
        if shards > queries {
            let expected = format!("at most {queries}, the number of training queries");
            return Err(Refusal::new("learner.shards", shards, expected));
        }
        self.sets_mut().for_each(|data| cut(data, shards));
        Ok(())
    }

    /// Rejects invalid feature values.
    pub(crate) fn check(&self) -> Result<(), DataError> {
        self.sets().try_for_each(|(_, data)| data.check_values())
    }
}

impl DataConfig {
    /// Returns the split that `train` uses. If the configuration divides one dataset, `seed` shuffles its queries. Logs
    /// a warning about files that lack features.
    ///
    /// # Errors
    /// Returns a [`DataError`] if the folder, a file or the settings for generated queries are invalid.
    pub fn split(&self, seed: u64) -> Result<Split, DataError> {
        let mut warnings = Vec::new();
        let split = self.told_split(seed, &mut warnings)?;
        warnings.iter().for_each(|warning| log::warn!("{warning}"));
        Ok(split)
    }

    /// Returns the split that `train` uses, and adds the warnings about its files to `warnings`.
    pub(super) fn told_split(&self, seed: u64, warnings: &mut Vec<String>) -> Result<Split, DataError> {
        let split = self.unchecked_split(seed, warnings)?;
        split.check()?;
        Ok(split)
    }

    /// Returns the split that `train` uses, whose feature values have not been checked. Adds the warnings about its
    /// files to `warnings`.
    pub(super) fn unchecked_split(&self, seed: u64, warnings: &mut Vec<String>) -> Result<Split, DataError> {
        match (&self.folds, &self.synthetic) {
            (Some(folder), _) => {
                let found = discover(folder)?;
                let count = found.len();
                let fold = found.into_iter().find(|fold| fold.number == self.fold).ok_or_else(|| {
                    let expected = format!("from 1 to {count}, the folds of {}", folder.display());
                    Refusal::new("data.fold", self.fold, expected)
                })?;
                self.read_fold(&fold, warnings)
            }
            (None, Some(synthetic)) => {
                let Split { fold, train, validation, test } = synthetic.split()?;
                let train = self.taught(train, &[], [&validation, &test], warnings)?;
                Ok(Split { fold, train, validation, test })
            }
            (None, None) if let Some(split) = &self.split => self.read_shares(split, seed, warnings),
            (None, None) => self.read_split(1, [&self.train, &self.validation, &self.test], warnings),
        }
    }

    /// Reads one fold, without checking its feature values. Adds the warnings about its files.
    pub(super) fn read_fold(&self, fold: &folds::Fold, warnings: &mut Vec<String>) -> Result<Split, DataError> {
        self.read_split(fold.number, [&fold.train, &fold.validation, &fold.test], warnings)
    }

    /// Returns the rows of all folds: the test queries of each, in the order of the folders or parts. Without folds,
    /// returns `None`.
    ///
    /// # Errors
    /// Returns a [`DataError`] for a file that cannot be read, or for a query name of two folds.
    pub(super) fn rows_of_folds(&self) -> Result<Option<Rows>, DataError> {
        let options = without_weights(self.read_options());
        let like = Like { ignores_teacher_and_positions: true, ..Like::default() };
        let mut rows = Rows::default();
        for files in self.test_files()? {
            let data =
                read_like(files.iter().map(Input::from_path), &options, &like).map_err(about("data.folds"))?.data;
            if let Some(name) = data.query_ids.iter().find(|name| rows.query(name).is_some()) {
                let found = format!("query `{}` again in {files:?}", shortened(name, 40));
                let expected = "another name for each query of the test files, since scores find their rows by name";
                return Err(Refusal::new("data.folds", found, expected).into());
            }
            rows.append(&data);
        }
        Ok(self.folds.is_some().then_some(rows))
    }

    /// Returns the files of all sets and folds, and every other path in the section.
    ///
    /// # Errors
    /// Returns a [`DataError`] if the folder of folds cannot be read.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>, DataError> {
        let folds = self.folds.iter().map(|folder| discover(folder)).collect::<Result<Vec<_>, _>>()?.concat();
        let of_folds = folds.into_iter().flat_map(|fold| [fold.train, fold.validation, fold.test].concat());
        Ok(self.clone().paths_mut().map(|(_, path)| path.clone()).chain(of_folds).collect())
    }

    /// Returns the test files of each fold, in the order of the folders or parts.
    pub(super) fn test_files(&self) -> Result<Vec<Vec<PathBuf>>, DataError> {
        let Some(folder) = &self.folds else { return Ok(Vec::new()) };
        let mut folds = discover(folder)?;
        // Parts S1, S2, .. are rotated, so that the second fold tests on the first part.
        if folds.iter().any(|fold| fold.train.first() == folds[0].test.first()) {
            folds.rotate_left(1);
        }
        Ok(folds.into_iter().map(|fold| fold.test).collect())
    }

    /// Gives the training queries the scores of the teacher, if there is one, and adds the warnings about it. `share`
    /// lists the queries that are trained on, or is empty if all are. `others` are the queries on which training
    /// selects and tests.
    pub(super) fn taught(
        &self,
        train: RankingDataset,
        share: &[usize],
        others: [&Option<RankingDataset>; 2],
        warnings: &mut Vec<String>,
    ) -> Result<RankingDataset, DataError> {
        let Some(teacher) = &self.teacher else { return Ok(train) };
        let (train, warning) = teach(teacher, train, share, others, || self.rows_of_folds(), &self.read)?;
        warnings.extend(warning);
        Ok(train)
    }

    /// Reads the training files without a teacher, and the column by which their queries are divided. Adds the warnings
    /// about the files.
    pub(super) fn read_whole(&self, by: &SplitBy, warnings: &mut Vec<String>) -> Result<Assembled, DataError> {
        let column = by.column();
        let like = Like { key: column.as_ref(), ..Like::default() };
        let inputs = self.train.iter().map(Input::from_path);
        let read = read_like(inputs, &self.read_options(), &like).map_err(about("data.train"))?;
        warnings.extend(self.warnings(&read.widths, read.data.feature_count));
        warnings.extend(moved_in_words("data.train", &read.data));
        Ok(read)
    }

    /// Reads the training files, and divides their queries by the configured shares.
    fn read_shares(&self, split: &SplitConfig, seed: u64, warnings: &mut Vec<String>) -> Result<Split, DataError> {
        let Assembled { data: whole, keys, .. } = self.read_whole(&split.by, warnings)?;
        let sets = workbench::folds::split_by_shares(&whole, keys.as_ref(), &split.shares, seed);
        if let Some(at) = sets.iter().zip(split.shares).position(|(set, share)| set.is_empty() && share > 0.0) {
            let counts: Vec<usize> = sets.iter().map(Vec::len).collect();
            let name = ["train", "select", "test"][at];
            let expected = format!("shares that leave a query to {name} on: the sets would have {counts:?} queries");
            return Err(Refusal::new("data.split.shares", format!("{:?}", split.shares), expected).into());
        }
        let whole = self.taught(whole, &sets[0], [&None; 2], warnings)?;
        // Only training queries have weights.
        let other = |queries: &Vec<usize>| (!queries.is_empty()).then(|| whole.select(queries).without_weights());
        Ok(Split { fold: 1, train: whole.select(&sets[0]), validation: other(&sets[1]), test: other(&sets[2]) })
    }

    /// Reads the training, validation and test files of a split.
    fn read_split(
        &self,
        fold: usize,
        [train, validation, test]: [&[PathBuf]; 3],
        warnings: &mut Vec<String>,
    ) -> Result<Split, DataError> {
        let (mut widths, mut moved) = (Vec::new(), Vec::new());
        let mut read = |paths: &[PathBuf], options: &ReadOptions, key, like: &Like| {
            let inputs = paths.iter().map(Input::from_path);
            let in_error = if self.folds.is_some() { "data.folds" } else { key };
            let Assembled { mut data, widths: of_files, .. } =
                read_like(inputs, options, like).map_err(about(in_error))?;
            widths.extend(of_files);
            moved.extend(moved_in_words(key, &data));
            if let Some((memory, window)) = self.streaming() {
                let at = |key, source| DataError::Key { key, source: Box::new(source) };
                let unfit = |source| at("data.memory", at(key, source));
                data.stream(memory.bytes(), window.bytes()).map_err(unfit)?;
            }
            Ok::<_, DataError>(data)
        };
        let options = self.read_options();
        let unread = self.unread.as_deref();
        let train = read(train, &options, "data.train", &Like { unread, ..Like::default() })?;
        // Sparse files may lack the last features; the training set decides how many there are.
        let like_train = ReadOptions { features: Some(train.feature_count), ..without_weights(options) };
        let names = &train.feature_names;
        let names = if names.is_empty() { numbered(train.feature_count) } else { names.clone() };
        let like = Like {
            // The source of the expected number of features, for messages.
            features_from: self.read.features.is_none().then_some(", as in the training data"),
            feature_names: &names,
            ignores_teacher_and_positions: true,
            unread,
            ..Like::default()
        };
        let mut other = |paths: &[PathBuf], key| match paths {
            [] => Ok(None),
            paths => read(paths, &like_train, key, &like).map(Some),
        };
        let (validation, test) = (other(validation, "data.validation")?, other(test, "data.test")?);
        warnings.extend(self.warnings(&widths, train.feature_count));
        warnings.append(&mut moved);
        let train = self.taught(train, &[], [&validation, &test], warnings)?;
        Ok(Split { fold, train, validation, test })
    }

    /// Returns a warning for each file with fewer features than expected, unless the configuration sets the number of
    /// features.
    fn warnings(&self, widths: &[FileWidth], expected: usize) -> Vec<String> {
        if self.read.features.is_some() {
            return Vec::new();
        }
        let taken_as = absent_in_words(&self.read);
        let warning = |FileWidth { path, features }: &FileWidth| {
            let file = format!("{} has", path.display());
            fewer_features(&file, *features, "the training data have", expected, taken_as)
        };
        let mut warnings: Vec<String> = widths.iter().filter(|file| file.features < expected).map(warning).collect();
        // A file may be of two sets.
        warnings.sort();
        warnings.dedup();
        warnings
    }
}

/// Returns a warning if a query's rows were not consecutive in the files of a set. Otherwise, returns `None`. `key`
/// names the set.
pub(crate) fn moved_in_words(key: &str, data: &RankingDataset) -> Option<String> {
    let (moved, rows) = (data.moved(), counted(data.documents(), "row"));
    let doubt = if 2 * moved > data.documents() { "; is this the right column for queries?" } else { "" };
    (moved > 0).then(|| format!("{key}: moved {moved} of {rows} next to the other rows of their query{doubt}"))
}

/// Returns the options without weights and positions, which only training queries have.
fn without_weights(options: ReadOptions) -> ReadOptions {
    ReadOptions { query_weights: Weights::None, document_weights: Weights::None, positions: false, ..options }
}

/// Finds the folds in a folder.
pub(super) fn discover(folder: &Path) -> Result<Vec<folds::Fold>, DataError> {
    folds::discover(folder).map_err(about("data.folds"))
}

/// Adds the configuration key to an error about a missing or empty file. All other errors already name a file and a
/// line.
fn about(key: &'static str) -> impl Fn(DataError) -> DataError {
    move |error| match error {
        DataError::Key { source, .. } => DataError::Key { key, source },
        DataError::Refused(refusal) if refusal.key == "positions" => refusal.at("learner.position").into(),
        DataError::Refused(refusal) if refusal.key == "teacher" => refusal.at("data.columns.teacher").into(),
        DataError::Io { .. } | DataError::Empty { .. } | DataError::Folds { .. } => {
            DataError::Key { key, source: Box::new(error) }
        }
        error => error,
    }
}

impl SyntheticConfig {
    fn split(&self) -> Result<Split, DataError> {
        self.check()?;
        let generator = self.generator();
        workbench::synth::ask_memory(&generator).map_err(|refusal| refusal.at("data.synthetic"))?;
        let mut next = 0;
        let mut take = |count: usize| {
            next += count;
            workbench::synth::generate_part(&generator, next - count..next)
        };
        let train = take(self.train_queries)?;
        let mut other = |count: usize| (count > 0).then(|| take(count)).transpose();
        Ok(Split { fold: 1, train, validation: other(self.validation_queries)?, test: other(self.test_queries)? })
    }
}
