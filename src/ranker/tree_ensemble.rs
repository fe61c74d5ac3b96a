//! `TreeEnsemble` is a sum of regression trees whose splits compare single features with thresholds.
//!
//! All trees are stored in five parallel arrays with one entry per node. A model in this form can be saved as named
//! arrays and scored without following pointers. The cost of scoring a document is the sum of the depths of the trees.
//! The nodes' training statistics ([`NodeStatistics`]) are stored too, but do not affect scores.

use serde::{Deserialize, Serialize};

use super::error::ModelError;

/// The value of [`TreeArrays::feature`] that marks a leaf.
pub(crate) const LEAF: u32 = u32::MAX;

/// A node of a tree that is being built; nodes refer to their children by position in the tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Node {
    /// A split, which sends a document to `left` if its feature is at most the threshold, and otherwise to `right`. A
    /// missing value (NaN) goes left only if `missing_left` is set.
    Split {
        /// Feature, counted from 0.
        feature: u32,
        /// The largest value that goes left.
        threshold: f32,
        /// Position of the left child.
        left: u32,
        /// Position of the right child.
        right: u32,
        /// Whether a missing value goes left.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        missing_left: bool,
    },
    /// A leaf, which adds `value` to the score.
    Leaf {
        /// The value that the leaf adds.
        value: f64,
    },
}

/// The largest number of features of an ensemble that a file may state. Each of them has a name in some files.
const MOST_FEATURES: usize = 1 << 24;

/// The named arrays of a [`TreeEnsemble`]. The array `roots` has one entry per tree; `missing_left` and `zero_missing`
/// are lists of node numbers. All other arrays have one entry per node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TreeArrays {
    /// The first node of each tree.
    pub roots: Vec<u32>,
    /// The feature of each split, counted from 0, or [`LEAF`] at a leaf.
    pub feature: Vec<u32>,
    /// The largest value that goes left at each split, or 0 at a leaf.
    pub threshold: Vec<f32>,
    /// Left child, or 0 at a leaf.
    pub left: Vec<u32>,
    /// Right child, or 0 at a leaf.
    pub right: Vec<u32>,
    /// The value that each leaf adds to the score, or 0 at a split.
    pub value: Vec<f64>,
    /// The splits that send missing values left, in ascending order; all other splits send them right.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_left: Vec<u32>,
    /// The splits that also treat values within [`ZERO`] of 0 as missing, in ascending order. Only rankers imported
    /// from LightGBM have splits that treat 0 as missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zero_missing: Vec<u32>,
    /// The training statistics of the nodes.
    #[serde(flatten)]
    pub statistics: NodeStatistics,
}

/// Training statistics of all nodes of the trees. Each array has one entry per node; an array is empty if the ranker
/// was saved or imported without this statistic.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct NodeStatistics {
    /// The number of training documents that reach each node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub count: Vec<u32>,
    /// For each node, the sum of the loss's second derivatives over the training documents that reach the node. Rankers
    /// from CatBoost store the total weight of each node's documents instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weight: Vec<f32>,
    /// How much each split improved the training objective, or 0 at a leaf.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gain: Vec<f32>,
}

impl NodeStatistics {
    /// Returns the statistics of the given nodes, in the order of `nodes`.
    #[cfg(feature = "import")]
    pub(super) fn select(&self, nodes: &[usize]) -> Self {
        fn select<T: Copy>(list: &[T], nodes: &[usize]) -> Vec<T> {
            nodes.iter().filter_map(|&node| list.get(node).copied()).collect()
        }
        let Self { count, weight, gain } = self;
        Self { count: select(count, nodes), weight: select(weight, nodes), gain: select(gain, nodes) }
    }

    /// Appends the statistics of another tree, which has `more` nodes, to the statistics of the `nodes` existing nodes.
    /// Clears a statistic unless it is known for all nodes, old and new.
    pub(super) fn extend(&mut self, nodes: usize, added: Self, more: usize) {
        fn extend<T>(list: &mut Vec<T>, nodes: usize, mut added: Vec<T>, more: usize) {
            if list.len() == nodes && added.len() == more { list.append(&mut added) } else { list.clear() }
        }
        extend(&mut self.count, nodes, added.count, more);
        extend(&mut self.weight, nodes, added.weight, more);
        extend(&mut self.gain, nodes, added.gain, more);
    }
}

/// The largest absolute value that counts as missing at the splits of [`TreeArrays::zero_missing`], as in LightGBM.
pub(crate) const ZERO: f32 = 1e-35;

