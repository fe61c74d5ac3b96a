//! Partial dependence is the mean score of a set of documents as one feature changes and all others keep their values.
//!
//! Friedman introduced partial dependence in "Greedy function approximation", Annals of Statistics 29 (2001), section
//! 8.2. To compute partial dependence, each document passes through each tree only once, for all values of the feature
//! together. At a split on this feature, the values go to different children; at any other split, all values follow the
//! document. Every leaf adds its value to the scores of the feature values that reach it. The result is the same as if
//! every document were scored again for each value. For T trees of depth D, a document costs O(T D), plus the number of
//! leaves that any of the values reaches.

use super::tree_ensemble::{LEAF, TreeEnsemble};
use crate::parallel;

/// The number of documents in the chunk that one thread scores.
const AT_ONCE: usize = 64;

impl TreeEnsemble {
    /// Returns the mean score of the documents when their `feature` (counted from 0) is replaced by each of `values`.
    /// Without documents, every mean is 0. NaN stands for a missing value.
    ///
    /// ```
    /// use burn_rank::ranker::TreeEnsemble;
    ///
    /// // The first feature leads to 0 or to a split by the second, which leads to 2 or 6.
    /// let leaf = u32::MAX;
    /// let trees: TreeEnsemble = serde_json::from_value(serde_json::json!({
    ///     "feature_count": 2,
    ///     "roots": [0],
    ///     "feature": [0, leaf, 1, leaf, leaf],
    ///     "threshold": [0.5, 0.0, 0.5, 0.0, 0.0],
    ///     "left": [1, 0, 3, 0, 0],
    ///     "right": [2, 0, 4, 0, 0],
    ///     "value": [0.0, 0.0, 0.0, 2.0, 6.0],
    /// }))?;
    /// // One of two documents has the second feature.
    /// assert_eq!(trees.partial_dependence(&[7.0, 0.0, 7.0, 1.0], 0, &[0.0, 1.0]), [0.0, 4.0]);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    ///
    /// # Shapes
    /// - `documents`: `[documents x features]`, row-major
    pub fn partial_dependence(&self, documents: &[f32], feature: usize, values: &[f32]) -> Vec<f64> {
        let width = self.feature_count().max(1);
        let mut order: Vec<usize> = (0..values.len()).filter(|&place| !values[place].is_nan()).collect();
        order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
        let ascending: Vec<f32> = order.iter().map(|&place| values[place]).collect();
        let of_chunk = |rows: &[f32]| {
            let (mut sums, mut missing, mut row_of) = (vec![0.0; ascending.len()], 0.0, Vec::with_capacity(width));
            for row in rows.chunks_exact(width) {
                self.add_walks(row, feature as u32, &ascending, &mut sums);
                if ascending.len() < values.len() {
                    row_of.clear();
                    row_of.extend_from_slice(row);
                    if let Some(value) = row_of.get_mut(feature) {
                        *value = f32::NAN;
                    }
                    missing += self.score(&row_of);
                }
            }
            sums.push(missing);
            sums
        };
        let chunks = parallel::map(documents.chunks(AT_ONCE * width), of_chunk);
        let count = (documents.len() / width).max(1) as f64;
        let mean = |place: usize| chunks.iter().map(|sums| sums[place]).sum::<f64>() / count;
        let mut means = vec![mean(ascending.len()); values.len()];
        order.iter().enumerate().for_each(|(sorted, &place)| means[place] = mean(sorted));
        means
    }

