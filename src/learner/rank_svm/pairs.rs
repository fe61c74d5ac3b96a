//! For each query, computes sums over all document pairs whose score difference is below the margin of 1, without
//! enumerating the pairs. If only a few pairs remain below the margin, their squared losses are added one by one, which
//! is more accurate.
//!
//! A pair is two documents `i`, `j` with `y_i > y_j`, and it is active if `s_i - s_j < 1`. The documents are visited in
//! order of score, so the set of partners within the margin only grows. A binary indexed tree over the labels counts
//! and sums the partners with a lower (or higher) label. The cost is O(n log n) for n documents and any number of
//! levels.

use crate::learner::solver::descending;

/// The size of a set of documents, and the sum of the documents' values.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Partners {
    pub(super) count: f64,
    pub(super) sum: f64,
}

/// The documents that form an active pair with a given document.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Active {
    /// The documents with a lower label whose score plus the margin exceeds the given document's score.
    pub(super) below: Partners,
    /// The documents with a higher label whose score minus the margin is below the given document's score.
    pub(super) above: Partners,
}

/// When pairs are added one by one, the number of visited documents is at most this multiple of the number of
/// documents.
const LOOKED_AT: usize = 64;

/// The labels of one query, replaced by their ranks among its distinct labels.
pub(super) struct Levels {
    /// The level of each document, which is 0 for the lowest label of the query, 1 for the next label, and so on.
    level: Vec<usize>,
    count: usize,
}

impl Levels {
    pub(super) fn new(labels: &[f32]) -> Self {
        let mut distinct = labels.to_vec();
        distinct.sort_by(f32::total_cmp);
        distinct.dedup();
        let level = labels.iter().map(|label| distinct.partition_point(|other| other < label)).collect();
        Self { level, count: distinct.len() }
    }

    /// Returns the number of pairs with different labels.
    pub(super) fn pairs(&self) -> f64 {
        let mut sizes = vec![0.0; self.count];
        self.level.iter().for_each(|&level| sizes[level] += 1.0);
        let total: f64 = sizes.iter().sum();
        (total * total - sizes.iter().map(|size| size * size).sum::<f64>()) / 2.0
    }

    /// For each document, returns the number of its partners in active pairs at these `scores`, and the sum of the
    /// partners' `values`.
    pub(super) fn active(&self, scores: &[f64], values: &[f64]) -> Vec<Active> {
        let mut order = descending(scores);
        let below = self.partners(&order, |i, j| scores[i] - scores[j] < 1.0, values, |document| self.level[document]);
        order.reverse();
        let from_above = |document: usize| self.count - 1 - self.level[document];
        let above = self.partners(&order, |j, i| scores[i] - scores[j] < 1.0, values, from_above);
        below.into_iter().zip(above).map(|(below, above)| Active { below, above }).collect()
    }

    /// For each document, returns the count and the values of the documents that have a lower `level` and are `near`.
    /// In this `order`, the documents that are near a document come first, and a later document is near all of them.
    fn partners(
        &self,
        order: &[usize],
        near: impl Fn(usize, usize) -> bool,
        values: &[f64],
        level: impl Fn(usize) -> usize,
    ) -> Vec<Partners> {
        let mut partners = vec![Partners::default(); order.len()];
        let mut tree = Tree::new(self.count);
        let mut entered = 0;
        for &own in order {
            while entered < order.len() && near(own, order[entered]) {
                tree.add(level(order[entered]), values[order[entered]]);
                entered += 1;
            }
            partners[own] = tree.before(level(own));
        }
        partners
    }

    /// Returns `sum (1 - (s_i - s_j))^2` over the active pairs, added one by one, or `None` if there are too many
    /// documents to visit. The faster formula uses sums over documents. It loses all significant digits if few pairs
    /// are active and the score difference of each pair is close to the margin.
    pub(super) fn squared_shortfalls(&self, scores: &[f64]) -> Option<f64> {
        let order = descending(scores);
        let (mut total, mut looked_at, mut within) = (0.0, 0, 0);
        for &i in &order {
            while within < order.len() && scores[i] - scores[order[within]] < 1.0 {
                within += 1;
            }
            if self.level[i] == 0 {
                continue;
            }
            looked_at += within;
            if looked_at > LOOKED_AT * scores.len() {
                return None;
            }
            let below = order[..within].iter().filter(|&&j| self.level[j] < self.level[i]);
            total += below.map(|&j| (1.0 - (scores[i] - scores[j])).powi(2)).sum::<f64>();
        }
        Some(total)
    }
}

/// A binary indexed tree (Fenwick tree) that holds a count and a sum for each level.
struct Tree(Vec<Partners>);

impl Tree {
    fn new(places: usize) -> Self {
        Self(vec![Partners::default(); places + 1])
    }

    fn add(&mut self, place: usize, value: f64) {
        let mut node = place + 1;
        while node < self.0.len() {
            self.0[node].count += 1.0;
            self.0[node].sum += value;
            node += node & node.wrapping_neg();
        }
    }

    /// Returns the total count and sum of all levels below `place`.
    fn before(&self, place: usize) -> Partners {
        let mut total = Partners::default();
        let mut node = place;
        while node > 0 {
            total.count += self.0[node].count;
            total.sum += self.0[node].sum;
            node &= node - 1;
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::testing::random;

    #[test]
    fn sums_agree_with_explicit_pairs() {
        let mut random = random(3);
        for documents in [1, 2, 5, 17, 40] {
            let labels: Vec<f32> = (0..documents).map(|_| random.random_range(0..4) as f32).collect();
            // Multiples of 1/4: many ties, and pairs exactly at the margin, which are not active.
            let scores: Vec<f64> = (0..documents).map(|_| f64::from(random.random_range(-8..8)) / 4.0).collect();
            let values: Vec<f64> = (0..documents).map(|_| f64::from(random.random_range(-9..9))).collect();
            let levels = Levels::new(&labels);
            let mut expected = vec![Active::default(); documents];
            let mut pairs = 0.0;
            for i in 0..documents {
                for j in 0..documents {
                    if labels[i] > labels[j] {
                        pairs += 1.0;
                        if scores[i] - scores[j] < 1.0 {
                            expected[i].below.count += 1.0;
                            expected[i].below.sum += values[j];
                            expected[j].above.count += 1.0;
                            expected[j].above.sum += values[i];
                        }
                    }
                }
            }
            assert_eq!(levels.active(&scores, &values), expected);
            assert_eq!(levels.pairs(), pairs);
            let short = |i: usize, j: usize| labels[i] > labels[j] && scores[i] - scores[j] < 1.0;
            let every = (0..documents).flat_map(|i| (0..documents).map(move |j| (i, j)));
            let squares = every.filter(|&(i, j)| short(i, j)).map(|(i, j)| (1.0 - (scores[i] - scores[j])).powi(2));
            assert_eq!(levels.squared_shortfalls(&scores), Some(squares.sum()));
        }
    }
}
