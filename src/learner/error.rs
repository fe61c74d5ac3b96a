//! The errors of a fit.

use crate::refusal::Refusal;

/// Reason that a fit failed.
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
        /// The fault of the data, and what to change.
        reason: String,
    },
    /// A loss that cannot be built, or refuses the labels.
    #[error(transparent)]
    Loss(#[from] crate::loss::LossError),
    /// A measure that cannot be computed: its convention or the labels do not allow it.
    #[error(transparent)]
    Measure(#[from] crate::measure::MeasureError),
    /// State that cannot be written.
    #[error("{path}: {reason}")]
    State {
        /// The state file.
        path: std::path::PathBuf,
        /// The fault, in words.
        reason: String,
    },
    /// State that a fit cannot continue from: damaged, or of another fit.
    #[error("{path}: {reason}")]
    UnusableState {
        /// The state file.
        path: std::path::PathBuf,
        /// The fault of the state, and what to do.
        reason: String,
    },
    /// The solver broke down.
    #[error("{learner}: {reason}")]
    Solver {
        /// Registered name of the learner.
        learner: &'static str,
        /// The failure, and what to change.
        reason: String,
    },
}
