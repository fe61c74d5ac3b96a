//! One regression tree on binned features, grown best leaf first.
//!
//! A leaf with gradient sum `G` and curvature sum `H` has the value `-G / (H + l2)`. A split gains
//! `G_L^2 / (H_L + l2) + G_R^2 / (H_R + l2) - G^2 / (H + l2)`, twice the decrease of the second-order model of the
//! loss. With curvature 1 for each document this is the least-squares tree on the negative gradient.
//!
//! Cost: for each split, one pass over the documents of the smaller child, times features; the histogram of the other
//! child is the difference from the parent. Sums are exact, so threads change nothing. Among equal gains the lowest
//! feature wins, then the lowest threshold.

use std::ops::Range;

use rayon::prelude::*;

use super::histogram::{Block, code, threshold};
use super::sums::{FixedPoint, Sums};
use crate::op::Execution;
use crate::ranker::Node;

/// Limits of a tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct TreeParams {
    /// Maximum number of leaves.
    pub leaves: usize,
    /// Maximum number of splits from the root to a leaf.
    pub max_depth: usize,
    /// Minimum number of documents in a leaf.
    pub min_documents: usize,
    /// Added to every curvature sum.
    pub l2: f64,
    /// Minimum gain of a split.
    pub min_gain: f64,
}

/// First and second derivatives of the loss with respect to each score, to which a tree is fitted.
#[derive(Debug, Clone, Default)]
pub(super) struct Derivatives {
    /// `d loss / d score` of each document.
    pub gradient: Vec<f64>,
    /// Second derivative, above 0, or 1 throughout for least squares.
    pub curvature: Vec<f64>,
}

/// A tree, and the leaf of each document that it was fitted to.
pub(super) struct Grown {
    /// Parents come before their children.
    pub nodes: Vec<Node>,
    /// The documents, leaf by leaf.
    documents: Vec<u32>,
    /// Node and documents of each leaf.
    leaves: Vec<(usize, Range<usize>)>,
}

impl Grown {
    /// Adds the value of its leaf to the score of every document that the tree was fitted to.
    pub(super) fn add_to(&self, scores: &mut [f64]) {
        for (node, range) in &self.leaves {
            if let Node::Leaf { value } = self.nodes[*node] {
                self.documents[range.clone()].iter().for_each(|&d| scores[d as usize] += value);
            }
        }
    }

    /// Multiplies the value of every leaf.
    pub(super) fn scale(&mut self, factor: f64) {
        for node in &mut self.nodes {
            if let Node::Leaf { value } = node {
                *value *= factor;
            }
        }
    }

    /// Number of documents that the tree was fitted to.
    pub(super) fn documents(&self) -> usize {
        self.documents.len()
    }

    /// Number of leaves.
    pub(super) fn leaves(&self) -> usize {
        self.leaves.len()
    }
}

#[derive(Debug, Clone, Copy)]
struct Split {
    gain: f64,
    feature: usize,
    bin: usize,
    /// The sums of the left child.
    left: Sums,
}

/// A leaf.
struct Leaf {
    node: usize,
    depth: usize,
    documents: Range<usize>,
    sums: Sums,
    /// Where its histograms are.
    slot: usize,
    /// The best split, if any may be made.
    split: Option<Split>,
}

