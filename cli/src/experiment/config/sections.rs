//! The sections of a configuration other than `[loss]`, `[scorer]` and `[learner]`, such as data and measures.

use std::fmt;
use std::path::PathBuf;

use burn_rank::data::letor::{Missing, ReadOptions, Weights};
use burn_rank::data::{Columns, NormalizerKind, SynthConfig};
use burn_rank::json::Map;
use burn_rank::loss::LossSpec;
use burn_rank::measure::{Convention, Measure};
use burn_rank::refusal::Refusal;
use burn_rank::scorer::ScorerConfig;
use burn_rank::workbench::{ByteSize, HiddenScorer, KeyColumn};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The source of the queries. Exactly one of `folds`, `train` and `synthetic` must be given. Relative paths in the
/// configuration file are resolved against its folder. Relative paths given with `--set` are resolved against the
/// current folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DataConfig {
    /// A folder that contains either the folders `FoldN` or the parts `S1`, `S2` and so on. Each part is the test data
    /// of one fold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folds: Option<PathBuf>,
    /// The number of the fold that `train` uses, counted from 1.
    pub fold: usize,
    /// The files of training queries.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub train: Vec<PathBuf>,
    /// The files of validation queries.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub validation: Vec<PathBuf>,
    /// The files of test queries.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub test: Vec<PathBuf>,
    /// Generated queries, in place of files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synthetic: Option<SyntheticConfig>,
    /// The scores of a teacher for the training queries, or a ranker that scores them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub teacher: Option<PathBuf>,
    /// The meaning of the columns of a table.
    #[serde(skip_serializing_if = "Columns::is_default")]
    pub columns: Columns,
    /// Splits the training files into training, validation and test queries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<SplitConfig>,
    /// The column by which a split or a cross-validation divides the queries, which is no feature.
    #[serde(skip)]
    pub unread: Option<String>,
    /// The options for reading the files.
    pub read: ReadOptions,
    /// The maximum number of bytes of each file to hold in memory; if given, features are streamed from disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<ByteSize>,
    /// The amount of feature data that is shuffled at a time in a streamed epoch; 256 MiB by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<ByteSize>,
}

impl Default for DataConfig {
    fn default() -> Self {
        Self {
            folds: None,
            fold: 1,
            train: vec![],
            validation: vec![],
            test: vec![],
            synthetic: None,
            teacher: None,
            columns: Columns::default(),
            split: None,
            unread: None,
            read: ReadOptions::default(),
            memory: None,
            window: None,
        }
    }
}

/// How `train` splits the training files into training, validation and test queries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SplitConfig {
    /// The property by which queries are divided.
    pub by: SplitBy,
    /// The fractions of queries for training, validation and test.
    pub shares: [f64; 3],
}

impl Default for SplitConfig {
    fn default() -> Self {
        Self { by: SplitBy::Query, shares: [0.6, 0.2, 0.2] }
    }
}

/// The property by which queries are divided.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SplitBy {
    /// Divides the queries at random, using the seed.
    #[default]
    Query,
    /// Keeps queries with the same value in this column together. Divides the resulting groups at random, using the
    /// seed.
    Group(String),
    /// Trains on the earliest queries and tests on the latest. The time of a query is the latest value that its rows
    /// have in this column.
    Time(String),
}

impl SplitBy {
    /// Returns the column that determines the split, or `None` if queries are divided at random.
    pub(in crate::experiment) fn column(&self) -> Option<KeyColumn> {
        match self {
            Self::Query => None,
            Self::Group(name) => Some(KeyColumn::Group(name.clone())),
            Self::Time(name) => Some(KeyColumn::Time(name.clone())),
        }
    }
}

impl SplitConfig {
    /// Rejects shares that are not between 0 and 1, or whose sum is not 1.
    ///
    /// # Errors
    /// Returns a [`Refusal`] for the key `shares`.
    pub fn check(&self) -> Result<(), Refusal> {
        let shares = &self.shares;
        let are_shares = shares.iter().all(|share| (0.0..=1.0).contains(share)) && shares[0] > 0.0;
        if are_shares && (shares.iter().sum::<f64>() - 1.0).abs() < 1e-9 {
            return Ok(());
        }
        let expected = "three shares from 0 to 1 that sum to 1 (training, validation, test), the first above 0";
        Err(Refusal::new("shares", format!("{shares:?}"), expected))
    }
}

