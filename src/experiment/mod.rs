//! Experiments: configuration file, folds, grid, seeds, report.
//!
//! A [`Document`] is the text of a configuration with its overrides, an [`ExperimentConfig`] what it says. [`fit()`]
//! runs it on one split of the data, [`cross_validate`] on folds x grid x seeds; [`Report`] is what both leave.
//! `docs/CONFIG.md` lists the keys, `examples/make_models.rs` runs files from Rust.

mod config;
mod cross_validation;
mod document;
mod fit;
mod grid;
mod mark;
mod output;
mod record;
mod report;
mod run_folder;
mod splits;

pub use config::{CrossValidationConfig, DataConfig, ExperimentConfig, MeasureConfig, SyntheticConfig};
pub use cross_validation::{CrossValidation, CrossValidationOptions, FoldResult, JobProgress, cross_validate};
#[cfg(feature = "cli")]
pub(crate) use document::written_value;
pub use document::{ConfigError, Document};
pub use fit::{Evaluations, ExperimentError, Fit, FitOptions, fit, linear_weights};
pub use grid::{GridError, Point, label, points};
#[cfg(feature = "cli")]
pub(crate) use output::Purpose;
pub use output::{Claim, OutputError, OutputFolder, RunKind};
pub use record::RunRecord;
pub use report::{
    CrossValidationReport, DataReport, FitReport, FoldDetails, Measures, PerQuery, Report, SetMeasures, Sets,
    TrainReport, resolved_toml,
};
pub use run_folder::{CARD, CONFIG, PAGE, RANKER, RECORD, REPORT};
#[cfg(feature = "cli")]
pub(crate) use run_folder::{Entry, RUN_FILES, is_page};
pub use splits::Split;