/// Grows a tree on a sample of documents (ascending) and features (one flag for each).
pub(super) fn grow(
    blocks: &mut [Block],
    documents: Vec<u32>,
    features: &[bool],
    derivatives: &Derivatives,
    params: &TreeParams,
) -> Grown {
    let units = FixedPoint::new(derivatives, &documents);
    let values: Vec<Sums> = (derivatives.gradient.iter().zip(&derivatives.curvature))
        .map(|(&gradient, &curvature)| units.of(gradient, curvature))
        .collect();
    let sums = documents.iter().fold(Sums::default(), |sums, &d| sums.plus(values[d as usize]));
    let mut grower = Grower { blocks, features, params, units, values, documents, spare: Vec::new(), own: Vec::new() };
    let mut nodes = vec![grower.leaf_node(sums)];
    let all = 0..grower.documents.len();
    let mut leaves = vec![Leaf { node: 0, depth: 0, documents: all, sums, slot: 0, split: None }];
    grower.split_root(&mut leaves[0]);
    while leaves.len() < params.leaves {
        let candidates = leaves.iter().enumerate().filter_map(|(place, leaf)| Some((place, leaf.split?)));
        let best = candidates.reduce(|best, next| if next.1.gain > best.1.gain { next } else { best });
        let Some((place, split)) = best else { break };
        let leaf = leaves.remove(place);
        let children = [nodes.len(), nodes.len() + 1];
        nodes[leaf.node] = Node::Split {
            feature: split.feature as u32,
            threshold: threshold(grower.blocks, split.feature, split.bin),
            left: children[0] as u32,
            right: children[1] as u32,
        };
        // Every leaf but the one that was split keeps its slot, and one child takes that of its parent.
        let slot = leaves.len() + 1;
        let last = leaves.len() + 2 == params.leaves;
        for child in grower.split(leaf, split, children, slot, last) {
            nodes.push(grower.leaf_node(child.sums));
            leaves.push(child);
        }
    }
    let leaves = leaves.into_iter().map(|leaf| (leaf.node, leaf.documents)).collect();
    Grown { nodes, documents: grower.documents, leaves }
}

struct Grower<'a> {
    blocks: &'a mut [Block],
    features: &'a [bool],
    params: &'a TreeParams,
    units: FixedPoint,
    /// The derivatives of every document.
    values: Vec<Sums>,
    /// The documents of the sample, leaf by leaf.
    documents: Vec<u32>,
    /// The right child's documents while a leaf is parted.
    spare: Vec<u32>,
    /// The derivatives of the documents whose histogram is made, in their order.
    own: Vec<Sums>,
}

impl Grower<'_> {
    fn leaf_node(&self, sums: Sums) -> Node {
        let curvature = (self.units.curvature(sums) + self.params.l2).max(f64::MIN_POSITIVE);
        Node::Leaf { value: -self.units.gradient(sums) / curvature }
    }

    /// Whether a leaf of this depth and so many documents may have children.
    fn may_split(&self, depth: usize, documents: usize) -> bool {
        depth < self.params.max_depth && documents >= 2 * self.params.min_documents
    }

    fn gather(&mut self, documents: Range<usize>) {
        self.own.clear();
        self.own.extend(self.documents[documents].iter().map(|&d| self.values[d as usize]));
    }

    fn split_root(&mut self, root: &mut Leaf) {
        if !self.may_split(0, root.documents.len()) {
            return;
        }
        self.gather(root.documents.clone());
        let scan = Scan { features: self.features, params: self.params, units: self.units };
        let (documents, own) = (&self.documents, &self.own);
        let of_block = |block: &mut Block| {
            block.fill(root.slot, documents, own);
            scan.best_split(block, root.slot, root.sums)
        };
        let found: Vec<_> = self.blocks.par_iter_mut().map(Execution::current().bind(of_block)).collect();
        root.split = best(found);
    }

    /// Parts a leaf. The smaller child takes `slot`, the other that of the leaf; after the `last` split no further one is
    /// looked for.
    fn split(&mut self, leaf: Leaf, split: Split, nodes: [usize; 2], slot: usize, last: bool) -> [Leaf; 2] {
        let middle = self.part(leaf.documents.clone(), split);
        let (left, right) = (leaf.documents.start..middle, middle..leaf.documents.end);
        let left_is_smaller = left.len() <= right.len();
        let slots = if left_is_smaller { [slot, leaf.slot] } else { [leaf.slot, slot] };
        let depth = leaf.depth + 1;
        let child = |node, documents, sums, slot| Leaf { node, depth, documents, sums, slot, split: None };
        let mut children = [
            child(nodes[0], left, split.left, slots[0]),
            child(nodes[1], right, leaf.sums.minus(split.left), slots[1]),
        ];
        let may_split = children.each_ref().map(|child| !last && self.may_split(depth, child.documents.len()));
        if may_split == [false, false] {
            return children;
        }
        let smaller = children[usize::from(!left_is_smaller)].documents.clone();
        self.gather(smaller.clone());
        let scan = Scan { features: self.features, params: self.params, units: self.units };
        let (documents, own) = (&self.documents[smaller], &self.own);
        let of_block = |block: &mut Block| {
            block.fill(slot, documents, own);
            block.subtract(slot, leaf.slot);
            [0, 1].map(|side| {
                let child = &children[side];
                may_split[side].then(|| scan.best_split(block, child.slot, child.sums)).flatten()
            })
        };
        let found: Vec<_> = self.blocks.par_iter_mut().map(Execution::current().bind(of_block)).collect();
        for (side, child) in children.iter_mut().enumerate() {
            child.split = best(found.iter().map(|splits| splits[side]));
        }
        children
    }

    /// Brings the documents of the left child before those of the right, each in their order; returns where the right
    /// ones begin.
    fn part(&mut self, range: Range<usize>, split: Split) -> usize {
        self.spare.clear();
        let mut middle = range.start;
        for place in range {
            let document = self.documents[place];
            if usize::from(code(self.blocks, split.feature, document)) <= split.bin {
                self.documents[middle] = document;
                middle += 1;
            } else {
                self.spare.push(document);
            }
        }
        self.documents[middle..middle + self.spare.len()].copy_from_slice(&self.spare);
        middle
    }
}

