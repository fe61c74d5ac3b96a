//! What a cross-validation runs on, and who hears of its progress.

use burn::tensor::Device;

use crate::experiment::keep::Keep;
use crate::experiment::output::OutputFolder;
use crate::learner::Interrupt;

/// Receives the progress of a cross-validation, from several threads at once.
pub trait JobProgress: Sync {
    /// The job `label` has ended: `finished` of `all` are done.
    fn done(&self, finished: usize, all: usize, label: &str);
    /// The fit of the job `label` has something to say.
    fn warn(&self, label: &str, message: &str);
}

/// What a cross-validation runs on.
pub struct CrossValidationOptions<'a> {
    /// Device of tensor work.
    pub device: &'a Device,
    /// Folder of the jobs; nothing is kept without.
    pub output: Option<&'a OutputFolder>,
    /// Keep the finished jobs in the folder, and continue the others.
    pub resume: bool,
    /// What to keep in the folder of each fold's selected fit.
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
