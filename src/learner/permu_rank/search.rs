//! The perfect permutation that scores lowest and the imperfect one that scores highest, for any measure.
//!
//! `F` of a permutation falls by a constant times `s_i - s_j` for every pair it sums over and ranks against the scores, so that
//! the search is over pairs. The `level` of a document is all that the measure sees of it (its gain, or its relevance).
//!
//! * Perfect: by descending level, inside each level by ascending score. Where the measure looks at the first places only
//!   (a cut-off, reciprocal rank), the places below are by ascending score whatever the level; the number of places that
//!   must be in order is found by bisection.
//! * Imperfect: the order by score, if imperfect. Else the levels lie in blocks, and the cheapest change of the measure
//!   moves a document next to the border of two blocks across it: by one place, a swap of neighbours, or by more where
//!   the measure does not see the swap (below a cut-off, or between places of one discount).
//!
//! Cost: O(n log n), plus O(log n) evaluations of the measure.

use std::cmp::Reverse;

use super::super::products::descending;
use super::Pairs;

/// Measures above this share of the perfect one are perfect: sums in another order may differ in the last digits.
const PERFECT: f64 = 1.0 - 1e-9;

/// Values an order of the documents, best first.
type OrderMeasure<'a> = Box<dyn Fn(&[u32]) -> f64 + Send + Sync + 'a>;

/// One query as the searches see it.
pub(super) struct Target<'a> {
    /// Equal for documents that the measure does not tell apart, higher for the better.
    level: Vec<u32>,
    /// The pairs of `F`.
    pairs: Pairs,
    /// The measure of an order of the documents, best first.
    measure: OrderMeasure<'a>,
    /// The measure of a perfect order.
    pub(super) perfect: f64,
}

impl<'a> Target<'a> {
    pub(super) fn new(level: Vec<u32>, pairs: Pairs, measure: impl Fn(&[u32]) -> f64 + Send + Sync + 'a) -> Self {
        let mut ideal: Vec<u32> = (0..level.len() as u32).collect();
        ideal.sort_by_key(|&document| Reverse(level[document as usize]));
        let perfect = measure(&ideal);
        Self { level, pairs, measure: Box::new(measure), perfect }
    }

    /// The measure of an order.
    pub(super) fn measure(&self, order: &[u32]) -> f64 {
        (self.measure)(order)
    }

