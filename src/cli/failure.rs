//! How a command ends badly: exit code 2 for usage and input, 1 for everything else.

use std::fmt::Display;
use std::io;

use crate::data::DataError;
use crate::device::DeviceError;
use crate::experiment::{ConfigError, ExperimentError, OutputError};
use crate::learner::LearnerError;
use crate::loss::LossError;
use crate::measure::MeasureError;
use crate::measure::significance::SignificanceError;
use crate::op::InstructionsError;
use crate::ranker::{ExportError, RankerError};

/// The end of a command that did not succeed.
#[derive(Debug)]
pub enum Failure {
    /// Bad usage or bad input: exit code 2.
    Input(String),
    /// The work itself failed: exit code 1.
    Work(String),
    /// The reader of our output has gone: nothing to say.
    ClosedPipe,
}

impl Failure {
    /// Bad input, in one message.
    pub fn input(error: impl Display) -> Self {
        Failure::Input(error.to_string())
    }

    /// Failed work, in one message.
    pub fn work(error: impl Display) -> Self {
        Failure::Work(error.to_string())
    }
}

impl Failure {
    /// A file that cannot be written: bad input where its place cannot be used, failed work where the system gives out
    /// (a full disk).
    pub fn unwritable(message: impl Display, error: &io::Error) -> Self {
        use io::ErrorKind::{
            AlreadyExists, InvalidInput, IsADirectory, NotADirectory, NotFound, PermissionDenied, ReadOnlyFilesystem,
        };
        match error.kind() {
            AlreadyExists | InvalidInput | IsADirectory | NotADirectory | NotFound | PermissionDenied
            | ReadOnlyFilesystem => Failure::input(message),
            _ => Failure::work(message),
        }
    }
}

impl From<OutputError> for Failure {
    fn from(error: OutputError) -> Self {
        match &error {
            OutputError::Unwritable { source, .. } => Failure::unwritable(&error, source),
            _ => Failure::input(error),
        }
    }
}

impl From<RankerError> for Failure {
    fn from(error: RankerError) -> Self {
        match &error {
            RankerError::File { source, .. } => Failure::unwritable(&error, source),
            _ => Failure::input(error),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            _ => Failure::work(error),
        }
    }
}

/// Errors that are always the input's.
macro_rules! input_errors {
    ($($error:ty),+ $(,)?) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Failure::input(error)
            }
        })+
    };
}

input_errors!(ConfigError, DeviceError, InstructionsError, LossError, MeasureError, ExportError, SignificanceError);

impl From<LearnerError> for Failure {
    fn from(error: LearnerError) -> Self {
        match error {
            LearnerError::State { .. } | LearnerError::Solver { .. } => Failure::work(error),
            _ => Failure::input(error),
        }
    }
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Self {
        match error {
            // Written, not read: what writes to a stream has no path to name.
            DataError::Io { path, source } if path.as_os_str().is_empty() => source.into(),
            DataError::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            DataError::Limit { option, .. } => Failure::input(format!(
                "{error}; raise it with --read {option}=N, or in a configuration under [data.read]"
            )),
            error => Failure::input(error),
        }
    }
}

impl From<ExperimentError> for Failure {
    fn from(error: ExperimentError) -> Self {
        match error {
            ExperimentError::Learner(error) => error.into(),
            ExperimentError::Data(error) => error.into(),
            ExperimentError::Output(error) => error.into(),
            ExperimentError::Interrupted { .. } => {
                Failure::work(format!("{error}; those in the folder of --out are kept, and --resume continues"))
            }
            ExperimentError::Ranker(error) => error.into(),
            ExperimentError::Job { label, source } => match Failure::from(*source) {
                Failure::Input(message) => Failure::Input(format!("{label}: {message}")),
                Failure::Work(message) => Failure::Work(format!("{label}: {message}")),
                Failure::ClosedPipe => Failure::ClosedPipe,
            },
            error => Failure::input(error),
        }
    }
}
