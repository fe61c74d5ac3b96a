//! Grows one regression tree on binned features, by splitting the leaf with the largest gain first.
//!
//! The module `split` defines the merit of a leaf and the gain of a split. If every document has a curvature of 1, the
//! tree is the least-squares fit of the negative gradient.
//!
//! Each split reads the features of the documents in its smaller child once. The histogram of the larger child is the
//! parent's histogram minus the smaller child's. Sums are exact, so results do not depend on the number of threads.
//! Among splits with equal gains, the feature with the lowest number is chosen, then the lowest threshold.

use std::ops::Range;

use super::config::Growth;
use super::histogram::{Block, block_of};
use super::objective::Derivatives;
use super::split::{Bounds, Scan, Split, TreeParams, Worth, best};
use super::sums::{Buffers, FixedPoint, Sums};
use crate::distributed::ProcessGroup;
use crate::learner::prelude::*;
use crate::ranker::{Node, NodeStatistics};

/// A tree, and the leaf of each training document.
pub(super) struct Grown {
    /// The nodes, with parents before their children.
    pub nodes: Vec<Node>,
    /// The statistics of the nodes. The document counts include all training documents. Curvatures and gains are sums
    /// over the sample.
    pub statistics: NodeStatistics,
    /// The feature and the gain of each split, in the order in which the splits were made.
    pub gains: Vec<(u32, f64)>,
    /// The documents of the sample and the other documents, each sorted by leaf.
    documents: [Vec<u32>; 2],
    /// For each leaf, its node and its two ranges in `documents`.
    pub leaves: Vec<(usize, [Range<usize>; 2])>,
}

impl Grown {
    /// Adds the value of a document's leaf to its score, for every training document.
    pub(super) fn add_to(&self, scores: &mut [f64]) {
        for (node, ranges) in &self.leaves {
            if let Node::Leaf { value } = self.nodes[*node] {
                let documents = self.documents.iter().zip(ranges).flat_map(|(all, range)| &all[range.clone()]);
                documents.for_each(|&d| scores[d as usize] += value);
            }
        }
    }
}

/// Returns a copy of a tree, with every leaf value multiplied by `share`.
pub(super) fn scaled(tree: &[Node], share: f64) -> Vec<Node> {
    let scaled = |node: &Node| match node {
        Node::Leaf { value } => Node::Leaf { value: value * share },
        split => split.clone(),
    };
    tree.iter().map(scaled).collect()
}

/// A leaf.
struct Leaf {
    node: usize,
    depth: usize,
    /// The range of the leaf's documents in the sample.
    documents: Range<usize>,
    /// The range of the leaf's documents outside the sample.
    others: Range<usize>,
    sums: Sums,
    bounds: Bounds,
    /// The slot that holds the leaf's histograms in each block.
    slot: usize,
    /// The split with the largest gain, if the leaf may be split.
    split: Option<Split>,
}

/// Grows a tree on a sample of documents, given in ascending order. The documents `others` do not affect the tree and
/// are only assigned to its leaves. Given the node of a leaf, `features` returns for each feature whether a split of
/// the leaf may use it. Each process of the group computes the histograms of some blocks, and all use the best split of
/// all blocks.
pub(super) fn grow(
    blocks: &mut [Block],
    buffers: &mut Buffers,
    [documents, others]: [Vec<u32>; 2],
    features: &dyn Fn(usize) -> Vec<bool>,
    derivatives: &Derivatives,
    params: &TreeParams,
    group: &ProcessGroup,
) -> Grown {
    let worth = Worth { params, units: FixedPoint::new(derivatives, &documents) };
    buffers.set(derivatives, &worth.units);
    let sums = buffers.sum(&documents);
    let (of_sample, bounds) = (0..documents.len(), Bounds::NONE);
    let (slot, others_of_root) = (0, 0..others.len());
    let mut root =
        [Leaf { node: 0, depth: 0, documents: of_sample, others: others_of_root, sums, bounds, slot, split: None }];
    let mut grower = Grower { blocks, buffers, features, worth, documents, others, group };
    let (mut nodes, mut statistics, mut gains) = (Vec::new(), NodeStatistics::default(), Vec::new());
    grower.find_splits(&mut root, slot);
    grower.add(&root[0], &mut nodes, &mut statistics);
    let mut leaves = Vec::from(root);
    while leaves.len() < params.config.leaves {
        let Some((place, split)) = next(&leaves, params.config.growth) else { break };
        let leaf = leaves.remove(place);
        gains.push((split.feature as u32, split.gain));
        statistics.gain[leaf.node] = finite(split.gain);
        let children = [nodes.len(), nodes.len() + 1];
        nodes[leaf.node] = Node::Split {
            feature: split.feature as u32,
            threshold: block_of(grower.blocks, split.feature).threshold(split.feature, split.bin),
            left: children[0] as u32,
            right: children[1] as u32,
            missing_left: split.missing_left,
        };
        // Every leaf except the one that was split keeps its slot, and one child takes its parent's slot.
        let slot = leaves.len() + 1;
        let mut children = grower.split(leaf, split, children, slot);
        // The children of the last split get no splits of their own.
        if leaves.len() + 2 < params.config.leaves {
            grower.find_splits(&mut children, slot);
        }
        for child in children {
            grower.add(&child, &mut nodes, &mut statistics);
            leaves.push(child);
        }
    }
    let leaves = leaves.into_iter().map(|leaf| (leaf.node, [leaf.documents, leaf.others])).collect();
    Grown { nodes, statistics, gains, documents: [grower.documents, grower.others], leaves }
}

