//! The ranker formats that can be imported from other systems, and the errors that an import can return.

use std::fmt;

use super::tree_ensemble::TreeError;

/// A ranker format of another system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportFormat {
    /// LightGBM's text model, versions 2 to 4.
    LightGbm,
    /// XGBoost's model, as `save_model` writes it to a file whose name ends in `.json`.
    XgBoost,
    /// CatBoost's model, as `save_model(..., format="json")` writes it.
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

/// The reason why a file of another system is not imported.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file is malformed, or a field is missing or of the wrong type.
    #[error("{format}: {reason}")]
    Syntax {
        /// The format.
        format: ImportFormat,
        /// What is wrong with the file, and where.
        reason: String,
    },
    /// The file has a value that the format does not allow.
    #[error("{format}: {place}: found {found}, expected {expected}")]
    Content {
        /// The format.
        format: ImportFormat,
        /// The line, tree or key where the value is.
        place: String,
        /// The content found.
        found: String,
        /// The content expected.
        expected: String,
    },
    /// The file is valid, but this crate cannot represent its ranker.
    #[error("{format} with {found} cannot be read: expected {expected}")]
    Unsupported {
        /// The format.
        format: ImportFormat,
        /// The unsupported property of the file.
        found: String,
        /// The kinds of model that can be imported instead.
        expected: String,
    },
    /// The nodes in the file do not form valid trees.
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
