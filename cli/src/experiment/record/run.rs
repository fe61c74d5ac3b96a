//! `run.json`: what may differ between machines and moments.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use burn_rank::op::Execution;
use burn_rank::workbench::memory;
use serde::{Deserialize, Serialize};

/// The part of a run's record that may differ between machines and moments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Device name.
    pub device: String,
    /// Processor and system, as in `x86_64 linux`.
    #[serde(default)]
    pub platform: String,
    /// Instructions of the fused kernels of the CPU, as in `avx512`; empty in older records.
    #[serde(default)]
    pub instructions: String,
    /// Threads of the processor pool.
    pub threads: usize,
    /// Seconds of the fits that this process made.
    pub fit_seconds: f64,
    /// Seconds in all, reading and reporting included.
    pub total_seconds: f64,
    /// Largest resident memory of the process in MiB, if the system reports it.
    pub peak_memory_mib: Option<f64>,
    /// Seconds since 1970, at the end.
    pub finished: u64,
}

impl RunRecord {
    /// The record of a run that ends now, in the execution of this thread.
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
