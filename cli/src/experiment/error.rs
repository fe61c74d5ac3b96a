//! The errors of an experiment, and of a command that cannot use its folder.

use std::io;
use std::path::{Path, PathBuf};

use burn_rank::data::DataError;
use burn_rank::learner::LearnerError;
use burn_rank::loss::LossError;
use burn_rank::measure::MeasureError;
use burn_rank::ranker::RankerError;
use burn_rank::refusal::Refusal;
use burn_rank::workbench::text::counted;

use super::config::ConfigError;

/// An error that ends an experiment.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// Data that cannot be read, split or normalized.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A learner that cannot be built from the configuration, or a fit that failed.
    #[error(transparent)]
    RankingLearner(#[from] LearnerError),
    /// A loss that cannot be computed.
    #[error(transparent)]
    Loss(#[from] LossError),
    /// A measure that cannot be computed for the fitted ranker.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// A configuration that does not match its data.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A normalizer, a model and metadata that cannot form a ranker.
    #[error(transparent)]
    Ranker(#[from] RankerError),
    /// An invalid configuration, for example after a grid point's values were filled in.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A folder or file of the run that cannot be used or written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// Labels that a measure does not accept; detected before the fit.
    #[error("{set} queries{}: {source}", all.map(|label| format!(", all labels of which are {label}")).unwrap_or_default())]
    Set {
        /// `train`, `validation` or `test`.
        set: &'static str,
        /// The label of all documents, if they have the same.
        all: Option<f32>,
        /// The reason why the measure cannot be computed.
        source: MeasureError,
    },
    /// A job of a cross-validation that failed.
    #[error("{label}: {source}")]
    Job {
        /// The fold, grid point and seed of the job.
        label: String,
        /// The error that ended the job.
        source: Box<ExperimentError>,
    },
    /// A cross-validation that was stopped before all its fits were done.
    #[error("interrupted: {finished} of {} {} done", counted(*.all, "fit"), if *.finished == 1 { "is" } else { "are" })]
    Interrupted {
        /// The number of finished fits.
        finished: usize,
        /// The total number of fits.
        all: usize,
    },
    /// An input that cannot be used, such as a finished cross-validation whose data have changed.
    #[error("{0}")]
    Input(String),
    /// A device that failed.
    #[error("device {device}: {reason}")]
    Device {
        /// The name of the device.
        device: String,
        /// The error message of the backend.
        reason: String,
    },
    /// A process that shares the work of a fit with other processes, but would run a different fit.
    #[error("process {process} has another {what} than process 0: found {found}, expected {expected}")]
    Process {
        /// The number of the process, counted from 0.
        process: usize,
        /// The setting or value that differs between the processes, such as the version.
        what: &'static str,
        /// The value in the process that differs.
        found: String,
        /// The value in process 0.
        expected: String,
    },
    /// Parts of a cross-validation that cannot be merged yet, because some fits have not finished.
    #[error(
        "{missing} of {} {} missing, first {first}; {advice}",
        counted(*.all, "fit"),
        if *.missing == 1 { "is" } else { "are" }
    )]
    Missing {
        /// The number of fits that are not in the folder.
        missing: usize,
        /// The total number of fits.
        all: usize,
        /// The fold, grid point and seed of the first missing fit.
        first: String,
        /// Advice on which parts of the cross-validation to run again.
        advice: String,
    },
}

impl ExperimentError {
    /// Adds the label of a job to the error that ended it.
    pub(super) fn job(label: String) -> impl FnOnce(Self) -> Self {
        move |source| Self::Job { label, source: Box::new(source) }
    }

    /// Returns the operating system's error, if a file or folder of the run cannot be written.
    pub fn unwritable(&self) -> Option<&io::Error> {
        match self {
            Self::Output(OutputError::Unwritable { source, .. }) => Some(source),
            _ => None,
        }
    }

    /// Returns whether `--resume` can continue the run. It can if the run was stopped or could not write a file.
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

/// The error for an output folder that a command cannot use.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// A folder or file that cannot be created, locked or written.
    #[error("{path}: cannot write: {source}")]
    Unwritable {
        /// The folder or file.
        path: PathBuf,
        /// The error that the operating system returned.
        source: io::Error,
    },
    /// A folder that another run has locked.
    #[error("{0}: another run is writing into this folder; choose another with --out")]
    Busy(PathBuf),
    /// A folder that holds the run, unfinished.
    #[error("{0}: holds an unfinished run: --resume continues it, --overwrite starts again")]
    Unfinished(PathBuf),
    /// A folder that holds no unfinished run to resume.
    #[error("{0}: nothing to resume, since there is no run here; leave out --resume to start one")]
    NothingToResume(PathBuf),
    /// A folder that holds another run, or files that burn-rank did not write.
    #[error("{path}: {reason}")]
    Occupied {
        /// The folder.
        path: PathBuf,
        /// A description of the folder's contents, and advice.
        reason: String,
    },
}

impl OutputError {
    /// Adds the path to an error from the operating system.
    pub(crate) fn unwritable(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Unwritable { path: path.to_path_buf(), source }
    }

    pub(crate) fn occupied(path: &Path, reason: impl Into<String>) -> Self {
        Self::Occupied { path: path.to_path_buf(), reason: reason.into() }
    }
}

/// Converts an error in the data to an I/O error. The writer then discards the incomplete file.
pub(crate) fn to_io(error: DataError) -> io::Error {
    match error {
        DataError::Io { source, .. } => source,
        error => io::Error::new(io::ErrorKind::InvalidData, error),
    }
}
