//! Errors in measures, conventions and the rankings that are measured.

use std::fmt::Display;

use crate::refusal::Refusal;
use crate::text::{counted, did_you_mean, shown};

/// Reason that a measure could not be named or computed. Queries and documents are counted from 1.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// A name that no measure has.
    #[error("unknown measure `{}`: expected one of {known}{}", shown(found), did_you_mean(nearest))]
    UnknownMeasure {
        /// The name as found.
        found: String,
        /// All names.
        known: String,
        /// The nearest of them.
        nearest: Option<String>,
    },
    /// A cut-off or persistence that is missing, superfluous, or out of range.
    #[error("measure `{}`: expected {expected}", shown(found))]
    MeasureParameter {
        /// The measure as found.
        found: String,
        /// The form that it should have.
        expected: String,
    },
    /// A name that no preset has.
    #[error("unknown convention `{}`: expected one of {known}{}", shown(found), did_you_mean(nearest))]
    UnknownPreset {
        /// The name as found.
        found: String,
        /// All names.
        known: String,
        /// The nearest of them.
        nearest: Option<String>,
    },
    /// A field of a convention that is out of range.
    #[error(transparent)]
    Convention(Refusal),
    /// A score that cannot be ranked.
    #[error(
        "document {document} of query {query} has the score {found}: expected a number, or -inf for a document that was not retrieved"
    )]
    Score {
        /// Query, counted from 1.
        query: usize,
        /// Document in the query, counted from 1.
        document: usize,
        /// The score.
        found: f32,
    },
    /// A label to which the convention gives no meaning.
    #[error("document {document} of query {query} has the label {found}: expected {expected}")]
    Label {
        /// Query, counted from 1.
        query: usize,
        /// Document in the query, counted from 1.
        document: usize,
        /// The label.
        found: f32,
        /// The valid values.
        expected: String,
    },
    /// A label above the maximum grade of ERR.
    #[error("query {query} has the label {found}: ERR expects labels up to the convention's maximum_grade = {maximum}")]
    Grade {
        /// Query, counted from 1.
        query: usize,
        /// The label.
        found: f64,
        /// The maximum grade.
        maximum: f64,
    },
    /// Two arrays that should have the same length.
    #[error("found {found} {what} for {expected} documents")]
    Length {
        /// Name of the array's contents, in the plural.
        what: &'static str,
        /// Length of the array.
        found: usize,
        /// Number of documents.
        expected: usize,
    },
    /// Offsets that do not cut the documents into queries.
    #[error(
        "query offsets {found}: expected offsets that start at 0, never fall and end at {documents}, the number of documents"
    )]
    Offsets {
        /// Description of the fault.
        found: String,
        /// Number of documents.
        documents: usize,
    },
    /// A convention that orders equal scores by document identifier, for documents without identifiers.
    #[error("convention `{convention}` orders equal scores by document identifier, but the documents have none")]
    NoDocumentIds {
        /// Name of the convention.
        convention: String,
    },
    /// A mean over no query at all.
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
        /// Property that the measure needs a query to have.
        needed: &'static str,
    },
}

impl MeasureError {
    pub(super) fn convention(field: &'static str, found: impl Display, expected: &'static str) -> Self {
        MeasureError::Convention(Refusal::new(field, found, expected).under("convention"))
    }
}