/// A sum of regression trees. As JSON it is a table of the number of features (`feature_count`) and of named arrays:
/// `roots` has the first node of each tree, and `feature`, `threshold`, `left`, `right` and `value` have an entry for
/// each node, where the feature of a leaf is 4294967295.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Saved")]
pub struct TreeEnsemble {
    pub(super) feature_count: usize,
    #[serde(flatten)]
    pub(super) arrays: TreeArrays,
    #[serde(skip_serializing_if = "Sums::is_default")]
    pub(super) sums: Sums,
}

/// The precision in which the leaf values of a document are added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Sums {
    /// 64 bits.
    #[default]
    Double,
    /// Rounds the sum to 32 bits after each tree, as XGBoost and RankLib do.
    Single,
}

impl Sums {
    /// Returns whether leaf values are added in double precision, as in rankers that this crate trains.
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn add(self, sum: f64, value: f64) -> f64 {
        match self {
            Self::Double => sum + value,
            Self::Single => f64::from((sum + value) as f32),
        }
    }
}

/// An ensemble whose arrays have not been checked.
#[derive(Deserialize)]
struct Saved {
    feature_count: usize,
    #[serde(flatten)]
    arrays: TreeArrays,
    #[serde(default)]
    sums: Sums,
}

impl TryFrom<Saved> for TreeEnsemble {
    type Error = ModelError;

    fn try_from(saved: Saved) -> Result<Self, ModelError> {
        Ok(Self::from_arrays(saved.feature_count, saved.arrays)?.with_sums(saved.sums))
    }
}

impl TreeEnsemble {
    /// Creates an ensemble without trees, whose scores are all 0.
    pub(crate) fn new(feature_count: usize) -> Self {
        Self { feature_count, ..Self::default() }
    }

    /// Creates an ensemble from the arrays of a file.
    ///
    /// # Errors
    /// Returns [`ModelError`] if there are more than [`MOST_FEATURES`], arrays differ in length, a number is not
    /// finite, or a child does not come after its parent. The same error is returned if a node or feature does not
    /// exist.
    pub(crate) fn from_arrays(feature_count: usize, arrays: TreeArrays) -> Result<Self, ModelError> {
        if feature_count > MOST_FEATURES {
            let expected = format!("expected at most {MOST_FEATURES}");
            return Err(ModelError(format!("tree ensemble: found {feature_count} features, {expected}")));
        }
        check(feature_count, &arrays)?;
        Ok(Self { feature_count, arrays, sums: Sums::default() })
    }

    /// Returns the same ensemble, but with leaf values added in the given precision.
    pub(crate) fn with_sums(self, sums: Sums) -> Self {
        Self { sums, ..self }
    }

    /// Returns the named arrays.
    pub(crate) fn arrays(&self) -> &TreeArrays {
        &self.arrays
    }

    /// Returns the number of features of a document.
    pub fn feature_count(&self) -> usize {
        self.feature_count
    }

    /// Returns the number of trees.
    pub fn trees(&self) -> usize {
        self.arrays.roots.len()
    }

    /// Returns the feature and the gain of each split, or `None` if the gains are not known.
    #[cfg(feature = "learners")]
    pub(crate) fn gains(&self) -> Option<Vec<(u32, f64)>> {
        let TreeArrays { feature, statistics, .. } = &self.arrays;
        let splits = (0..feature.len()).filter(|&node| feature[node] != LEAF);
        splits.map(|node| Some((feature[node], f64::from(*statistics.gain.get(node)?)))).collect()
    }

    /// Adds a tree whose nodes list parents before children. Adding a tree this way removes the
    /// [statistics](NodeStatistics) of the ensemble.
    ///
    /// # Errors
    /// Returns the errors of [`from_arrays`](Self::from_arrays), in which case the ensemble is unchanged.
    pub(crate) fn push(&mut self, tree: &[Node]) -> Result<(), ModelError> {
        self.push_with(tree, NodeStatistics::default())
    }

    /// Adds a tree and its nodes' training statistics. The nodes must list parents before children. The ensemble keeps
    /// only the lists of statistics that all its trees have.
    ///
    /// # Errors
    /// Returns the errors of [`from_arrays`](Self::from_arrays), in which case the ensemble is unchanged.
    pub(crate) fn push_with(&mut self, tree: &[Node], statistics: NodeStatistics) -> Result<(), ModelError> {
        let mut added = TreeArrays { roots: vec![0], statistics, ..TreeArrays::default() };
        for (number, node) in (0..).zip(tree) {
            let (feature, threshold, left, right, value) = match *node {
                Node::Split { feature, threshold, left, right, missing_left } => {
                    added.missing_left.extend(missing_left.then_some(number));
                    (feature, threshold, left, right, 0.0)
                }
                Node::Leaf { value } => (LEAF, 0.0, 0, 0, value),
            };
            added.feature.push(feature);
            added.threshold.push(threshold);
            added.left.push(left);
            added.right.push(right);
            added.value.push(value);
        }
        check(self.feature_count, &added)?;
        self.append(added, 1.0);
        Ok(())
    }

