//! Ranking data: readers, datasets, folds, normalizers and padded batches.
//!
//! [`read()`] reads files into a [`RankingDataset`], [`RankingDataset::builder`] builds one from values in memory, and
//! [`SynthConfig`] generates data. [`folds`] finds folds in a folder or splits a dataset into folds. A [`Normalizer`]
//! is fitted to training data, and a [`BatchPlanner`] chooses the queries of each [`RankingBatch`]. [`trec`] reads and
//! writes runs and judgments. Files are read by path; functions with names ending in `_from` read any other [`Input`].
//! A [`ClickModel`] generates clicks on rankings.

// Without some features of the library, parts of this module have no caller.
#![cfg_attr(not(all(feature = "columnar", feature = "export", feature = "learners")), allow(dead_code))]

pub(crate) mod assembly;
pub(crate) mod batch;
mod builder;
pub(crate) mod byte_size;
#[cfg(feature = "ranker")]
pub(crate) mod check;
mod clicks;
#[cfg(feature = "columnar")]
#[cfg_attr(docsrs, doc(cfg(feature = "columnar")))]
pub mod columnar;
pub(crate) mod dataset;
pub(crate) mod error;
pub(crate) mod features;
pub(crate) mod fit_normalizer;
pub mod folds;
pub(crate) mod indicators;
pub mod letor;
#[cfg(feature = "train")]
mod loader;
mod normalizer;
pub(crate) mod options;
mod order_statistics;
pub(crate) mod padding;
mod positions;
pub(crate) mod reading;
mod rows;
mod segments;
pub(crate) mod shards;
pub(crate) mod source;
mod statistics;
pub(crate) mod synth;
mod training;
pub mod trec;
#[cfg(feature = "learners")]
pub(crate) mod windows;

pub use batch::{BatchPlanner, RankingBatch};
pub use builder::RankingDatasetBuilder;
pub use byte_size::ByteSize;
pub use clicks::{ClickModel, Clicks};
pub use dataset::RankingDataset;
pub use error::DataError;
pub use features::Features;
#[cfg(feature = "ranker")]
pub(crate) use fit_normalizer::missing_name;
#[cfg(feature = "train")]
#[cfg_attr(docsrs, doc(cfg(feature = "train")))]
pub use loader::{FlatBatch, FlatBatcher, PaddedBatcher, RankingQuery};
#[cfg(feature = "export")]
pub(crate) use normalizer::FeatureMap;
pub use normalizer::{Normalizer, NormalizerKind};
pub use options::Columns;
pub use positions::Positions;
pub use reading::{read, read_from};
pub use segments::{Segments, SegmentsError};
pub use source::Input;
pub use statistics::Statistics;
pub use synth::SynthConfig;
