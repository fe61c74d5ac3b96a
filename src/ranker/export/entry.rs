//! An entry of a format, the models that formats accept, and what a linear format takes from a ranker.

use super::raw_trees::{allowed_names, refuse_normalizer};
use crate::data::FeatureMap;
use crate::ranker::artifact::Ranker;
use crate::ranker::model::Model;
use crate::ranker::tree_ensemble::{LEAF, NodeStatistics, TreeEnsemble};
use crate::scorer::Scorer;

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
    pub(super) accepts: fn(&Model) -> bool,
    /// The models that the format accepts, in words.
    pub(super) expected: &'static str,
    /// The other system's requirements for names of features, and for trees that it explains.
    pub(super) system: Option<System>,
    pub(super) write: Write,
}

/// A function that encodes a ranker, or says what the format cannot hold.
type Write = fn(&Ranker) -> Result<Vec<u8>, String>;

pub(super) fn is_trees(model: &Model) -> bool {
    matches!(model, Model::Trees(_))
}

/// Returns whether a model is a sum of trees, or members that become one.
pub(super) fn is_sum_of_trees(model: &Model) -> bool {
    matches!(model, Model::Members(members) if members.as_trees().is_some()) || is_trees(model)
}

pub(super) fn is_linear(model: &Model) -> bool {
    matches!(model, Model::Scorer(Scorer::Linear(_)))
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

/// A linear ranker whose normalizer is `none` or `z_score`.
pub(super) struct Linear<'a> {
    pub(super) weights: Vec<f32>,
    pub(super) bias: f32,
    /// For `z_score`, the mean and the scale of each feature; the weights multiply `(x - mean) scale`.
    pub(super) z_score: Option<(&'a [f64], &'a [f64])>,
}

impl<'a> Linear<'a> {
    /// Returns the weights of a ranker, or says what makes it no such ranker. `without_constant` says where the format
    /// holds no constant which formats do.
    pub(super) fn of(ranker: &'a Ranker, without_constant: Option<&str>) -> Result<Self, String> {
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
