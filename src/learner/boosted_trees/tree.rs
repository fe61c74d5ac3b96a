//! One regression tree on binned features, grown best leaf first.
//!
//! A leaf with gradient sum `G` and curvature sum `H` has the value `-G / (H + l2)`. A split gains
//! `G_L^2 / (H_L + l2) + G_R^2 / (H_R + l2) - G^2 / (H + l2)`, twice the decrease of the second-order model of the
//! loss. With curvature 1 for each document this is the least-squares tree on the negative gradient.
//!
//! Cost: for each split, one pass over the documents of the smaller child, times features; the histogram of the other
//! child is the difference from the parent. Features are scanned in parallel and compared in order, so threads change
//! nothing. Among equal gains the lowest feature wins, then the lowest threshold.

use rayon::prelude::*;

use crate::learner::solver::bins::Bins;
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

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    gradient: f64,
    curvature: f64,
    documents: usize,
}

impl Sums {
    fn add(&mut self, gradient: f64, curvature: f64) {
        self.gradient += gradient;
        self.curvature += curvature;
        self.documents += 1;
    }

    fn plus(self, other: Sums) -> Sums {
        Sums {
            gradient: self.gradient + other.gradient,
            curvature: self.curvature + other.curvature,
            documents: self.documents + other.documents,
        }
    }

    fn minus(self, other: Sums) -> Sums {
        Sums {
            gradient: self.gradient - other.gradient,
            curvature: self.curvature - other.curvature,
            documents: self.documents - other.documents,
        }
    }

    fn merit(self, l2: f64) -> f64 {
        self.gradient * self.gradient / (self.curvature + l2).max(f64::MIN_POSITIVE)
    }

    fn leaf_value(self, l2: f64) -> f64 {
        -self.gradient / (self.curvature + l2).max(f64::MIN_POSITIVE)
    }
}

/// One histogram for each feature of the sample.
type Histograms = Vec<Vec<Sums>>;

#[derive(Debug, Clone, Copy)]
struct Split {
    gain: f64,
    feature: usize,
    bin: usize,
}

/// A leaf that may still be split.
struct Frontier {
    node: usize,
    depth: usize,
    documents: Vec<u32>,
    sums: Sums,
    histograms: Histograms,
    split: Option<Split>,
}

/// Grows a tree on a sample of documents (ascending) and features (ascending). Parents come before their children in
/// the result.
pub(super) fn grow(
    bins: &Bins,
    documents: Vec<u32>,
    features: &[usize],
    derivatives: &Derivatives,
    params: &TreeParams,
) -> Vec<Node> {
    let grower = Grower { bins, features, derivatives, params };
    let sums = grower.sums(&documents);
    let histograms = grower.histograms(&documents);
    let mut nodes = vec![Node::Leaf { value: sums.leaf_value(params.l2) }];
    let mut frontier = vec![grower.frontier(0, 0, documents, sums, histograms)];
    for _ in 1..params.leaves {
        let best = frontier.iter().enumerate().filter_map(|(place, leaf)| Some((place, leaf.split?))).fold(
            None,
            |best: Option<(usize, Split)>, next| match best {
                Some(best) if best.1.gain >= next.1.gain => Some(best),
                _ => Some(next),
            },
        );
        let Some((place, split)) = best else { break };
        let leaf = frontier.remove(place);
        let (left, right) = (nodes.len(), nodes.len() + 1);
        nodes[leaf.node] = Node::Split {
            feature: split.feature as u32,
            threshold: bins.thresholds(split.feature)[split.bin],
            left: left as u32,
            right: right as u32,
        };
        for child in grower.split(leaf, split, [left, right]) {
            nodes.push(Node::Leaf { value: child.sums.leaf_value(params.l2) });
            frontier.push(child);
        }
    }
    nodes
}

struct Grower<'a> {
    bins: &'a Bins,
    features: &'a [usize],
    derivatives: &'a Derivatives,
    params: &'a TreeParams,
}

