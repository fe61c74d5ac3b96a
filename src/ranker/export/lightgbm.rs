//! Exports trees as LightGBM's text model (version 4), which has one block of named lists for each tree.
//!
//! Splits and leaves are numbered separately, and a child is either the number of a split, or `-1 - leaf` for a leaf. A
//! split's decision type says which values count as missing, and to which side they go. In decision types 8 and 10,
//! only NaN is missing, as in a [`TreeEnsemble`]; type 8 sends it right, and type 10 left. In decision types 4 and 6, a
//! value of 0 is missing too. LightGBM and this crate both add leaf values in double precision and in the order of the
//! trees. Their sums are therefore bit-identical. After summing, this crate rounds scores to single precision. A
//! normalizer becomes part of the thresholds (see [`RawTree`]).
//!
//! LightGBM separates names of features by blanks, and refuses the characters `",:[]{}` in them. Each of these becomes
//! `_`, as LightGBM makes of a blank.
//!
//! LightGBM uses the document counts of the splits to compute contributions, and sums the gains of the splits to
//! compute importances.
//!
//! [`TreeEnsemble`]: crate::ranker::TreeEnsemble

use std::fmt::{Debug, Display, Write};

use super::entry::{ExportEntry, System, is_sum_of_trees};
use super::raw_trees::{Known, RawTree, allowed_names, trees_of};
use crate::ranker::artifact::Ranker;
use crate::ranker::foreign_node::ForeignNode;
use crate::ranker::tree_ensemble::{LEAF, TreeArrays};

pub(super) const ENTRY: ExportEntry = ExportEntry {
    name: "lightgbm",
    title: "LightGBM text",
    extension: "txt",
    by_name: true,
    help: "LightGBM's text model for trees",
    row: "LightGBM | trees | all but `query_min_max` | the same, 64 bits",
    accepts: is_sum_of_trees,
    expected: "a sum of trees",
    system: Some(System {
        name: "LightGBM",
        is_forbidden,
        forbidden: "blanks or `\",:[]{}\\`",
        importances: "importances",
        divides_by_split: false,
    }),
    write: encode,
};

/// LightGBM's decision types for a numerical split that sends missing values right. One counts only NaN as missing, the
/// other NaN and 0. Adding `LEFT` to a decision type sends missing values left.
const NAN_IS_MISSING: u8 = 8;
const ZERO_IS_MISSING: u8 = 4;
const LEFT: u8 = 2;

fn encode(ranker: &Ranker) -> Result<Vec<u8>, String> {
    let trees = trees_of(ranker)?;
    let known = Known::new(trees.arrays());
    let mut blocks = Vec::with_capacity(trees.trees());
    for &root in &trees.arrays().roots {
        let tree = RawTree::new(trees, root, ranker.normalizer(), |split| split)?;
        blocks.push(block(blocks.len(), &tree, &known));
    }
    if blocks.is_empty() {
        // LightGBM requires a tree; this one adds 0.
        let zero = TreeArrays { feature: vec![LEAF], value: vec![0.0], ..TreeArrays::default() };
        blocks.push(block(0, &RawTree { places: vec![0], ..RawTree::zero() }, &Known::new(&zero)));
    }
    let features = trees.feature_count();
    let mut text = String::from("tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n");
    let _ = writeln!(text, "max_feature_idx={}", features.saturating_sub(1));
    let _ = writeln!(text, "feature_names={}", list(allowed_names(ranker, is_forbidden)));
    let _ = writeln!(text, "feature_infos={}", list((0..features).map(|_| "[-inf:inf]")));
    let _ = writeln!(text, "tree_sizes={}\n", list(blocks.iter().map(String::len)));
    text.extend(blocks);
    text.push_str(
        "end of trees\n\nfeature_importances:\n\nparameters:\nend of parameters\n\npandas_categorical:null\n",
    );
    Ok(text.into_bytes())
}

/// Returns whether LightGBM takes no such character in the name of a feature. Its dumps do not escape a backslash.
fn is_forbidden(c: char) -> bool {
    c.is_whitespace() || c.is_control() || "\",:[]{}\\".contains(c)
}

/// Writes a tree in LightGBM's numbering of splits and leaves, which follows the order of its nodes.
fn block(number: usize, tree: &RawTree, known: &Known) -> String {
    let (mut splits, mut leaves, mut own_splits) = (Vec::new(), Vec::new(), Vec::new());
    let mut numbers = Vec::with_capacity(tree.nodes.len());
    for (node, &place) in tree.nodes.iter().zip(&tree.places) {
        match node {
            ForeignNode::Leaf(_) => {
                leaves.push(place);
                numbers.push(-(leaves.len() as i64));
            }
            ForeignNode::Split(split) => {
                numbers.push(splits.len() as i64);
                splits.push(place);
                own_splits.push(split);
            }
        }
    }
    fn of<T: Copy>(nodes: &[usize], list: &[T]) -> impl Iterator<Item = T> {
        nodes.iter().map(|&node| list[node])
    }
    let mut text = format!("Tree={number}\nnum_leaves={}\nnum_cat=0\n", leaves.len());
    let mut line = |name: &str, values: String| {
        let _ = writeln!(text, "{name}={values}");
    };
    let decision = |missing_left: bool, zero_missing: bool| {
        (if zero_missing { ZERO_IS_MISSING } else { NAN_IS_MISSING }) + if missing_left { LEFT } else { 0 }
    };
    line("split_feature", list(own_splits.iter().map(|split| split.feature)));
    line("split_gain", list(of(&splits, &known.gain).map(short)));
    // The least finite number where no value goes left.
    line("threshold", list(own_splits.iter().map(|split| format!("{:?}", f64::from(split.at_most).max(f64::MIN)))));
    line("decision_type", list(own_splits.iter().map(|split| decision(split.missing_left, split.zero_missing))));
    line("left_child", list(own_splits.iter().map(|split| numbers[split.left])));
    line("right_child", list(own_splits.iter().map(|split| numbers[split.right])));
    line("leaf_value", list(of(&leaves, &known.value).map(|value| format!("{value:?}"))));
    line("leaf_weight", list(of(&leaves, &known.weight).map(short)));
    line("leaf_count", list(of(&leaves, &known.count)));
    line("internal_value", list(of(&splits, &known.value).map(short)));
    line("internal_weight", list(of(&splits, &known.weight).map(short)));
    line("internal_count", list(of(&splits, &known.count)));
    line("is_linear", "0".into());
    line("shrinkage", "1".into());
    text.push('\n');
    text
}

