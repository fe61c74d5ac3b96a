//! Imports CatBoost's JSON model. A CatBoost tree is either oblivious, which means that all nodes of a level share one
//! split, or it consists of nested nodes.
//!
//! A split compares values in single precision and sends a document right if `x > border`. If a feature's NaN treatment
//! is `AsTrue`, a missing value counts as above every border; otherwise it counts as below every border. The score of a
//! document is `scale x sum of the leaves + bias`.

use std::collections::HashMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::entry::*;

pub(super) const ENTRY: ImportEntry = ImportEntry {
    title: ["CatBoost", "JSON"],
    row: "CatBoost | `ranker.save_model(\"NAME.json\", format=\"json\")` | right where `x > border`, 32 bits; NaN \
        as `nan_value_treatment` says | scale and bias, 64 bits; oblivious, Depthwise and Lossguide trees",
    others: &[(b"CBM1", "its binary notation", "save_model(NAME, format=\"json\")")],
    decode,
};

/// Losses whose predictions are not plain scores, or that predict several values per document.
const TRANSFORMED: [&str; 8] = [
    "Logloss",
    "CrossEntropy",
    "Focal",
    "MultiClass",
    "MultiClassOneVsAll",
    "Poisson",
    "Tweedie",
    "RMSEWithUncertainty",
];

