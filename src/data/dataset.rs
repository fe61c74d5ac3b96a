//! `Dataset`: documents grouped by query, features flat and row-major. A query is a range, never a column.

use std::ops::Range;

/// Documents grouped by query.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Dataset {
    /// `[documents x features]`, row-major.
    pub features: Vec<f32>,
    /// Number of features of a document.
    pub feature_count: usize,
    /// One label a document.
    pub labels: Vec<f32>,
    /// `queries + 1` offsets into the documents; query `q` is `offsets[q]..offsets[q + 1]`.
    pub offsets: Vec<usize>,
    /// The identifier of each query, as read.
    pub query_ids: Vec<String>,
    /// The identifier (or comment) of each document; empty when the source has none.
    pub document_ids: Vec<String>,
}

impl Dataset {
    /// Number of queries.
    pub fn queries(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Number of documents.
    pub fn documents(&self) -> usize {
        self.labels.len()
    }

    /// The documents of query `q`.
    pub fn range(&self, q: usize) -> Range<usize> {
        self.offsets[q]..self.offsets[q + 1]
    }

    /// The labels of query `q`.
    pub fn query_labels(&self, q: usize) -> &[f32] {
        &self.labels[self.range(q)]
    }

    /// The features of document `d`.
    pub fn row(&self, d: usize) -> &[f32] {
        &self.features[d * self.feature_count..(d + 1) * self.feature_count]
    }
}
