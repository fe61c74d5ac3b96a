//! Compares the rankers and the speed that one configuration gives on several devices.
//!
//! | file | what |
//! |---|---|
//! | `setting.rs` | a device, with instructions, threads and precision |
//! | `trial.rs` | one fit on one device, measured in the process that made it |
//! | `clock.rs` | the times of the rounds of a fit |
//! | `step_cost.rs` | speed by the queries of a step, reads of the device, launches and time by kernel |
//! | `first_batch.rs` | errors of loss and gradient, compared with double precision |
//! | `comparison.rs` | the table: a row per device, and tables of several machines |
//!
//! `burn-rank devices compare` starts a process for each [`Trial`]. A trial thus measures its own start-up and peak
//! memory, and its failure does not affect other trials.

mod clock;
mod comparison;
mod first_batch;
mod setting;
mod step_cost;
mod trial;

pub use comparison::{DeviceComparison, DeviceRow, DeviceRun};
pub use setting::DeviceSetting;
pub(crate) use setting::precision;
pub use step_cost::StepCost;
pub use trial::{Trial, TrialOptions};

use crate::experiment::ExperimentError;

/// The result of a measurement.
type Result<T, E = ExperimentError> = std::result::Result<T, E>;
