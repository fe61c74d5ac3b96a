//! Options for reading LETOR text, which tables and the TREC formats share.

use serde::{Deserialize, Serialize};

use crate::data::columns::Columns;
use crate::refusal::Refusal;

/// What a missing value becomes: `NULL`, as in LETOR 3.0's raw files, or `nan`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// None: a missing value is an error.
    #[default]
    Error,
    /// 0.
    Zero,
    /// The smallest value of the feature in the query; 0 where the whole query has none.
    #[serde(alias = "query_min")]
    QueryMin,
    /// It stays missing: NaN in the dataset.
    Keep,
    /// As `keep`; a model that takes no missing values gets the mean of the training values, and a column that says
    /// that the value was missing ([`Normalizer::fit_with_indicators`](crate::data::Normalizer::fit_with_indicators)).
    Indicator,
}

/// The value of a feature that a line leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Absent {
    /// 0.
    #[default]
    Zero,
    /// A missing value, as if the line had it as `nan`.
    Missing,
}

impl Absent {
    /// Returns whether an absent feature is 0.
    pub fn is_zero(&self) -> bool {
        *self == Self::Zero
    }
}

/// What to do about a missing value that is refused.
pub(crate) const MISSING_HINT: &str = "option `missing` = \"zero\" or \"query-min\" replaces a missing one, \"keep\" leaves it to boosted trees, \
     \"indicator\" gives every learner a mean and a column";

/// Source of the queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Groups {
    /// From `qid:`, or from `FILE.query` where the lines have none.
    #[default]
    Auto,
    /// From `qid:`.
    Qid,
    /// From `FILE.query`; identifiers on the lines are ignored.
    #[serde(alias = "query_file")]
    QueryFile,
}

/// Source of weights in training, of queries or of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weights {
    /// None: all weigh the same.
    #[default]
    None,
    /// `FILE.query_weights` for queries, `FILE.weight` for documents.
    File,
}

impl Weights {
    /// Returns whether there are none.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// Options for reading LETOR text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReadOptions {
    /// Number of features: the dataset has exactly this many, and a larger index is an error. Default: the largest
    /// index.
    pub features: Option<usize>,
    /// What a missing value becomes. Default: an error.
    pub missing: Missing,
    /// The value of a feature that a line leaves out. Default: 0.
    #[serde(skip_serializing_if = "Absent::is_zero")]
    pub absent: Absent,
    /// A number that stands for a missing value in the files, as a 32-bit float. A number beyond their range stands for
    /// all such numbers. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing_value: Option<f64>,
    /// Source of the queries. Default: `auto`.
    pub groups: Groups,
    /// Source of the weights of queries. Default: none.
    #[serde(skip_serializing_if = "Weights::is_none")]
    pub query_weights: Weights,
    /// Source of the weights of documents. Default: none.
    #[serde(skip_serializing_if = "Weights::is_none")]
    pub document_weights: Weights,
    /// Whether lines of LETOR text are put together by query, within a file, if they do not stand together. Default:
    /// false, they are refused. Rows of tables always are put together.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sort: bool,
    /// The meaning of each column of a table. A configuration has a separate section for it.
    #[serde(skip)]
    pub columns: Columns,
    /// Largest feature index. Default: 1,000,000.
    pub max_feature_index: usize,
    /// Largest number of cells (documents x features; 4 bytes each) of the dataset, and of a block of it. Default: 16
    /// per byte of text, or 64 per byte of a compressed file where that is less, but at least 2^26 (256 MiB), so that a
    /// small hostile file cannot ask for a large matrix.
    pub max_cells: Option<usize>,
    /// Longest line in bytes. Default: 64 MiB.
    pub max_line_bytes: usize,
    /// Largest decompressed size of a compressed file in bytes. Default: 64 GiB.
    pub max_decompressed_bytes: u64,
    /// Largest ratio of decompressed to compressed bytes of a compressed file, beyond its first 64 MiB of text. LETOR
    /// text has a ratio of 5 to 50. Default: 100.
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
    /// Refuses options out of their ranges. Every limit must be at least 1. Absent features, or a number, can stand for
    /// missing values only if missing values are allowed.
    ///
    /// # Errors
    /// [`Refusal`] of the first limit that is 0, of `absent`, or of `missing_value`.
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

    /// The number that stands for a missing value, as it is compared; NaN, which equals none, where there is none.
    pub(crate) fn missing_number(&self) -> f32 {
        self.missing_value.map_or(f32::NAN, |value| value as f32)
    }

    /// Returns the largest number of cells that `bytes` bytes of text may have.
    pub(crate) fn most_cells(&self, bytes: u64) -> usize {
        self.max_cells.unwrap_or_else(|| usize::try_from(bytes.saturating_mul(16)).unwrap_or(usize::MAX).max(1 << 26))
    }

    /// The value of a feature that a line leaves out.
    pub(crate) fn absent_value(&self) -> f32 {
        if self.absent == Absent::Missing && self.missing != Missing::Zero { f32::NAN } else { 0.0 }
    }

    /// The value of a feature that a line leaves out, in words.
    pub(crate) fn absent_in_words(&self) -> &'static str {
        if self.absent_value().is_nan() { "missing" } else { "0" }
    }
}