    /// Adds checked trees of the same features, with every leaf multiplied by `scale`.
    pub(super) fn append(&mut self, added: TreeArrays, scale: f64) {
        let TreeArrays { roots, feature, threshold, left, right, value, missing_left, zero_missing, statistics } =
            &mut self.arrays;
        let first = feature.len() as u32;
        statistics.extend(feature.len(), added.statistics, added.feature.len());
        feature.extend(added.feature);
        threshold.extend(added.threshold);
        value.extend(added.value.iter().map(|value| value * scale));
        for (nodes, added) in [
            (roots, added.roots),
            (left, added.left),
            (right, added.right),
            (missing_left, added.missing_left),
            (zero_missing, added.zero_missing),
        ] {
            nodes.extend(added.iter().map(|node| node + first));
        }
    }
}

fn check(feature_count: usize, arrays: &TreeArrays) -> Result<(), ModelError> {
    let TreeArrays { roots, feature, threshold, left, right, value, missing_left, zero_missing, statistics } = arrays;
    let nodes = feature.len();
    let NodeStatistics { count, weight, gain } = statistics;
    let lengths =
        [("threshold", threshold.len()), ("left", left.len()), ("right", right.len()), ("value", value.len())];
    let known = [("count", count.len()), ("weight", weight.len()), ("gain", gain.len())];
    let known = known.into_iter().filter(|(_, length)| *length > 0);
    if let Some((array, found)) = lengths.into_iter().chain(known).find(|(_, length)| *length != nodes) {
        return Err(ModelError(format!("tree ensemble: `{array}` has {found} entries, `feature` has {nodes}")));
    }
    let entry = |array, index, found: String, expected: String| {
        Err(ModelError(format!("tree ensemble: {array}[{index}] = {found}: expected {expected}")))
    };
    for (index, &root) in roots.iter().enumerate() {
        if root as usize >= nodes {
            return entry("roots", index, root.to_string(), format!("below {nodes}, the number of nodes"));
        }
    }
    for node in 0..nodes {
        if !value[node].is_finite() {
            return entry("value", node, value[node].to_string(), "a finite number".into());
        }
        if feature[node] == LEAF {
            continue;
        }
        if feature[node] as usize >= feature_count {
            return entry("feature", node, feature[node].to_string(), format!("below {feature_count}"));
        }
        if !threshold[node].is_finite() {
            return entry("threshold", node, threshold[node].to_string(), "a finite number".into());
        }
        for (array, child) in [("left", left[node]), ("right", right[node])] {
            // Every child comes after its parent, so every walk ends.
            if child as usize <= node || child as usize >= nodes {
                return entry(array, node, child.to_string(), format!("above {node} and below {nodes}"));
            }
        }
    }
    for (array, known) in [("weight", weight), ("gain", gain)] {
        if let Some(index) = known.iter().position(|number| !number.is_finite()) {
            return entry(array, index, known[index].to_string(), "a finite number".into());
        }
    }
    for (array, named) in [("missing_left", missing_left), ("zero_missing", zero_missing)] {
        for (index, &node) in named.iter().enumerate() {
            let is_split = feature.get(node as usize).is_some_and(|&feature| feature != LEAF);
            if !is_split || index > 0 && node <= named[index - 1] {
                return entry(array, index, node.to_string(), "splits in ascending order".into());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stump(feature: u32, threshold: f32, low: f64, high: f64) -> Vec<Node> {
        vec![
            Node::Split { feature, threshold, left: 1, right: 2, missing_left: false },
            Node::Leaf { value: low },
            Node::Leaf { value: high },
        ]
    }

    #[test]
    fn sums_are_rounded_after_each_tree_where_asked() {
        let mut trees = TreeEnsemble::new(1);
        for value in [1.0, 1e-8, 1e-8, 1e-8, 1e-8, 1e-8, 1e-8, 1e-8] {
            trees.push(&[Node::Leaf { value }]).unwrap();
        }
        assert_eq!(trees.scores(&[0.0])[0] as f32, 1.0 + f32::EPSILON);
        let single = trees.with_sums(Sums::Single);
        assert_eq!((single.scores(&[0.0]), single.score(&[0.0])), (vec![1.0], 1.0));
        let text = serde_json::to_string(&single).unwrap();
        assert_eq!(serde_json::from_str::<TreeEnsemble>(&text).unwrap(), single);
    }

    #[test]
    fn a_missing_value_goes_where_its_split_says() {
        let split =
            |threshold, left, right, missing_left| Node::Split { feature: 0, threshold, left, right, missing_left };
        let leaf = |value| Node::Leaf { value };
        let tree = [split(0.0, 1, 2, false), leaf(1.0), split(2.0, 3, 4, true), leaf(2.0), leaf(3.0)];
        let mut trees = TreeEnsemble::new(1);
        trees.push(&[leaf(0.0)]).unwrap();
        trees.push(&tree).unwrap();
        assert_eq!(trees.arrays().missing_left, [3]);
        assert_eq!(trees.scores(&[f32::NAN, 0.0, 1.0, 5.0]), [2.0, 1.0, 2.0, 3.0]);
        let json = serde_json::to_string(&trees).unwrap();
        assert_eq!(serde_json::from_str::<TreeEnsemble>(&json).unwrap(), trees);
        for missing_left in [vec![0], vec![3, 3], vec![9]] {
            let broken = TreeArrays { missing_left, ..trees.arrays().clone() };
            assert!(
                TreeEnsemble::from_arrays(1, broken).unwrap_err().to_string().contains("splits in ascending order")
            );
        }
    }

    #[test]
    fn json_keeps_every_bit() {
        let mut trees = TreeEnsemble::new(1);
        trees.push_with(&stump(0, 0.1, 0.1 + 0.2, -1e-300), known()).unwrap();
        let json = serde_json::to_string(&trees).unwrap();
        assert_eq!(serde_json::from_str::<TreeEnsemble>(&json).unwrap(), trees);
    }

    /// Returns the training statistics of a tree with one split.
    fn known() -> NodeStatistics {
        NodeStatistics { count: vec![5, 2, 3], weight: vec![0.1, 0.04, 0.06], gain: vec![0.7, 0.0, 0.0] }
    }

    #[test]
    fn statistics_are_those_that_all_trees_have() {
        let tree = stump(0, 0.1, 0.0, 1.0);
        let mut trees = TreeEnsemble::new(1);
        trees.push_with(&tree, known()).unwrap();
        trees.push_with(&tree, NodeStatistics { gain: Vec::new(), ..known() }).unwrap();
        trees.push_with(&tree, known()).unwrap();
        let NodeStatistics { count, weight, gain } = &trees.arrays().statistics;
        assert_eq!((count.len(), weight.len(), gain.len()), (9, 9, 0));
        assert_eq!(count[3..6], [5, 2, 3]);
        assert_eq!([0, 3, 6].map(|root| trees.arrays().left[root]), [1, 4, 7]);
        trees.push(&tree).unwrap();
        assert_eq!(trees.arrays().statistics, NodeStatistics::default());
        trees.push_with(&tree, known()).unwrap();
        assert_eq!(trees.arrays().statistics, NodeStatistics::default());
        let error = trees.push_with(&tree, NodeStatistics { count: vec![1], ..known() }).unwrap_err().to_string();
        assert_eq!(error, "tree ensemble: `count` has 1 entries, `feature` has 3");
        let gain = vec![0.0, f32::INFINITY, 0.0];
        let error = trees.push_with(&tree, NodeStatistics { gain, ..known() }).unwrap_err().to_string();
        assert_eq!(error, "tree ensemble: gain[1] = inf: expected a finite number");
        assert_eq!(trees.trees(), 5);
    }

    #[test]
    fn a_broken_file_is_an_error_and_never_a_loop() {
        let mut trees = TreeEnsemble::new(1);
        trees.push(&stump(0, 0.1, 0.0, 1.0)).unwrap();
        let broken = |change: fn(&mut TreeArrays)| {
            let mut arrays = trees.arrays().clone();
            change(&mut arrays);
            TreeEnsemble::from_arrays(1, arrays).unwrap_err().to_string()
        };
        assert_eq!(broken(|a| a.left[0] = 0), "tree ensemble: left[0] = 0: expected above 0 and below 3");
        assert_eq!(broken(|a| a.feature[0] = 1), "tree ensemble: feature[0] = 1: expected below 1");
        assert_eq!(broken(|a| a.value.truncate(2)), "tree ensemble: `value` has 2 entries, `feature` has 3");
        assert!(broken(|a| a.roots[0] = 3).contains("below 3, the number of nodes"));
        assert!(broken(|a| a.value[1] = f64::NAN).contains("value[1] = NaN"));
    }
}