/// The first of the best splits.
fn best(splits: impl IntoIterator<Item = Option<Split>>) -> Option<Split> {
    splits.into_iter().flatten().reduce(|best, next| if next.gain > best.gain { next } else { best })
}

/// What the search for a split looks at.
#[derive(Clone, Copy)]
struct Scan<'a> {
    features: &'a [bool],
    params: &'a TreeParams,
    units: FixedPoint,
}

impl Scan<'_> {
    fn merit(&self, sums: Sums) -> f64 {
        let gradient = self.units.gradient(sums);
        gradient * gradient / (self.units.curvature(sums) + self.params.l2).max(f64::MIN_POSITIVE)
    }

    /// The best split of a leaf with these sums among the features of a block.
    fn best_split(&self, block: &Block, slot: usize, sums: Sums) -> Option<Split> {
        let TreeParams { min_documents, min_gain, .. } = *self.params;
        let (documents, merit) = (self.units.documents(sums), self.merit(sums));
        let mut best: Option<Split> = None;
        for (feature, thresholds, bins) in block.features(slot) {
            if !self.features[feature] {
                continue;
            }
            let mut left = Sums::default();
            for (bin, &own) in bins[..thresholds.len()].iter().enumerate() {
                if own == Sums::default() {
                    continue;
                }
                left = left.plus(own);
                let count = self.units.documents(left);
                if count < min_documents {
                    continue;
                }
                if documents - count < min_documents {
                    break;
                }
                let gain = self.merit(left) + self.merit(sums.minus(left)) - merit;
                if gain > best.map_or(min_gain, |split| split.gain) {
                    best = Some(Split { gain, feature, bin, left });
                }
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::RankingDataset;
    use crate::learner::solver::bins::Bins;
    use crate::learner::testing::dataset;
    use crate::ranker::TreeEnsemble;

    const UNLIMITED: TreeParams = TreeParams { leaves: 16, max_depth: 16, min_documents: 1, l2: 0.0, min_gain: 1e-9 };

    fn fit(data: &RankingDataset, targets: &[f64], params: &TreeParams) -> (Vec<Node>, Vec<f64>) {
        let mut blocks = Block::of_bins(&Bins::new(data, 255));
        let derivatives = Derivatives {
            gradient: targets.iter().map(|target| -target).collect(),
            curvature: vec![1.0; targets.len()],
        };
        let features = vec![true; data.feature_count];
        let documents = (0..targets.len() as u32).collect();
        let grown = grow(&mut blocks, documents, &features, &derivatives, params);
        let mut trees = TreeEnsemble::new(data.feature_count);
        trees.push(&grown.nodes).unwrap();
        let scores = trees.scores(&data.features);
        let mut added = vec![0.0; targets.len()];
        grown.add_to(&mut added);
        assert_eq!(added, scores);
        (grown.nodes, scores)
    }

    #[test]
    fn the_best_threshold_is_found_and_leaves_are_means() {
        let data = dataset(1, &[&[(0.0, &[1.0]), (0.0, &[2.0]), (0.0, &[3.0]), (0.0, &[4.0])]]);
        let stump = TreeParams { leaves: 2, ..UNLIMITED };
        let (nodes, scores) = fit(&data, &[1.0, 2.0, 10.0, 12.0], &stump);
        assert_eq!(nodes[0], Node::Split { feature: 0, threshold: 2.5, left: 1, right: 2 });
        assert_eq!(scores, [1.5, 1.5, 11.0, 11.0]);
        // l2 = 2 shrinks sums 3 and 22 of two documents each.
        assert_eq!(fit(&data, &[1.0, 2.0, 10.0, 12.0], &TreeParams { l2: 2.0, ..stump }).1, [0.75, 0.75, 5.5, 5.5]);
    }

    #[test]
    fn two_levels_fit_an_exclusive_or() {
        // Slightly unbalanced: with exact symmetry no first split gains anything.
        let data = dataset(
            2,
            &[&[(0.0, &[0.0, 0.0]), (0.0, &[0.0, 1.0]), (0.0, &[1.0, 0.0]), (0.0, &[1.0, 1.0]), (0.0, &[1.0, 1.0])]],
        );
        let targets = [0.0, 1.0, 1.0, 0.0, 0.0];
        let (_, scores) = fit(&data, &targets, &UNLIMITED);
        for (score, target) in scores.iter().zip(targets) {
            assert!((score - target).abs() < 1e-12, "{scores:?}");
        }
    }

    #[test]
    fn limits_are_respected() {
        let rows: Vec<(f32, [f32; 1])> = (0..20).map(|i| (0.0, [i as f32])).collect();
        let documents: Vec<(f32, &[f32])> = rows.iter().map(|(label, row)| (*label, &row[..])).collect();
        let data = dataset(1, &[&documents]);
        let targets: Vec<f64> = (0..20).map(f64::from).collect();
        let leaves = |params: TreeParams| {
            fit(&data, &targets, &params).0.iter().filter(|node| matches!(node, Node::Leaf { .. })).count()
        };
        assert_eq!(leaves(TreeParams { leaves: 5, ..UNLIMITED }), 5);
        assert_eq!(leaves(TreeParams { max_depth: 1, ..UNLIMITED }), 2);
        assert_eq!(leaves(TreeParams { min_documents: 10, ..UNLIMITED }), 2);
        assert_eq!(leaves(TreeParams { min_documents: 11, ..UNLIMITED }), 1);
        assert_eq!(leaves(TreeParams { min_gain: 1e9, ..UNLIMITED }), 1);
    }

    #[test]
    fn equal_gains_go_to_the_lowest_feature() {
        let data = dataset(2, &[&[(0.0, &[0.0, 0.0]), (0.0, &[1.0, 1.0])]]);
        let (nodes, _) = fit(&data, &[0.0, 1.0], &UNLIMITED);
        assert!(matches!(nodes[0], Node::Split { feature: 0, .. }));
    }
}
