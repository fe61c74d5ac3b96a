//! Options for reading LETOR text, which tables and the TREC formats use too: among them the roles of a table's
//! columns, such as label, query and weight. Also the requirements that files of a set share.

use serde::{Deserialize, Serialize};

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
    /// Whether the positions of documents are read: from `FILE.position` for text, and from the column of positions for
    /// a table. In a configuration file, the learner and the columns decide.
    #[serde(skip)]
    pub positions: bool,
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
            positions: false,
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
        if let Some((option, _)) = limits.into_iter().find(|(_, value)| *value == Some(0)) {
            return Err(Refusal::new(option, 0, "at least 1"));
        }
        let rejects = self.missing == Missing::Error;
        let or = "or `keep`, `indicator`, `zero` or `query-min` for `missing`, which now rejects missing values";
        if rejects && self.absent == Absent::Missing {
            return Err(Refusal::new("absent", "missing", format!("`zero`, {or}")));
        }
        match self.missing_value {
            Some(value) if !value.is_finite() => {
                let expected = "a finite number; NULL and nan are missing values anyway";
                Err(Refusal::new("missing_value", value, expected))
            }
            Some(value) if rejects => Err(Refusal::new("missing_value", value, format!("none, {or}"))),
            _ => Ok(()),
        }
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
}

/// Returns, in words, the value of a feature that is absent from a line.
pub fn absent_in_words(options: &ReadOptions) -> &'static str {
    if options.absent_value().is_nan() { "missing" } else { "0" }
}

/// Names the columns of a table by their roles. By default, labels are in `label`, query identifiers in `query` or
/// `qid`, document identifiers in `document` or `docid`, and document weights in `weight`. Every other column is a
/// feature, unless it is dropped.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Columns {
    /// The column of the labels. Default: `label`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The column of the query identifiers. Default: `query` or `qid`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// The column of the document identifiers. The default is `document` or `docid`, if the table has such a column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The column of the document weights in training. The default is `weight`, if the table has such a column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<String>,
    /// The column of a teacher's scores, from which training learns. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub teacher: Option<String>,
    /// The column of the positions at which documents were shown; each value is a category. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
    /// Columns to ignore.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drop: Vec<String>,
}

impl Columns {
    /// Returns whether no column is named or dropped.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Returns the refusal. If the unknown key is a column role in other systems, such as `labels`, the message says
/// what is read in its place.
pub fn name_unread(refusal: Refusal) -> Refusal {
    match refusal.unknown_name() {
        Some("labels") if refusal.key.contains("columns.") => {
            Refusal::fault(refusal.key, "a table has one column of labels, which `label` names")
        }
        _ => refusal,
    }
}

/// Requirements that all files of a set must meet, in addition to the options.
#[derive(Debug, Clone, Default)]
pub struct Like<'a> {
    /// The end of the error message about extra features. It says where the number of features comes from: by default,
    /// the option `features`.
    pub features_from: Option<&'static str>,
    /// The names of the features; empty if they are not known. A table with one column per feature must have the same
    /// feature names.
    pub feature_names: &'a [String],
    /// The columns that the ranker read in training, if the data are scored by a ranker. A table to be scored may lack
    /// columns of the training data. Columns that are not features of the ranker are not read.
    pub ranker: Option<Columns>,
    /// The least number of features of a table, if the data are scored by a ranker that has so many.
    pub least_features: usize,
    /// Whether the ranker is from a system that changes names of features: where no column has the name of a feature,
    /// a column fits whose name differs only in characters other than letters and digits.
    pub has_changed_names: bool,
    /// Whether the labels of a table are not needed. A table may then lack a column of labels. If a table has such a
    /// column, its values are not read. All documents get the label 0, which is never used.
    pub ignores_labels: bool,
    /// Whether the scores of a teacher and positions are not read. The columns that are named for them or for weights
    /// may be absent.
    pub ignores_teacher_and_positions: bool,
    /// Whether a CSV file has the identifiers of queries as they are, as a table of scores does.
    pub has_exact_queries: bool,
    /// The column used to split the queries into folds or sets, which is not a feature.
    pub key: Option<&'a KeyColumn>,
    /// A column that is not read, if a table has it.
    pub unread: Option<&'a str>,
}

/// The beginning of the name of a feature that has only a number.
pub(crate) const NUMBERED: &str = "feature_";

/// Returns the names by which tables have features that have only numbers: `feature_1`, `feature_2` and so on.
pub fn numbered(features: usize) -> Vec<String> {
    (1..=features).map(|feature| format!("{NUMBERED}{feature}")).collect()
}

/// Returns a name with `_` in place of each character that is neither a letter nor a digit, as some systems write it.
#[cfg(any(feature = "columnar", feature = "ranker"))]
pub fn letters(name: &str) -> String {
    name.replace(|c: char| !c.is_alphanumeric(), "_")
}

/// The column by which queries are split into folds or sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyColumn {
    /// A column of text or integers, which is the same in all rows of a query.
    Group(String),
    /// A column of numbers, dates or times; the time of a query is its latest value in any row of the query.
    Time(String),
}

impl KeyColumn {
    /// Returns the name of the column.
    pub fn name(&self) -> &str {
        match self {
            Self::Group(name) | Self::Time(name) => name,
        }
    }
}

/// The values of a [`KeyColumn`], one for each query.
#[derive(Debug, Clone, PartialEq)]
pub enum Keys {
    /// The group of each query.
    Groups(Vec<String>),
    /// The time of each query.
    Times(Vec<f64>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Map, from_value, json};

    #[test]
    fn keys_that_tables_of_other_systems_have_are_refused_by_name() {
        let refused = |key: &str| {
            let refusal = from_value::<Columns>(Map::from_iter([(key.to_owned(), json!("x"))]).into())
                .unwrap_err()
                .under("columns");
            name_unread(refusal).to_string()
        };
        assert_eq!(refused("labels"), "columns.labels: a table has one column of labels, which `label` names");
        assert!(refused("lable").ends_with("did you mean `label`?"));
    }
}
