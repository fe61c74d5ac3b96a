//! Builds sums of trees with ONNX's `TreeEnsembleRegressor`, an operator in every version of ONNX's tree domain.
//!
//! A split compares values in single precision and sends a document left if `x <= threshold`. It also specifies the
//! side to which a missing value (NaN) goes. Leaf values are stored in single precision. A normalizer that treats each
//! document separately is folded into the thresholds, so a document reaches the same leaf as in this crate. The
//! normalizer `query_min_max` becomes part of the graph.

use super::super::raw_trees::{RawTree, check_normalizer};
use super::graph::Value;
use super::messages::Attribute;
use super::normalizer;
use crate::data::{Normalizer, NormalizerKind};
use crate::ranker::foreign_node::ForeignSplit;
use crate::ranker::tree_ensemble::{LEAF, TreeEnsemble, ZERO};

/// Adds the trees to the graph of the raw features and returns their summed scores, which have the shape
/// `[documents, 1]`.
pub(super) fn tree_scores<'g>(
    trees: &TreeEnsemble,
    fitted: &Normalizer,
    features: Value<'g>,
) -> Result<Value<'g>, String> {
    let none = Normalizer::unfitted(trees.feature_count());
    let (x, splits_of) = match fitted.kind() {
        NormalizerKind::QueryMinMax => (normalizer::normalized(fitted, features, true), &none),
        _ => (features, fitted),
    };
    check_normalizer(trees, fitted)?;
    let x = without_zeros(trees, x)?;
    let roots = trees.arrays().roots.iter();
    let mut raw: Vec<RawTree> =
        roots.map(|&root| RawTree::of_32_bits(trees, root, splits_of)).collect::<Result<_, _>>()?;
    if raw.is_empty() {
        // The operator requires a tree; this one adds 0.
        raw.push(RawTree::zero());
    }
    Ok(x.graph.tree_node("TreeEnsembleRegressor", x, attributes(&raw)))
}

/// Replaces 0 with NaN in the features whose splits treat 0 as missing.
fn without_zeros<'g>(trees: &TreeEnsemble, x: Value<'g>) -> Result<Value<'g>, String> {
    let arrays = trees.arrays();
    if arrays.zero_missing.is_empty() {
        return Ok(x);
    }
    let mut largest = vec![-1.0; trees.feature_count()];
    arrays.zero_missing.iter().for_each(|&node| largest[arrays.feature[node as usize] as usize] = ZERO);
    for (node, &feature) in arrays.feature.iter().enumerate().filter(|(_, feature)| **feature != LEAF) {
        let is_missing = arrays.zero_missing.binary_search(&(node as u32)).is_ok();
        if is_missing != (largest[feature as usize] == ZERO) {
            let expected = "0 that is missing at all splits of a feature or at none";
            return Err(format!("splits that disagree about 0: expected {expected}"));
        }
    }
    let largest = x.graph.floats("zeros", &[largest.len()], &largest);
    let missing = x.graph.floats("missing", &[], &[f32::NAN]);
    let is_zero = x.graph.node("LessOrEqual", &[x.apply("Abs"), largest]);
    Ok(x.graph.node("Where", &[is_zero, missing, x]))
}

/// Returns the attribute lists of `TreeEnsembleRegressor`, each with an entry per node or per leaf.
fn attributes(trees: &[RawTree]) -> Vec<Attribute> {
    let tree_ids: Vec<i64> = (0..).zip(trees).flat_map(|(id, tree)| vec![id; tree.nodes.len()]).collect();
    let node_ids: Vec<i64> = trees.iter().flat_map(|tree| 0..tree.nodes.len() as i64).collect();
    let of_splits = |name: &str, value: fn(&ForeignSplit) -> i64| {
        Attribute::ints(name, &trees.iter().flat_map(|tree| tree.each(value, |_| 0)).collect::<Vec<i64>>())
    };
    let modes = trees.iter().flat_map(|tree| tree.each(|_| "BRANCH_LEQ".to_string(), |_| "LEAF".to_string()));
    let thresholds: Vec<f32> = trees.iter().flat_map(|tree| tree.each(|split| split.at_most, |_| 0.0)).collect();
    let leaves = || trees.iter().flat_map(|tree| tree.each(|_| None, |value| Some(value as f32)));
    let of_leaves = |name: &str, ids: &[i64]| {
        let ids: Vec<i64> = ids.iter().zip(leaves()).filter_map(|(id, leaf)| leaf.map(|_| *id)).collect();
        Attribute::ints(name, &ids)
    };
    vec![
        Attribute::int("n_targets", 1),
        Attribute::ints("nodes_treeids", &tree_ids),
        Attribute::ints("nodes_nodeids", &node_ids),
        of_splits("nodes_featureids", |split| split.feature.into()),
        Attribute::strings("nodes_modes", modes.collect()),
        Attribute::floats("nodes_values", &thresholds),
        of_splits("nodes_truenodeids", |split| split.left as i64),
        of_splits("nodes_falsenodeids", |split| split.right as i64),
        of_splits("nodes_missing_value_tracks_true", |split| split.missing_left.into()),
        of_leaves("target_treeids", &tree_ids),
        of_leaves("target_nodeids", &node_ids),
        of_leaves("target_ids", &vec![0; node_ids.len()]),
        Attribute::floats("target_weights", &leaves().flatten().collect::<Vec<f32>>()),
    ]
}
