//! The files that record a run: `report.json` holds its results, and `run.json` holds facts such as times. On the CPU,
//! the same configuration and seed give the same bytes in `report.json`; `run.json` may differ each time.

mod cross_validation;
mod measures;
mod partial_dependence;
mod report;
mod run;
mod standing;

pub use cross_validation::{CrossValidation, FoldResult, SearchReport, Trial};
pub use measures::Measures;
pub use partial_dependence::{MissingValue, PartialDependence};
pub(super) use report::standard_error;
pub use report::{
    CrossValidationReport, DataReport, FitReport, FoldDetails, PerQuery, Report, SetMeasures, Sets, TrainReport,
};
pub use run::RunRecord;
pub use standing::Standing;