    /// The documents by ascending level: the measure of any order is at least this one's.
    pub(super) fn worst(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.level.len() as u32).collect();
        order.sort_by_key(|&document| self.level[document as usize]);
        order
    }

    fn is_perfect(&self, order: &[u32]) -> bool {
        self.measure(order) >= PERFECT * self.perfect
    }

    /// The perfect order with the lowest `F` at `scores`.
    pub(super) fn lowest_perfect(&self, scores: &[f64]) -> Vec<u32> {
        let mut ascending = descending(scores);
        ascending.reverse();
        let ascending: Vec<u32> = ascending.into_iter().map(|document| document as u32).collect();
        let mut by_level = ascending.clone();
        by_level.sort_by_key(|&document| Reverse(self.level[document as usize]));
        let with_head = |places: usize| {
            let mut order = by_level[..places].to_vec();
            let mut in_head = vec![false; scores.len()];
            order.iter().for_each(|&document| in_head[document as usize] = true);
            order.extend(ascending.iter().copied().filter(|&document| !in_head[document as usize]));
            order
        };
        let (mut low, mut high) = (0, by_level.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.is_perfect(&with_head(middle)) { high = middle } else { low = middle + 1 }
        }
        with_head(high)
    }

    /// The imperfect order with the highest `F` at `scores`; `None` when no order is imperfect.
    pub(super) fn highest_imperfect(&self, scores: &[f64]) -> Option<Vec<u32>> {
        let sorted: Vec<u32> = descending(scores).into_iter().map(|document| document as u32).collect();
        if !self.is_perfect(&sorted) {
            return Some(sorted);
        }
        let score = |place: usize| scores[sorted[place] as usize];
        let level = |place: usize| self.level[sorted[place] as usize];
        let mut cheapest: Option<(f64, Vec<u32>)> = None;
        for border in (1..sorted.len()).filter(|&place| level(place - 1) != level(place)) {
            // Up: the document below the border; down: the one above it. Each as far as the measure needs.
            let up = (0..border).rev().map(|to| (border, to));
            let down = (border..sorted.len()).map(|to| (border - 1, to));
            for moves in [&mut { up } as &mut dyn Iterator<Item = (usize, usize)>, &mut { down }] {
                let mut cost = 0.0;
                for (from, to) in moves {
                    if self.pairs == Pairs::All || level(from) != level(to) {
                        cost += (score(from) - score(to)).abs();
                    }
                    if cheapest.as_ref().is_some_and(|(least, _)| *least <= cost) {
                        break;
                    }
                    let mut order = sorted.clone();
                    let document = order.remove(from);
                    order.insert(to, document);
                    if !self.is_perfect(&order) {
                        cheapest = Some((cost, order));
                        break;
                    }
                }
            }
        }
        cheapest.map(|(_, order)| order)
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::loss::PermutationSet;

    fn permutations(n: u32) -> Vec<Vec<u32>> {
        if n == 0 {
            return vec![Vec::new()];
        }
        let insert = |rest: Vec<u32>| {
            (0..=rest.len()).map(move |place| {
                let mut order = rest.clone();
                order.insert(place, n - 1);
                order
            })
        };
        permutations(n - 1).into_iter().flat_map(insert).collect()
    }

    fn dcg(labels: &[u32], order: &[u32], cutoff: usize, discount: impl Fn(usize) -> f64) -> f64 {
        let gain = |&document: &u32| f64::from(2u32.pow(labels[document as usize]) - 1);
        order.iter().take(cutoff).enumerate().map(|(place, document)| gain(document) * discount(place + 1)).sum()
    }

    fn average_precision(labels: &[u32], order: &[u32]) -> f64 {
        let (mut hits, mut sum) = (0.0, 0.0);
        for (place, &document) in order.iter().enumerate() {
            if labels[document as usize] > 0 {
                hits += 1.0;
                sum += hits / (place + 1) as f64;
            }
        }
        if hits > 0.0 { sum / hits } else { 0.0 }
    }

    fn reciprocal_rank(labels: &[u32], order: &[u32]) -> f64 {
        order.iter().position(|&document| labels[document as usize] > 0).map_or(0.0, |place| 1.0 / (place + 1) as f64)
    }

    /// Both searches against all orders, for measures of levels by label and by relevance, with and without cut-off.
    #[test]
    fn no_perfect_order_scores_lower_and_no_imperfect_one_higher() {
        let log = |rank: usize| 1.0 / (1.0 + rank as f64).log2();
        let letor = |rank: usize| if rank <= 2 { 1.0 } else { 1.0 / (rank as f64).log2() };
        let mut random = ChaCha8Rng::seed_from_u64(5);
        let mut perfect_by_score = 0;
        for trial in 0..160 {
            let n = 2 + trial % 5;
            let labels: Vec<u32> = (0..n).map(|_| random.random_range(0..3)).collect();
            // Every second trial, scores that follow the labels.
            let scores: Vec<f64> =
                labels.iter().map(|&y| random.random_range(0.0..1.0) + (trial % 2) as f64 * f64::from(y)).collect();
            let relevance: Vec<u32> = labels.iter().map(|&y| y.min(1)).collect();
            for pairs in [Pairs::All, Pairs::Different] {
                let targets = [
                    Target::new(labels.clone(), pairs, |order: &[u32]| dcg(&labels, order, usize::MAX, log)),
                    Target::new(labels.clone(), pairs, |order: &[u32]| dcg(&labels, order, 2, log)),
                    Target::new(labels.clone(), pairs, |order: &[u32]| dcg(&labels, order, usize::MAX, letor)),
                    Target::new(relevance.clone(), pairs, |order: &[u32]| average_precision(&labels, order)),
                    Target::new(relevance.clone(), pairs, |order: &[u32]| reciprocal_rank(&labels, order)),
                ];
                let all = permutations(n as u32);
                for (number, target) in targets.iter().enumerate() {
                    let set = match pairs {
                        Pairs::All => PermutationSet::new(n, 1.0),
                        Pairs::Different => PermutationSet::over_levels(target.level.clone(), 1.0),
                    };
                    let f =
                        |order: &[u32]| set.coefficients(order).iter().zip(&scores).map(|(c, s)| c * s).sum::<f64>();
                    let case = format!("measure {number}, {pairs:?}, {labels:?} {scores:?}");
                    let (perfect, imperfect): (Vec<&Vec<u32>>, Vec<_>) = all.iter().partition(|o| target.is_perfect(o));
                    let lowest = perfect.iter().map(|o| f(o)).fold(f64::INFINITY, f64::min);
                    let found = target.lowest_perfect(&scores);
                    assert!(target.is_perfect(&found));
                    // Two places of one discount leave perfect orders that no order by level describes.
                    if number != 2 {
                        assert!((f(&found) - lowest).abs() < 1e-12, "{case}");
                    }
                    let highest = imperfect.iter().map(|o| f(o)).fold(f64::NEG_INFINITY, f64::max);
                    match target.highest_imperfect(&scores) {
                        None => assert!(imperfect.is_empty()),
                        Some(found) => {
                            assert!(!target.is_perfect(&found));
                            let sorted: Vec<u32> = descending(&scores).into_iter().map(|d| d as u32).collect();
                            perfect_by_score += usize::from(target.is_perfect(&sorted));
                            assert!((f(&found) - highest).abs() < 1e-12, "{case}");
                        }
                    }
                }
            }
        }
        assert!(perfect_by_score > 200, "the trials must reach orders that are perfect by score");
    }
}
