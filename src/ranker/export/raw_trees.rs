//! Converts a ranker's trees so that they split raw features, and writes trees as nested text. All export formats for
//! trees share this code.
//!
//! The trees of a ranker split normalized features; the trees of other systems split raw ones. A normalizer that treats
//! each feature separately is monotone, so its result never falls as the raw value grows. Because of this,
//! `normalized(x) <= threshold` is the same as `x <= raw threshold`. The raw threshold is the largest 32-bit float
//! whose normalized value is at most `threshold`. Bisection over the floats finds the raw threshold. For every 32-bit
//! float, the converted tree chooses the same child as the original tree.

use std::collections::HashSet;

use crate::data::options::numbered;
use crate::data::{Normalizer, NormalizerKind};
use crate::ranker::artifact::Ranker;
use crate::ranker::card::word;
use crate::ranker::foreign_node::{ForeignNode, ForeignSplit};
use crate::ranker::model::Model;
use crate::ranker::tree_ensemble::{LEAF, NodeStatistics, TreeArrays, TreeEnsemble};

/// A tree, with the root first and each parent before its children.
#[derive(Debug, Default)]
pub(super) struct RawTree {
    pub nodes: Vec<ForeignNode>,
    /// For each node of the tree, the index of the corresponding node in the ensemble.
    pub places: Vec<usize>,
}

/// Statistics of the nodes of an ensemble, which do not affect scores but are part of other systems' files. Each array
/// has one entry per node, which is 0 if the ranker lacks this statistic.
pub(super) struct Known {
    /// The number of training documents at the node.
    pub count: Vec<u32>,
    /// The total weight of the training documents at the node.
    pub weight: Vec<f32>,
    pub gain: Vec<f32>,
    /// How much a node weighs in contributions: its number of documents or, if that is unknown, their total weight.
    pub cover: Vec<f32>,
    /// For a leaf, its value; for a split, the mean of its two children, weighted by `cover`.
    pub value: Vec<f64>,
}

impl Known {
    pub fn new(arrays: &TreeArrays) -> Self {
        fn or_zeros<T: Copy + Default>(list: &[T], nodes: usize) -> Vec<T> {
            if list.is_empty() { vec![T::default(); nodes] } else { list.to_vec() }
        }
        let NodeStatistics { count, weight, gain } = &arrays.statistics;
        let nodes = arrays.feature.len();
        let weight = or_zeros(weight, nodes);
        let cover = if count.is_empty() { weight.clone() } else { count.iter().map(|&count| count as f32).collect() };
        let mut value = arrays.value.clone();
        // Children come after their parents.
        for node in (0..nodes).rev().filter(|&node| arrays.feature[node] != LEAF) {
            let sides = [arrays.left[node], arrays.right[node]].map(|side| side as usize);
            let [left, right] = sides.map(|side| f64::from(cover[side]));
            let all = left + right;
            value[node] = if all > 0.0 { left / all * value[sides[0]] + right / all * value[sides[1]] } else { 0.0 };
        }
        Self { count: or_zeros(count, nodes), weight, gain: or_zeros(gain, nodes), cover, value }
    }
}

/// Says that a format cannot hold the ranker's normalizer.
pub(super) fn refuse_normalizer<T>(ranker: &Ranker, expected: &str) -> Result<T, String> {
    Err(format!("the normalizer `{}`: expected {expected}", word(&ranker.normalizer().kind())))
}

/// Returns the trees of a ranker, if its normalizer can become a part of their thresholds.
pub(super) fn trees_of(ranker: &Ranker) -> Result<&TreeEnsemble, String> {
    let Model::Trees(trees) = ranker.model() else { unreachable!("the model was accepted") };
    if ranker.normalizer().kind() == NormalizerKind::QueryMinMax {
        return refuse_normalizer(ranker, "a normalizer that treats each document separately");
    }
    check_normalizer(trees, ranker.normalizer())?;
    Ok(trees)
}

/// Rejects splits that treat 0 as missing, for trees with a normalizer. Also rejects a normalizer that fills missing
/// values, since trees compare features with thresholds and add no columns.
pub(super) fn check_normalizer(trees: &TreeEnsemble, normalizer: &Normalizer) -> Result<(), String> {
    if normalizer.fills_missing() {
        return Err("trees behind missing values that are filled: expected trees that take them as they are".into());
    }
    match normalizer.kind() {
        NormalizerKind::None => Ok(()),
        _ => check_zeros(trees, ", where there is a normalizer"),
    }
}

/// Rejects an ensemble with splits that treat 0 as missing. `which` says more of what is expected.
fn check_zeros(trees: &TreeEnsemble, which: &str) -> Result<(), String> {
    if trees.arrays().zero_missing.is_empty() {
        return Ok(());
    }
    Err(format!("splits at which 0 is missing: expected values of 0 that are compared with thresholds{which}"))
}

