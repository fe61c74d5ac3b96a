//! Exports rankers to the formats of other systems. Each format is an entry of [`EXPORTS`], from which the command line
//! takes its names and help, and the page `docs/how-to/export.md` its table.
//!
//! If the format cannot hold a ranker, the export fails; it never writes an approximation of the ranker.

mod entry;
#[cfg(test)]
mod golden_tests;
mod lightgbm;
mod onnx;
mod plugin_linear;
mod ranklib;
mod raw_trees;
mod solr;
#[cfg(test)]
mod tests;
mod xgboost;

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

use super::artifact::Ranker;
use super::error::RankerError;
use super::model::Model;
pub use entry::ExportEntry;

/// The formats in which rankers are written for other systems. A name or an extension of a file name that several of
/// them share means the first one that accepts the model.
pub static EXPORTS: &[ExportEntry] = &[
    onnx::ENTRY,
    onnx::BATCH,
    lightgbm::ENTRY,
    ranklib::TREES,
    ranklib::LINEAR,
    xgboost::ENTRY,
    xgboost::DUMP,
    solr::ENTRY,
    plugin_linear::ENTRY,
];

/// A file format of another system.
#[derive(Debug, Clone, Copy)]
pub struct ExportFormat(&'static ExportEntry);

impl ExportFormat {
    /// Returns the format called `name`, as `burn-rank convert --format` has it: `onnx`, `onnx-batch`, `lightgbm`,
    /// `ranklib`, `xgboost`, `xgboost-dump`, `solr` or `plugin-linear`. RankLib has a format for trees and one for
    /// linear models.
    pub fn named(name: &str, model: &Model) -> Option<Self> {
        Self::fitting(model, |entry| entry.name == name)
    }

    /// Returns the format that a file name implies: `.onnx`, `.xml`, or `.txt` for the text format of the model's kind.
    pub fn from_path(path: &Path, model: &Model) -> Option<Self> {
        let extension = path.extension()?.to_string_lossy().to_lowercase();
        Self::fitting(model, |entry| entry.by_name && entry.extension == extension)
    }

    fn fitting(model: &Model, is_meant: impl Fn(&ExportEntry) -> bool) -> Option<Self> {
        let meant = || EXPORTS.iter().filter(|entry| is_meant(entry));
        meant().find(|entry| (entry.accepts)(model)).or(meant().last()).map(Self)
    }
}

impl fmt::Display for ExportFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(self.0.title)
    }
}

#[cfg_attr(docsrs, doc(cfg(feature = "export")))]
impl Ranker {
    /// Returns the ranker as bytes in another system's format; equal rankers give equal bytes.
    ///
    /// # Errors
    /// Returns [`RankerError::Export`] if the format cannot hold the model or its normalizer.
    pub fn export(&self, ExportFormat(entry): ExportFormat) -> Result<Vec<u8>, RankerError> {
        let refuse = |reason| RankerError::Export { format: entry.title, reason };
        let ranker = self.as_accepted(entry);
        if !(entry.accepts)(ranker.model()) {
            let of_members = match (ranker.model(), &entry.system) {
                (Model::Members(_), Some(_)) => {
                    ", or members that are sums of trees with one normalizer and have fixed deviations"
                }
                _ => "",
            };
            return Err(refuse(format!("{}: expected {}{of_members}", ranker.model().in_words(), entry.expected)));
        }
        (entry.write)(&ranker).map_err(refuse)
    }

    /// Returns the ranker. For formats of trees that accept them, members become one sum of trees; ONNX holds each.
    fn as_accepted(&self, entry: &ExportEntry) -> Cow<'_, Self> {
        let Model::Members(members) = self.model() else { return Cow::Borrowed(self) };
        let become_trees = (entry.accepts)(self.model()) && entry.extension != onnx::ENTRY.extension;
        let trees = members.as_trees().filter(|_| become_trees);
        let ranker = trees.and_then(|(normalizer, trees)| {
            Self::new(normalizer.clone(), Model::Trees(trees), self.metadata().clone()).ok()
        });
        ranker.map_or(Cow::Borrowed(self), Cow::Owned)
    }

    /// Returns notes about what an [exported](Self::export) file lacks or changes, one sentence each. LightGBM and
    /// XGBoost need training statistics of the nodes to explain trees, and some imported rankers have none. They also
    /// forbid some characters in the names of features.
    pub fn export_notes(&self, ExportFormat(entry): ExportFormat) -> Vec<String> {
        let ranker = self.as_accepted(entry);
        match (&entry.system, ranker.model()) {
            (Some(system), Model::Trees(trees)) => system.notes(&ranker, trees),
            _ => Vec::new(),
        }
    }
}
