//! Scores of documents by a `TreeEnsemble`: one document by itself, or many that walk through the trees in lockstep.

use super::tree_ensemble::{LEAF, TreeArrays, TreeEnsemble, ZERO};
use crate::data::RankingDataset;
use crate::distributed::ProcessGroup;
use crate::parallel;

/// The number of documents in a block. Each block is scored by all trees before the next one starts, so its features
/// stay in the cache.
const ROWS: usize = 64;

/// The number of documents that walk through a tree at the same time.
const SIDE_BY_SIDE: usize = 16;

/// A node, stored in a layout that lets several documents walk through a tree in lockstep.
struct WalkStep {
    feature: u32,
    threshold: f32,
    /// The first child is for values up to the threshold, the second for larger values.
    children: [u32; 2],
    missing_left: bool,
}

impl TreeEnsemble {
    /// Returns the nodes from a root to the leaf that a document reaches.
    fn path(&self, root: u32, row: &[f32]) -> impl Iterator<Item = usize> {
        let next = |&node: &usize| (self.arrays.feature[node] != LEAF).then(|| self.child(node, row));
        std::iter::successors(Some(root as usize), next)
    }

    /// Returns the child to which a split sends a document.
    pub(super) fn child(&self, node: usize, row: &[f32]) -> usize {
        let TreeArrays { feature, threshold, left, right, missing_left, zero_missing, .. } = &self.arrays;
        let value = row[feature[node] as usize];
        let names = |nodes: &[u32]| nodes.binary_search(&(node as u32)).is_ok();
        let is_missing = value.is_nan() || value.abs() <= ZERO && names(zero_missing);
        let goes_left = if is_missing { names(missing_left) } else { value <= threshold[node] };
        if goes_left { left[node] as usize } else { right[node] as usize }
    }

    /// For each node, returns the number of documents that reach it.
    ///
    /// # Shapes
    /// - `features`: `[documents x features]`, row-major
    pub(crate) fn reached(&self, features: &[f32]) -> Vec<u32> {
        let mut counts = vec![0; self.arrays.feature.len()];
        for row in features.chunks_exact(self.feature_count.max(1)) {
            self.arrays.roots.iter().flat_map(|&root| self.path(root, row)).for_each(|node| counts[node] += 1);
        }
        counts
    }

    /// Computes the score of one document from its features.
    ///
    /// # Panics
    /// Panics if `row` has fewer features than the ensemble.
    pub fn score(&self, row: &[f32]) -> f64 {
        let value = |&root| self.path(root, row).last().map_or(0.0, |leaf| self.arrays.value[leaf]);
        self.arrays.roots.iter().map(value).fold(0.0, |sum, value| self.sums.add(sum, value))
    }

    /// Computes the scores of several documents in parallel.
    ///
    /// # Shapes
    /// - `features`: `[documents x features]`, row-major
    /// - output: `[documents]`
    pub fn scores(&self, features: &[f32]) -> Vec<f64> {
        let width = self.feature_count.max(1);
        let mut scores = vec![0.0; features.len() / width];
        if !self.arrays.zero_missing.is_empty() {
            parallel::for_each(scores.chunks_mut(ROWS).zip(features.chunks(ROWS * width)), |(scores, rows)| {
                scores.iter_mut().zip(rows.chunks_exact(width)).for_each(|(score, row)| *score = self.score(row));
            });
            return scores;
        }
        let steps = self.steps();
        let add_tree =
            if self.arrays.missing_left.is_empty() { Self::add_tree::<false> } else { Self::add_tree::<true> };
        parallel::for_each(scores.chunks_mut(ROWS).zip(features.chunks(ROWS * width)), |(scores, rows)| {
            for &root in &self.arrays.roots {
                let groups = scores.chunks_mut(SIDE_BY_SIDE).zip(rows.chunks(SIDE_BY_SIDE * width));
                groups.for_each(|(scores, rows)| add_tree(self, &steps, root, rows, scores));
            }
        });
        scores
    }

    /// Returns the [scores](Self::scores) of all documents in a dataset. Features stored in a file are read block by
    /// block.
    pub(crate) fn scores_of(&self, data: &RankingDataset) -> Vec<f64> {
        self.scores_by(ProcessGroup::ALONE, data)
    }

    /// Computes [`scores_of`](Self::scores_of) together with the other readers of the data. Each process scores the
    /// documents whose features it reads.
    #[cfg(feature = "learners")]
    pub(crate) fn scores_together(&self, data: &RankingDataset) -> Vec<f64> {
        self.scores_by(data.features.readers(), data)
    }

    fn scores_by(&self, readers: &ProcessGroup, data: &RankingDataset) -> Vec<f64> {
        let mut scores = Vec::with_capacity(data.features.parts().most_rows(data.documents(), readers));
        data.features.each_own_block(data.feature_count, readers, 1, |rows| scores.extend(self.scores(rows)));
        readers.gather_numbers(scores)
    }

