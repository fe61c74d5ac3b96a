//! Ranking data: readers, datasets, folds, normalisers, padded batches.

mod batch;
mod dataset;
pub(crate) mod error;
pub mod folds;
pub mod letor;
mod normaliser;
mod statistics;
mod synth;
pub mod trec;

pub use batch::{Batcher, BatcherConfig, Keep, RankingBatch};
pub use dataset::Dataset;
pub use error::DataError;
pub use folds::Fold;
#[cfg(feature = "cli")]
pub(crate) use normaliser::FeatureMap;
pub use normaliser::{Normaliser, NormaliserKind};
pub use statistics::Statistics;
pub use synth::SynthConfig;
