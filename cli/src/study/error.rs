//! The reasons why a study cannot run.

use std::path::PathBuf;

use burn_rank::loss::LossError;
use burn_rank::measure::MeasureError;
use burn_rank::refusal::Refusal;
use burn_rank::workbench::text::did_you_mean;

use crate::experiment::ExperimentError;

/// The reasons why a study cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StudyError {
    /// A name that does not belong to any study.
    #[error("unknown study `{found}`, expected {known}{}", did_you_mean(.nearest))]
    Unknown {
        /// The name given.
        found: String,
        /// All names.
        known: String,
        /// The most similar name of a study, if there is a similar one.
        nearest: Option<String>,
    },
    /// A parameter that the study does not have.
    #[error("{study} has no parameter `{found}`, expected {known}{}", did_you_mean(.nearest))]
    Parameter {
        /// The study.
        study: &'static str,
        /// The name given.
        found: String,
        /// The names of the study's parameters.
        known: String,
        /// The most similar parameter name, if there is a similar one.
        nearest: Option<String>,
    },
    /// An invalid value of a parameter.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A source that the study does not accept.
    #[error("{study}: found {found}, expected {expected}")]
    Source {
        /// The study.
        study: &'static str,
        /// The kind of the source that was given.
        found: &'static str,
        /// The kinds of source that the study accepts.
        expected: String,
    },
    /// A score that is not finite.
    #[error("{origin}: found the score {found}, expected finite numbers")]
    Score {
        /// Where the queries come from.
        origin: String,
        /// The score.
        found: f64,
    },
    /// Queries with scores, none of which has both a relevant and an irrelevant document.
    #[error("{origin}: found no query with a relevant and an irrelevant document, expected one or more")]
    NothingToRank {
        /// Where the queries come from.
        origin: String,
    },
    /// Training data without test queries.
    #[error("{origin}: found no queries to test on, expected some in data.test or data.folds")]
    NothingToTest {
        /// Where the data come from.
        origin: String,
    },
    /// No run to examine.
    #[error("found no run with a fold, expected folders of finished `cv` runs that kept scores or rankers")]
    NoRuns,
    /// Two runs whose test queries differ.
    #[error("{found}: tested on other queries, features or folds than {expected}")]
    OtherQueries {
        /// The folder of the run with other test queries than the first run.
        found: PathBuf,
        /// The folder of the first run.
        expected: PathBuf,
    },
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