    /// Returns all nodes in a layout that lets several documents walk through a tree in lockstep. A leaf is its own
    /// child, so a document that reaches its leaf early stays there while other documents walk on.
    fn steps(&self) -> Vec<WalkStep> {
        let TreeArrays { feature, threshold, left, right, missing_left, .. } = &self.arrays;
        let step = |node: usize| {
            let (threshold, missing_left) = (threshold[node], false);
            match feature[node] {
                LEAF => WalkStep { feature: 0, threshold, children: [node as u32; 2], missing_left },
                feature => WalkStep { feature, threshold, children: [left[node], right[node]], missing_left },
            }
        };
        let mut steps: Vec<WalkStep> = (0..feature.len()).map(step).collect();
        missing_left.iter().for_each(|&node| steps[node as usize].missing_left = true);
        steps
    }

    /// Adds the values of one tree to the scores of at most [`SIDE_BY_SIDE`] documents. Each document's path through
    /// the tree is independent of the others, so the processor can follow several at once. `MISSING` says whether any
    /// split sends missing values left.
    fn add_tree<const MISSING: bool>(&self, steps: &[WalkStep], root: u32, rows: &[f32], scores: &mut [f64]) {
        let mut nodes = [root; SIDE_BY_SIDE];
        let nodes = &mut nodes[..scores.len()];
        let mut on_the_way = self.arrays.feature[root as usize] != LEAF;
        while on_the_way {
            on_the_way = false;
            for (node, row) in nodes.iter_mut().zip(rows.chunks_exact(self.feature_count)) {
                let step = &steps[*node as usize];
                let value = row[step.feature as usize];
                let goes_left = (value <= step.threshold) | (MISSING & step.missing_left & value.is_nan());
                let next = step.children[usize::from(!goes_left)];
                on_the_way |= next != *node;
                *node = next;
            }
        }
        let values = nodes.iter().map(|&node| self.arrays.value[node as usize]);
        scores.iter_mut().zip(values).for_each(|(score, value)| *score = self.sums.add(*score, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranker::Node;
    use crate::testing::scattered;

    fn stump(feature: u32, threshold: f32, low: f64, high: f64) -> Vec<Node> {
        vec![
            Node::Split { feature, threshold, left: 1, right: 2, missing_left: false },
            Node::Leaf { value: low },
            Node::Leaf { value: high },
        ]
    }

    #[test]
    fn scores_are_sums_over_trees() {
        let mut trees = TreeEnsemble::new(2);
        assert_eq!(trees.scores(&[1.0, 2.0]), [0.0]);
        trees.push(&stump(0, 0.5, -1.0, 1.0)).unwrap();
        trees.push(&stump(1, 2.0, 0.25, 4.0)).unwrap();
        // The threshold itself goes left; NaN goes right.
        let rows = [0.0, 0.0, 0.5, 2.0, 0.6, 2.1, f32::NAN, 0.0];
        assert_eq!(trees.scores(&rows), [-0.75, -0.75, 5.0, 1.25]);
    }

    #[test]
    fn many_documents_get_the_scores_of_each() {
        for missing in [false, true] {
            many_documents(missing);
        }
    }

    fn many_documents(missing: bool) {
        let mut trees = TreeEnsemble::new(3);
        for tree in 0..5 {
            // A chain of thresholds: leaves of every depth.
            let mut nodes = Vec::new();
            for level in 0..tree {
                let (left, right) = (2 * level + 1, 2 * level + 2);
                let (threshold, missing_left) = (0.2 * level as f32, missing && level % 2 == 0);
                nodes.push(Node::Split { feature: level % 3, threshold, left, right, missing_left });
                nodes.push(Node::Leaf { value: f64::from(level) * 0.1 });
            }
            nodes.push(Node::Leaf { value: -0.7 });
            trees.push(&nodes).unwrap();
        }
        let value = |(i, x): (usize, f64)| if i.is_multiple_of(5) { f32::NAN } else { x as f32 / 1009.0 };
        let features: Vec<f32> = scattered(3 * 333, 1009).enumerate().map(value).collect();
        let each: Vec<f64> = features.chunks_exact(3).map(|row| trees.score(row)).collect();
        assert_eq!(trees.scores(&features), each);
    }

    #[test]
    fn zero_is_missing_where_a_split_says_so() {
        let mut arrays = TreeArrays { zero_missing: vec![0], missing_left: vec![0], ..TreeArrays::default() };
        arrays.roots = vec![0, 3];
        arrays.feature = vec![0, LEAF, LEAF, 0, LEAF, LEAF];
        arrays.threshold = vec![-1.0, 0.0, 0.0, -1.0, 0.0, 0.0];
        arrays.left = vec![1, 0, 0, 4, 0, 0];
        arrays.right = vec![2, 0, 0, 5, 0, 0];
        arrays.value = vec![0.0, 1.0, 2.0, 0.0, 10.0, 20.0];
        let trees = TreeEnsemble::from_arrays(1, arrays.clone()).unwrap();
        // 0 goes left only at the first tree, as a missing value does.
        assert_eq!(trees.scores(&[0.0, -0.0, ZERO, 2.0 * ZERO, -2.0, f32::NAN]), [21.0, 21.0, 21.0, 22.0, 11.0, 21.0]);
        arrays.zero_missing = vec![1];
        let error = TreeEnsemble::from_arrays(1, arrays).unwrap_err().to_string();
        assert_eq!(error, "tree ensemble: zero_missing[0] = 1: expected splits in ascending order");
    }
}
