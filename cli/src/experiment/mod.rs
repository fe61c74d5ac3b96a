//! Runs the experiments that configuration files define, and reports the results. An experiment can run over folds,
//! settings and seeds.
//!
//! A [`Document`] is the text of a configuration with its overrides, and an [`ExperimentConfig`] holds its values. An
//! [`Experiment`] is a checked configuration, with the learner that it describes.
//! [`fit()`] runs an experiment on one split of the data; [`PlannedFits`] runs it on every fold, setting and seed.
//! The results of both are recorded in a [`Report`]. `docs/reference/configuration` lists the configuration keys.

mod agreement;
mod cautions;
mod config;
mod cross_validation;
mod error;
mod extreme_queries;
mod fit;
mod folder;
pub(crate) mod proposal;
mod record;
mod refit;
mod split;
mod splits;
mod teacher;
mod train_run;

pub(crate) use agreement::agree;
pub(crate) use config::{ConfigError, from_toml, without_nulls, written_value};
pub use config::{DataConfig, Document, Experiment, ExperimentConfig, MeasureConfig, Rung, absolute_path};
pub(crate) use cross_validation::format_of;
pub use cross_validation::{CrossValidationOptions, JobEvent, KEPT, Keep, KeptRun, Part, PlannedFits};
pub(crate) use error::to_io;
pub use error::{ExperimentError, OutputError};
pub(crate) use extreme_queries::LONGEST_IDENTIFIER;
pub use extreme_queries::{ExtremeQueries, RankedQuery};
pub(crate) use fit::fit_normalizer;
pub use fit::{Fit, FitOptions, MemberReport, fit, fit_in_place, linear_weights};
pub(crate) use folder::{CARD, DEVICES, RUN_FILES, STUDY, is_run, json_bytes, put_right, ranker_file, write_page};
pub use folder::{Claim, Identity, JOBS, OutputFolder, PAGE, Place, RANKER, RECORD, REPORT, RunKind};
pub use record::{
    CrossValidation, CrossValidationReport, DataReport, FitReport, FoldDetails, FoldResult, Measures,
    PartialDependence, PerQuery, Report, RunRecord, SearchReport, SetMeasures, Sets, Standing, TrainReport, Trial,
};
pub use refit::Chosen;
pub use split::Split;
pub(crate) use split::moved_in_words;
pub(crate) use train_run::add_page;
pub use train_run::{Destination, FinishedRun, TrainRun};
