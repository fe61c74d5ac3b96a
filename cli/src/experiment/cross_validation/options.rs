//! The options of a cross-validation, and the trait that receives its progress.

use burn::tensor::Device;
use burn_rank::learner::Interrupt;

use crate::experiment::folder::OutputFolder;
use crate::experiment::keep::Keep;

/// Receives the progress of a cross-validation, from several threads at once.
pub trait JobProgress: Sync {
    /// Called when the job named `label` begins.
    fn begin(&self, _label: &str) {}
    /// Called when a job has ended.
    fn done(&self, job: &JobDone);
    /// Called with a warning about the fit in the job named `label`.
    fn warn(&self, label: &str, message: &str);
}

/// A finished job of a cross-validation.
#[derive(Debug, Clone, Copy)]
pub struct JobDone<'a> {
    /// The number of finished jobs, including this one.
    pub finished: usize,
    /// The number of jobs of the cross-validation. With successive halving, each rung in which a fit takes part counts
    /// as one job.
    pub all: usize,
    /// A label such as `fold 1, seed 2`, which names the grid point or trial if there are several.
    pub label: &'a str,
    /// The selection measure of the fit, on validation queries if there are any; none if the fit failed.
    pub selection: Option<f64>,
    /// The surrogate loss at the selected round, if the learner minimizes one.
    pub surrogate: Option<f64>,
}

/// The options of a cross-validation.
pub struct CrossValidationOptions<'a> {
    /// The device for tensor operations.
    pub device: &'a Device,
    /// The folder that receives the jobs; without it, nothing is saved.
    pub output: Option<&'a OutputFolder>,
    /// Whether to reuse the finished jobs in the folder and continue the others.
    pub resume: bool,
    /// The files to keep from each fold's selected fit.
    pub keep: Keep,
    /// The number of fits to run at once; by default, as many as memory and `threads` allow.
    pub jobs: Option<usize>,
    /// The number of threads that all fits together may use.
    pub threads: usize,
    /// Receives the progress of the jobs.
    pub progress: &'a dyn JobProgress,
    /// Tells the fits to stop early.
    pub interrupt: Interrupt,
}
