//! Failures of a command, with exit code 2 for bad usage or bad input, and exit code 1 for everything else.

use std::fmt::Display;
use std::io;

use anyhow::Error;
use burn_rank::data::DataError;
use burn_rank::learner::LearnerError;
use burn_rank::ranker::RankerError;

use crate::experiment::{ExperimentError, OutputError};

/// Makes the calling function return a failure for bad input, with a message as in `format!`.
macro_rules! bail {
    ($($message:tt)*) => { return Err($crate::cli::Failure::input(format_args!($($message)*))) };
}

/// Makes the calling function return a failure for bad input unless a condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)*) => { if !$condition { $crate::cli::bail!($($message)*) } };
}

pub(super) use {bail, ensure};

/// The meaning of the exit codes.
pub(super) const EXIT_CODES: &str = "0 done, 1 failed, 2 bad usage or bad input, 130 stopped at once by Ctrl-C.";

/// The reason why a command failed, which determines the exit code.
#[derive(Debug)]
pub enum Failure {
    /// Bad usage or bad input, which gives exit code 2.
    Input(Error),
    /// A failure of the work itself, which gives exit code 1.
    Work(Error),
    /// The reader of the output has closed it, so nothing is reported.
    ClosedPipe,
}

/// The result of a part of a command.
pub type Result<T = (), E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// Creates a failure for bad input, with the given message.
    pub fn input(message: impl Display) -> Self {
        Failure::Input(Error::msg(message.to_string()))
    }

    /// Creates a failure of the work itself, with a message.
    pub fn work(message: impl Display) -> Self {
        Failure::Work(Error::msg(message.to_string()))
    }

    /// Creates the failure for a file that cannot be written. If the location cannot be written to, or the content does
    /// not fit the format, the user's input is at fault. If the system fails, as with a full disk, the work itself has
    /// failed.
    pub fn unwritable(error: impl Into<Error>) -> Self {
        use io::ErrorKind::{
            AlreadyExists, InvalidData, InvalidInput, IsADirectory, NotADirectory, NotFound, PermissionDenied,
            ReadOnlyFilesystem,
        };
        let of_place = [AlreadyExists, IsADirectory, NotADirectory, NotFound, PermissionDenied, ReadOnlyFilesystem];
        let of_input = |kind| of_place.contains(&kind) || [InvalidData, InvalidInput].contains(&kind);
        let error = error.into();
        let kind = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
        if kind.is_some_and(of_input) { Failure::Input(error) } else { Failure::Work(error) }
    }

    /// Prefixes the message with what the command was doing, or with the file that it was working on.
    pub fn context(self, what: impl Display) -> Self {
        let what = what.to_string();
        match self {
            Failure::Input(error) => Failure::Input(error.context(what)),
            Failure::Work(error) => Failure::Work(error.context(what)),
            Failure::ClosedPipe => Failure::ClosedPipe,
        }
    }
}

/// Formats an error and its causes as one line. A cause whose text the line already contains is not repeated, since
/// many errors end with the message of their cause.
pub(super) fn one_line(error: &Error) -> String {
    let mut line = error.to_string();
    for cause in error.chain().skip(1).map(|cause| cause.to_string()) {
        if !line.contains(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    line
}

/// An error is bad input unless [`sorted`] knows better.
impl<E: std::error::Error + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        sorted(error.into())
    }
}

/// Turns an error into a failure, by the types whose errors may be failures of the work.
fn sorted(error: Error) -> Failure {
    let error = match error.downcast::<ExperimentError>() {
        Ok(error) => return of_experiment(error),
        Err(error) => error,
    };
    let error = match error.downcast::<DataError>() {
        // An empty path means a failed write to a stream, which has no path to name.
        Ok(DataError::Io { path, source }) if path.as_os_str().is_empty() => return source.into(),
        Ok(DataError::Io { source, .. }) if source.kind() == io::ErrorKind::BrokenPipe => return Failure::ClosedPipe,
        Ok(error) => {
            let DataError::Limit { option, .. } = &error else { return Failure::Input(error.into()) };
            let advice = format!("{error}; raise it with --read {option}=N, or in a configuration under [data.read]");
            return Failure::Input(Error::new(error).context(advice));
        }
        Err(error) => error,
    };
    let is_unwritable = matches!(error.downcast_ref(), Some(OutputError::Unwritable { .. }))
        || matches!(error.downcast_ref(), Some(RankerError::File { .. }));
    let is_of_work = matches!(error.downcast_ref(), Some(LearnerError::State { .. } | LearnerError::Solver { .. }))
        || error.is::<serde_json::Error>();
    match error.downcast_ref::<io::Error>().map(io::Error::kind) {
        Some(io::ErrorKind::BrokenPipe) => Failure::ClosedPipe,
        Some(_) => Failure::Work(error),
        None if is_unwritable => Failure::unwritable(error),
        None if is_of_work => Failure::Work(error),
        None => Failure::Input(error),
    }
}

fn of_experiment(error: ExperimentError) -> Failure {
    match error {
        ExperimentError::RankingLearner(error) => error.into(),
        ExperimentError::Data(error) => error.into(),
        ExperimentError::Output(error) => error.into(),
        ExperimentError::Ranker(error) => error.into(),
        ExperimentError::Interrupted { .. } => {
            let advice = format!("{error}; those in the folder of --out are kept, and --resume continues");
            Failure::Work(Error::new(error).context(advice))
        }
        ExperimentError::Device { .. } => Failure::Work(error.into()),
        ExperimentError::Job { label, source } => Failure::from(*source).context(label),
        error => Failure::Input(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn full_disk() -> OutputError {
        OutputError::Unwritable { path: PathBuf::from("runs/a"), source: io::ErrorKind::StorageFull.into() }
    }

    #[test]
    fn a_failure_keeps_its_causes_and_prints_each_once() {
        let job =
            ExperimentError::Job { label: "fold 1".into(), source: Box::new(ExperimentError::Output(full_disk())) };
        let Failure::Work(error) = Failure::from(job) else { panic!("a full disk is not bad input") };
        assert_eq!(one_line(&error), "fold 1: runs/a: cannot write: no storage space");
        let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
        assert_eq!(causes, ["fold 1", "runs/a: cannot write: no storage space", "no storage space"]);
        assert!(error.chain().any(|cause| cause.downcast_ref::<OutputError>().is_some()));
    }

    #[test]
    fn a_cause_missing_from_the_message_is_appended() {
        let failed: io::Error = io::ErrorKind::PermissionDenied.into();
        let failure = Failure::unwritable(failed).context("ranker.onnx: cannot write");
        let Failure::Input(error) = failure else { panic!("a place that cannot be used is bad input") };
        assert_eq!(one_line(&error), "ranker.onnx: cannot write: permission denied");
    }

    #[test]
    fn a_closed_pipe_stays_a_closed_pipe_in_any_context() {
        let closed: io::Error = io::ErrorKind::BrokenPipe.into();
        assert!(matches!(Failure::from(closed).context("scores"), Failure::ClosedPipe));
    }
}
