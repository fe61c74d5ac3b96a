//! Experiments: configuration file, folds, grid, seeds, report.

mod document;

pub use document::{ConfigError, Document};
