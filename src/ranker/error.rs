//! The reasons why rankers and models cannot be made, read, written or used.

use std::path::PathBuf;

use crate::data::DataError;
use crate::measure::MeasureError;
use crate::refusal::Refusal;
use crate::text::counted;

/// The reason why a ranker cannot be read, written or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RankerError {
    /// The file of a ranker could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The error that the operating system returned.
        source: std::io::Error,
    },
    /// The file is not a ranker, is damaged, was written by a newer version of this crate, or holds a ranker of another
    /// system that this crate cannot represent.
    #[error("{path}: {reason}")]
    Format {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A format of another system cannot hold the ranker.
    #[cfg(feature = "export")]
    #[cfg_attr(docsrs, doc(cfg(feature = "export")))]
    #[error("{format} cannot hold {reason}")]
    Export {
        /// The title of the format.
        format: &'static str,
        /// What the format cannot hold, and what it can hold instead.
        reason: String,
    },
    /// The parts of a ranker disagree on the number of features.
    #[error("the {what} has {}, but the model has {expected}", counted(*.found, "feature"))]
    Mismatch {
        /// Name of the part.
        what: &'static str,
        /// The number of features for which the mismatched part was built.
        found: usize,
        /// The number of features that the model was trained on.
        expected: usize,
    },
    /// Normalizing the data or scoring their longest list needs more memory than is available.
    #[error(transparent)]
    Memory(Refusal),
    /// The data have a feature beyond those the ranker was trained on.
    #[error(
        "the data have feature {found}, but the ranker was trained on features 1 to {expected}: \
         use data with the same features, or train a ranker on these data"
    )]
    Features {
        /// Number of the highest feature in the data, counted from 1.
        found: usize,
        /// The number of features that the model was trained on.
        expected: usize,
    },
    /// The data have missing values, which the model does not accept.
    #[error(
        "query `{query}`, document {document}: feature {feature} is missing, which this ranker does not accept: read \
         the data with missing = \"zero\" or \"query-min\", or train it with \"indicator\""
    )]
    Missing {
        /// Identifier of the query.
        query: String,
        /// Position of the document in its query, counted from 1.
        document: usize,
        /// Number of the feature, counted from 1.
        feature: usize,
    },
    /// The model is not a sum of trees, so its scores cannot be explained.
    #[error("only trees have contributions: found {0}, expected a ranker that is a sum of trees")]
    NotTrees(
        /// What the model is.
        &'static str,
    ),
    /// Rankers cannot be the members of one ranker, because of their features, weights or scores.
    #[error("{0}")]
    Members(String),
    /// The trees cannot be explained, which happens only with a file made by hand.
    #[error("{0}")]
    Trees(String),
    /// The normalizer rejects the data.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The measure cannot be computed for the data.
    #[error(transparent)]
    Measure(#[from] MeasureError),
}

/// The reason why numbers, or the contents of a file, do not form a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ModelError(pub(crate) String);
