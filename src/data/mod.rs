//! Ranking data: readers, datasets, folds, normalisers, padded batches.

mod batch;
mod dataset;
mod error;
pub mod letor;

pub use batch::RankingBatch;
pub use dataset::Dataset;
pub use error::DataError;
