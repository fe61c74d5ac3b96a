//! Imports XGBoost's JSON models, versions 1 to 3, as written by `save_model`.
//!
//! A split compares values in single precision and sends a document left if `x < threshold`. A missing value (NaN) goes
//! to the default side of the split. XGBoost adds the trees to the base score, and rounds the score to single precision
//! after each tree. Objectives that transform the base score or the prediction are not supported. Depending on its
//! version, XGBoost writes the base score as a number, as a string, or as a string that contains a one-element list.

use serde::Deserialize;

use super::entry::*;

/// The call that saves a ranker in the notation that is read.
const SAVE: &str = "save_model(\"NAME.json\")";

pub(super) const ENTRY: ImportEntry = ImportEntry {
    title: ["XGBoost", "JSON"],
    row: "XGBoost 1 to 3 | `booster.save_model(\"NAME.json\")` | `x < t`, 32 bits; NaN goes where the split says | \
        base score and sums in 32 bits; gbtree and dart",
    others: &[
        (b"{L\0", "its binary notation (UBJSON)", SAVE),
        (b"binf", "the binary notation of old versions", SAVE),
        (b"[", "a dump, which has no base score,", SAVE),
    ],
    decode,
};

/// The newest version of XGBoost whose file format is known.
const NEWEST: u64 = 3;

/// Objectives whose predictions are plain sums of the trees, with the base score on the same scale.
const OBJECTIVES: [&str; 9] = [
    "rank:ndcg",
    "rank:map",
    "rank:pairwise",
    "reg:squarederror",
    "reg:linear",
    "reg:absoluteerror",
    "reg:quantileerror",
    "reg:pseudohubererror",
    "reg:squaredlogerror",
];

#[derive(Deserialize)]
struct File {
    learner: Learner,
    #[serde(default)]
    version: Vec<u64>,
}

#[derive(Deserialize)]
struct Learner {
    #[serde(default)]
    feature_names: Vec<String>,
    gradient_booster: Booster,
    learner_model_param: Parameters,
    objective: Objective,
}

#[derive(Deserialize)]
struct Parameters {
    base_score: serde_json::Value,
    num_class: Option<String>,
    num_target: Option<String>,
    num_feature: String,
}

#[derive(Deserialize)]
struct Booster {
    name: String,
    model: Option<Trees>,
    /// The trees of a `dart` booster and their weights.
    gbtree: Option<Box<Booster>>,
    #[serde(default)]
    weight_drop: Vec<f32>,
}

