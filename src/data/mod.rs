//! Ranking data: readers, datasets, folds, normalizers and padded batches.
//!
//! [`read()`] reads files into a [`RankingDataset`], [`RankingDataset::builder`] builds one from values in memory, and
//! [`SynthConfig`] generates data. [`folds`] finds folds in a folder or splits a dataset into folds. A [`Normalizer`]
//! is fitted to training data, and a [`BatchPlanner`] chooses the queries of each [`RankingBatch`]. [`trec`] reads and
//! writes runs and judgments. Files are read by path; functions with names ending in `_from` read any other [`Input`].
//! A [`ClickModel`] generates clicks on rankings.

pub(crate) mod assembly;
mod batch;
mod builder;
mod byte_size;
#[cfg(feature = "ranker")]
pub(crate) mod check;
mod clicks;
#[cfg(feature = "columnar")]
#[cfg_attr(docsrs, doc(cfg(feature = "columnar")))]
pub mod columnar;
pub(crate) mod columns;
mod dataset;
mod document_weights;
pub(crate) mod error;
pub(crate) mod features;
pub(crate) mod fit_normalizer;
pub mod folds;
mod hash;
pub(crate) mod indicators;
mod input;
pub mod letor;
mod normal;
mod normalizer;
mod order_statistics;
pub(crate) mod padding;
pub(crate) mod parts;
mod query_weights;
pub(crate) mod reading;
mod rows;
mod segments;
pub(crate) mod shards;
mod statistics;
pub(crate) mod synth;
pub(crate) mod text;
pub mod trec;
mod weights;
pub(crate) mod widths;
#[cfg(feature = "learners")]
pub(crate) mod windows;

pub use batch::{BatchPlanner, BatchPlannerConfig, Keep, RankingBatch};
pub use builder::RankingDatasetBuilder;
pub use byte_size::ByteSize;
pub use clicks::{ClickModel, Clicks};
pub use columns::Columns;
pub use dataset::RankingDataset;
pub use error::DataError;
pub use features::Features;
#[cfg(feature = "ranker")]
pub(crate) use fit_normalizer::missing_name;
pub use folds::Fold;
pub use input::Input;
#[cfg(feature = "export")]
pub(crate) use normalizer::FeatureMap;
pub use normalizer::{Normalizer, NormalizerKind};
pub use reading::{read, read_from};
pub use segments::{Segments, SegmentsError};
pub use statistics::Statistics;
pub use synth::{HiddenScorer, SynthConfig};
