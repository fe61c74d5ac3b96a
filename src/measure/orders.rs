//! Averages a function over the possible orders of tied documents. If there are too many orders, a fixed random sample
//! represents them.

use std::ops::Range;

use chacha20::ChaCha8Rng;
use rand::SeedableRng;
use rand::seq::SliceRandom;

/// The maximum number of orders of tied documents over which a mean is computed.
const MOST: usize = 120;

/// The labels at all positions, with the ranges of positions that tied documents share.
pub(super) struct Orders {
    labels: Vec<f64>,
    ties: Vec<Range<usize>>,
}

impl Orders {
    pub(super) fn new(labels: &[f64], ties: Vec<Range<usize>>) -> Self {
        let mut labels = labels.to_vec();
        // Starts from the first of all orders, whatever the order was.
        ties.iter().for_each(|tied| labels[tied.clone()].sort_unstable_by(f64::total_cmp));
        Self { labels, ties }
    }

    /// Returns the mean of `value` over the orders of the documents. Arrangements that agree in the label at every
    /// position count only once. Each distinct arrangement stands for equally many orders of documents.
    pub(super) fn mean(mut self, mut value: impl FnMut(&[f64]) -> f64) -> f64 {
        let mut sum = 0.0;
        if let Some(count) = self.count() {
            loop {
                sum += value(&self.labels);
                if !self.advance() {
                    return sum / count as f64;
                }
            }
        }
        let mut random = ChaCha8Rng::seed_from_u64(0);
        for _ in 0..MOST {
            self.ties.iter().for_each(|tied| self.labels[tied.clone()].shuffle(&mut random));
            sum += value(&self.labels);
        }
        sum / MOST as f64
    }

    /// Returns the number of distinct ways to order the labels of tied documents, or `None` if there are too many.
    fn count(&self) -> Option<usize> {
        let mut count = 1usize;
        for tied in &self.ties {
            let mut placed = 0;
            for equal in self.labels[tied.clone()].chunk_by(|a, b| a == b) {
                // Computes C(placed + taken, taken), which is an integer after every factor.
                let mut ways = 1usize;
                for taken in 1..=equal.len() {
                    ways = ways.checked_mul(placed + taken)? / taken;
                    if ways > MOST {
                        return None;
                    }
                }
                placed += equal.len();
                count = Some(count * ways).filter(|count| *count <= MOST)?;
            }
        }
        Some(count)
    }

    /// Moves to the next order. After the last order, returns `false` and starts again from the first.
    fn advance(&mut self) -> bool {
        self.ties.iter().any(|tied| next_permutation(&mut self.labels[tied.clone()]))
    }
}

/// Rearranges `values` into the next arrangement in lexicographic order. After the last order, returns `false` and
/// starts again from the first.
fn next_permutation(values: &mut [f64]) -> bool {
    let Some(fall) = (1..values.len()).rev().find(|&at| values[at - 1] < values[at]) else {
        values.reverse();
        return false;
    };
    let next = (fall..values.len()).rev().find(|&at| values[at] > values[fall - 1]).expect("one at `fall`");
    values.swap(fall - 1, next);
    values[fall..].reverse();
    true
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "one tie is one range")]
mod tests {
    use super::*;

    fn orders(labels: &[f64], ties: &[Range<usize>]) -> Vec<Vec<f64>> {
        let mut seen = Vec::new();
        Orders::new(labels, ties.to_vec()).mean(|labels| {
            seen.push(labels.to_vec());
            0.0
        });
        seen
    }

    #[test]
    fn few_orders_are_all_met_once() {
        let mut found = orders(&[5.0, 1.0, 0.0, 1.0, 2.0, 3.0], &[1..4, 4..6]);
        found.sort_by(|a, b| a.partial_cmp(b).unwrap());
        assert_eq!(found.len(), 6);
        found.dedup();
        assert_eq!(found.len(), 6);
        assert!(found.iter().all(|order| order[0] == 5.0 && order[1..4].iter().sum::<f64>() == 2.0));
        assert_eq!(orders(&[1.0, 1.0, 1.0], &[0..3]), [[1.0; 3]]);
        assert_eq!(orders(&[], &[]), [[0.0; 0]]);
    }

    #[test]
    fn many_orders_are_drawn_the_same_way_each_time() {
        let labels: Vec<f64> = (0..6).map(f64::from).collect();
        assert_eq!(orders(&labels[..5], &[0..5]).len(), 120);
        let drawn = orders(&labels, &[0..6]);
        assert_eq!(drawn.len(), MOST);
        assert_eq!(drawn, orders(&labels, &[0..6]));
        // The mean label of a position that all share is 2.5, of 120 draws nearly so.
        let first = drawn.iter().map(|order| order[0]).sum::<f64>() / MOST as f64;
        assert!((first - 2.5).abs() < 0.6, "{first}");
    }

    #[test]
    fn a_count_of_very_long_ties_does_not_overflow() {
        let labels: Vec<f64> = (0..4000).map(|document| f64::from(document % 5)).collect();
        assert_eq!(Orders::new(&labels, vec![0..4000]).count(), None);
        let one_relevant: Vec<f64> = (0..100).map(|document| f64::from(u8::from(document == 0))).collect();
        assert_eq!(Orders::new(&one_relevant, vec![0..100]).count(), Some(100));
    }
}
