//! The roles of a table's columns, such as label, query and weight, and the requirements that files of a set share.

use serde::{Deserialize, Serialize};

use crate::refusal::Refusal;

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
    /// Columns to ignore.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drop: Vec<String>,
}

impl Columns {
    /// Returns whether no column is named or dropped.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the refusal. If the unknown key is a column role in other systems, such as `position`, the message says
    /// that no column is read for it.
    pub(crate) fn name_unread(refusal: Refusal) -> Refusal {
        const UNREAD: [(&str, &str); 3] = [
            ("teacher", "scores of a teacher are not read from a table"),
            ("position", "positions of shown documents are not read from a table"),
            ("labels", "a table has one column of labels, which `label` names"),
        ];
        let unread = refusal.unknown_name().and_then(|unknown| UNREAD.iter().find(|(name, _)| *name == unknown));
        match unread {
            Some((_, why)) if refusal.key.contains("columns.") => Refusal::fault(refusal.key, why),
            _ => refusal,
        }
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
    /// The column used to split the queries into folds or sets, which is not a feature.
    pub key: Option<&'a KeyColumn>,
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
            Columns::name_unread(refusal).to_string()
        };
        assert_eq!(refused("teacher"), "columns.teacher: scores of a teacher are not read from a table");
        assert_eq!(refused("labels"), "columns.labels: a table has one column of labels, which `label` names");
        assert!(refused("position").starts_with("columns.position: positions of shown documents"));
        assert!(refused("lable").ends_with("did you mean `label`?"));
    }
}
