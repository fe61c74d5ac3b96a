//! Builds sums of trees with ONNX's `TreeEnsembleRegressor`, an operator in every version of ONNX's tree domain.
//!
//! A split compares values in single precision and sends a document left if `x <= threshold`. It also specifies the
//! side to which a missing value (NaN) goes. Leaf values are stored in single precision. A normalizer that treats each
//! document separately is folded into the thresholds, so a document reaches the same leaf as in this crate. The
//! normalizer `query_min_max` becomes part of the graph.

use super::super::raw_trees::{RawNode, RawTree, check_zeros};
use super::super::{ExportError, ExportFormat};
use super::graph::{GraphBuilder, Value};
use super::messages::Attribute;
use super::normalizer;
use crate::data::{Normalizer, NormalizerKind};
use crate::ranker::tree_ensemble::{LEAF, TreeEnsemble, ZERO};

/// Adds the trees to the graph and returns their summed scores, which have the shape `[documents, 1]`.
pub(super) fn tree_scores(
    graph: &mut GraphBuilder,
    trees: &TreeEnsemble,
    fitted: &Normalizer,
    format: ExportFormat,
) -> Result<Value, ExportError> {
    let (x, raw_is_split) = match fitted.kind() {
        NormalizerKind::QueryMinMax => (normalizer::normalized(graph, fitted, true), false),
        _ => (normalizer::raw(graph, trees.feature_count()), true),
    };
    if fitted.kind() != NormalizerKind::None {
        check_zeros(trees, format, "values of 0 that are compared with thresholds, where there is a normalizer")?;
    }
    let x = without_zeros(graph, trees, &x, format)?;
    let none = Normalizer::unfitted(trees.feature_count());
    let splits_of = if raw_is_split { fitted } else { &none };
    let mut attributes = Attributes::default();
    for &root in &trees.arrays().roots {
        attributes.push(&RawTree::new(trees, root, splits_of, format)?);
    }
    if attributes.tree == 0 {
        // The operator requires a tree; this one adds 0.
        attributes.push(&RawTree::zero());
    }
    Ok(graph.tree_node("TreeEnsembleRegressor", &x, attributes.finish()))
}

/// Replaces 0 with NaN in the features whose splits treat 0 as missing.
fn without_zeros(
    graph: &mut GraphBuilder,
    trees: &TreeEnsemble,
    x: &Value,
    format: ExportFormat,
) -> Result<Value, ExportError> {
    let arrays = trees.arrays();
    if arrays.zero_missing.is_empty() {
        return Ok(x.clone());
    }
    let mut largest = vec![-1.0; trees.feature_count()];
    arrays.zero_missing.iter().for_each(|&node| largest[arrays.feature[node as usize] as usize] = ZERO);
    for (node, &feature) in arrays.feature.iter().enumerate().filter(|(_, feature)| **feature != LEAF) {
        let is_missing = arrays.zero_missing.binary_search(&(node as u32)).is_ok();
        if is_missing != (largest[feature as usize] == ZERO) {
            let expected = "0 that is missing at all splits of a feature or at none";
            return Err(ExportError::Splits { format, found: "splits that disagree about 0", expected });
        }
    }
    let largest = graph.floats("zeros", &[largest.len()], &largest);
    let missing = graph.floats("missing", &[], &[f32::NAN]);
    let size = graph.node("Abs", &[x]);
    let is_zero = graph.node("LessOrEqual", &[&size, &largest]);
    Ok(graph.node("Where", &[&is_zero, &missing, x]))
}

/// The attribute lists of `TreeEnsembleRegressor`, each with an entry per node or per leaf.
#[derive(Default)]
struct Attributes {
    tree: i64,
    trees: Vec<i64>,
    nodes: Vec<i64>,
    features: Vec<i64>,
    modes: Vec<String>,
    values: Vec<f32>,
    true_nodes: Vec<i64>,
    false_nodes: Vec<i64>,
    missing_true: Vec<i64>,
    target_trees: Vec<i64>,
    target_nodes: Vec<i64>,
    weights: Vec<f32>,
}

impl Attributes {
    fn push(&mut self, tree: &RawTree) {
        for (number, node) in (0..).zip(&tree.nodes) {
            self.trees.push(self.tree);
            self.nodes.push(number);
            let (mode, feature, value, sides, missing) = match node {
                RawNode::Split(split) => {
                    let sides = [split.left as i64, split.right as i64];
                    ("BRANCH_LEQ", split.feature.into(), split.at_most, sides, split.missing_left.into())
                }
                RawNode::Leaf(value) => {
                    self.target_trees.push(self.tree);
                    self.target_nodes.push(number);
                    self.weights.push(*value as f32);
                    ("LEAF", 0, 0.0, [0, 0], 0)
                }
            };
            self.modes.push(mode.into());
            self.features.push(feature);
            self.values.push(value);
            self.true_nodes.push(sides[0]);
            self.false_nodes.push(sides[1]);
            self.missing_true.push(missing);
        }
        self.tree += 1;
    }

    fn finish(self) -> Vec<Attribute> {
        vec![
            Attribute::int("n_targets", 1),
            Attribute::ints("nodes_treeids", &self.trees),
            Attribute::ints("nodes_nodeids", &self.nodes),
            Attribute::ints("nodes_featureids", &self.features),
            Attribute::strings("nodes_modes", self.modes),
            Attribute::floats("nodes_values", &self.values),
            Attribute::ints("nodes_truenodeids", &self.true_nodes),
            Attribute::ints("nodes_falsenodeids", &self.false_nodes),
            Attribute::ints("nodes_missing_value_tracks_true", &self.missing_true),
            Attribute::ints("target_treeids", &self.target_trees),
            Attribute::ints("target_nodeids", &self.target_nodes),
            Attribute::ints("target_ids", &vec![0; self.target_nodes.len()]),
            Attribute::floats("target_weights", &self.weights),
        ]
    }
}
