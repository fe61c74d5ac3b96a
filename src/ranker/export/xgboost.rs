//! Exports trees as XGBoost's JSON, of which there are two kinds. The first kind is the model that `save_model` writes
//! and `load_model` reads. The second kind is the dump of `get_dump(dump_format="json")`, which the learning-to-rank
//! plug-ins of OpenSearch and Elasticsearch read as `model/xgboost+json`.
//!
//! XGBoost sends `x < condition` left, so the exported condition is the next float above the largest value that goes
//! left. XGBoost stores and adds leaf values in single precision. The model and the dump number the nodes in the same
//! way.
//!
//! To compute contributions, XGBoost weighs the two sides of a split by `sum_hessian`. If the ranker knows its document
//! counts, the model stores them as `sum_hessian`, as XGBoost does for squared errors. With document counts as weights,
//! contributions are relative to the mean score of the training documents.

use std::collections::BTreeMap;

use serde::Serialize;

use super::entry::{ExportEntry, System, is_sum_of_trees};
use super::raw_trees::{Known, RawTree, allowed_names, feature_names, quoted, raw_trees, trees_of};
use crate::ranker::artifact::Ranker;
use crate::ranker::foreign_node::{ForeignNode, ForeignSplit};

pub(super) const ENTRY: ExportEntry = ExportEntry {
    name: "xgboost",
    title: "XGBoost JSON",
    extension: "json",
    by_name: false,
    help: "XGBoost's JSON model for trees",
    row: "XGBoost, `load_model` | trees | all but `query_min_max` | 32 bits",
    accepts: is_sum_of_trees,
    expected: "a sum of trees",
    system: Some(System {
        name: "XGBoost",
        is_forbidden,
        forbidden: "`[`, `]` or `<`",
        importances: "importances by gain",
        divides_by_split: true,
    }),
    write: encode,
};

pub(super) const DUMP: ExportEntry = ExportEntry {
    name: "xgboost-dump",
    title: "XGBoost dump",
    help: "XGBoost's JSON dump for OpenSearch and Elasticsearch (model/xgboost+json); not yet tested there",
    row: "OpenSearch, Elasticsearch: `model/xgboost+json` | trees | all but `query_min_max` | 32 bits",
    system: None,
    write: encode_dump,
    ..ENTRY
};

/// The version of the file, which all later versions of XGBoost can read.
const VERSION: [u32; 3] = [2, 1, 4];

/// The numbers that XGBoost writes for the children of a leaf and for the parent of a root.
const NO_CHILD: i32 = -1;
const NO_PARENT: i32 = i32::MAX;

/// Returns the model that `load_model` reads.
fn encode(ranker: &Ranker) -> Result<Vec<u8>, String> {
    let trees = trees(ranker)?;
    let features = ranker.model().features();
    let known = Known::new(trees_of(ranker)?.arrays());
    let trees: Vec<Tree> = trees.iter().enumerate().map(|(id, tree)| Tree::new(id, tree, &known, features)).collect();
    let has_names = ranker.metadata().feature_names.is_some();
    let names = if has_names { allowed_names(ranker, is_forbidden) } else { Vec::new() };
    let zeros = |length: usize| vec![0; length];
    let mut file = serde_json::json!({
        "learner": {
            "attributes": {},
            "feature_names": names,
            "feature_types": vec!["float"; names.len()],
            "gradient_booster": {
                "model": {
                    "gbtree_model_param": { "num_parallel_tree": "1", "num_trees": trees.len().to_string() },
                    "iteration_indptr": (0..=trees.len()).collect::<Vec<_>>(),
                    "tree_info": zeros(trees.len()),
                    "trees": [],
                },
                "name": "gbtree",
            },
            "learner_model_param": {
                "base_score": "0E0",
                "boost_from_average": "0",
                "num_class": "0",
                "num_feature": features.to_string(),
                "num_target": "1",
            },
            "objective": {
                "name": "rank:ndcg",
                "lambdarank_param": {
                    "lambdarank_num_pair_per_sample": "4294967295",
                    "lambdarank_pair_method": "topk",
                    "lambdarank_unbiased": "0",
                    "lambdarank_bias_norm": "1",
                    "ndcg_exp_gain": "1",
                },
            },
        },
        "version": VERSION,
    });
    file.sort_all_objects();
    // A JSON value would hold the numbers in double precision, whose text is longer.
    let trees = serde_json::to_string(&trees).expect("numbers are serializable");
    Ok(file.to_string().replacen("\"trees\":[]", &format!("\"trees\":{trees}"), 1).into_bytes())
}

/// Returns whether XGBoost refuses data with such a character in the name of a feature.
fn is_forbidden(c: char) -> bool {
    "[]<".contains(c)
}