#[derive(Deserialize)]
struct File {
    features_info: Features,
    /// The loss is `params.loss_function.type`.
    #[serde(default)]
    model_info: serde_json::Value,
    scale_and_bias: (f64, Vec<f64>),
    oblivious_trees: Option<Vec<ObliviousTree>>,
    trees: Option<Vec<Node>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Features {
    float_features: Vec<FloatFeature>,
    categorical_features: Vec<IgnoredAny>,
    text_features: Vec<IgnoredAny>,
    embedding_features: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
struct FloatFeature {
    feature_index: u32,
    flat_feature_index: u32,
    #[serde(default)]
    feature_id: String,
    #[serde(default)]
    nan_value_treatment: String,
}

#[derive(Deserialize)]
struct ObliviousTree {
    leaf_values: Vec<f64>,
    #[serde(default)]
    leaf_weights: Vec<f64>,
    splits: Option<Vec<Split>>,
}

#[derive(Deserialize)]
struct Split {
    split_type: String,
    #[serde(default)]
    border: f32,
    #[serde(default)]
    float_feature_index: u32,
}

/// A node of a tree that is not oblivious: either a split with two children, or a value.
#[derive(Deserialize)]
struct Node {
    split: Option<Split>,
    left: Option<Box<Node>>,
    right: Option<Box<Node>>,
    value: Option<Value>,
    weight: Option<f64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Value {
    One(f64),
    Several(Vec<f64>),
}

fn decode(text: &str) -> Result<Imported, String> {
    let file: File = parse(text)?;
    let Features { float_features, categorical_features, text_features, embedding_features } = file.features_info;
    for (kind, others) in [
        ("categorical", categorical_features.len()),
        ("text", text_features.len()),
        ("embedding", embedding_features.len()),
    ] {
        supported(others == 0, format_args!("{kind} features ({others})"), "numerical features only")?;
    }
    let loss = file.model_info["params"]["loss_function"]["type"].as_str().unwrap_or_default();
    let expected = "a loss whose predictions are the scores, such as YetiRank";
    supported(!TRANSFORMED.contains(&loss), format_args!("the loss `{loss}`"), expected)?;
    let (scale, bias) = file.scale_and_bias;
    supported(bias.len() == 1, format_args!("a bias of {} values", bias.len()), "one score per document")?;
    let reader = Reader { features: places(&float_features)?, scale };
    let mut trees = TreeList::default();
    let mut push = |(nodes, weights): Tree| trees.push(&nodes, &statistics(&nodes, &weights));
    match (file.oblivious_trees, file.trees) {
        (Some(oblivious), None) => {
            (0..).zip(oblivious).try_for_each(|(number, tree)| push(reader.oblivious(number, tree)?))?;
        }
        (None, Some(nested)) => (0..).zip(&nested).try_for_each(|(number, root)| push(reader.nested(number, root)?))?,
        _ => return Err(content("the file", "both or neither", "either of `oblivious_trees` and `trees`")),
    }
    trees.push_constant(bias[0])?;
    let features = float_features.iter().map(|feature| feature.flat_feature_index as usize + 1).max().unwrap_or(0);
    let names: Vec<String> = float_features.into_iter().map(|feature| feature.feature_id).collect();
    Ok(Imported {
        trees: trees.finish(features, Sums::Double)?,
        feature_names: (names.len() == features && names.iter().all(|name| !name.is_empty())).then_some(names),
        about: json!({ "objective": loss }),
    })
}

/// Maps the number of each numerical feature to its column and to a flag. The flag says whether NaN counts as above the
/// feature's borders.
fn places(features: &[FloatFeature]) -> Result<HashMap<u32, (u32, bool)>, String> {
    let place = |feature: &FloatFeature| {
        let is_high = match feature.nan_value_treatment.as_str() {
            "AsTrue" => true,
            "AsFalse" | "AsIs" => false,
            other => {
                let place = format_args!("feature {}: nan_value_treatment", feature.feature_index);
                return Err(content(place, format_args!("`{other}`"), "`AsIs`, `AsFalse` or `AsTrue`"));
            }
        };
        Ok((feature.feature_index, (feature.flat_feature_index, is_high)))
    };
    features.iter().map(place).collect()
}

/// The nodes of a tree, and the weights of its leaves.
type Tree = (Vec<ForeignNode>, Vec<f64>);

struct Reader {
    features: HashMap<u32, (u32, bool)>,
    scale: f64,
}

impl Reader {
    fn split(&self, tree: usize, split: &Split, left: usize, right: usize) -> Result<ForeignNode, String> {
        let (kind, number) = (split.split_type.as_str(), split.float_feature_index);
        let what = format_args!("splits of type `{kind}` (tree {tree})");
        supported(kind == "FloatFeature", what, "numerical features only")?;
        let refuse =
            || content(format_args!("tree {tree}"), format_args!("feature {number}"), "one of `float_features`");
        let &(feature, is_high) = self.features.get(&number).ok_or_else(refuse)?;
        let (at_most, missing_left) = (split.border.min(f32::MAX), !is_high);
        Ok(ForeignNode::Split(ForeignSplit { feature, at_most, missing_left, zero_missing: false, left, right }))
    }

    fn leaf(&self, value: f64) -> ForeignNode {
        ForeignNode::Leaf(value * self.scale)
    }

    /// Reads an oblivious tree as a heap, in which the children of node `n` are `2 n + 1` and `2 n + 2`. CatBoost's
    /// first split determines the lowest bit of the leaf's number, so CatBoost's last split becomes the root.
    fn oblivious(&self, tree: usize, from: ObliviousTree) -> Result<Tree, String> {
        let splits = from.splits.unwrap_or_default();
        let leaves = from.leaf_values.len();
        let is_power = splits.len() < usize::BITS as usize && leaves == 1 << splits.len();
        let expected = format_args!("2 to the power of {}, the number of splits", splits.len());
        allowed(is_power, format_args!("tree {tree}"), format_args!("{leaves} leaf values"), expected)?;
        let mut nodes = Vec::with_capacity(2 * leaves - 1);
        for (level, split) in splits.iter().rev().enumerate() {
            for _ in 0..1usize << level {
                let (left, right) = (2 * nodes.len() + 1, 2 * nodes.len() + 2);
                nodes.push(self.split(tree, split, left, right)?);
            }
        }
        nodes.extend(from.leaf_values.iter().map(|&value| self.leaf(value)));
        Ok((nodes, from.leaf_weights))
    }

    /// Reads a tree of nested nodes.
    fn nested(&self, tree: usize, root: &Node) -> Result<Tree, String> {
        let expected = "a split with `left` and `right`, or one value";
        let refuse = |found| Err(content(format_args!("tree {tree}"), found, expected));
        // The search is breadth-first, so a node's children are placed after all nodes that wait.
        let mut waiting = std::collections::VecDeque::from([root]);
        let (mut nodes, mut weights) = (Vec::new(), Vec::new());
        while let Some(node) = waiting.pop_front() {
            if node.value.is_some() {
                weights.extend(node.weight);
            }
            let next = nodes.len() + 1 + waiting.len();
            nodes.push(match node {
                Node { split: Some(split), left: Some(left), right: Some(right), value: None, .. } => {
                    waiting.extend([&**left, &**right]);
                    self.split(tree, split, next, next + 1)?
                }
                Node { split: None, left: None, right: None, value: Some(value), .. } => match value {
                    Value::One(value) => self.leaf(*value),
                    Value::Several(values) => match values[..] {
                        [value] => self.leaf(value),
                        _ => return refuse("several values"),
                    },
                },
                _ => return refuse("another node"),
            });
        }
        Ok((nodes, weights))
    }
}

/// Computes the statistics of a tree's nodes from the weights of its leaves. If the training documents had no weights,
/// CatBoost's leaf weights are document counts. The statistics have no gains, since CatBoost does not write them.
fn statistics(nodes: &[ForeignNode], leaves: &[f64]) -> NodeStatistics {
    if leaves.len() != nodes.len().div_ceil(2) {
        return NodeStatistics::default();
    }
    let mut weights = vec![0.0; nodes.len()];
    let mut leaves = leaves.iter().rev();
    // Children come after their parents.
    for (place, node) in nodes.iter().enumerate().rev() {
        weights[place] = match node {
            ForeignNode::Split(split) => weights[split.left] + weights[split.right],
            ForeignNode::Leaf(_) => leaves.next().copied().unwrap_or_default(),
        };
    }
    let are_counts = weights.iter().all(|weight| weight.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(weight));
    let count = if are_counts { weights.iter().map(|&weight| weight as u32).collect() } else { Vec::new() };
    NodeStatistics { count, weight: weights.into_iter().map(|weight| weight as f32).collect(), gain: Vec::new() }
}
