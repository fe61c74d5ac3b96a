//! Exports rankers to the formats of other systems. Each format is an entry of [`EXPORTS`], from which the command line
//! takes its names and help, and the page `docs/how-to/export.md` its table.
//!
//! If the format cannot hold a ranker, the export fails; it never writes an approximation of the ranker.

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
use super::card::word;
use super::error::RankerError;
use super::model::Model;
use crate::data::FeatureMap;
use crate::ranker::tree_ensemble::{LEAF, NodeStatistics, TreeEnsemble};
use crate::scorer::Scorer;
use raw_trees::allowed_names;

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

/// A format: its names, the models that it accepts, and the function that writes it.
#[derive(Debug)]
pub struct ExportEntry {
    /// The name on the command line.
    pub name: &'static str,
    /// The name in messages.
    pub title: &'static str,
    /// The extension of file names.
    pub extension: &'static str,
    /// Whether a file name with this extension chooses the format.
    pub by_name: bool,
    /// The help of the command line.
    pub help: &'static str,
    /// The cells of the page about exports: the system, the rankers and normalizers that the format holds, and how far
    /// its scores agree.
    pub row: &'static str,
    accepts: fn(&Model) -> bool,
    /// The models that the format accepts, in words.
    expected: &'static str,
    /// What the other system requires of names of features, and of trees that it explains.
    system: Option<System>,
    write: Write,
}

/// A function that encodes a ranker, or says what the format cannot hold.
type Write = fn(&Ranker) -> Result<Vec<u8>, String>;

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

    /// Returns the ranker. For the formats of LightGBM and XGBoost, members become one sum of trees if they can.
    fn as_accepted(&self, entry: &ExportEntry) -> Cow<'_, Self> {
        let Model::Members(members) = self.model() else { return Cow::Borrowed(self) };
        let trees = members.as_trees().filter(|_| entry.system.is_some());
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

fn is_trees(model: &Model) -> bool {
    matches!(model, Model::Trees(_))
}

/// Returns whether a model is a sum of trees, or members that become one.
fn is_sum_of_trees(model: &Model) -> bool {
    matches!(model, Model::Members(members) if members.as_trees().is_some()) || is_trees(model)
}

fn is_linear(model: &Model) -> bool {
    matches!(model, Model::Scorer(Scorer::Linear(_)))
}

/// Says that a format cannot hold the ranker's normalizer.
fn refuse_normalizer<T>(ranker: &Ranker, expected: &str) -> Result<T, String> {
    Err(format!("the normalizer `{}`: expected {expected}", word(&ranker.normalizer().kind())))
}

/// A linear ranker whose normalizer is `none` or `z_score`.
struct Linear<'a> {
    weights: Vec<f32>,
    bias: f32,
    /// For `z_score`, the mean and the scale of each feature: the weights are those of `(x - mean) scale`.
    z_score: Option<(&'a [f64], &'a [f64])>,
}

impl<'a> Linear<'a> {
    /// Returns the weights of a ranker, or says what makes it no such ranker. `without_constant` says where the format
    /// holds no constant which formats do.
    fn of(ranker: &'a Ranker, without_constant: Option<&str>) -> Result<Self, String> {
        let Model::Scorer(Scorer::Linear(scorer)) = ranker.model() else { unreachable!("the model was accepted") };
        if ranker.normalizer().fills_missing() {
            let expected = "one that was trained with `missing` = \"zero\" or \"query-min\"; ONNX holds it";
            return Err(format!("a ranker that fills missing values: expected {expected}"));
        }
        let (weights, bias) = scorer.weights();
        if let (true, Some(others)) = (bias != 0.0, without_constant) {
            let expected = format!("a linear ranker without a constant (`bias = false`); {others}");
            return Err(format!("a linear ranker: expected {expected}"));
        }
        let z_score = match ranker.normalizer().map() {
            FeatureMap::None => None,
            FeatureMap::ZScore { mean, scale } => Some((&mean[..], &scale[..])),
            _ => return refuse_normalizer(ranker, "`none` or `z_score`; ONNX holds every normalizer"),
        };
        Ok(Self { weights, bias, z_score })
    }
}

/// The names that a system forbids, and what it needs to explain trees.
#[derive(Debug)]
pub(super) struct System {
    pub name: &'static str,
    /// Whether the system takes no such character in the name of a feature.
    pub is_forbidden: fn(char) -> bool,
    /// The forbidden characters in words.
    pub forbidden: &'static str,
    /// The importances that the system takes from gains.
    pub importances: &'static str,
    /// How contributions are computed. If true, a split divides by its own number of documents or, where no numbers are
    /// known, by their weights; otherwise by the numbers of documents on both sides.
    pub divides_by_split: bool,
}

impl System {
    /// Returns notes on the file of a ranker, one sentence each.
    pub fn notes(&self, ranker: &Ranker, trees: &TreeEnsemble) -> Vec<String> {
        self.renamed(ranker).into_iter().chain(self.unexplained(trees)).collect()
    }

    /// Returns a note on the features that have another name in the file, because the system forbids a character.
    fn renamed(&self, ranker: &Ranker) -> Option<String> {
        let names = ranker.metadata().feature_names.as_ref()?;
        let allowed = allowed_names(ranker, self.is_forbidden);
        let changed: Vec<_> = names.iter().zip(&allowed).filter(|(name, allowed)| name != allowed).collect();
        let pair = |(name, allowed): &(&String, &String)| format!("`{}` is `{allowed}`", name.escape_debug());
        let pairs: Vec<String> = changed.iter().take(8).map(pair).collect();
        let more = if changed.len() > pairs.len() { format!(", .. ({} in all)", changed.len()) } else { String::new() };
        let why = format!("{} does not accept names with {}", self.name, self.forbidden);
        (!changed.is_empty()).then(|| format!("{why}: {}{more}", pairs.join(", ")))
    }

    /// Returns notes on the explanations that the system cannot make of the trees.
    fn unexplained(&self, trees: &TreeEnsemble) -> impl Iterator<Item = String> {
        let arrays = trees.arrays();
        let NodeStatistics { count, weight, gain } = &arrays.statistics;
        let at_every_split = |is_known: &dyn Fn(usize) -> bool| {
            (0..arrays.feature.len()).all(|node| arrays.feature[node] == LEAF || is_known(node))
        };
        let is_reached = |node: usize| count.get(node).is_some_and(|&count| count > 0);
        let takes_weights = self.divides_by_split && count.is_empty();
        let is_explained = at_every_split(&|node| match takes_weights {
            true => weight.get(node).is_some_and(|&weight| weight > 0.0),
            false if self.divides_by_split => is_reached(node),
            false => is_reached(arrays.left[node] as usize) && is_reached(arrays.right[node] as usize),
        });
        let why = if count.is_empty() && (!takes_weights || weight.is_empty()) {
            "the ranker does not say how many training documents reach its nodes"
        } else {
            "no training document reaches some of the ranker's nodes"
        };
        let contributions = format!("{}'s contributions are not numbers: {why}", self.name);
        let gains = format!("{}'s {} are 0: the ranker does not say what its splits gain", self.name, self.importances);
        let missing = [(is_explained, contributions), (at_every_split(&|node| node < gain.len()), gains)];
        missing.into_iter().filter_map(|(is_there, note)| (!is_there).then_some(note))
    }
}
