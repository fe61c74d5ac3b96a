//! Options for reading LETOR text; tables and the TREC formats use them too.

use serde::{Deserialize, Serialize};

use crate::data::columns::Columns;
use crate::refusal::Refusal;

/// The treatment of missing values, which are written as `nan` or, in LETOR 3.0's raw files, as `NULL`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// Missing values are errors.
    #[default]
    Error,
    /// Missing values become 0.
    Zero,
    /// Each missing value is replaced with the smallest value of the feature in the query, or with 0 if the query has
    /// no value.
    #[serde(alias = "query_min")]
    QueryMin,
    /// Missing values stay missing: they are NaN in the dataset.
    Keep,
    /// Missing values stay missing, as with `keep`. A model that accepts no missing values gets the mean of the
    /// training values in their place. It also gets a column that marks missing values
    /// ([`Normalizer::fit_with_indicators`](crate::data::Normalizer::fit_with_indicators)).
    Indicator,
}

/// The value of a feature that is absent from a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Absent {
    /// 0.
    #[default]
    Zero,
    /// Absent features are missing values, as if they were written `nan`.
    Missing,
}

impl Absent {
    /// Returns whether an absent feature is 0.
    pub fn is_zero(&self) -> bool {
        *self == Self::Zero
    }
}

/// Advice to a user whose data have a missing value that is not allowed.
pub(crate) const MISSING_HINT: &str = "option `missing` = \"zero\" or \"query-min\" replaces a missing one, \"keep\" leaves it to boosted trees, \
     \"indicator\" gives every learner a mean and a column";

/// The source of the queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Groups {
    /// Queries are read from `qid:`, or from `FILE.query` if the lines lack `qid:`.
    #[default]
    Auto,
    /// Queries are read from `qid:`.
    Qid,
    /// Queries are read from `FILE.query`; identifiers on the lines are ignored.
    #[serde(alias = "query_file")]
    QueryFile,
}

/// The source of the training weights of queries or documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weights {
    /// There are no weights: all queries or documents count equally.
    #[default]
    None,
    /// Weights are read from `FILE.query_weights` for queries, and from `FILE.weight` for documents.
    File,
}

impl Weights {
    /// Returns whether there are no weights.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// Options for reading LETOR text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReadOptions {
    /// The number of features. The dataset has exactly this many features, and a larger index is an error. Default: the
    /// largest index.
    pub features: Option<usize>,
    /// The treatment of missing values. Default: an error.
    pub missing: Missing,
    /// The value of a feature that is absent from a line. Default: 0.
    #[serde(skip_serializing_if = "Absent::is_zero")]
    pub absent: Absent,
    /// A number that marks a missing value in the files, as a 32-bit float. If this number is beyond the range of
    /// 32-bit floats, it stands for every number beyond that range. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing_value: Option<f64>,
    /// The source of the queries. Default: `auto`.
    pub groups: Groups,
    /// The source of the weights of queries. Default: none.
    #[serde(skip_serializing_if = "Weights::is_none")]
    pub query_weights: Weights,
    /// The source of the weights of documents. Default: none.
    #[serde(skip_serializing_if = "Weights::is_none")]
    pub document_weights: Weights,
    /// Whether the lines of a query in LETOR text are moved together if they are not consecutive. By default, a query
    /// whose lines are not consecutive is refused. Rows of the same query in a table are always moved together.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sort: bool,
    /// The roles of a table's columns. In a configuration file, the columns are named in a separate section.
    #[serde(skip)]
    pub columns: Columns,
    /// The largest index of a feature. Default: 1,000,000.
    pub max_feature_index: usize,
    /// The largest number of cells (documents x features; 4 bytes each) in the dataset or in a block of it. Default: 16
    /// cells per byte of text, or 64 cells per byte of a compressed file if that is less. The default is at least 2^26
    /// cells (256 MiB). The default limit keeps a small hostile file from requesting a large matrix.
    pub max_cells: Option<usize>,
    /// The length of the longest line in bytes. Default: 64 MiB.
    pub max_line_bytes: usize,
    /// The largest decompressed size of a compressed file in bytes. Default: 64 GiB.
    pub max_decompressed_bytes: u64,
    /// The largest ratio of decompressed to compressed bytes of a compressed file. The limit applies only beyond the
    /// first 64 MiB of text. LETOR text has a ratio between 5 and 50. Default: 100.
    pub max_compression_ratio: u64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            features: None,
            missing: Missing::default(),
            absent: Absent::default(),
            missing_value: None,
            groups: Groups::default(),
            query_weights: Weights::default(),
            document_weights: Weights::default(),
            sort: false,
            columns: Columns::default(),
            max_feature_index: 1_000_000,
            max_cells: None,
            max_line_bytes: 64 << 20,
            max_decompressed_bytes: 64 << 30,
            max_compression_ratio: 100,
        }
    }
}

