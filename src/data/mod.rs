//! Ranking data: readers, datasets, folds, normalisers, padded batches.

mod batch;
mod dataset;

pub use batch::RankingBatch;
pub use dataset::Dataset;
