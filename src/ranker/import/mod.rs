//! Imports rankers that other systems trained. Each format is an entry of [`IMPORTS`], from which messages take its
//! name, and the page `docs/how-to/import.md` its table.
//!
//! Each imported file becomes a [sum of trees](Model::Trees) without a normalizer. Thresholds are moved to neighboring
//! 32-bit floats that split all 32-bit floats in the same way. Feature 1 is column 0 of the other system's matrix. A
//! file is rejected if its version is unknown, if it has several outputs or categorical splits, or if its objective
//! transforms scores. The error names what the import does not support. An imported ranker gives the same scores as the
//! original ranker does in the other system.

mod catboost;
mod entry;
mod lightgbm;
mod ranklib;
#[cfg(test)]
mod tests;
mod xgboost;

use std::fmt;
use std::path::Path;

use burn::tensor::Device;

use super::artifact::{Metadata, Ranker};
use super::error::RankerError;
use super::model::Model;
use crate::data::Normalizer;
use crate::file_kind::{FileKind, SAFETENSORS};
use crate::json::json;
pub use entry::ImportEntry;
use entry::{Imported, syntax, unsupported};

/// The formats of other systems that are read.
pub static IMPORTS: &[ImportEntry] = &[lightgbm::ENTRY, xgboost::ENTRY, catboost::ENTRY, ranklib::ENTRY];

/// A ranker format of another system.
#[derive(Debug, Clone, Copy)]
pub struct ImportFormat(&'static ImportEntry);

impl ImportFormat {
    /// Returns all formats: those of LightGBM, XGBoost, CatBoost and RankLib.
    pub fn all() -> impl Iterator<Item = Self> {
        IMPORTS.iter().map(Self)
    }

    /// Detects the format of a file from its first bytes. Returns `None` if the format is unknown.
    pub fn detect(bytes: &[u8]) -> Option<Self> {
        Self::of_kind(FileKind::of(bytes))
    }

    /// Detects the format of the file at `path`. Returns `None` if the file cannot be read or its format is unknown.
    pub fn of_file(path: &Path) -> Option<Self> {
        FileKind::of_file(path).and_then(Self::of_kind)
    }

    fn of_kind(kind: FileKind) -> Option<Self> {
        let FileKind::Foreign { system, .. } = kind else { return None };
        IMPORTS.iter().find(|entry| entry.title[0] == system).map(Self)
    }

    fn decode(self, bytes: &[u8]) -> Result<Imported, String> {
        let beginning = bytes.trim_ascii_start();
        match self.0.others.iter().find(|(first, ..)| beginning.starts_with(first)) {
            Some((_, what, instead)) => Err(unsupported(what, instead)),
            None => std::str::from_utf8(bytes).map_err(syntax).and_then(self.0.decode),
        }
    }
}

impl fmt::Display for ImportFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let [system, notation] = self.0.title;
        write!(formatter, "{system} {notation}")
    }
}

/// Lists the files that can be read as rankers.
fn readable() -> String {
    let titles: Vec<String> =
        IMPORTS.iter().map(|entry| entry.title).map(|[system, notation]| format!("{system} ({notation})")).collect();
    let (last, others) = titles.split_last().expect("a format");
    format!("a ranker of burn-rank, {} or {last}", others.join(", "))
}

#[cfg_attr(docsrs, doc(cfg(feature = "import")))]
impl Ranker {
    /// Reads a ranker of another system as a sum of trees without a normalizer; error messages contain `path`.
    ///
    /// # Errors
    /// Returns [`RankerError::Format`] if the file is damaged, has an unknown version, or contains a ranker that this
    /// crate cannot represent.
    pub fn import(bytes: &[u8], format: ImportFormat, path: &Path) -> Result<Self, RankerError> {
        let refuse = |reason| RankerError::Format { path: path.into(), reason: format!("{format}{reason}") };
        let Imported { trees, feature_names, mut about } = format.decode(bytes).map_err(refuse)?;
        about["format"] = format.to_string().into();
        let features = trees.feature_count();
        let metadata = Metadata {
            feature_names: feature_names.filter(|names| names.len() == features),
            config: json!({ "import": about }),
            ..Metadata::default()
        };
        Self::new(Normalizer::unfitted(features), Model::Trees(trees), metadata)
    }

    /// Reads a ranker that this crate or another system saved. The format is detected from the first bytes of the file.
    ///
    /// # Errors
    /// Returns the errors of [`load`](Self::load) and [`import`](Self::import).
    pub fn open(path: &Path, device: &Device) -> Result<Self, RankerError> {
        let bytes = std::fs::read(path).map_err(|source| RankerError::File { path: path.into(), source })?;
        let kind = FileKind::of(&bytes);
        match ImportFormat::of_kind(kind) {
            Some(format) => Self::import(&bytes, format, path),
            None if kind.is_ranker() || kind == SAFETENSORS => Self::from_bytes(&bytes, path, device),
            None => {
                let reason = format!("found {}, expected {}", kind.in_words(), readable());
                Err(RankerError::Format { path: path.into(), reason })
            }
        }
    }
}
