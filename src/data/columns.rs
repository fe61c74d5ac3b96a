//! The meaning of each column of a table, and the columns that a table must have.

use serde::{Deserialize, Serialize};

use crate::refusal::Refusal;

/// The columns of a table by name. Without a name, the usual columns are taken: `label`, `query` or `qid`, `document`
/// or `docid`, `weight`. Every column that has no name here is a feature, unless it is dropped.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Columns {
    /// The column of the labels. Default: `label`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The column of the identifiers of the queries. Default: `query` or `qid`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// The column of the identifiers of the documents. Default: `document` or `docid`, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The column of the weights of the documents in training. Default: `weight`, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<String>,
    /// Columns that are not read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drop: Vec<String>,
}

impl Columns {
    /// Returns whether no column is named.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the same refusal. If it is about a key for which other systems have columns, it says that such columns
    /// are not read.
    pub(crate) fn name_unread(refusal: Refusal) -> Refusal {
        const UNREAD: [(&str, &str); 3] = [
            ("teacher", "scores of a teacher are not read from a table"),
            ("position", "positions of shown documents are not read from a table"),
            ("labels", "a table has one column of labels, which `label` names"),
        ];
        let unread = refusal.unknown_name().and_then(|unknown| UNREAD.iter().find(|(name, _)| *name == unknown.name));
        match unread {
            Some((_, why)) if refusal.key.contains("columns.") => Refusal::fault(refusal.key, why),
            _ => refusal,
        }
    }
}

/// The properties that the files of a set are compared with, in addition to the options.
#[derive(Debug, Clone, Default)]
pub struct Like<'a> {
    /// The source of the number of features, as the end of an error about more features; the option if `None`.
    pub features_from: Option<&'static str>,
    /// The names of the features; a table with a column for each has these. None are known if it is empty.
    pub feature_names: &'a [String],
    /// The columns of the training data of the ranker that scores the data, if there is one. A table need not have
    /// them. Columns that are not features of the ranker are not read.
    pub ranker: Option<Columns>,
    /// Whether a table may have no column of labels: its documents then have the label 0, which nobody reads.
    pub may_lack_labels: bool,
    /// The column that splits the queries, which is no feature.
    pub key: Option<&'a KeyColumn>,
}

/// A column by which queries are split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyColumn {
    /// Text or integers; the rows of a query have the same.
    Group(String),
    /// Numbers, dates or times; a query has the value of its latest row.
    Time(String),
}

impl KeyColumn {
    /// The name of the column.
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
            Columns::name_unread(refusal).to_string()
        };
        assert_eq!(refused("teacher"), "columns.teacher: scores of a teacher are not read from a table");
        assert_eq!(refused("labels"), "columns.labels: a table has one column of labels, which `label` names");
        assert!(refused("position").starts_with("columns.position: positions of shown documents"));
        assert!(refused("lable").ends_with("did you mean `label`?"));
    }
}
