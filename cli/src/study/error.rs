//! The reasons why a study cannot run.

use burn_rank::loss::LossError;
use burn_rank::measure::MeasureError;
use burn_rank::refusal::Refusal;

use crate::experiment::ExperimentError;

/// The reasons why a study cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StudyError {
    /// A study or a parameter that does not exist, or an input that the study does not accept.
    #[error("{0}")]
    Input(String),
    /// An invalid value of a parameter.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A loss that cannot be computed.
    #[error(transparent)]
    Loss(#[from] LossError),
    /// A measure that cannot be computed.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// A ranker that cannot be trained.
    #[error(transparent)]
    Experiment(#[from] Box<ExperimentError>),
}

impl From<ExperimentError> for StudyError {
    fn from(error: ExperimentError) -> Self {
        Box::new(error).into()
    }
}
