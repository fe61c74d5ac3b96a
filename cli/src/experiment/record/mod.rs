//! The record of a run in words and numbers. On the CPU, `report.json` has the same bytes for the same configuration
//! and seed; `run.json` may change when the run is repeated.

mod cross_validation;
mod measures;
mod partial_dependence;
mod report;
mod run;

pub use cross_validation::{CrossValidation, FoldResult, SearchReport, Trial};
pub use measures::Measures;
pub use partial_dependence::{MissingValue, PartialDependence};
pub(super) use report::standard_error;
pub use report::{
    CrossValidationReport, DataReport, FitReport, FoldDetails, PerQuery, Report, SetMeasures, Sets, TrainReport,
};
pub use run::RunRecord;
