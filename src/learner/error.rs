//! Why a fit failed.

/// Why a fit failed.
#[derive(Debug, thiserror::Error)]
pub enum LearnerError {
    /// A parameter out of its range.
    #[error("learner.{parameter} = {found}: expected {expected}")]
    Parameter {
        /// Configuration key, below `learner`.
        parameter: String,
        /// The value given.
        found: String,
        /// What would have been valid.
        expected: String,
    },
    /// A table `[learner]` that cannot be read: an unknown learner or key, a value of another type, a section that the
    /// learner does not read or lacks, or parameters of the loss that it does not take.
    #[error("learner.{key}: {message}")]
    Config {
        /// Configuration key, below `learner`.
        key: String,
        /// What was found there, and what was expected.
        message: String,
    },
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
    /// A scorer that cannot be built.
    #[error(transparent)]
    Scorer(#[from] crate::scorer::ScorerError),
    /// A measure that cannot be taken: its convention or the labels do not allow it.
    #[error(transparent)]
    Measure(#[from] crate::measure::MeasureError),
    /// State that cannot be written or read back.
    #[error("{path}: {reason}")]
    State {
        /// The state file.
        path: std::path::PathBuf,
        /// What went wrong.
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