/// How the training files are divided into folds. A plain number divides the queries at random; a table can name a
/// column to divide by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct FoldsConfig {
    /// Number of folds.
    pub folds: usize,
    /// The property by which queries are divided.
    #[serde(default)]
    pub by: SplitBy,
}

// `remote` makes the derived functions, which write and read a table, inherent functions of the type.
impl Serialize for FoldsConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.by {
            SplitBy::Query => self.folds.serialize(serializer),
            _ => Self::serialize(self, serializer),
        }
    }
}

impl<'de> Deserialize<'de> for FoldsConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = FoldsConfig;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("a number of folds, or a table with `folds` and `by`")
            }

            fn visit_u64<E: de::Error>(self, folds: u64) -> Result<FoldsConfig, E> {
                let folds = usize::try_from(folds).unwrap_or(usize::MAX);
                Ok(FoldsConfig { folds, by: SplitBy::Query })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<FoldsConfig, A::Error> {
                FoldsConfig::deserialize(MapAccessDeserializer::new(map))
            }
        }

        deserializer.deserialize_any(Either)
    }
}

/// Three sets of generated queries, labeled by one hidden scorer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SyntheticConfig {
    /// The number of training queries.
    pub train_queries: usize,
    /// The number of validation queries.
    pub validation_queries: usize,
    /// The number of test queries.
    pub test_queries: usize,
    /// The number of features of a document.
    pub features: usize,
    /// The seed for the hidden scorer and the queries.
    pub seed: u64,
    /// The function that determines the labels of documents.
    pub scorer: HiddenScorer,
}

impl Default for SyntheticConfig {
    fn default() -> Self {
        let generator = SynthConfig::default();
        Self {
            train_queries: 200,
            validation_queries: 50,
            test_queries: 50,
            features: generator.features,
            seed: generator.seed,
            scorer: generator.scorer,
        }
    }
}

/// One of `[[members]]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemberConfig {
    /// The name in messages and reports; by default the kind of the learner and the number of the member.
    #[serde(default)]
    pub name: String,
    /// The weight of the member's standardized scores.
    #[serde(default = "one")]
    pub weight: f64,
    /// The number of the round whose model is kept, in place of the best round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<usize>,
    /// The normalizer of the member.
    #[serde(default)]
    pub normalizer: NormalizerKind,
    /// The scorer of the member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scorer: Option<ScorerConfig>,
    /// The loss of the member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossSpec>,
    /// The learner of the member.
    pub learner: Map,
}

fn one() -> f64 {
    1.0
}

/// How the scores of members are standardized.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standardize {
    /// To mean 0 and deviation 1 over the documents of a query.
    #[default]
    Query,
    /// By one constant for each member, its mean deviation over the validation queries.
    Fixed,
}

impl Standardize {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The measures of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MeasureConfig {
    /// The convention by which every measure is computed.
    pub convention: Convention,
    /// The measure that selects rounds and grid points on validation data.
    pub select: Measure,
    /// The measures to report.
    pub report: Vec<Measure>,
    /// The round whose ranker is kept, counted from 1; the fit ends after it. By default, the best round is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<usize>,
}

impl Default for MeasureConfig {
    fn default() -> Self {
        let report = [Measure::Ndcg(Some(1)), Measure::Ndcg(Some(5)), Measure::Ndcg(Some(10)), Measure::Ap(None)];
        Self {
            convention: Convention::default(),
            select: Measure::Ndcg(Some(10)),
            report: report.to_vec(),
            round: None,
        }
    }
}

/// The settings of cross-validation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CrossValidationConfig {
    /// The folds to run, all of them by default.
    pub folds: Vec<usize>,
    /// The seeds to average over; by default only the experiment's seed.
    pub seeds: Vec<u64>,
    /// How the training files are divided into folds, if the data have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<FoldsConfig>,
}

/// The default amount of feature data that is shuffled at a time in a streamed epoch.
const WINDOW: ByteSize = ByteSize::mib(256);