/// The fields of a tree booster in the file. The fields are optional, because boosters without trees lack them.
#[derive(Deserialize)]
struct Trees {
    gbtree_model_param: Option<TreeCount>,
    #[serde(default)]
    trees: Vec<Tree>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tree {
    left_children: Vec<i64>,
    right_children: Vec<i64>,
    split_indices: Vec<u32>,
    split_conditions: Vec<f32>,
    default_left: Vec<Flag>,
    sum_hessian: Vec<f32>,
    loss_changes: Vec<f32>,
    split_type: Vec<u8>,
    categories: Vec<i64>,
    tree_param: TreeParameters,
}

#[derive(Deserialize)]
struct Objective {
    name: String,
}

#[derive(Deserialize)]
struct TreeCount {
    num_trees: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TreeParameters {
    /// The number of values of a leaf.
    size_leaf_vector: String,
}

/// A flag, which older versions of XGBoost write as a boolean.
#[derive(Deserialize)]
#[serde(untagged)]
enum Flag {
    Bit(u8),
    Word(bool),
}

fn decode(text: &str) -> Result<Imported, String> {
    let File { learner, version } = parse(text)?;
    let version_text = version.iter().map(u64::to_string).collect::<Vec<_>>().join(".");
    let is_known = version.first().is_some_and(|major| (1..=NEWEST).contains(major));
    supported(is_known, format_args!("version `{version_text}`"), "version 1, 2 or 3")?;
    let Parameters { base_score, num_class, num_target, num_feature } = &learner.learner_model_param;
    for (name, value) in [("num_class", num_class), ("num_target", num_target)] {
        let value = value.as_deref().unwrap_or("1");
        supported(["0", "1"].contains(&value), format_args!("{name} = {value}"), "one score per document")?;
    }
    let objective = learner.objective.name.as_str();
    let expected = "an objective whose predictions are the sums of the trees, such as rank:ndcg";
    supported(OBJECTIVES.contains(&objective), format_args!("the objective `{objective}`"), expected)?;
    let features = whole(num_feature, "learner_model_param.num_feature")?;
    let mut trees = TreeList::default();
    trees.push_constant(f64::from(base_score_of(base_score)?))?;
    let (model, weights) = trees_of(learner.gradient_booster)?;
    let refuse = || content("gradient_booster", "no `gbtree_model_param`", "the number of trees");
    let count = &model.gbtree_model_param.as_ref().ok_or_else(refuse)?.num_trees;
    let announced = whole(count, "gbtree_model_param.num_trees")?;
    let found = model.trees.len();
    allowed(found == announced, "gradient_booster", format_args!("{found} trees"), announced)?;
    for (number, tree) in model.trees.iter().enumerate() {
        let nodes = tree.nodes(number, weights.as_ref().map_or(1.0, |weights| weights[number]))?;
        trees.push(&nodes, &tree.statistics())?;
    }
    Ok(Imported {
        trees: trees.finish(features, Sums::Single)?,
        feature_names: Some(learner.feature_names).filter(|names| !names.is_empty()),
        about: json!({ "version": version_text, "objective": objective }),
    })
}

fn whole(text: &str, place: &str) -> Result<usize, String> {
    text.parse().map_err(|_| content(place, format!("`{text}`"), "a whole number"))
}

/// Reads a base score from a number, a string, or a string that contains a one-element list.
fn base_score_of(value: &serde_json::Value) -> Result<f32, String> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let number = text.trim().trim_start_matches('[').trim_end_matches(']').trim();
    let number = number.parse().ok().filter(|number: &f32| number.is_finite());
    let expected = "one number, for one score per document";
    number.ok_or_else(|| content("learner_model_param.base_score", format_args!("`{text}`"), expected))
}

/// Returns the trees of a booster, and their weights if any weight differs from 1.
fn trees_of(booster: Booster) -> Result<(Trees, Option<Vec<f32>>), String> {
    let expected = "trees: gbtree or dart";
    let missing = |place: &str| content("gradient_booster", format!("no `{place}`"), expected);
    match booster.name.as_str() {
        "gbtree" => Ok((booster.model.ok_or_else(|| missing("model"))?, None)),
        "dart" => {
            let model = booster.gbtree.and_then(|trees| trees.model).ok_or_else(|| missing("gbtree"))?;
            let (weights, trees) = (booster.weight_drop.len(), model.trees.len());
            let expected = format_args!("{trees}, one for each tree");
            allowed(weights == trees, "weight_drop", format_args!("{weights} weights"), expected)?;
            Ok((model, Some(booster.weight_drop)))
        }
        other => Err(unsupported(format!("the booster `{other}`"), expected)),
    }
}

impl Tree {
    fn nodes(&self, number: usize, weight: f32) -> Result<Vec<ForeignNode>, String> {
        let is_numerical = self.split_type.iter().all(|&kind| kind == 0) && self.categories.is_empty();
        supported(is_numerical, format_args!("categorical splits (tree {number})"), "numerical features only")?;
        let values = self.tree_param.size_leaf_vector.as_str();
        let what = format_args!("leaves of {values} values");
        supported(["", "0", "1"].contains(&values), what, "one score per document")?;
        let nodes = self.left_children.len();
        let lengths = [
            ("right_children", self.right_children.len()),
            ("split_indices", self.split_indices.len()),
            ("split_conditions", self.split_conditions.len()),
            ("default_left", self.default_left.len()),
        ];
        for (name, length) in lengths {
            let (place, found) = (format_args!("tree {number}"), format_args!("`{name}` of {length}"));
            allowed(length == nodes, place, found, format_args!("{nodes} nodes, as `left_children`"))?;
        }
        let node = |node: usize| {
            // -1 marks a leaf, whose value replaces the threshold.
            if self.left_children[node] < 0 {
                return ForeignNode::Leaf(f64::from(self.split_conditions[node] * weight));
            }
            let child = |number: i64| usize::try_from(number).unwrap_or(usize::MAX);
            ForeignNode::Split(ForeignSplit {
                feature: self.split_indices[node],
                at_most: largest_below(self.split_conditions[node]),
                missing_left: matches!(self.default_left[node], Flag::Word(true) | Flag::Bit(1..)),
                zero_missing: false,
                left: child(self.left_children[node]),
                right: child(self.right_children[node]),
            })
        };
        Ok((0..nodes).map(node).collect())
    }

    /// Returns the statistics of the nodes. The statistics have no counts, since XGBoost does not write document
    /// counts.
    fn statistics(&self) -> NodeStatistics {
        let gains = self.loss_changes.iter().zip(&self.left_children);
        let gain = gains.map(|(&gain, &left)| if left < 0 { 0.0 } else { gain }).collect();
        NodeStatistics { count: Vec::new(), weight: self.sum_hessian.clone(), gain }
    }
}
