//! Why a fit failed.

use crate::refusal::Refusal;

/// Why a fit failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LearnerError {
    /// A key of a section that the learner reads, `learner.epochs` or `scorer.hidden[0]`: not known, of another type or
    /// out of its range; a section that the learner lacks or does not read.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Data that this learner cannot learn from.
    #[error("{learner}: {reason}")]
    Data {
        /// Registered name of the learner.
        learner: &'static str,
        /// What is wrong with the data, and what to change.
        reason: String,
    },
    /// A loss that cannot be built, or refuses the labels.
    #[error(transparent)]
    Loss(#[from] crate::loss::LossError),
    /// A measure that cannot be taken: its convention or the labels do not allow it.
    #[error(transparent)]
    Measure(#[from] crate::measure::MeasureError),
    /// State that cannot be written.
    #[error("{path}: {reason}")]
    State {
        /// The state file.
        path: std::path::PathBuf,
        /// What went wrong.
        reason: String,
    },
    /// State that a fit cannot go on from: damaged, or of another fit.
    #[error("{path}: {reason}")]
    UnusableState {
        /// The state file.
        path: std::path::PathBuf,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// The solver broke down.
    #[error("{learner}: {reason}")]
    Solver {
        /// Registered name of the learner.
        learner: &'static str,
        /// What went wrong, and what to change.
        reason: String,
    },
}