impl DataConfig {
    /// Returns the reading options, including which columns hold weights. Document weights are read if a column is
    /// named for them.
    pub(in crate::experiment) fn read_options(&self) -> ReadOptions {
        let of_column = self.columns.weight.as_ref().map(|_| Weights::File);
        let document_weights = of_column.unwrap_or(self.read.document_weights);
        ReadOptions { columns: self.columns.clone(), document_weights, ..self.read.clone() }
    }

    /// If features are streamed, returns the number of bytes to hold in memory and the number of bytes to shuffle at a
    /// time.
    pub(in crate::experiment) fn streaming(&self) -> Option<(ByteSize, ByteSize)> {
        Some((self.memory?, self.window.unwrap_or(WINDOW)))
    }

    /// Rejects settings that do not allow streaming, before any file is read.
    pub(in crate::experiment) fn check_streaming(&self) -> Result<(), Refusal> {
        let Some((memory, window)) = self.streaming() else {
            let Some(window) = self.window else { return Ok(()) };
            return Err(Refusal::new("data.window", window, "`data.memory` with it"));
        };
        let files = [("train", &self.train), ("validation", &self.validation), ("test", &self.test)];
        let expected = match files.into_iter().find(|(_, files)| files.len() > 1) {
            _ if memory.bytes() / 2 < window.bytes() => format!("at least twice data.window, which is {window}"),
            _ if self.synthetic.is_some() => "none: generated queries are in memory".to_owned(),
            _ if self.split.is_some() => "none with data.split, which copies queries into memory".to_owned(),
            _ if matches!(self.read.missing, Missing::Zero | Missing::QueryMin) => {
                "none with data.read.missing, which replaces values: replace them with `burn-rank convert`".to_owned()
            }
            _ if self.read.missing_value.is_some() => {
                "none with data.read.missing_value: write the missing values with `burn-rank convert`".to_owned()
            }
            Some((key, files)) => format!("one file in data.{key}, found {}", files.len()),
            None => return Ok(()),
        };
        Err(Refusal::new("data.memory", memory, expected))
    }

    /// Returns every path in the section, with the key that holds it.
    pub(in crate::experiment) fn paths_mut(&mut self) -> impl Iterator<Item = (&'static str, &mut PathBuf)> {
        let folds = self.folds.iter_mut().map(|path| ("data.folds", path));
        let teacher = self.teacher.iter_mut().map(|path| ("data.teacher", path));
        let train = self.train.iter_mut().map(|path| ("data.train", path));
        let validation = self.validation.iter_mut().map(|path| ("data.validation", path));
        let test = self.test.iter_mut().map(|path| ("data.test", path));
        folds.chain(teacher).chain(train).chain(validation).chain(test)
    }
}

/// The largest number of queries that may be generated. The features of more queries would not fit into memory.
const MOST_QUERIES: usize = 10_000_000;

impl SyntheticConfig {
    /// Rejects numbers that are out of range.
    ///
    /// # Errors
    /// Returns a [`Refusal`] for the first invalid key.
    pub fn check(&self) -> Result<(), Refusal> {
        let refuse = |key, found, expected: String| Err(Refusal::new(key, found, expected).under("data.synthetic"));
        if self.train_queries == 0 {
            return refuse("train_queries", 0, "at least 1".to_string());
        }
        let Self { train_queries: train, validation_queries: validation, test_queries: test, .. } = *self;
        let sets = [("train_queries", train), ("validation_queries", validation), ("test_queries", test)];
        if let Some((key, queries)) = sets.into_iter().find(|(_, queries)| *queries > MOST_QUERIES) {
            return refuse(key, queries, format!("at most {MOST_QUERIES}"));
        }
        self.generator().check().map_err(|refusal| refusal.under("data.synthetic"))
    }

    /// Returns a generator for the training, validation and test queries together.
    pub(in crate::experiment) fn generator(&self) -> SynthConfig {
        let queries = self.train_queries + self.validation_queries + self.test_queries;
        SynthConfig { queries, features: self.features, seed: self.seed, scorer: self.scorer, ..SynthConfig::default() }
    }
}
