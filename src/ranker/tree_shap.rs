//! `TreeShap` computes how much each feature contributes to the scores of a sum of trees.
//!
//! The algorithm is path-dependent TreeSHAP. It comes from Lundberg et al., "From local explanations to global
//! understanding with explainable AI for trees", Nature Machine Intelligence 2, 2020, algorithm 2. TreeSHAP first
//! defines a document's score when only the features of a set `S` are known. At a split on a feature in `S`, a walk
//! through the tree follows the document. At a split on any other feature, the walk takes the mean of both sides,
//! weighted by the number of background documents that reach each side. The contribution of a feature is its Shapley
//! value in the game whose payoffs are these scores. The expected value is the mean score of the background. Adding a
//! document's contributions to the expected value gives the document's score.
//!
//! Consider a leaf, and the features `j` on which the path from the root to the leaf splits. Let `o_j` be 1 if the
//! document continues on the path at feature `j`, and `z_j` the share of the background that does. The weights of all
//! sets of features add up to the following integral:
//!
//! ```text
//! contribution of i = value (o_i - z_i) * integral over t in [0, 1] of prod_{j != i} (o_j t + z_j (1 - t))
//! ```
//!
//! The integrand is a polynomial, which Gauss-Legendre quadrature integrates exactly with half as many nodes as there
//! are features. All terms of the quadrature have the same sign, so no digits are lost for deep trees. Algorithms that
//! add and remove one feature at a time lose digits on deep trees.
//!
//! The caller provides background data, so the ranker's file need not contain node statistics. Explaining a document
//! costs O(T L D^2) for T trees of L leaves that are at most D splits deep.

use super::error::ModelError;
use super::tree_ensemble::{LEAF, TreeEnsemble};
use crate::parallel;
use crate::quadrature::gauss_legendre;

/// Explains the scores of a [`TreeEnsemble`].
#[derive(Debug)]
pub(super) struct TreeShap<'a> {
    trees: &'a TreeEnsemble,
    /// For each node, the share of its parent's background documents that reach it, or 1 for a root.
    shares: Vec<f64>,
    /// The nodes of a quadrature that is exact for the longest path.
    nodes: Vec<Node>,
    /// The mean score of the background documents.
    pub expected: f64,
}

impl<'a> TreeShap<'a> {
    /// Counts the background documents at each node of the trees. If no background document reaches a split, each of
    /// its two sides gets a share of one half.
    ///
    /// # Shapes
    /// - `background`: `[documents x features]`, row-major
    ///
    /// # Errors
    /// Returns [`ModelError`] if a node has two parents, which happens only in a file made by hand.
    pub fn new(trees: &'a TreeEnsemble, background: &[f32]) -> Result<Self, ModelError> {
        let arrays = trees.arrays();
        let mut parents = vec![0u32; arrays.feature.len()];
        let children = (0..arrays.feature.len()).filter(|&node| arrays.feature[node] != LEAF);
        let children = children.flat_map(|node| [arrays.left[node], arrays.right[node]]);
        for node in children.chain(arrays.roots.iter().copied()) {
            parents[node as usize] += 1;
            if parents[node as usize] > 1 {
                let reason = "has two parents, so that its trees cannot be explained";
                return Err(ModelError(format!("tree ensemble: node {node} {reason}")));
            }
        }
        let counts = trees.reached(background);
        let mut shares = vec![1.0; arrays.feature.len()];
        for node in (0..shares.len()).filter(|&node| arrays.feature[node] != LEAF) {
            for child in [arrays.left[node], arrays.right[node]].map(|child| child as usize) {
                shares[child] = if counts[node] > 0 { f64::from(counts[child]) / f64::from(counts[node]) } else { 0.5 };
            }
        }
        let count = depth(trees).min(trees.feature_count()).div_ceil(2).max(1);
        // Moved from [-1, 1] to [0, 1].
        let node = |(x, weight)| Node { at: 0.5 * (1.0 + x), weight: 0.5 * weight };
        let nodes = gauss_legendre(count).into_iter().map(node).collect();
        let mut shap = Self { trees, shares, nodes, expected: 0.0 };
        shap.expected = arrays.roots.iter().map(|&root| shap.expected_of(root as usize)).sum();
        Ok(shap)
    }

    fn expected_of(&self, root: usize) -> f64 {
        let arrays = self.trees.arrays();
        let (mut sum, mut waiting) = (0.0, vec![(root, 1.0)]);
        while let Some((node, share)) = waiting.pop() {
            if arrays.feature[node] == LEAF {
                sum += share * arrays.value[node];
                continue;
            }
            let children = [arrays.right[node], arrays.left[node]].map(|child| child as usize);
            waiting.extend(children.map(|child| (child, share * self.shares[child])));
        }
        sum
    }

