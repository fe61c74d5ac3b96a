//! Experiments: configuration file, folds, grid, seeds, report.

mod document;
mod grid;
mod output;

pub use document::{ConfigError, Document};
pub use grid::{Point, label, points};
pub use output::{OutputError, OutputFolder};