/// Converts a ranker's trees for formats whose splits state only a threshold and a side for missing values.
pub(super) fn raw_trees(ranker: &Ranker) -> Result<Vec<RawTree>, String> {
    let trees = trees_of(ranker)?;
    check_zeros(trees, "; LightGBM text and ONNX hold such splits")?;
    trees.arrays().roots.iter().map(|&root| RawTree::of_32_bits(trees, root, ranker.normalizer())).collect()
}

impl RawTree {
    /// Creates a tree with a single leaf of value 0, which has no counterpart in the ensemble.
    pub fn zero() -> Self {
        Self { nodes: vec![ForeignNode::Leaf(0.0)], places: Vec::new() }
    }

    /// Converts a tree for formats with leaves of 32 bits and finite thresholds. A split that sends no value left is
    /// written with its sides exchanged.
    pub fn of_32_bits(trees: &TreeEnsemble, root: u32, normalizer: &Normalizer) -> Result<Self, String> {
        let exchanged = |split: ForeignSplit| match split.at_most {
            f32::NEG_INFINITY => split.exchanged(f32::MAX),
            _ => split,
        };
        let tree = Self::new(trees, root, normalizer, exchanged)?;
        let is_beyond = |node: &ForeignNode| matches!(node, ForeignNode::Leaf(value) if !(*value as f32).is_finite());
        match tree.nodes.iter().any(is_beyond) {
            true => Err("a leaf beyond 32 bits: expected leaves of 32 bits; LightGBM text has 64".into()),
            false => Ok(tree),
        }
    }

    /// Converts the tree under `root`, whose splits compare normalized features. `written` returns a split as the
    /// format has it; the children of the split it takes are nodes of the ensemble.
    pub fn new(
        trees: &TreeEnsemble,
        root: u32,
        normalizer: &Normalizer,
        written: impl Fn(ForeignSplit) -> ForeignSplit,
    ) -> Result<Self, String> {
        let arrays = trees.arrays();
        let mut tree = Self::default();
        let mut waiting = vec![(root as usize, None)];
        while let Some((node, parent)) = waiting.pop() {
            let place = tree.nodes.len();
            // A tree in which no node has two parents has no more nodes than its ensemble.
            if place >= arrays.feature.len() {
                return Err("trees that share a node".into());
            }
            tree.places.push(node);
            if arrays.feature[node] == LEAF {
                tree.nodes.push(ForeignNode::Leaf(arrays.value[node]));
            } else {
                let feature = arrays.feature[node];
                let is_in = |nodes: &[u32]| nodes.binary_search(&(node as u32)).is_ok();
                let raw = raw_threshold(normalizer, feature as usize, arrays.threshold[node]);
                let split = written(ForeignSplit {
                    feature,
                    at_most: raw.unwrap_or(f32::NEG_INFINITY),
                    missing_left: is_in(&arrays.missing_left),
                    zero_missing: is_in(&arrays.zero_missing),
                    left: arrays.left[node] as usize,
                    right: arrays.right[node] as usize,
                });
                waiting.extend([(split.right, Some((place, true))), (split.left, Some((place, false)))]);
                tree.nodes.push(ForeignNode::Split(split));
            }
            if let Some((parent, is_right)) = parent
                && let ForeignNode::Split(split) = &mut tree.nodes[parent]
            {
                *(if is_right { &mut split.right } else { &mut split.left }) = place;
            }
        }
        Ok(tree)
    }

    /// Returns a value for each node.
    pub fn each<T>(&self, split: impl Fn(&ForeignSplit) -> T, leaf: impl Fn(f64) -> T) -> Vec<T> {
        let value = |node: &ForeignNode| match node {
            ForeignNode::Split(of) => split(of),
            ForeignNode::Leaf(value) => leaf(*value),
        };
        self.nodes.iter().map(value).collect()
    }

    /// Rejects a tree with a split that sends missing values left, for formats that take them for 0. A tree whose
    /// splits all send missing values where they send 0 is accepted.
    pub fn check_missing(&self) -> Result<(), String> {
        let any = |is: fn(&ForeignSplit) -> bool| {
            self.nodes.iter().any(|node| matches!(node, ForeignNode::Split(split) if is(split)))
        };
        if any(|split| split.missing_left) && any(|split| split.missing_left != (0.0 <= split.at_most)) {
            let expected = "missing values that go right, as after training with `missing` = \"zero\"; LightGBM \
                            text, XGBoost JSON and ONNX hold both ways";
            return Err(format!("splits at which missing values go left: expected {expected}"));
        }
        Ok(())
    }

    /// Writes the tree as nested text. `split` receives the position of a split and its depth. `split` returns the text
    /// before the left child, between the children, and after the right child. `leaf` returns the text of a leaf.
    pub fn nested(
        &self,
        mut split: impl FnMut(usize, &ForeignSplit, usize) -> [String; 3],
        mut leaf: impl FnMut(usize, f64, usize) -> String,
    ) -> String {
        enum Step {
            Node(usize, usize),
            Text(String),
        }
        let mut text = String::new();
        // The loop avoids recursion, since a file may hold a tree of any depth.
        let mut waiting = vec![Step::Node(0, 0)];
        while let Some(step) = waiting.pop() {
            match step {
                Step::Text(part) => text.push_str(&part),
                Step::Node(node, depth) => match &self.nodes[node] {
                    ForeignNode::Leaf(value) => text.push_str(&leaf(node, *value, depth)),
                    ForeignNode::Split(from) => {
                        let [before, between, after] = split(node, from, depth);
                        text.push_str(&before);
                        waiting.extend([
                            Step::Text(after),
                            Step::Node(from.right, depth + 1),
                            Step::Text(between),
                            Step::Node(from.left, depth + 1),
                        ]);
                    }
                },
            }
        }
        text
    }
}