/// Returns the dump for the plug-ins: a JSON list of trees, whose nested nodes name their features.
fn encode_dump(ranker: &Ranker) -> Result<Vec<u8>, String> {
    let names: Vec<String> = feature_names(ranker).iter().map(|name| quoted(name)).collect();
    let dump = |tree: &RawTree| {
        let split = |node: usize, split: &ForeignSplit, depth: usize| {
            let (yes, no, condition) = (split.left, split.right, condition(split));
            let missing = if split.missing_left { yes } else { no };
            let name = &names[split.feature as usize];
            let before = format!(
                "{{\"nodeid\":{node},\"depth\":{depth},\"split\":{name},\"split_condition\":{condition:?},\
                 \"yes\":{yes},\"no\":{no},\"missing\":{missing},\"children\":["
            );
            [before, ",".into(), "]}".into()]
        };
        tree.nested(split, |node, value, _| format!("{{\"nodeid\":{node},\"leaf\":{:?}}}", value as f32))
    };
    let trees: Vec<String> = trees(ranker)?.iter().map(dump).collect();
    Ok(format!("[{}]\n", trees.join(",\n")).into_bytes())
}

/// Returns the trees, with each threshold replaced by the next larger float, because XGBoost sends only smaller values
/// left.
fn trees(ranker: &Ranker) -> Result<Vec<RawTree>, String> {
    let mut trees = raw_trees(ranker)?;
    for node in trees.iter_mut().flat_map(|tree| &mut tree.nodes) {
        // No finite condition is above all floats, and none is below the smallest, so the sides are exchanged.
        if let ForeignNode::Split(split) = node
            && split.at_most == f32::MAX
        {
            *split = split.exchanged(f32::NEG_INFINITY);
        }
    }
    if trees.is_empty() {
        // XGBoost requires a tree; this one adds 0.
        trees.push(RawTree::zero());
    }
    Ok(trees.iter().map(in_pairs).collect())
}

/// Numbers the nodes so that each right child directly follows its left sibling. XGBoost assumes that siblings are
/// adjacent, and ignores the children that the file lists.
fn in_pairs(tree: &RawTree) -> RawTree {
    // Positions in the tree, in the new order.
    let mut order = vec![0];
    let mut nodes = Vec::with_capacity(tree.nodes.len());
    while let Some(&from) = order.get(nodes.len()) {
        nodes.push(match tree.nodes[from] {
            ForeignNode::Leaf(value) => ForeignNode::Leaf(value),
            ForeignNode::Split(split) => {
                let (left, right) = (order.len(), order.len() + 1);
                order.extend([split.left, split.right]);
                ForeignNode::Split(ForeignSplit { left, right, ..split })
            }
        });
    }
    let places = order.into_iter().filter_map(|from| tree.places.get(from).copied()).collect();
    RawTree { nodes, places }
}

/// Returns the number below which values go left.
fn condition(split: &ForeignSplit) -> f32 {
    split.at_most.next_up()
}

#[derive(Default, Serialize)]
struct Tree {
    base_weights: Vec<f32>,
    categories: [i32; 0],
    categories_nodes: [i32; 0],
    categories_segments: [i32; 0],
    categories_sizes: [i32; 0],
    default_left: Vec<u8>,
    id: usize,
    left_children: Vec<i32>,
    loss_changes: Vec<f32>,
    parents: Vec<i32>,
    right_children: Vec<i32>,
    split_conditions: Vec<f32>,
    split_indices: Vec<u32>,
    split_type: Vec<u8>,
    sum_hessian: Vec<f32>,
    tree_param: BTreeMap<&'static str, String>,
}

impl Tree {
    fn new(id: usize, from: &RawTree, known: &Known, features: usize) -> Self {
        let nodes = from.nodes.len();
        // The tree that adds 0 has no places.
        let of_nodes = |known: &dyn Fn(usize) -> f32| {
            let mut list: Vec<f32> = from.places.iter().map(|&place| known(place)).collect();
            list.resize(nodes, 0.0);
            list
        };
        let mut parents = vec![NO_PARENT; nodes];
        for (place, sides) in from.each(|split| Some([split.left, split.right]), |_| None).iter().enumerate() {
            sides.iter().flatten().for_each(|&side| parents[side] = place as i32);
        }
        Self {
            id,
            base_weights: of_nodes(&|place| known.value[place] as f32),
            default_left: from.each(|split| split.missing_left.into(), |_| 0),
            left_children: from.each(|split| split.left as i32, |_| NO_CHILD),
            loss_changes: of_nodes(&|place| known.gain[place]),
            parents,
            right_children: from.each(|split| split.right as i32, |_| NO_CHILD),
            split_conditions: from.each(condition, |value| value as f32),
            split_indices: from.each(|split| split.feature, |_| 0),
            split_type: vec![0; nodes],
            sum_hessian: of_nodes(&|place| known.cover[place]),
            tree_param: BTreeMap::from([
                ("num_deleted", "0".to_string()),
                ("num_feature", features.to_string()),
                ("num_nodes", nodes.to_string()),
                ("size_leaf_vector", "1".to_string()),
            ]),
            ..Self::default()
        }
    }
}
