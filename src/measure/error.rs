//! Errors in measures, conventions and rankings.

use std::fmt::Display;

use crate::refusal::Refusal;
use crate::text::{counted, did_you_mean, shown};

/// The reason why a measure could not be named or computed. Errors count queries and documents from 1.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// There is no measure with this name.
    #[error("unknown measure `{}`: expected one of {known}{}", shown(found), did_you_mean(nearest))]
    UnknownMeasure {
        /// The unknown name.
        found: String,
        /// All names.
        known: String,
        /// The most similar known name, if there is a close one.
        nearest: Option<String>,
    },
    /// A measure's cut-off or persistence is missing, superfluous or out of range.
    #[error("measure `{}`: expected {expected}", shown(found))]
    MeasureParameter {
        /// The measure as the user wrote it.
        found: String,
        /// The form in which the measure must be written.
        expected: String,
    },
    /// There is no preset with this name.
    #[error("unknown convention `{}`: expected one of {known}{}", shown(found), did_you_mean(nearest))]
    UnknownPreset {
        /// The unknown name.
        found: String,
        /// All names.
        known: String,
        /// The most similar known name, if there is a close one.
        nearest: Option<String>,
    },
    /// A field of the convention is out of range.
    #[error(transparent)]
    Convention(Refusal),
    /// A score is NaN or +inf, which cannot be ranked.
    #[error(
        "document {document} of query {query} has the score {found}: expected a number, or -inf for a document that was not retrieved"
    )]
    Score {
        /// The number of the query, counted from 1.
        query: usize,
        /// The number of the document in its query, counted from 1.
        document: usize,
        /// The score.
        found: f32,
    },
    /// The label has no meaning under the convention.
    #[error("document {document} of query {query} has the label {found}: expected {expected}")]
    Label {
        /// The number of the query, counted from 1.
        query: usize,
        /// The number of the document in its query, counted from 1.
        document: usize,
        /// The label.
        found: f32,
        /// The valid values.
        expected: String,
    },
    /// A label is above the maximum grade of ERR.
    #[error("query {query} has the label {found}: ERR expects labels up to the convention's maximum_grade = {maximum}")]
    Grade {
        /// The number of the query, counted from 1.
        query: usize,
        /// The label.
        found: f64,
        /// The maximum grade.
        maximum: f64,
    },
    /// Two arrays that belong together have different lengths.
    #[error("found {found} {what} for {expected} documents")]
    Length {
        /// The contents of the array, as a plural noun such as "scores".
        what: &'static str,
        /// Length of the array.
        found: usize,
        /// Number of documents.
        expected: usize,
    },
    /// The query offsets do not split the documents into lists, one per query.
    #[error(
        "query offsets {found}: expected offsets that start at 0, never fall and end at {documents}, the number of documents"
    )]
    Offsets {
        /// A description of what is wrong with the offsets.
        found: String,
        /// Number of documents.
        documents: usize,
    },
    /// The convention breaks ties by document identifier, but the documents have no identifiers.
    #[error("convention `{convention}` orders equal scores by document identifier, but the documents have none")]
    NoDocumentIds {
        /// Name of the convention.
        convention: String,
    },
    /// The convention excludes every query, so the measure has no mean.
    #[error(
        "{measure} has no mean: convention `{convention}` excludes every query, none of which has {needed} ({})",
        counted(*queries, "query")
    )]
    NoQueries {
        /// The measure.
        measure: String,
        /// Name of the convention.
        convention: String,
        /// Number of queries.
        queries: usize,
        /// A description of the documents that a query needs so that the measure has a value.
        needed: &'static str,
    },
}

impl MeasureError {
    pub(super) fn convention(field: &'static str, found: impl Display, expected: &'static str) -> Self {
        MeasureError::Convention(Refusal::new(field, found, expected).under("convention"))
    }
}
