//! The files that record a run: `report.json` holds its results, and `run.json` holds facts such as times. On the CPU,
//! the same configuration and seed give the same bytes in `report.json`; `run.json` may differ each time.

mod cross_validation;
mod partial_dependence;
mod report;

pub use cross_validation::{CrossValidation, FoldResult, Measures, SearchReport, Standing, Trial};
pub use partial_dependence::PartialDependence;
pub use report::{
    CrossValidationReport, DataReport, FitReport, FoldDetails, PerQuery, Report, SetMeasures, Sets, TrainReport,
};
pub(super) use report::{mean, merit, over_seeds, standard_error};

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use burn_rank::op::Execution;
use burn_rank::workbench::memory;
use serde::{Deserialize, Serialize};

/// Facts that may change when a run is repeated, such as device and time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Device name.
    pub device: String,
    /// The processor and the system, for example `x86_64 linux`.
    #[serde(default)]
    pub platform: String,
    /// The instructions that the fused CPU kernels used, for example `avx512`. Older records leave this empty.
    #[serde(default)]
    pub instructions: String,
    /// The number of threads in the processor pool.
    pub threads: usize,
    /// The time that this process spent on fits, in seconds.
    pub fit_seconds: f64,
    /// The total time in seconds, including reading and reporting.
    pub total_seconds: f64,
    /// The largest resident memory of the process in MiB, if the system reports it.
    pub peak_memory_mib: Option<f64>,
    /// The time at the end of the run, in seconds since 1970.
    pub finished: u64,
}

impl RunRecord {
    /// Returns the record of a run that ends now. It records the CPU instructions and the number of threads that the
    /// calling thread uses.
    pub fn new(device: &str, fit: Duration, total: Duration) -> Self {
        Self {
            device: device.to_string(),
            platform: format!("{} {}", std::env::consts::ARCH, std::env::consts::OS),
            instructions: Execution::current().instructions().to_string(),
            threads: rayon::current_num_threads(),
            fit_seconds: fit.as_secs_f64(),
            total_seconds: total.as_secs_f64(),
            peak_memory_mib: memory::peak().map(|bytes| bytes as f64 / f64::from(1 << 20)),
            finished: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        }
    }
}
