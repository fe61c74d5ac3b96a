//! The errors of this package.

use std::io;
use std::path::{Path, PathBuf};

use burn_rank::CachedBackwardError;
use burn_rank::data::{DataError, SegmentsError};
use burn_rank::loss::LossError;
use burn_rank::measure::MeasureError;
use burn_rank::refusal::Refusal;

/// The reason why a text model cannot be opened, trained, used or saved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// A file cannot be used.
    #[error("{}: {message}", path.display())]
    Model {
        /// The file or folder.
        path: PathBuf,
        /// The value found and the value expected.
        message: String,
    },
    /// A line of a text file cannot be used.
    #[error("{}:{line}: {message}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The value found and the value expected.
        message: String,
    },
    /// A file cannot be written.
    #[error("{}: cannot write: {source}", path.display())]
    Unwritable {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Texts cannot be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A setting cannot be used.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A loss cannot be built or computed.
    #[error(transparent)]
    Loss(#[from] LossError),
    /// A measure cannot be computed.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// The lists of a step are not valid.
    #[error(transparent)]
    Segments(#[from] SegmentsError),
    /// The training diverges.
    #[error("epoch {epoch}: the loss is {loss}; lower learner.learning_rate, or bound gradients with learner.clip")]
    Diverged {
        /// The epoch, from 1.
        epoch: usize,
        /// The loss of a step.
        loss: f64,
    },
    /// A gradient cannot be computed.
    #[error(transparent)]
    Gradient(#[from] CachedBackwardError),
}

impl TextError {
    pub(crate) fn model(path: &Path, message: impl ToString) -> Self {
        Self::Model { path: path.to_path_buf(), message: message.to_string() }
    }

    pub(crate) fn line(path: &Path, line: usize, message: impl ToString) -> Self {
        Self::Line { path: path.to_path_buf(), line, message: message.to_string() }
    }

    pub(crate) fn unwritable(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Unwritable { path, source }
    }
}