impl ReadOptions {
    /// Checks that options are in their ranges. Every limit must be at least 1. Missing values can be marked by absent
    /// features or by a number only if missing values are allowed.
    ///
    /// # Errors
    /// Returns [`Refusal`] for the first limit that is 0, or for `absent` or `missing_value` if missing values are not
    /// allowed.
    pub fn check(&self) -> Result<(), Refusal> {
        let limits = [
            ("features", self.features.map(|features| features as u64)),
            ("max_feature_index", Some(self.max_feature_index as u64)),
            ("max_cells", self.max_cells.map(|cells| cells as u64)),
            ("max_line_bytes", Some(self.max_line_bytes as u64)),
            ("max_decompressed_bytes", Some(self.max_decompressed_bytes)),
            ("max_compression_ratio", Some(self.max_compression_ratio)),
        ];
        match limits.into_iter().find(|(_, value)| *value == Some(0)) {
            Some((option, _)) => Err(Refusal::new(option, 0, "at least 1")),
            None if self.absent == Absent::Missing && self.missing == Missing::Error => {
                let expected =
                    "`zero`, or `keep`, `indicator`, `zero` or `query-min` for `missing`, which refuses missing values";
                Err(Refusal::new("absent", "missing", expected))
            }
            None => self.check_missing_value(),
        }
    }

    fn check_missing_value(&self) -> Result<(), Refusal> {
        let Some(value) = self.missing_value else { return Ok(()) };
        if !value.is_finite() {
            return Err(Refusal::new(
                "missing_value",
                value,
                "a finite number; NULL and nan are missing values anyway",
            ));
        }
        if self.missing == Missing::Error {
            let expected =
                "none, or `keep`, `indicator`, `zero` or `query-min` for `missing`, which refuses missing values";
            return Err(Refusal::new("missing_value", value, expected));
        }
        Ok(())
    }

    /// Returns the number that marks a missing value, as a 32-bit float. If no number marks missing values, returns
    /// NaN, which equals no value.
    pub(crate) fn missing_number(&self) -> f32 {
        self.missing_value.map_or(f32::NAN, |value| value as f32)
    }

    /// Returns the largest number of cells that may be read from `bytes` bytes of text.
    pub(crate) fn most_cells(&self, bytes: u64) -> usize {
        self.max_cells.unwrap_or_else(|| usize::try_from(bytes.saturating_mul(16)).unwrap_or(usize::MAX).max(1 << 26))
    }

    /// Returns the value of a feature that is absent from a line.
    pub(crate) fn absent_value(&self) -> f32 {
        if self.absent == Absent::Missing && self.missing != Missing::Zero { f32::NAN } else { 0.0 }
    }

    /// Returns, in words, the value of a feature that is absent from a line.
    pub(crate) fn absent_in_words(&self) -> &'static str {
        if self.absent_value().is_nan() { "missing" } else { "0" }
    }
}
