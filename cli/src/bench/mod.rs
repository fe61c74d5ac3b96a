//! Benchmarks of losses, training epochs and single-query scoring on any device, and of boosted trees.
//!
//! The inputs resemble real ones: scores are normally distributed, and labels are distributed as in MSLR-WEB. Losses
//! are timed in bursts that alternate between fused kernels and tensor operations, so both run under the same
//! conditions.

mod losses;
mod serving;
mod train;

pub use losses::{LossBench, OpPath};
pub use serving::ServingBench;
pub use train::{TrainBench, TreesBench};

use crate::experiment::ExperimentError;

/// The seed from which inputs, initial weights and batches are drawn.
const SEED: u64 = 1;

/// Waits until the device is idle, so that a measured time includes all of its work.
fn sync(device: &burn::tensor::Device, name: &str) -> Result<(), ExperimentError> {
    device.sync().map_err(|error| ExperimentError::Device {
        device: name.to_owned(),
        reason: burn_rank::workbench::root_cause(error),
    })
}
