//! The configuration of an experiment. It is read from `.toml` files and overrides, and yields checked values, grids
//! and searches.

pub(super) mod candidates;
mod document;
mod experiment;
mod fitting;
pub(super) mod grid;
mod members;
#[cfg(test)]
mod reference_tests;
pub(super) mod search;
mod sections;

pub use document::{ConfigError, Document};
pub(crate) use document::{from_toml, written_value};
pub(super) use experiment::refusal_of;
pub use experiment::{Experiment, ExperimentConfig};
pub use fitting::absolute_path;
pub(crate) use fitting::without_nulls;
pub use search::{Rung, SearchConfig};
pub use sections::{
    CrossValidationConfig, DataConfig, FoldsConfig, MeasureConfig, SplitBy, SplitConfig, Standardize, SyntheticConfig,
};
