//! What exported files of trees lack or change in the systems that explain trees and that restrict the names of features.

use super::raw_trees::allowed_names;
use crate::ranker::artifact::Ranker;
use crate::ranker::tree_ensemble::{LEAF, NodeStatistics, TreeEnsemble};

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
        let why = format!("{} takes no names with {}", self.name, self.forbidden);
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
