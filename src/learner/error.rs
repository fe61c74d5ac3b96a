//! Errors that end a fit.

use std::fmt::Display;

use crate::refusal::Refusal;

/// The result of a step whose error ends the fit.
pub(crate) type Result<T, E = LearnerError> = std::result::Result<T, E>;

/// The reason why a fit failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LearnerError {
    /// A configuration key such as `learner.epochs` is unknown, or its value has the wrong type or is out of range.
    /// This variant also reports a configuration section that is missing, or that the learner does not read.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The learner cannot learn from the data.
    #[error("{learner}: {reason}")]
    Data {
        /// Registered name of the learner.
        learner: &'static str,
        /// A description of the fault in the data, with advice.
        reason: String,
    },
    /// The loss cannot be built, or it rejects the labels.
    #[error(transparent)]
    Loss(#[from] crate::loss::LossError),
    /// The measure cannot be computed, because its convention or the labels do not allow it.
    #[error(transparent)]
    Measure(#[from] crate::measure::MeasureError),
    /// The state of the fit cannot be written.
    #[error("{path}: {reason}")]
    State {
        /// The state file.
        path: std::path::PathBuf,
        /// The fault, in words.
        reason: String,
    },
    /// The saved state is damaged or belongs to another fit, so the fit cannot continue from it.
    #[error("{path}: {reason}")]
    UnusableState {
        /// The state file.
        path: std::path::PathBuf,
        /// A description of the fault in the state, with advice.
        reason: String,
    },
    /// The solver broke down.
    #[error("{learner}: {reason}")]
    Solver {
        /// Registered name of the learner.
        learner: &'static str,
        /// A description of the failure, with advice.
        reason: String,
    },
}

impl LearnerError {
    /// Creates the error of a learner that cannot learn from the data.
    pub(crate) fn data(learner: &'static str, reason: impl Display) -> Self {
        Self::Data { learner, reason: reason.to_string() }
    }

    /// Creates the error of a solver that broke down.
    pub(crate) fn solver(learner: &'static str, reason: impl Display) -> Self {
        Self::Solver { learner, reason: reason.to_string() }
    }
}
