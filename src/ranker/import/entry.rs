//! An entry of a format that is read, the words in which a file is refused, and the list that takes the trees of a
//! file. The list makes a [`TreeEnsemble`] with the same decisions. Every format imports the names of this file.
//!
//! Features in this crate are 32-bit floats. A split with a single threshold can therefore always be written as
//! `x <= t`, where `t` is the largest 32-bit float that goes left. If a split sends no finite value left, its sides are
//! exchanged, and the largest finite float becomes the threshold.

use std::fmt::Display;

use serde::de::DeserializeOwned;

use crate::json::Value;
use crate::ranker::tree_ensemble::{LEAF, TreeArrays, TreeEnsemble};

pub(super) use crate::json::json;
pub(super) use crate::ranker::foreign_node::{ForeignNode, ForeignSplit};
pub(super) use crate::ranker::tree_ensemble::{NodeStatistics, Sums};

/// A format: its names, and the function that reads it.
#[derive(Debug)]
pub struct ImportEntry {
    /// The system, and its notation that is read.
    pub title: [&'static str; 2],
    /// The cells of the page about imports: the system with its versions, how it writes the file, the decisions at its
    /// splits, and its scores.
    pub row: &'static str,
    /// The notations of the system that are recognized but not read: the first bytes of a file, a description, and the
    /// call that saves the ranker in the notation that is read.
    pub(super) others: &'static [(&'static [u8], &'static str, &'static str)],
    /// Decodes a file, or says what is wrong with it in the words after the title.
    pub(super) decode: fn(&str) -> Result<Imported, String>,
}

/// The contents of an imported file.
pub(super) struct Imported {
    pub(super) trees: TreeEnsemble,
    pub(super) feature_names: Option<Vec<String>>,
    /// The file's version and objective, which the model card shows.
    pub(super) about: Value,
}

/// Decodes JSON.
pub(super) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(syntax)
}

/// Says that a file is malformed.
pub(super) fn syntax(reason: impl Display) -> String {
    format!(": {reason}")
}

/// Says that a line, tree or key has a value that the format does not allow.
pub(super) fn content(place: impl Display, found: impl Display, expected: impl Display) -> String {
    format!(": {place}: found {found}, expected {expected}")
}

/// Says which property of a valid file this crate cannot represent.
pub(super) fn unsupported(found: impl Display, expected: impl Display) -> String {
    format!(" with {found} cannot be read: expected {expected}")
}

/// Refuses a value that the format does not allow, unless `is_allowed`; see [`content`].
pub(super) fn allowed(
    is_allowed: bool,
    place: impl Display,
    found: impl Display,
    expected: impl Display,
) -> Result<(), String> {
    if is_allowed { Ok(()) } else { Err(content(place, found, expected)) }
}

/// Refuses a property, unless it `is_supported`; see [`unsupported`].
pub(super) fn supported(is_supported: bool, found: impl Display, expected: impl Display) -> Result<(), String> {
    if is_supported { Ok(()) } else { Err(unsupported(found, expected)) }
}

/// The trees that have been read from a file so far, in the file's order.
#[derive(Default)]
pub(super) struct TreeList(TreeArrays);

impl TreeList {
    /// Adds a tree, together with the training statistics of its nodes. The root is the first node. Leaves out nodes
    /// that cannot be reached from the root.
    ///
    /// # Errors
    /// Returns an error if a child does not exist or has two parents.
    pub fn push(&mut self, nodes: &[ForeignNode], statistics: &NodeStatistics) -> Result<(), String> {
        let tree = self.0.roots.len();
        let refuse = |found: String, expected: &str| Err(content(format!("tree {tree}"), found, expected));
        let arrays = &mut self.0;
        let first = arrays.feature.len();
        arrays.roots.push(first as u32);
        let mut is_placed = vec![false; nodes.len()];
        let mut order = Vec::with_capacity(nodes.len());
        // Nodes to place, with the position of their parent and their side.
        let mut waiting = vec![(0, None)];
        while let Some((node, parent)) = waiting.pop() {
            let Some(&foreign) = nodes.get(node) else {
                return refuse(format!("node {node}"), &format!("one of its {} nodes", nodes.len()));
            };
            if std::mem::replace(&mut is_placed[node], true) {
                return refuse(format!("node {node} again"), "one parent for each node");
            }
            let place = arrays.feature.len() as u32;
            order.push(node);
            let (feature, threshold, value) = match foreign {
                ForeignNode::Leaf(value) => (LEAF, 0.0, value),
                ForeignNode::Split(split) => {
                    let goes_left = split.at_most > f32::NEG_INFINITY;
                    let ForeignSplit { feature, at_most, missing_left, zero_missing, left, right } =
                        if goes_left { split } else { split.exchanged(f32::MAX) };
                    // It marks leaves.
                    if feature == LEAF {
                        return refuse(format!("feature {feature}"), &format!("a feature below {LEAF}"));
                    }
                    arrays.missing_left.extend(missing_left.then_some(place));
                    arrays.zero_missing.extend(zero_missing.then_some(place));
                    waiting.extend([(right, Some((place, true))), (left, Some((place, false)))]);
                    (feature, at_most, 0.0)
                }
            };
            arrays.feature.push(feature);
            arrays.threshold.push(threshold);
            arrays.value.push(value);
            arrays.left.push(0);
            arrays.right.push(0);
            match parent {
                Some((parent, false)) => arrays.left[parent as usize] = place,
                Some((parent, true)) => arrays.right[parent as usize] = place,
                None => {}
            }
        }
        arrays.statistics.extend(first, statistics.select(&order), order.len());
        Ok(())
    }

