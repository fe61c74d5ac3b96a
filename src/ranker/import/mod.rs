//! Imports rankers that other systems trained.
//!
//! | format | decision | sums |
//! |---|---|---|
//! | [LightGBM](ImportFormat::LightGbm) text | `x <= t`, 64 bits | 64 bits |
//! | [XGBoost](ImportFormat::XgBoost) JSON, of `save_model` | `x < t`, 32 bits | 32 bits |
//! | [CatBoost](ImportFormat::CatBoost) JSON | right where `x > t`, 32 bits | 64 bits |
//! | [RankLib](ImportFormat::RankLib) XML of MART and LambdaMART | `x <= t`, 32 bits | 32 bits |
//!
//! Each imported file becomes a [sum of trees](Model::Trees) without a normalizer. Thresholds are moved to neighboring
//! 32-bit floats that split all 32-bit floats in the same way. Feature 1 is column 0 of the other system's matrix. A
//! file is rejected if its version is unknown, if it has several outputs or categorical splits, or if its objective
//! transforms scores. The error names what the import does not support. An imported ranker gives the same scores as the
//! original ranker does in the other system.

mod catboost;
mod lightgbm;
mod ranklib;
#[cfg(test)]
mod tests;
mod trees;
mod xgboost;

use std::collections::BTreeMap;
use std::path::Path;

use burn::tensor::Device;
use serde::de::DeserializeOwned;

use super::artifact::{Metadata, Ranker, RankerError, Versions};
use super::file::FileError;
use super::import_error::{ImportError, ImportFormat};
use super::model::Model;
use super::tree_ensemble::TreeEnsemble;
use crate::data::Normalizer;
use crate::file_kind::FileKind;
use crate::json::{Value, json};
use crate::measure::Convention;

/// The value of the key `other_features` in the configuration of an imported ranker that ignores surplus features.
pub(super) const IGNORED: &str = "ignored";

/// The files that can be read as rankers.
const RANKERS: &str = "a ranker of burn-rank, LightGBM (text), XGBoost (JSON), CatBoost (JSON) or RankLib (XML)";

/// The contents of an imported file.
struct Imported {
    trees: TreeEnsemble,
    feature_names: Option<Vec<String>>,
    /// The file's version and objective, which the model card shows.
    about: Value,
}

/// Decodes JSON.
fn parse<T: DeserializeOwned>(format: ImportFormat, text: &str) -> Result<T, ImportError> {
    serde_json::from_str(text).map_err(|error| ImportError::Syntax { format, reason: error.to_string() })
}

/// Formats that are recognized but not supported. Each entry has the kind of file, a description of its notation, and
/// the call that saves the ranker in a supported format.
const OTHER_NOTATIONS: [(FileKind, &str, &str); 4] = [
    (FileKind::CatBoostBinary, "its binary notation", "save_model(NAME, format=\"json\")"),
    (FileKind::XgBoostBinary, "its binary notation (UBJSON)", "save_model(\"NAME.json\")"),
    (FileKind::XgBoostOld, "the binary notation of old versions", "save_model(\"NAME.json\")"),
    (FileKind::XgBoostDump, "a dump, which has no base score,", "save_model(\"NAME.json\")"),
];

impl ImportFormat {
    /// Detects the format of a file from its first bytes. Returns `None` if the format is unknown.
    pub fn detect(bytes: &[u8]) -> Option<Self> {
        Self::of_kind(FileKind::of(bytes))
    }

    /// Detects the format of the file at `path`. Returns `None` if the file cannot be read or its format is unknown.
    pub fn of_file(path: &Path) -> Option<Self> {
        FileKind::of_file(path).and_then(Self::of_kind)
    }

    fn of_kind(kind: FileKind) -> Option<Self> {
        match kind {
            FileKind::LightGbm => Some(Self::LightGbm),
            FileKind::XgBoost | FileKind::XgBoostBinary | FileKind::XgBoostOld | FileKind::XgBoostDump => {
                Some(Self::XgBoost)
            }
            FileKind::CatBoost | FileKind::CatBoostBinary => Some(Self::CatBoost),
            FileKind::RankLib => Some(Self::RankLib),
            _ => None,
        }
    }

    fn decode(self, bytes: &[u8]) -> Result<Imported, ImportError> {
        let kind = Some(FileKind::of(bytes)).filter(|kind| Self::of_kind(*kind) == Some(self));
        if let Some((_, what, instead)) = OTHER_NOTATIONS.iter().find(|(other, ..)| Some(*other) == kind) {
            return Err(ImportError::unsupported(self, *what, *instead));
        }
        let text = std::str::from_utf8(bytes)
            .map_err(|error| ImportError::Syntax { format: self, reason: error.to_string() })?;
        match self {
            Self::LightGbm => lightgbm::decode(text),
            Self::XgBoost => xgboost::decode(text),
            Self::CatBoost => catboost::decode(text),
            Self::RankLib => ranklib::decode(text),
        }
    }
}

#[cfg_attr(docsrs, doc(cfg(feature = "import")))]
impl Ranker {
    /// Reads a ranker of another system as a sum of trees without a normalizer.
    ///
    /// # Errors
    /// Returns [`ImportError`] if the file is damaged, has an unknown version, or contains a ranker that this crate
    /// cannot represent.
    pub fn import(bytes: &[u8], format: ImportFormat) -> Result<Self, ImportError> {
        let Imported { trees, feature_names, mut about } = format.decode(bytes)?;
        about["format"] = format.to_string().into();
        let features = trees.feature_count();
        let feature_names = feature_names.filter(|names| names.len() == features);
        let metadata = Metadata {
            feature_names,
            config: json!({ "import": about }),
            convention: Convention::default(),
            measures: BTreeMap::new(),
            data_hash: "unknown".into(),
            seed: 0,
            estimate: None,
            versions: Versions::current(),
        };
        let ranker = Self::new(Normalizer::unfitted(features), Model::Trees(trees), metadata);
        Ok(ranker.expect("normalizer and names have the features of the model"))
    }

    /// Reads a ranker that this crate or another system saved. The format is detected from the first bytes of the file.
    ///
    /// # Errors
    /// Returns the errors of [`load`](Self::load), and [`RankerError::Import`] if the file of another system cannot be
    /// imported.
    pub fn open(path: &Path, device: &Device) -> Result<Self, RankerError> {
        let bytes = std::fs::read(path).map_err(|source| RankerError::File { path: path.into(), source })?;
        match ImportFormat::detect(&bytes) {
            None => Self::from_bytes(&bytes, path, device).map_err(|error| match error {
                RankerError::Format { path, source: FileError::Kind { found, expected: "a ranker of burn-rank" } } => {
                    RankerError::Format { path, source: FileError::Kind { found, expected: RANKERS } }
                }
                error => error,
            }),
            Some(format) => {
                Self::import(&bytes, format).map_err(|source| RankerError::Import { path: path.into(), source })
            }
        }
    }
}
