//! The formats of other systems that are read, and why a file of one is not.

use std::fmt;

use super::tree_ensemble::TreeError;

/// A format of another system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportFormat {
    /// LightGBM's text model, versions 2 to 4.
    LightGbm,
    /// XGBoost's model as `save_model` writes it to a name that ends in `.json`.
    XgBoost,
    /// CatBoost's model as `save_model(..., format="json")` writes it.
    CatBoost,
    /// RankLib's MART and LambdaMART.
    RankLib,
}

impl fmt::Display for ImportFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(match self {
            Self::LightGbm => "LightGBM text",
            Self::XgBoost => "XGBoost JSON",
            Self::CatBoost => "CatBoost JSON",
            Self::RankLib => "RankLib XML",
        })
    }
}

/// Reason that a file of another system is not read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// Not the notation of the format, or a field that is missing or of another type.
    #[error("{format}: {reason}")]
    Syntax {
        /// The format.
        format: ImportFormat,
        /// The fault and its place.
        reason: String,
    },
    /// A value that no file of the format has.
    #[error("{format}: {place}: found {found}, expected {expected}")]
    Content {
        /// The format.
        format: ImportFormat,
        /// Line, tree or key.
        place: String,
        /// The content found.
        found: String,
        /// The content expected.
        expected: String,
    },
    /// A ranker of the other system that has no counterpart here.
    #[error("{format} with {found} cannot be read: expected {expected}")]
    Unsupported {
        /// The format.
        format: ImportFormat,
        /// The feature of the file that is not supported.
        found: String,
        /// The values that can be read.
        expected: String,
    },
    /// Nodes that do not make trees.
    #[error("{format}: {source}")]
    Trees {
        /// The format.
        format: ImportFormat,
        /// The error.
        source: TreeError,
    },
}

impl ImportError {
    pub(super) fn content(
        format: ImportFormat,
        place: impl Into<String>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self::Content { format, place: place.into(), found: found.into(), expected: expected.into() }
    }

    pub(super) fn unsupported(format: ImportFormat, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Unsupported { format, found: found.into(), expected: expected.into() }
    }
}
