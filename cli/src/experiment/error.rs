//! The errors of an experiment, and of a command that cannot use its folder.

use std::io;
use std::path::{Path, PathBuf};

use burn_rank::data::DataError;
use burn_rank::learner::LearnerError;
use burn_rank::measure::MeasureError;
use burn_rank::ranker::RankerError;
use burn_rank::refusal::Refusal;
use burn_rank::workbench::text::counted;

use super::config::ConfigError;

/// The error of an experiment.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// Data that cannot be read, cut into splits or normalized.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A learner that cannot be built from the configuration, or a fit that failed.
    #[error(transparent)]
    RankingLearner(#[from] LearnerError),
    /// A measure of the fitted ranker that cannot be computed.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// A configuration that does not fit its data.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A normalizer, model and metadata that do not make a ranker.
    #[error(transparent)]
    Ranker(#[from] RankerError),
    /// A configuration that is not valid, such as one with the values of a grid point.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A folder or file of the run that cannot be used or written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// Queries whose measure cannot be computed, found before the fit.
    #[error("{set} queries: {source}")]
    Set {
        /// `train`, `validation` or `test`.
        set: &'static str,
        /// Why the measure cannot be computed.
        source: MeasureError,
    },
    /// A job of a cross-validation that failed.
    #[error("{label}: {source}")]
    Job {
        /// The fold, grid point and seed of the job.
        label: String,
        /// The error of the job.
        source: Box<ExperimentError>,
    },
    /// A cross-validation was stopped before all its fits were done.
    #[error("interrupted: {finished} of {} {} done", counted(*.all, "fit"), if *.finished == 1 { "is" } else { "are" })]
    Interrupted {
        /// Finished fits.
        finished: usize,
        /// Fits in all.
        all: usize,
    },
    /// One of the processes that are to make a fit together is about to make another.
    #[error("process {process} has another {what} than process 0: found {found}, expected {expected}")]
    Process {
        /// The number of the process, from 0.
        process: usize,
        /// The property in which it differs.
        what: &'static str,
        /// The value in this process.
        found: String,
        /// The value in process 0.
        expected: String,
    },
    /// Parts of a cross-validation are to be merged that have not made all its fits.
    #[error(
        "{missing} of {} {} missing, first {first}; {advice}",
        counted(*.all, "fit"),
        if *.missing == 1 { "is" } else { "are" }
    )]
    Missing {
        /// Fits that are not in the folder.
        missing: usize,
        /// Fits in all.
        all: usize,
        /// The first of the missing: its fold, grid point and seed.
        first: String,
        /// Which parts make them.
        advice: String,
    },
}

impl ExperimentError {
    /// Whether the run can continue later: it was stopped, or could not write.
    pub(crate) fn can_go_on(&self) -> bool {
        match self {
            Self::Interrupted { .. }
            | Self::Output(OutputError::Unwritable { .. })
            | Self::RankingLearner(LearnerError::State { .. }) => true,
            Self::Job { source, .. } => source.can_go_on(),
            _ => false,
        }
    }
}

/// The error of a command that cannot use its folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// A folder or file that cannot be made, locked or written.
    #[error("{path}: cannot write: {source}")]
    Unwritable {
        /// The folder or file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Another run holds the lock of the folder.
    #[error("{path}: another run is writing into this folder; choose another with --out")]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// A folder that burn-rank did not write, or in which a file with one of burn-rank's names was not written by it.
    #[error("{path}: {found}")]
    NotOurs {
        /// The folder.
        path: PathBuf,
        /// The contents of the folder, and what to do.
        found: String,
    },
    /// The folder holds another run.
    #[error("{path}: {reason}")]
    Occupied {
        /// The folder.
        path: PathBuf,
        /// The contents of the folder, and what to change.
        reason: String,
    },
}

impl OutputError {
    /// Converts an error of the operating system about a path.
    pub(crate) fn unwritable(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Unwritable { path: path.to_path_buf(), source }
    }

    pub(crate) fn not_ours(path: &Path, found: impl Into<String>) -> Self {
        Self::NotOurs { path: path.to_path_buf(), found: found.into() }
    }

    pub(crate) fn occupied(path: &Path, reason: impl Into<String>) -> Self {
        Self::Occupied { path: path.to_path_buf(), reason: reason.into() }
    }
}