impl Grower<'_> {
    fn sums(&self, documents: &[u32]) -> Sums {
        let mut sums = Sums::default();
        for &d in documents {
            sums.add(self.derivatives.gradient[d as usize], self.derivatives.curvature[d as usize]);
        }
        sums
    }

    fn histograms(&self, documents: &[u32]) -> Histograms {
        let Derivatives { gradient, curvature } = self.derivatives;
        self.features
            .par_iter()
            .with_min_len(8)
            .map(Execution::current().bind(|&feature| {
                let codes = self.bins.codes(feature);
                let mut histogram = vec![Sums::default(); self.bins.thresholds(feature).len() + 1];
                for &d in documents {
                    let d = d as usize;
                    histogram[codes[d] as usize].add(gradient[d], curvature[d]);
                }
                histogram
            }))
            .collect()
    }

    fn frontier(&self, node: usize, depth: usize, documents: Vec<u32>, sums: Sums, histograms: Histograms) -> Frontier {
        let split = (depth < self.params.max_depth).then(|| self.best_split(sums, &histograms)).flatten();
        Frontier { node, depth, documents, sums, histograms, split }
    }

    fn best_split(&self, sums: Sums, histograms: &Histograms) -> Option<Split> {
        let best_of = |(&feature, histogram): (&usize, &Vec<Sums>)| {
            let TreeParams { min_documents, l2, min_gain, .. } = *self.params;
            let (mut left, mut best): (Sums, Option<Split>) = (Sums::default(), None);
            for (bin, &bin_sums) in histogram.iter().enumerate().take(histogram.len() - 1) {
                left = left.plus(bin_sums);
                let right = sums.minus(left);
                if left.documents < min_documents || right.documents < min_documents {
                    continue;
                }
                let gain = left.merit(l2) + right.merit(l2) - sums.merit(l2);
                if gain > best.map_or(min_gain, |split| split.gain) {
                    best = Some(Split { gain, feature, bin });
                }
            }
            best
        };
        let splits: Vec<Option<Split>> =
            self.features.par_iter().zip(histograms).with_min_len(8).map(Execution::current().bind(best_of)).collect();
        splits.into_iter().flatten().reduce(|best, next| if next.gain > best.gain { next } else { best })
    }

    fn split(&self, leaf: Frontier, split: Split, nodes: [usize; 2]) -> [Frontier; 2] {
        let codes = self.bins.codes(split.feature);
        let (left, right): (Vec<u32>, Vec<u32>) =
            leaf.documents.iter().partition(|&&d| codes[d as usize] as usize <= split.bin);
        let (left_sums, right_sums) = (self.sums(&left), self.sums(&right));
        let left_is_smaller = left.len() <= right.len();
        let smaller = self.histograms(if left_is_smaller { &left } else { &right });
        let mut larger = leaf.histograms;
        for (histogram, other) in larger.iter_mut().zip(&smaller) {
            histogram.iter_mut().zip(other).for_each(|(sums, other)| *sums = sums.minus(*other));
        }
        let (left_histograms, right_histograms) = if left_is_smaller { (smaller, larger) } else { (larger, smaller) };
        let depth = leaf.depth + 1;
        [
            self.frontier(nodes[0], depth, left, left_sums, left_histograms),
            self.frontier(nodes[1], depth, right, right_sums, right_histograms),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::RankingDataset;
    use crate::learner::testing::dataset;
    use crate::ranker::TreeEnsemble;

    const UNLIMITED: TreeParams = TreeParams { leaves: 16, max_depth: 16, min_documents: 1, l2: 0.0, min_gain: 1e-9 };

    fn fit(data: &RankingDataset, targets: &[f64], params: &TreeParams) -> (Vec<Node>, Vec<f64>) {
        let bins = Bins::new(data, 255);
        let derivatives = Derivatives {
            gradient: targets.iter().map(|target| -target).collect(),
            curvature: vec![1.0; targets.len()],
        };
        let features: Vec<usize> = (0..data.feature_count).collect();
        let nodes = grow(&bins, (0..targets.len() as u32).collect(), &features, &derivatives, params);
        let mut trees = TreeEnsemble::new(data.feature_count);
        trees.push(&nodes).unwrap();
        (nodes, trees.scores(&data.features))
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