    /// For each of the ascending `values`, adds to `sums` the document's score when the feature has that value.
    fn add_walks(&self, row: &[f32], feature: u32, values: &[f32], sums: &mut [f64]) {
        let arrays = self.arrays();
        let mut waiting = Vec::new();
        for &root in &arrays.roots {
            waiting.push((root as usize, 0..values.len()));
            while let Some((node, reaching)) = waiting.pop() {
                if reaching.is_empty() {
                    continue;
                }
                match arrays.feature[node] {
                    LEAF => sums[reaching].iter_mut().for_each(|sum| *sum += arrays.value[node]),
                    split if split == feature && arrays.zero_missing.binary_search(&(node as u32)).is_ok() => {
                        // The values that count as missing lie between others.
                        let mut row = row.to_vec();
                        waiting.extend(reaching.map(|at| {
                            row[feature as usize] = values[at];
                            (self.child(node, &row), at..at + 1)
                        }));
                    }
                    split if split == feature => {
                        let left = values[reaching.clone()].partition_point(|&value| value <= arrays.threshold[node]);
                        let middle = reaching.start + left;
                        waiting.push((arrays.left[node] as usize, reaching.start..middle));
                        waiting.push((arrays.right[node] as usize, middle..reaching.end));
                    }
                    _ => waiting.push((self.child(node, row), reaching)),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng, RngExt};

    use super::*;
    use crate::ranker::Node;
    use crate::testing::random;

    /// Grows a random tree of the given depth, for documents with three features whose values range from 0 to 4.
    fn grow(random: &mut impl Rng, depth: usize) -> Vec<Node> {
        let mut nodes = vec![Node::Leaf { value: 0.0 }];
        let mut waiting = vec![(0, depth)];
        while let Some((node, depth)) = waiting.pop() {
            if depth == 0 || random.random_range(0.0..1.0) < 0.2 {
                nodes[node] = Node::Leaf { value: random.random_range(-1.0..1.0) };
                continue;
            }
            let left = nodes.len();
            nodes[node] = Node::Split {
                feature: random.random_range(0..3),
                threshold: random.random_range(0..4) as f32 + 0.5,
                left: left as u32,
                right: left as u32 + 1,
                missing_left: random.random_range(0.0..1.0) < 0.5,
            };
            for child in [left, left + 1] {
                nodes.push(Node::Leaf { value: 0.0 });
                waiting.push((child, depth - 1));
            }
        }
        nodes
    }

    fn drawn(random: &mut impl Rng) -> f32 {
        if random.random_range(0.0..1.0) < 0.2 { f32::NAN } else { random.random_range(0..5) as f32 }
    }

    #[test]
    fn it_is_the_mean_of_scores_with_the_feature_replaced() {
        let mut random = random(1);
        let mut trees = TreeEnsemble::new(3);
        for _ in 0..20 {
            trees.push(&grow(&mut random, 5)).unwrap();
        }
        // More documents than one thread takes at once.
        let documents: Vec<f32> = (0..3 * 150).map(|_| drawn(&mut random)).collect();
        // In no order, twice, missing, on a threshold, beyond all.
        let values = [2.5, 0.0, 4.0, f32::NAN, 2.5, -1e30, 1.5, f32::MAX];
        // Zero is missing at every other split of the second ensemble.
        let mut arrays = serde_json::to_value(&trees).unwrap();
        let splits = (0..trees.arrays().feature.len()).step_by(2).filter(|&node| trees.arrays().feature[node] != LEAF);
        arrays["zero_missing"] = splits.collect();
        let zero_missing: TreeEnsemble = serde_json::from_value(arrays).unwrap();
        for (trees, feature) in [&trees, &zero_missing].into_iter().flat_map(|of| (0..3).map(move |at| (of, at))) {
            let found = trees.partial_dependence(&documents, feature, &values);
            for (&value, found) in values.iter().zip(found) {
                let mut replaced = documents.clone();
                replaced.iter_mut().skip(feature).step_by(3).for_each(|own| *own = value);
                let expected = trees.scores(&replaced).iter().sum::<f64>() / 150.0;
                assert!((found - expected).abs() < 1e-12, "feature {feature} at {value}: {found} {expected}");
            }
        }
    }

    #[test]
    fn nothing_has_a_mean_of_zero() {
        let trees = TreeEnsemble::new(2);
        assert_eq!(trees.partial_dependence(&[], 0, &[1.0, f32::NAN]), [0.0, 0.0]);
        assert!(trees.partial_dependence(&[1.0, 2.0], 1, &[]).is_empty());
    }
}
