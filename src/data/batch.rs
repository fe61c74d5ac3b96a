//! `RankingBatch`: queries padded to one length, on a device.

use burn::tensor::{Bool, Tensor};

/// Queries padded to one length.
#[derive(Debug, Clone)]
pub struct RankingBatch {
    /// `[queries, documents, features]`; padded documents are 0.
    pub features: Tensor<3>,
    /// `[queries, documents]`; padded documents are 0.
    pub labels: Tensor<2>,
    /// `[queries, documents]`; true for a document, false for padding.
    pub mask: Tensor<2, Bool>,
    /// Index in the dataset of each query of the batch.
    pub queries: Vec<usize>,
}
