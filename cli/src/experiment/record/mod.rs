//! The files that record a run: `report.json` holds its results, and `run.json` holds facts such as times. On the CPU,
//! the same configuration and seed give the same bytes in `report.json`; `run.json` may differ each time.

mod cross_validation;
mod partial_dependence;
mod report;
mod run;
mod standing;

pub use cross_validation::{CrossValidation, FoldResult, Measures, SearchReport, Trial};
pub use partial_dependence::PartialDependence;
pub use report::{
    CrossValidationReport, DataReport, FitReport, FoldDetails, PerQuery, Report, SetMeasures, Sets, TrainReport,
};
pub(super) use report::{mean, merit, over_seeds, standard_error};
pub use run::RunRecord;
pub use standing::Standing;