/// Returns the largest 32-bit float whose normalized value is at most `threshold`. If this is true of all floats, the
/// result is the largest finite float. Returns `None` if every float has a normalized value above `threshold`.
pub(super) fn raw_threshold(normalizer: &Normalizer, feature: usize, threshold: f32) -> Option<f32> {
    if normalizer.kind() == NormalizerKind::None {
        return Some(threshold);
    }
    let goes_left = |x: f32| normalizer.value(feature, x).is_some_and(|value| value <= threshold);
    if !goes_left(f32::MIN) {
        return None;
    }
    if goes_left(f32::MAX) {
        return Some(f32::MAX);
    }
    let (mut left, mut right) = (place(f32::MIN), place(f32::MAX));
    while right - left > 1 {
        let middle = left + (right - left) / 2;
        if goes_left(at(middle)) { left = middle } else { right = middle }
    }
    Some(at(left))
}

/// Returns the position of a finite float in the ascending order of all floats; the position of 0 is 0.
fn place(x: f32) -> i64 {
    let size = i64::from(x.to_bits() & 0x7fff_ffff);
    if x.is_sign_negative() { -size } else { size }
}

/// Returns the float at a position given by [`place`].
fn at(place: i64) -> f32 {
    let size = f32::from_bits(place.unsigned_abs() as u32);
    if place < 0 { -size } else { size }
}

/// Returns the names of the ranker's features, or `feature_1`, `feature_2` and so on if they have no names.
pub(super) fn feature_names(ranker: &Ranker) -> Vec<String> {
    ranker.metadata().feature_names.clone().unwrap_or_else(|| numbered(ranker.model().features()))
}

/// Returns the [names of the features](feature_names) for a system that forbids some characters in names. Each
/// forbidden character becomes `_`. A name that is then empty or in use becomes `feature_1`, `feature_2` and so on.
pub(super) fn allowed_names(ranker: &Ranker, is_forbidden: fn(char) -> bool) -> Vec<String> {
    let names = feature_names(ranker);
    let mut used: HashSet<String> = names.iter().filter(|name| !name.contains(is_forbidden)).cloned().collect();
    // A name without forbidden characters stays, unless it is a repetition.
    let mut kept = HashSet::new();
    let allowed = |(at, name): (usize, String)| {
        if !name.is_empty() && !name.contains(is_forbidden) && kept.insert(name.clone()) {
            return name;
        }
        let mut other = name.replace(is_forbidden, "_");
        if other.is_empty() || used.contains(&other) {
            other = format!("feature_{}", at + 1);
        }
        while !used.insert(other.clone()) {
            other.push('_');
        }
        other
    };
    names.into_iter().enumerate().map(allowed).collect()
}

/// Returns `text` as a quoted JSON string.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::SynthConfig;

    const KINDS: [NormalizerKind; 6] = [
        NormalizerKind::None,
        NormalizerKind::ZScore,
        NormalizerKind::Log1p,
        NormalizerKind::Quantile,
        NormalizerKind::Gauss,
        NormalizerKind::ClippedZScore,
    ];

    #[test]
    fn places_follow_the_order_of_the_floats() {
        let ascending = [f32::MIN, -1.0, -f32::MIN_POSITIVE, -1e-45, 0.0, 1e-45, 1.0, f32::MAX];
        assert!(ascending.map(place).is_sorted_by(|a, b| a < b));
        assert_eq!(ascending.map(|x| at(place(x))), ascending);
    }

    #[test]
    fn every_float_goes_the_way_of_its_normalized_value() {
        let data = SynthConfig { queries: 20, features: 3, seed: 5, ..SynthConfig::default() }.generate().unwrap();
        let columns = |feature: usize| data.features.to_slice().iter().copied().skip(feature).step_by(3);
        for kind in KINDS {
            let normalizer = Normalizer::fit(&data, kind);
            for feature in 0..3 {
                for threshold in [-3.0, -0.5, 0.0, 0.3, 0.75, 1.0, 4.0] {
                    let raw = raw_threshold(&normalizer, feature, threshold);
                    let near = raw.unwrap_or(0.0);
                    let extremes = [f32::MIN, f32::MAX, 0.0, near, near.next_up(), near.next_down()];
                    for x in columns(feature).chain(extremes).filter(|x| x.is_finite()) {
                        let left = normalizer.value(feature, x).unwrap() <= threshold;
                        assert_eq!(raw.is_some_and(|raw| x <= raw), left, "{kind:?} {feature} {threshold} {x}");
                    }
                }
            }
        }
    }
}
