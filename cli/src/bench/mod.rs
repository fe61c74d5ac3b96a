//! Benchmarks of losses, training epochs and single-query scoring on any device, and of boosted trees.
//!
//! The inputs resemble real ones: scores are normally distributed, and labels are distributed as in MSLR-WEB. Losses
//! are timed in bursts that alternate between fused kernels and tensor operations, so both run under the same
//! conditions.

mod losses;
mod serving;
mod train;

pub use losses::{LossBench, OpPath, Shape};
pub use serving::ServingBench;
pub use train::{TrainBench, TreesBench};

use burn_rank::refusal::Refusal;

/// The seed from which inputs, initial weights and batches are drawn.
const SEED: u64 = 1;

/// The reasons why a benchmark cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// Not `BATCHxDOCUMENTS`.
    #[error("shape `{found}`: expected BATCHxDOCUMENTS, both at least 1, such as 64x128")]
    Shape {
        /// The given shape.
        found: String,
    },
    /// A parameter of the benchmark or the scorer that is out of range.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A loss that does not exist.
    #[error(transparent)]
    Loss(#[from] burn_rank::loss::LossError),
    /// A learner that cannot be fitted.
    #[error(transparent)]
    Learner(#[from] burn_rank::learner::LearnerError),
    /// Data that cannot be generated.
    #[error(transparent)]
    Data(#[from] burn_rank::data::DataError),
    /// A ranker that cannot be created or served.
    #[error(transparent)]
    Ranker(#[from] burn_rank::ranker::RankerError),
    /// The device failed.
    #[error("device {device}: {reason}")]
    Device {
        /// Name of the device.
        device: String,
        /// The error message of the backend.
        reason: String,
    },
}

/// Waits until the device is idle, so that a measured time includes all of its work.
fn sync(device: &burn::tensor::Device, name: &str) -> Result<(), BenchError> {
    device.sync().map_err(|error| BenchError::Device {
        device: name.to_owned(),
        reason: burn_rank::workbench::root_cause(error),
    })
}
