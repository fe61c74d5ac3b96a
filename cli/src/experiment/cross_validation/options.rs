//! The options of a cross-validation, and the receiver of its progress.

use burn::tensor::Device;
use burn_rank::learner::Interrupt;

use crate::experiment::folder::OutputFolder;
use crate::experiment::keep::Keep;

/// Receives the progress of a cross-validation, from several threads at once.
pub trait JobProgress: Sync {
    /// A job has ended.
    fn done(&self, job: &JobDone);
    /// The fit of the job `label` has something to say.
    fn warn(&self, label: &str, message: &str);
}

/// A job of a cross-validation that has ended.
#[derive(Debug, Clone, Copy)]
pub struct JobDone<'a> {
    /// Jobs that have ended, this one included.
    pub finished: usize,
    /// Jobs of the cross-validation; of successive halving, one for each rung that a fit takes part in.
    pub all: usize,
    /// The fold, the point of the grid or the trial if there are several, and the seed.
    pub label: &'a str,
    /// The selection measure of the fit, on validation queries where there are some; none of a fit that failed.
    pub selection: Option<f64>,
    /// The surrogate at the selected round, if the learner minimizes one.
    pub surrogate: Option<f64>,
}

/// The options of a cross-validation.
pub struct CrossValidationOptions<'a> {
    /// Device of tensor work.
    pub device: &'a Device,
    /// Folder of the jobs; nothing is kept without.
    pub output: Option<&'a OutputFolder>,
    /// Keep the finished jobs in the folder, and continue the others.
    pub resume: bool,
    /// The files to keep in the folder of each fold's selected fit.
    pub keep: Keep,
    /// Fits at once; as many as memory and `threads` allow when absent.
    pub jobs: Option<usize>,
    /// Threads that fits may take.
    pub threads: usize,
    /// Receives what the jobs do.
    pub progress: &'a dyn JobProgress,
    /// Asks for an early stop.
    pub interrupt: Interrupt,
}