/// Returns the nearest finite 32-bit float.
fn finite(number: f64) -> f32 {
    (number as f32).clamp(f32::MIN, f32::MAX)
}

/// Returns the leaf to split next, which is the one whose split has the largest gain. If trees grow by level, only the
/// leaves nearest to the root are considered.
fn next(leaves: &[Leaf], growth: Growth) -> Option<(usize, Split)> {
    let depth = |leaf: &Leaf| if growth == Growth::Level { leaf.depth } else { 0 };
    let candidates = leaves.iter().enumerate().filter_map(|(place, leaf)| Some((place, depth(leaf), leaf.split?)));
    let is_better = |next: &(usize, usize, Split), best: &(usize, usize, Split)| {
        next.1 < best.1 || (next.1 == best.1 && next.2.gain > best.2.gain)
    };
    let best = candidates.reduce(|best, next| if is_better(&next, &best) { next } else { best });
    best.map(|(place, _, split)| (place, split))
}

/// Returns, for each leaf, the split with the largest gain that any process has found in any block; at equal gains, the
/// first split.
fn best_of_all<const N: usize>(found: &[[Option<Split>; N]], group: &ProcessGroup) -> [Option<Split>; N] {
    let own = std::array::from_fn(|leaf| best(found.iter().map(|splits| splits[leaf])));
    if group.count() == 1 {
        return own;
    }
    let all = group.gather_all(own.iter().map(|split| split.map_or(Vec::new(), Split::to_bytes)).collect());
    std::array::from_fn(|leaf| best(all.iter().skip(leaf).step_by(N).map(|bytes| Split::from_bytes(bytes))))
}

struct Grower<'a> {
    blocks: &'a mut [Block],
    buffers: &'a mut Buffers,
    features: &'a dyn Fn(usize) -> Vec<bool>,
    worth: Worth<'a>,
    /// The documents of the sample, sorted by leaf.
    documents: Vec<u32>,
    /// The documents outside the sample, sorted by leaf.
    others: Vec<u32>,
    group: &'a ProcessGroup,
}

