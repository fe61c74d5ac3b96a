//! Imports LightGBM's text model, versions 2 to 4. The file has a header of `name=value` lines and one block of named
//! lists per tree.
//!
//! A split compares values in double precision and sends a document left if `x <= threshold`. The decision type of a
//! split says which values are missing: none (NaN then counts as 0), only NaN, or NaN and 0 (`zero_as_missing`).
//! LightGBM treats values within 1e-35 of 0 as 0, so imported thresholds are moved to send these values the same way.
//! Leaf values are added up in double precision. A random forest (`average_output`) is a mean of trees, so the leaf
//! values are divided by the number of trees.

use std::collections::HashMap;
use std::str::FromStr;

use super::entry::*;
use crate::ranker::tree_ensemble::ZERO;

pub(super) const ENTRY: ImportEntry = ImportEntry {
    title: ["LightGBM", "text"],
    row: "LightGBM 2 to 4 | `booster.save_model(\"NAME.txt\")` | `x <= t`, 64 bits; NaN, or NaN and 0 \
        (`zero_as_missing`), goes where the split says | sums in 64 bits, also means of random forests",
    others: &[],
    decode,
};

/// The line that follows the last tree.
const END: &str = "end of trees";

/// Objectives whose predictions are plain sums of the trees.
const OBJECTIVES: [&str; 9] =
    ["lambdarank", "rank_xendcg", "regression", "regression_l1", "huber", "fair", "quantile", "mape", "custom"];

/// Two bits of LightGBM's decision type: one says that the split is categorical, the other that missing values go left.
/// Two more bits say which values are missing.
const CATEGORICAL: u8 = 1;
const DEFAULT_LEFT: u8 = 2;

fn decode(text: &str) -> Result<Imported, String> {
    let mut lines = (1..).zip(text.lines().map(str::trim_end));
    let (header, mut next) = Block::read(&mut lines);
    header.check()?;
    let features = header.number::<usize>("max_feature_idx")?.saturating_add(1);
    let announced = header.words("tree_sizes").count();
    let mut blocks = Vec::new();
    while let Some((line, name)) = next {
        if name == END {
            break;
        }
        let (block, after) = Block::read(&mut lines);
        blocks.push(Block { line, ..block });
        next = after;
    }
    let end = if next.is_none() { " and the end of the file" } else { "" };
    let (found, expected) = (blocks.len(), format_args!("{announced} trees and `{END}`, as `tree_sizes` says"));
    allowed(next.is_some() && found == announced, "the file", format_args!("{found} trees{end}"), expected)?;
    let share = if header.has("average_output") { blocks.len().max(1) as f64 } else { 1.0 };
    let mut trees = TreeList::default();
    for block in &blocks {
        trees.push(&block.tree(share)?, &block.statistics())?;
    }
    let names: Vec<String> = header.words("feature_names").map(str::to_owned).collect();
    Ok(Imported {
        trees: trees.finish(features, Sums::Double)?,
        feature_names: names.iter().any(|name| !name.starts_with("Column_")).then_some(names),
        about: json!({ "version": header.text("version"), "objective": header.text("objective") }),
    })
}

/// A block of `name=value` lines, up to the line that begins the next tree or ends the trees.
struct Block<'a> {
    /// Number of the block's first line, counted from 1.
    line: usize,
    entries: HashMap<&'a str, (usize, &'a str)>,
}

impl<'a> Block<'a> {
    /// Reads a block and the line that follows it.
    fn read(lines: &mut impl Iterator<Item = (usize, &'a str)>) -> (Self, Option<(usize, &'a str)>) {
        let mut entries = HashMap::new();
        for (line, text) in lines {
            if text == END || text.starts_with("Tree=") {
                return (Self { line: 1, entries }, Some((line, text)));
            }
            let (name, value) = text.split_once('=').unwrap_or((text, ""));
            entries.insert(name, (line, value));
        }
        (Self { line: 1, entries }, None)
    }

    fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    fn text(&self, name: &str) -> &'a str {
        self.entries.get(name).map_or("", |entry| entry.1)
    }

    fn words(&self, name: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        self.text(name).split_ascii_whitespace()
    }

    fn number<T: FromStr>(&self, name: &str) -> Result<T, String> {
        let refuse =
            |line: usize, found: &str| content(format!("line {line}"), found, format!("`{name}=` and a whole number"));
        let (line, text) = self.entries.get(name).ok_or_else(|| refuse(self.line, &format!("no `{name}` below")))?;
        text.trim().parse().map_err(|_| refuse(*line, &format!("`{name}={text}`")))
    }

    /// Reads the list called `name`, which must have `length` entries.
    fn list<T: FromStr>(&self, name: &str, length: usize) -> Result<Vec<T>, String> {
        let refuse = |line: usize, found: String| {
            let expected = format!("a list `{name}` of {length} numbers");
            content(format!("line {line}"), found, expected)
        };
        let Some((line, text)) = self.entries.get(name) else {
            return if length == 0 { Ok(Vec::new()) } else { Err(refuse(self.line, format!("no `{name}` below"))) };
        };
        let word = |word: &str| word.parse().map_err(|_| refuse(*line, format!("`{word}`")));
        let values: Vec<T> = text.split_ascii_whitespace().map(word).collect::<Result<_, _>>()?;
        if values.len() == length { Ok(values) } else { Err(refuse(*line, format!("{} numbers", values.len()))) }
    }

    /// Checks that the header announces a single sum of trees whose scores are not transformed.
    fn check(&self) -> Result<(), String> {
        let version = self.text("version");
        supported(["v2", "v3", "v4"].contains(&version), format_args!("version `{version}`"), "v2, v3 or v4")?;
        for name in ["num_class", "num_tree_per_iteration"] {
            let outputs: usize = self.number(name)?;
            supported(outputs == 1, format_args!("{name}={outputs}"), "one score per document")?;
        }
        let objective = self.text("objective");
        let name = objective.split(' ').next().unwrap_or("");
        let is_transformed = objective.split(' ').any(|word| word == "sqrt");
        let is_sum = objective.is_empty() || OBJECTIVES.contains(&name) && !is_transformed;
        let expected = "an objective whose predictions are the sums of the trees, such as lambdarank";
        supported(is_sum, format_args!("the objective `{objective}`"), expected)
    }

    /// Reads the nodes of a tree; all splits come before all leaves. Leaf values are divided by `share`, the number of
    /// trees over which scores are averaged.
    fn tree(&self, share: f64) -> Result<Vec<ForeignNode>, String> {
        let leaves: usize = self.number("num_leaves")?;
        let splits = leaves.saturating_sub(1);
        let supported = |is_supported, what: &str, expected| {
            supported(is_supported, format_args!("{what} (tree at line {})", self.line), expected)
        };
        let numerical = |is_numerical| supported(is_numerical, "categorical splits", "numerical features only");
        numerical(!self.has("num_cat") || self.number::<usize>("num_cat")? == 0)?;
        let has_values = !self.has("is_linear") || self.number::<u8>("is_linear")? == 0;
        supported(has_values, "linear leaves", "leaves of one value")?;
        let values: Vec<f64> = self.list("leaf_value", leaves)?;
        let features: Vec<u32> = self.list("split_feature", splits)?;
        let thresholds: Vec<f64> = self.list("threshold", splits)?;
        let decisions: Vec<u8> = self.list("decision_type", splits)?;
        let (left, right): (Vec<i64>, Vec<i64>) = (self.list("left_child", splits)?, self.list("right_child", splits)?);
        // A child is the number of a split, or the complement of the number of a leaf.
        let child = |number: i64| match usize::try_from(number) {
            Ok(split) if split < splits => split,
            Ok(_) => usize::MAX,
            Err(_) => splits.saturating_add(!number as usize),
        };
        let mut nodes = Vec::with_capacity(values.len() + features.len());
        for split in 0..splits {
            numerical(decisions[split] & CATEGORICAL == 0)?;
            let (at_most, missing_left, zero_missing) =
                decision(thresholds[split], decisions[split]).ok_or_else(|| {
                    let found = format!("a split by {} of type {}", thresholds[split], decisions[split]);
                    content(format!("tree at line {}", self.line), found, "a known decision")
                })?;
            let (left, right) = (child(left[split]), child(right[split]));
            let feature = features[split];
            nodes.push(ForeignNode::Split(ForeignSplit { feature, at_most, missing_left, zero_missing, left, right }));
        }
        nodes.extend(values.iter().map(|value| ForeignNode::Leaf(value / share)));
        Ok(nodes)
    }

    /// Reads the training statistics of the nodes, in the same order as [`tree`](Self::tree). Some versions of LightGBM
    /// write only some of these statistics.
    fn statistics(&self) -> NodeStatistics {
        let leaves: usize = self.number("num_leaves").unwrap_or_default();
        let splits = leaves.saturating_sub(1);
        if splits == 0 {
            // LightGBM writes no weight for a tree's only leaf.
            let count = self.list("leaf_count", leaves).unwrap_or(vec![0; leaves]);
            return NodeStatistics { count, weight: vec![0.0; leaves], gain: vec![0.0; leaves] };
        }
        let counts = self.list("internal_count", splits).and_then(|own| Ok((own, self.list("leaf_count", leaves)?)));
        let weights = self.list("internal_weight", splits).and_then(|own| Ok((own, self.list("leaf_weight", leaves)?)));
        let gains = self.list("split_gain", splits).map(|own| (own, vec![0.0; leaves]));
        fn join<T: Clone>(lists: Result<(Vec<T>, Vec<T>), String>) -> Vec<T> {
            lists.map_or(Vec::new(), |(splits, leaves)| [splits, leaves].concat())
        }
        NodeStatistics { count: join(counts), weight: join(weights), gain: join(gains) }
    }
}

/// Returns the largest float that goes left, whether missing values go left, and whether 0 counts as missing. Returns
/// `None` for an unknown decision type.
fn decision(threshold: f64, kind: u8) -> Option<(f32, bool, bool)> {
    if threshold.is_nan() {
        return None;
    }
    let default_left = kind & DEFAULT_LEFT != 0;
    let at_most = largest_at_most(threshold);
    // Values near 0 go the same way as 0.
    let at_most = if threshold >= 0.0 { at_most.max(ZERO) } else { at_most.min((-ZERO).next_down()) };
    match kind >> 2 {
        0 => Some((at_most, threshold >= 0.0, false)),
        1 => Some((at_most, default_left, true)),
        2 => Some((at_most, default_left, false)),
        _ => None,
    }
}