/// Formats a number as the shortest text that reads back as the same number, and writes 0 for the default value of its
/// type.
fn short<T: Debug + Default + PartialEq>(value: T) -> String {
    if value == T::default() { "0".into() } else { format!("{value:?}") }
}

fn list(values: impl IntoIterator<Item = impl Display>) -> String {
    values.into_iter().map(|value| value.to_string()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;
    use crate::data::{NormalizerKind, RankingDataset, SynthConfig};
    use crate::ranker::export::ExportFormat;
    use crate::ranker::export::tests::{mlp, ranker};
    use crate::ranker::{Model, Node, TreeEnsemble};

    fn data() -> RankingDataset {
        SynthConfig { queries: 20, features: 3, seed: 5, ..SynthConfig::default() }.generate().unwrap()
    }

    /// Creates an ensemble of two trees: one with three leaves, and one that is a single leaf.
    fn trees() -> TreeEnsemble {
        let mut trees = TreeEnsemble::new(3);
        let tree = [
            Node::Split { feature: 2, threshold: 0.25, left: 1, right: 2, missing_left: false },
            Node::Split { feature: 0, threshold: -0.5, left: 3, right: 4, missing_left: true },
            Node::Leaf { value: 0.1 },
            Node::Leaf { value: -2.0 },
            Node::Leaf { value: 1e-7 },
        ];
        trees.push(&tree).unwrap();
        trees.push(&[Node::Leaf { value: 0.5 }]).unwrap();
        trees
    }

    #[test]
    fn the_numbers_of_a_tree_equal_those_worked_by_hand() {
        let text =
            String::from_utf8(encode(&ranker(NormalizerKind::None, Model::Trees(trees()), &data())).unwrap()).unwrap();
        for line in [
            "max_feature_idx=2",
            "feature_names=feature_1 feature_2 feature_3",
            "num_leaves=3",
            "split_feature=2 0",
            "threshold=0.25 -0.5",
            "decision_type=8 10",
            "left_child=1 -1",
            "right_child=-3 -2",
            "leaf_value=-2.0 1e-7 0.1",
            "Tree=1",
            "leaf_value=0.5",
        ] {
            assert!(text.lines().any(|other| other == line), "`{line}` is not in\n{text}");
        }
        let sizes: Vec<usize> = text
            .lines()
            .find_map(|line| line.strip_prefix("tree_sizes="))
            .unwrap()
            .split(' ')
            .map(|size| size.parse().unwrap())
            .collect();
        let first = text.find("Tree=0").unwrap();
        assert!(text[first + sizes[0]..].starts_with("Tree=1\n"));
        assert!(text[first + sizes[0] + sizes[1]..].starts_with("end of trees\n"));
    }

    #[test]
    fn models_and_normalizers_that_the_format_cannot_hold_are_refused() {
        let error = |ranker: Ranker| ranker.export(ExportFormat(&ENTRY)).unwrap_err().to_string();
        assert_eq!(
            error(ranker(NormalizerKind::QueryMinMax, Model::Trees(trees()), &data())),
            "LightGBM text cannot hold the normalizer `query_min_max`: expected a normalizer that treats each document \
             separately"
        );
        assert_eq!(
            error(ranker(NormalizerKind::None, mlp(3), &data())),
            "LightGBM text cannot hold a multi-layer perceptron: expected a sum of trees"
        );
        // Both children of each split are the same node: written as a tree, the nodes would double at each level.
        let levels = 40u32;
        let mut arrays = TreeArrays { roots: vec![0], ..TreeArrays::default() };
        for level in 0..=levels {
            let is_leaf = level == levels;
            arrays.feature.push(if is_leaf { LEAF } else { 0 });
            arrays.threshold.push(0.0);
            arrays.value.push(0.0);
            let child = if is_leaf { 0 } else { level + 1 };
            arrays.left.push(child);
            arrays.right.push(child);
        }
        let shared = TreeEnsemble::from_arrays(3, arrays).unwrap();
        let error = error(ranker(NormalizerKind::None, Model::Trees(shared), &data()));
        assert_eq!(error, "LightGBM text cannot hold trees that share a node");
    }

    #[test]
    fn an_ensemble_without_trees_is_written_as_a_tree_of_zero() {
        let none = ranker(NormalizerKind::None, Model::Trees(TreeEnsemble::new(3)), &data());
        assert_eq!(none.predict(&data(), &Device::flex()).unwrap(), vec![0.0; data().documents()]);
        let text = String::from_utf8(encode(&none).unwrap()).unwrap();
        assert!(text.contains("num_leaves=1\n") && text.contains("leaf_value=0.0\n"), "{text}");
    }
}