impl Grower<'_> {
    /// Adds a leaf to the nodes of the tree, with its statistics.
    fn add(&self, leaf: &Leaf, nodes: &mut Vec<Node>, statistics: &mut NodeStatistics) {
        nodes.push(Node::Leaf { value: self.worth.value(leaf.sums, leaf.bounds) });
        statistics.count.push((leaf.documents.len() + leaf.others.len()) as u32);
        statistics.weight.push(finite(self.worth.units.curvature(leaf.sums)));
        statistics.gain.push(0.0);
    }

    /// Returns whether a leaf may be split.
    fn may_split(&self, leaf: &Leaf) -> bool {
        let params = &self.worth.params.config;
        params.max_depth.is_none_or(|most| leaf.depth < most) && leaf.documents.len() >= 2 * params.min_documents
    }

    /// Finds the best split of each leaf that may be split. Computes the histograms of the leaf with this `slot`. The
    /// slot of the other leaf still holds the histograms of both leaves, so the computed ones are subtracted there.
    fn find_splits<const N: usize>(&mut self, leaves: &mut [Leaf; N], slot: usize) {
        let flags = leaves.each_ref().map(|leaf| self.may_split(leaf).then(|| (self.features)(leaf.node)));
        if flags.iter().all(Option::is_none) {
            return;
        }
        let slots = leaves.each_ref().map(|leaf| leaf.slot);
        let Some(filled) = leaves.iter().find(|leaf| leaf.slot == slot) else { return };
        let documents = &self.documents[filled.documents.clone()];
        self.buffers.gather(documents);
        let values = &self.buffers.gathered;
        let scans = std::array::from_fn::<_, N, _>(|place| {
            let (sums, bounds) = (leaves[place].sums, leaves[place].bounds);
            flags[place].as_ref().map(|features| Scan { worth: self.worth, features, sums, bounds })
        });
        let of_block = |block: &mut Block| {
            block.fill(slot, documents, values);
            slots.iter().filter(|&&other| other != slot).for_each(|&other| block.subtract(slot, other));
            std::array::from_fn::<_, N, _>(|place| scans[place].and_then(|scan| scan.best_split(block, slots[place])))
        };
        let mine = own(self.blocks.len(), self.group);
        let found = parallel::map(&mut self.blocks[mine], of_block);
        for (leaf, split) in leaves.iter_mut().zip(best_of_all(&found, self.group)) {
            leaf.split = split;
        }
    }

    /// Splits a leaf. The smaller child uses the histograms in `slot`, and the other child takes over the slot of the
    /// leaf.
    fn split(&mut self, leaf: Leaf, split: Split, nodes: [usize; 2], slot: usize) -> [Leaf; 2] {
        let (documents, others) = self.part(leaf.documents.clone(), leaf.others.clone(), split);
        let left_is_smaller = documents[0].len() <= documents[1].len();
        let slots = if left_is_smaller { [slot, leaf.slot] } else { [leaf.slot, slot] };
        let sums = [split.left, leaf.sums.minus(split.left)];
        let bounds = self.worth.bounds(split, leaf.sums, leaf.bounds);
        [0, 1].map(|side| {
            let (documents, others) = (documents[side].clone(), others[side].clone());
            let (node, sums, bounds, slot) = (nodes[side], sums[side], bounds[side], slots[side]);
            Leaf { node, depth: leaf.depth + 1, documents, others, sums, bounds, slot, split: None }
        })
    }

    /// Moves the documents of the left child to the front of the leaf's range, and keeps their order. Returns the
    /// ranges of both children in the sample, then the ranges of both children in the other documents.
    fn part(
        &mut self,
        of_sample: Range<usize>,
        others: Range<usize>,
        split: Split,
    ) -> ([Range<usize>; 2], [Range<usize>; 2]) {
        let block = block_of(self.blocks, split.feature);
        let missing = block.missing_code(split.feature).filter(|_| split.missing_left);
        let is_left = |document: u32| {
            let code = block.code(split.feature, document);
            usize::from(code) <= split.bin || missing == Some(code)
        };
        let mut part = |documents: &mut [u32], range: Range<usize>| {
            let middle = range.start + self.buffers.part(&mut documents[range.clone()], is_left);
            [range.start..middle, middle..range.end]
        };
        (part(&mut self.documents, of_sample), part(&mut self.others, others))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::RankingDataset;
    use crate::learner::boosted_trees::config::{BoostedTreesConfig, Steps};
    use crate::learner::boosted_trees::split::Direction;
    use crate::learner::testing::dataset;
    use crate::ranker::TreeEnsemble;

    fn unlimited() -> BoostedTreesConfig {
        let (leaves, max_depth, min_documents, l2, min_gain) = (16, Some(16), 1, Some(0.0), 1e-9);
        BoostedTreesConfig { leaves, max_depth, min_documents, l2, min_gain, ..BoostedTreesConfig::default() }
    }

    fn fit(data: &RankingDataset, targets: &[f64], config: &BoostedTreesConfig) -> (Vec<Node>, Vec<f64>) {
        let params = TreeParams::new(config, data.feature_count, Steps::LineSearch).unwrap();
        let mut blocks = Block::of_data(data, 255);
        let derivatives = Derivatives {
            gradient: targets.iter().map(|target| -target).collect(),
            curvature: vec![1.0; targets.len()],
        };
        let features = |_| vec![true; data.feature_count];
        let documents = [(0..targets.len() as u32).collect(), Vec::new()];
        let grown = grow(
            &mut blocks,
            &mut Buffers::default(),
            documents,
            &features,
            &derivatives,
            &params,
            ProcessGroup::ALONE,
        );
        let mut trees = TreeEnsemble::new(data.feature_count);
        trees.push(&grown.nodes).unwrap();
        let scores = trees.scores(data.features.to_slice());
        let mut added = vec![0.0; targets.len()];
        grown.add_to(&mut added);
        assert_eq!(added, scores);
        (grown.nodes, scores)
    }

    #[test]
    fn the_best_threshold_is_found_and_leaves_are_means() {
        let data = dataset(1, &[&[(0.0, &[1.0]), (0.0, &[2.0]), (0.0, &[3.0]), (0.0, &[4.0])]]);
        let stump = BoostedTreesConfig { leaves: 2, ..unlimited() };
        let (nodes, scores) = fit(&data, &[1.0, 2.0, 10.0, 12.0], &stump);
        assert_eq!(nodes[0], Node::Split { feature: 0, threshold: 2.5, left: 1, right: 2, missing_left: false });
        assert_eq!(scores, [1.5, 1.5, 11.0, 11.0]);
        // l1 = 1 draws the sums 3 and 22 towards 0.
        assert_eq!(
            fit(&data, &[1.0, 2.0, 10.0, 12.0], &BoostedTreesConfig { l1: 1.0, ..stump.clone() }).1,
            [1.0, 1.0, 10.5, 10.5]
        );
        // l2 = 2 shrinks sums 3 and 22 of two documents each.
        assert_eq!(
            fit(&data, &[1.0, 2.0, 10.0, 12.0], &BoostedTreesConfig { l2: Some(2.0), ..stump.clone() }).1,
            [0.75, 0.75, 5.5, 5.5]
        );
    }

    #[test]
    fn two_levels_fit_an_exclusive_or() {
        // Slightly unbalanced: with exact symmetry no first split gains anything.
        let data = dataset(
            2,
            &[&[(0.0, &[0.0, 0.0]), (0.0, &[0.0, 1.0]), (0.0, &[1.0, 0.0]), (0.0, &[1.0, 1.0]), (0.0, &[1.0, 1.0])]],
        );
        let targets = [0.0, 1.0, 1.0, 0.0, 0.0];
        let (_, scores) = fit(&data, &targets, &unlimited());
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
        let leaves = |config: BoostedTreesConfig| {
            fit(&data, &targets, &config).0.iter().filter(|node| matches!(node, Node::Leaf { .. })).count()
        };
        assert_eq!(leaves(BoostedTreesConfig { leaves: 5, ..unlimited() }), 5);
        assert_eq!(leaves(BoostedTreesConfig { max_depth: Some(1), ..unlimited() }), 2);
        assert_eq!(leaves(BoostedTreesConfig { min_documents: 10, ..unlimited() }), 2);
        assert_eq!(leaves(BoostedTreesConfig { min_documents: 11, ..unlimited() }), 1);
        assert_eq!(leaves(BoostedTreesConfig { min_gain: 1e9, ..unlimited() }), 1);
    }

    #[test]
    fn equal_gains_go_to_the_lowest_feature() {
        let data = dataset(2, &[&[(0.0, &[0.0, 0.0]), (0.0, &[1.0, 1.0])]]);
        let (nodes, _) = fit(&data, &[0.0, 1.0], &unlimited());
        assert!(matches!(nodes[0], Node::Split { feature: 0, .. }));
    }

    /// Returns the leaf values of a stump on one feature, and the side to which missing values go.
    fn stump(values: &[f32], targets: &[f64], direction: Direction) -> (Node, Vec<f64>) {
        let documents: Vec<(f32, &[f32])> = values.iter().map(|value| (0.0, std::slice::from_ref(value))).collect();
        let [increasing, decreasing] = [Direction::Increasing, Direction::Decreasing]
            .map(|own| if direction == own { vec![1] } else { Vec::new() });
        let config = BoostedTreesConfig { leaves: 2, increasing, decreasing, ..unlimited() };
        let (nodes, scores) = fit(&dataset(1, &[&documents]), targets, &config);
        (nodes[0].clone(), scores)
    }

    #[test]
    fn missing_values_go_where_they_gain_most() {
        let missing = f32::NAN;
        let split = |threshold, missing_left| Node::Split { feature: 0, threshold, left: 1, right: 2, missing_left };
        let values = [1.0, 2.0, 3.0, missing, missing];
        let found = stump(&values, &[0.0, 0.0, 6.0, 0.0, 0.0], Direction::Any);
        assert_eq!(found, (split(2.5, true), vec![0.0, 0.0, 6.0, 0.0, 0.0]));
        let found = stump(&values, &[0.0, 0.0, 6.0, 6.0, 6.0], Direction::Any);
        assert_eq!(found, (split(2.5, false), vec![0.0, 0.0, 6.0, 6.0, 6.0]));
        // Whether there is a value is all that matters, whatever the direction of the feature.
        for direction in [Direction::Any, Direction::Increasing, Direction::Decreasing] {
            let found = stump(&values, &[0.0, 0.0, 0.0, 6.0, 6.0], direction);
            assert_eq!(found, (split(f32::MAX, false), vec![0.0, 0.0, 0.0, 6.0, 6.0]));
        }
        // Without the direction, the values would fall.
        let (_, scores) = stump(&values, &[6.0, 6.0, 0.0, 1.0, 1.0], Direction::Increasing);
        assert!(scores[0] <= scores[2], "{scores:?}");
        // As many bins as there are codes, without the bin of missing values.
        let many: Vec<f32> = (0..400).map(|i| if i % 2 == 0 { i as f32 } else { missing }).collect();
        let targets: Vec<f64> = (0..400).map(|i| f64::from(u8::from(i % 2 == 1 || i >= 200))).collect();
        assert_eq!(stump(&many, &targets, Direction::Any).0, split(199.0, false));
    }

    /// Makes documents whose targets rise with the first feature, except for a dip. The rise is steeper before the dip
    /// than after it. The second feature is the negative of the first.
    fn dip() -> (RankingDataset, Vec<f64>) {
        let rows: Vec<(f32, [f32; 2])> = (0..24).map(|i| (0.0, [i as f32, -(i as f32)])).collect();
        let documents: Vec<(f32, &[f32])> = rows.iter().map(|(label, row)| (*label, &row[..])).collect();
        let target = |i: u32| match i {
            0..8 => 3.0 * f64::from(i),
            8..16 => -5.0,
            _ => f64::from(i),
        };
        (dataset(2, &[&documents]), (0..24).map(target).collect())
    }

    #[test]
    fn a_monotone_feature_never_lowers_the_score() {
        let (data, targets) = dip();
        let is_sorted = |increasing: &[usize], decreasing: &[usize]| {
            let (increasing, decreasing) = (increasing.to_vec(), decreasing.to_vec());
            let config = BoostedTreesConfig { increasing, decreasing, ..unlimited() };
            let (nodes, scores) = fit(&data, &targets, &config);
            (nodes.len() > 3, scores.is_sorted(), scores.is_sorted_by(|a, b| a >= b))
        };
        assert_eq!(is_sorted(&[], &[]), (true, false, false));
        assert_eq!(is_sorted(&[1], &[2]), (true, true, false));
        assert!(is_sorted(&[2], &[1]).2);
    }

    #[test]
    fn trees_by_level_split_what_is_nearest_to_the_root() {
        let (data, targets) = dip();
        let depth = |growth| {
            let (nodes, _) = fit(&data, &targets, &BoostedTreesConfig { leaves: 4, growth, ..unlimited() });
            let Node::Split { left, right, .. } = nodes[0] else { panic!("a split") };
            [left, right].map(|child| matches!(nodes[child as usize], Node::Split { .. }))
        };
        assert_eq!(depth(Growth::Level), [true, true]);
        // The steep part and the dip lie on one side.
        assert_ne!(depth(Growth::Leaf), [true, true]);
    }

    #[test]
    fn a_leaf_has_enough_curvature() {
        let (data, targets) = dip();
        let leaves = |min_curvature: f64| {
            fit(&data, &targets, &BoostedTreesConfig { min_curvature, ..unlimited() }).0.len().div_ceil(2)
        };
        assert_eq!((leaves(12.0), leaves(12.5)), (2, 1));
    }
}