    /// Adds a constant to every score, in the form of a tree with one leaf and no statistics.
    pub fn push_constant(&mut self, value: f64) -> Result<(), String> {
        let nothing = NodeStatistics { count: vec![0], weight: vec![0.0], gain: vec![0.0] };
        self.push(&[ForeignNode::Leaf(value)], &nothing)
    }

    /// Returns the highest feature number that any split uses. Feature numbers start at 1. Returns 1 if there are no
    /// splits.
    pub fn features_in_use(&self) -> usize {
        self.0.feature.iter().filter(|&&feature| feature != LEAF).max().map_or(1, |&feature| feature as usize + 1)
    }

    /// Returns the finished ensemble of trees.
    ///
    /// # Errors
    /// Returns an error if a split uses a feature beyond `features`, or if a number is not finite.
    pub fn finish(mut self, features: usize, sums: Sums) -> Result<TreeEnsemble, String> {
        // Scores do not depend on statistics, so lists without information are dropped and the ranker is accepted.
        let NodeStatistics { count, weight, gain } = &mut self.0.statistics;
        if count.iter().all(|&documents| documents == 0) {
            count.clear();
        }
        for list in [weight, gain] {
            if list.iter().all(|&number| number == 0.0) || list.iter().any(|number| !number.is_finite()) {
                list.clear();
            }
        }
        let trees = TreeEnsemble::from_arrays(features, self.0);
        Ok(trees.map_err(syntax)?.with_sums(sums))
    }
}

/// Returns the largest finite 32-bit float at or below `threshold`, or negative infinity if there is none. The
/// threshold must not be NaN.
pub(super) fn largest_at_most(threshold: f64) -> f32 {
    let nearest = threshold as f32;
    if f64::from(nearest) > threshold { nearest.next_down() } else { nearest.min(f32::MAX) }
}

/// Returns the largest finite 32-bit float below `threshold`, or negative infinity if there is none. The threshold must
/// not be NaN.
pub(super) fn largest_below(threshold: f32) -> f32 {
    threshold.next_down().min(f32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_equal_those_worked_by_hand() {
        assert_eq!(largest_at_most(0.5), 0.5);
        // The nearest 32-bit float of 0.1 is above it.
        assert_eq!(largest_at_most(0.1), 0.1f32.next_down());
        assert_eq!(largest_at_most(f64::from(0.1f32)), 0.1);
        assert_eq!(largest_at_most(f64::INFINITY), f32::MAX);
        assert_eq!((largest_at_most(1e39), largest_at_most(-1e39)), (f32::MAX, f32::NEG_INFINITY));
        assert_eq!(largest_below(0.5), 0.5f32.next_down());
        assert_eq!((largest_below(f32::INFINITY), largest_below(f32::MIN)), (f32::MAX, f32::NEG_INFINITY));
        // Both zeros are at the threshold.
        assert!(largest_below(0.0) < -0.0 && largest_below(-0.0) < -0.0);
    }

    #[test]
    fn every_float_goes_the_way_of_the_foreign_decision() {
        let way = |at_most, missing_left, x: f32| {
            let split = ForeignSplit { feature: 0, at_most, missing_left, zero_missing: false, left: 1, right: 2 };
            let mut list = TreeList::default();
            let nodes = [ForeignNode::Split(split), ForeignNode::Leaf(1.0), ForeignNode::Leaf(2.0)];
            list.push(&nodes, &NodeStatistics::default()).unwrap();
            list.finish(1, Sums::Double).unwrap().score(&[x])
        };
        for missing_left in [false, true] {
            let missing = if missing_left { 1.0 } else { 2.0 };
            assert_eq!(way(f32::NEG_INFINITY, missing_left, f32::NAN), missing);
            assert_eq!(way(0.5, missing_left, f32::NAN), missing);
            assert_eq!([f32::MIN, 0.0, f32::MAX].map(|x| way(f32::NEG_INFINITY, missing_left, x)), [2.0; 3]);
            assert_eq!([0.5, 0.5f32.next_up()].map(|x| way(0.5, missing_left, x)), [1.0, 2.0]);
        }
    }

    #[test]
    fn a_feature_is_not_taken_for_the_mark_of_a_leaf() {
        let mut list = TreeList::default();
        assert_eq!(list.features_in_use(), 1, "a ranker without a split");
        let (at_most, missing_left, zero_missing) = (0.5, false, false);
        let split = ForeignSplit { feature: LEAF, at_most, missing_left, zero_missing, left: 1, right: 2 };
        let nodes = [ForeignNode::Split(split), ForeignNode::Leaf(1.0), ForeignNode::Leaf(2.0)];
        let error = list.push(&nodes, &NodeStatistics::default()).unwrap_err();
        assert!(error.contains("found feature 4294967295, expected a feature below 4294967295"), "{error}");
    }

    #[test]
    fn nodes_that_make_no_tree_are_refused() {
        let split = |left, right| {
            ForeignNode::Split(ForeignSplit {
                feature: 0,
                at_most: 0.0,
                missing_left: false,
                zero_missing: false,
                left,
                right,
            })
        };
        let error = |nodes: &[ForeignNode]| {
            let pushed = TreeList::default().push(nodes, &NodeStatistics::default());
            pushed.unwrap_err()
        };
        assert_eq!(error(&[]), ": tree 0: found node 0, expected one of its 0 nodes");
        assert_eq!(
            error(&[split(1, 7), ForeignNode::Leaf(0.0)]),
            ": tree 0: found node 7, expected one of its 2 nodes"
        );
        assert_eq!(error(&[split(0, 0)]), ": tree 0: found node 0 again, expected one parent for each node");
    }
}