    /// Returns the contribution of each feature to the score of a document.
    ///
    /// # Panics
    /// Panics if `row` has fewer features than the trees.
    pub fn contributions(&self, row: &[f32]) -> Vec<f64> {
        let mut sums = vec![0.0; self.trees.feature_count()];
        for &root in &self.trees.arrays().roots {
            self.add_tree(root as usize, row, &mut sums);
        }
        sums
    }

    /// Returns the contributions of all documents, computed in parallel.
    ///
    /// # Shapes
    /// - `features` and output: `[documents x features]`, row-major
    pub fn all(&self, features: &[f32]) -> Vec<f64> {
        let width = self.trees.feature_count().max(1);
        parallel::map(features.chunks_exact(width), |row| self.contributions(row)).concat()
    }

    /// Adds one tree's contributions to `sums`.
    fn add_tree(&self, root: usize, row: &[f32], sums: &mut [f64]) {
        let arrays = self.trees.arrays();
        let start = Path { steps: Vec::new(), products: vec![1.0; self.nodes.len()] };
        let mut waiting = vec![(root, start)];
        while let Some((node, mut path)) = waiting.pop() {
            let feature = arrays.feature[node];
            if feature == LEAF {
                for step in &path.steps {
                    let weight = self.weight_without(step, &path);
                    sums[step.feature as usize] += weight * (step.one - step.zero) * arrays.value[node];
                }
                continue;
            }
            // A feature appears on a path only once, with all its splits combined.
            let (zero, one) = self.take(feature, &mut path);
            let taken = self.trees.child(node, row);
            for child in [arrays.right[node], arrays.left[node]].map(|child| child as usize) {
                let (zero, one) = (zero * self.shares[child], if child == taken { one } else { 0.0 });
                // A child with neither share is reached by no set of features.
                if zero > 0.0 || one > 0.0 {
                    let mut longer = path.clone();
                    self.add(Step { feature, zero, one }, &mut longer);
                    waiting.push((child, longer));
                }
            }
        }
    }

    fn add(&self, step: Step, path: &mut Path) {
        path.products.iter_mut().zip(&self.nodes).for_each(|(product, node)| *product *= step.factor(node));
        path.steps.push(step);
    }

    /// Removes a feature from the path and returns its two shares, `zero` and `one`. Returns `(1, 1)` if no split on
    /// the path uses the feature.
    fn take(&self, feature: u32, path: &mut Path) -> (f64, f64) {
        let Some(place) = path.steps.iter().position(|step| step.feature == feature) else { return (1.0, 1.0) };
        let step = path.steps.remove(place);
        path.products.iter_mut().zip(&self.nodes).for_each(|(product, node)| *product /= step.factor(node));
        (step.zero, step.one)
    }

    /// Returns the share of documents that follow the path to a leaf if the splits on the feature of `step` are
    /// ignored. This share is an average over all sets of known features, with the weights of the Shapley value.
    fn weight_without(&self, step: &Step, path: &Path) -> f64 {
        let terms = path.products.iter().zip(&self.nodes);
        terms.map(|(product, node)| node.weight * product / step.factor(node)).sum()
    }
}

/// Returns the number of splits on the longest path from a root to a leaf.
fn depth(trees: &TreeEnsemble) -> usize {
    let arrays = trees.arrays();
    let mut depths = vec![0usize; arrays.feature.len()];
    // Children come after their parents.
    for node in (0..depths.len()).filter(|&node| arrays.feature[node] != LEAF) {
        for child in [arrays.left[node], arrays.right[node]] {
            depths[child as usize] = depths[node] + 1;
        }
    }
    depths.into_iter().max().unwrap_or(0)
}

/// A feature on the path from the root to a node.
#[derive(Debug, Clone, Copy)]
struct Step {
    feature: u32,
    /// The share of background documents that follow the path at the splits on this feature.
    zero: f64,
    /// 1 if the document itself continues on the path, and 0 otherwise.
    one: f64,
}

impl Step {
    /// Returns the share of documents that continue on the path if the feature is known with probability `node.at`.
    fn factor(&self, node: &Node) -> f64 {
        self.one * node.at + self.zero * (1.0 - node.at)
    }
}

/// The features on the path to a node, and the product of their factors at each node of the quadrature.
#[derive(Debug, Clone)]
struct Path {
    steps: Vec<Step>,
    products: Vec<f64>,
}

/// A node of the quadrature and its weight.
#[derive(Debug, Clone, Copy)]
struct Node {
    at: f64,
    weight: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranker::Node as TreeNode;
    use crate::testing::uniform;

    /// Creates a complete tree of a given depth, in which a path splits on some features more than once.
    fn full_tree(depth: u32, features: usize, seed: u64) -> Vec<TreeNode> {
        let splits = (1usize << depth) - 1;
        let drawn = uniform(seed, 4 * splits + 2);
        let node = |number: usize| match number < splits {
            true => TreeNode::Split {
                feature: (drawn[2 * number].abs() * features as f64) as u32,
                threshold: drawn[2 * number + 1].abs() as f32,
                left: 2 * number as u32 + 1,
                right: 2 * number as u32 + 2,
                missing_left: number.is_multiple_of(2),
            },
            false => TreeNode::Leaf { value: drawn[2 * number] },
        };
        (0..2 * splits + 1).map(node).collect()
    }

    fn rows(documents: usize, features: usize, seed: u64) -> Vec<f32> {
        let drawn = uniform(seed, documents * features).into_iter().enumerate();
        drawn.map(|(at, value)| if at % 11 == 5 { f32::NAN } else { value.abs() as f32 }).collect()
    }

    /// Returns the score of a document when only the features in the set `known` are known.
    fn game(shap: &TreeShap, node: usize, row: &[f32], known: u32) -> f64 {
        let arrays = shap.trees.arrays();
        let feature = arrays.feature[node];
        if feature == LEAF {
            return arrays.value[node];
        }
        if known & (1 << feature) != 0 {
            return game(shap, shap.trees.child(node, row), row, known);
        }
        let children = [arrays.left[node], arrays.right[node]].map(|child| child as usize);
        children.iter().map(|&child| shap.shares[child] * game(shap, child, row, known)).sum()
    }

    fn factorial(n: u32) -> f64 {
        (1..=n).map(f64::from).product()
    }

    /// Computes contributions by Shapley's formula over all sets of features.
    fn by_force(shap: &TreeShap, row: &[f32]) -> Vec<f64> {
        let features = shap.trees.feature_count() as u32;
        let value = |known: u32| {
            shap.trees.arrays().roots.iter().map(|&root| game(shap, root as usize, row, known)).sum::<f64>()
        };
        let values: Vec<f64> = (0..1 << features).map(value).collect();
        let of = |feature: u32| {
            let without = (0..1u32 << features).filter(|known| known & (1 << feature) == 0);
            let term = |known: u32| {
                let weight =
                    factorial(known.count_ones()) * factorial(features - known.count_ones() - 1) / factorial(features);
                weight * (values[(known | 1 << feature) as usize] - values[known as usize])
            };
            without.map(term).sum()
        };
        (0..features).map(of).collect()
    }

    #[test]
    fn contributions_are_the_shapley_values_of_all_sets_of_features() {
        for (depth, features) in [(0, 1), (1, 2), (3, 2), (4, 5), (5, 7)] {
            let mut trees = TreeEnsemble::new(features);
            for tree in 0..4 {
                trees.push(&full_tree(depth, features, 10 * tree + u64::from(depth))).unwrap();
            }
            // With one background document, all others go where it does not.
            for documents in [0, 1, 40] {
                let background = rows(documents, features, 5);
                let shap = TreeShap::new(&trees, &background).unwrap();
                for row in rows(20, features, 9).chunks(features).chain(background.chunks(features)) {
                    let found = shap.contributions(row);
                    for (found, expected) in found.iter().zip(by_force(&shap, row)) {
                        assert!((found - expected).abs() < 1e-12, "depth {depth}: {found} {expected}");
                    }
                }
                let mean = trees.scores(&background).iter().sum::<f64>() / documents as f64;
                assert!(documents == 0 || (shap.expected - mean).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn contributions_and_the_expected_value_sum_to_the_score() {
        let mut trees = TreeEnsemble::new(40);
        // A chain is as deep as it has features.
        let mut chain = Vec::new();
        for (level, value) in (0..).zip(uniform(2, 36)) {
            let (left, right) = (2 * level + 2, 2 * level + 1);
            let threshold = if level % 2 == 0 { 0.95 } else { 0.9 };
            chain.push(TreeNode::Split { feature: level, threshold, left, right, missing_left: true });
            chain.push(TreeNode::Leaf { value });
        }
        chain.push(TreeNode::Leaf { value: 1.0 });
        trees.push(&chain).unwrap();
        trees.push(&full_tree(8, 40, 3)).unwrap();
        let (background, features) = (rows(200, 40, 1), rows(50, 40, 77));
        let shap = TreeShap::new(&trees, &background).unwrap();
        let all = shap.all(&features);
        for (row, found) in features.chunks(40).zip(all.chunks(40)) {
            let sum = shap.expected + found.iter().sum::<f64>();
            assert!((sum - trees.score(row)).abs() < 1e-12, "{sum} {}", trees.score(row));
            assert_eq!(found, shap.contributions(row));
        }
    }

    #[test]
    fn trees_that_share_a_node_are_refused() {
        let mut trees = TreeEnsemble::new(1);
        let split = TreeNode::Split { feature: 0, threshold: 0.0, left: 1, right: 1, missing_left: false };
        trees.push(&[split, TreeNode::Leaf { value: 0.0 }]).unwrap();
        let error = TreeShap::new(&trees, &[]).unwrap_err().to_string();
        assert_eq!(error, "tree ensemble: node 1 has two parents, so that its trees cannot be explained");
    }
}
