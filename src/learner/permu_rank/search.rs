//! Finds the perfect permutation with the lowest `F` and the imperfect one with the highest `F`, for any measure.
//!
//! For every pair that a permutation ranks against the scores, its `F` falls by a constant times `s_i - s_j`. The
//! measure depends only on the `level` of each document, which is its gain or its relevance.
//!
//! * The perfect permutation is sorted by descending level, and within each level by ascending score. If the measure
//!   uses only the first places (a cut-off, reciprocal rank), the remaining places are sorted by ascending score,
//!   whatever the level. Bisection finds the number of places that must be sorted by level. A second candidate sorts
//!   the first two places by ascending score, for conventions that do not discount the second place. A third candidate
//!   serves measures of the set above a cut-off (precision, recall, success). This candidate puts as few documents of
//!   the highest levels above the cut-off as necessary, and sorts them by ascending score. Among the perfect
//!   candidates, the one with the lowest `F` is chosen.
//! * The imperfect permutation is the order by score, if that order is imperfect. If that order is perfect, the levels
//!   form blocks, and the cheapest change of the measure moves a document across the border of two blocks. The document
//!   usually moves by one place. The document moves further if a swap of neighbors does not change the measure (below a
//!   cut-off, or between places with the same discount). A single move is not enough for success with several relevant
//!   documents above the cut-off. For the measure success, as few documents of the lowest levels as necessary come
//!   first.
//!
//! The searches cost O(n log n), plus O(log n) evaluations of the measure.

use std::cmp::Reverse;

use super::bounds::{PermutationSet, level_score_coefficients, score_coefficients};
use super::config::Pairs;
use crate::learner::solver::vectors::descending;

/// The share of the perfect measure above which a measure counts as perfect, since sums in another order may differ in
/// the last digits.
const PERFECT: f64 = 1.0 - 1e-9;

/// Computes the measure of an order of the documents, best first.
type OrderMeasure<'a> = Box<dyn Fn(&[u32]) -> f64 + Send + Sync + 'a>;

/// One query in the form that the searches use.
pub(super) struct Target<'a> {
    /// The level of each document. Documents that the measure does not distinguish have equal levels, and better
    /// documents have higher ones.
    level: Vec<u32>,
    /// The pairs over which `F` sums.
    pairs: Pairs,
    /// The cut-off of the measure.
    cutoff: Option<usize>,
    /// The measure of an order of the documents, best first.
    measure: OrderMeasure<'a>,
    /// The measure of a perfect order.
    pub(super) perfect: f64,
}

impl<'a> Target<'a> {
    pub(super) fn new(
        level: Vec<u32>,
        pairs: Pairs,
        cutoff: Option<usize>,
        measure: impl Fn(&[u32]) -> f64 + Send + Sync + 'a,
    ) -> Self {
        let mut ideal: Vec<u32> = (0..level.len() as u32).collect();
        ideal.sort_by_key(|&document| Reverse(level[document as usize]));
        let perfect = measure(&ideal);
        Self { level, pairs, cutoff, measure: Box::new(measure), perfect }
    }

    /// Returns empty working sets of the query.
    pub(super) fn empty_set(&self) -> PermutationSet {
        match self.pairs {
            Pairs::All => PermutationSet::new(self.level.len(), self.perfect),
            Pairs::Different => PermutationSet::over_levels(self.level.clone(), self.perfect),
        }
    }

    /// Returns the measure of an order.
    pub(super) fn measure(&self, order: &[u32]) -> f64 {
        (self.measure)(order)
    }

    /// Returns the documents by ascending level, which is an order with the lowest measure.
    pub(super) fn worst(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.level.len() as u32).collect();
        order.sort_by_key(|&document| self.level[document as usize]);
        order
    }

    fn is_perfect(&self, order: &[u32]) -> bool {
        self.measure(order) >= PERFECT * self.perfect
    }

    /// Returns `F` of an order at `scores`.
    fn f(&self, order: &[u32], scores: &[f64]) -> f64 {
        let coefficients = match self.pairs {
            Pairs::All => score_coefficients(order),
            Pairs::Different => level_score_coefficients(order, &self.level),
        };
        coefficients.iter().zip(scores).map(|(coefficient, score)| coefficient * score).sum()
    }

    /// Returns the order that `with` gives for the smallest number of places, up to `most`, that `wanted` accepts. The
    /// search is a bisection, so `wanted` must also accept every larger number of places.
    fn fewest(most: usize, with: impl Fn(usize) -> Vec<u32>, wanted: impl Fn(&[u32]) -> bool) -> Vec<u32> {
        let (mut low, mut high) = (0, most);
        while low < high {
            let middle = low + (high - low) / 2;
            if wanted(&with(middle)) { high = middle } else { low = middle + 1 }
        }
        with(high)
    }

    /// Returns the perfect order with the lowest `F` at `scores`.
    pub(super) fn lowest_perfect(&self, scores: &[f64]) -> Vec<u32> {
        let mut ascending = descending(scores);
        ascending.reverse();
        let ascending: Vec<u32> = ascending.into_iter().map(|document| document as u32).collect();
        let mut by_level = ascending.clone();
        by_level.sort_by_key(|&document| Reverse(self.level[document as usize]));
        let perfect = |order: &[u32]| self.is_perfect(order);

        let mut found = Self::fewest(by_level.len(), |places| head_first(&by_level[..places], &ascending), perfect);
        if found.len() > 1 && scores[found[0] as usize] > scores[found[1] as usize] {
            let mut swapped = found.clone();
            swapped.swap(0, 1);
            if perfect(&swapped) {
                found = swapped;
            }
        }
        if let Some(cutoff) = self.cutoff.filter(|&cutoff| cutoff < found.len()) {
            let set = |members: usize| {
                let mut above = head_first(&by_level[..members], &ascending)[..cutoff].to_vec();
                above.sort_by(|&a, &b| scores[a as usize].total_cmp(&scores[b as usize]));
                head_first(&above, &ascending)
            };
            let of_set = Self::fewest(cutoff, set, perfect);
            if perfect(&of_set) && self.f(&of_set, scores) < self.f(&found, scores) {
                found = of_set;
            }
        }
        found
    }

    /// Returns the imperfect order with the highest `F` at `scores`, or `None` if no order is imperfect.
    pub(super) fn highest_imperfect(&self, scores: &[f64]) -> Option<Vec<u32>> {
        let sorted: Vec<u32> = descending(scores).into_iter().map(|document| document as u32).collect();
        if !self.is_perfect(&sorted) {
            return Some(sorted);
        }
        let score = |place: usize| scores[sorted[place] as usize];
        let level = |place: usize| self.level[sorted[place] as usize];
        let mut cheapest: Option<(f64, Vec<u32>)> = None;
        for border in (1..sorted.len()).filter(|&place| level(place - 1) != level(place)) {
            // The document below the border moves up, or the one above it moves down, each as far as the measure needs.
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
        cheapest.map(|(_, order)| order).or_else(|| {
            let mut lowest = sorted.clone();
            lowest.sort_by_key(|&document| self.level[document as usize]);
            let imperfect = |order: &[u32]| !self.is_perfect(order);
            Some(Self::fewest(lowest.len(), |places| head_first(&lowest[..places], &sorted), imperfect))
                .filter(|order| imperfect(order))
        })
    }
}

/// Returns the documents of `head`, then the others in their order in `all`.
fn head_first(head: &[u32], all: &[u32]) -> Vec<u32> {
    let mut in_head = vec![false; all.len()];
    head.iter().for_each(|&document| in_head[document as usize] = true);
    head.iter().copied().chain(all.iter().copied().filter(|&document| !in_head[document as usize])).collect()
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::super::working_sets::target;
    use super::*;
    use crate::measure::{Convention, Measure};
    use crate::testing::random;

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

    /// Compares both searches with all orders, for every measure in [0, 1] and for conventions that treat labels
    /// differently.
    #[test]
    fn no_perfect_order_scores_lower_and_no_imperfect_one_higher() {
        let measures = "ndcg ndcg@2 map map@2 mrr mrr@3 p@2 p@4 recall@1 recall@3 wta success@2 success@3 r_precision err \
                        err@2 rbp pair_accuracy";
        let measures: Vec<Measure> = measures.split_whitespace().map(|name| name.parse().unwrap()).collect();
        let conventions = ["letor", "rax", "standard"].map(|name| Convention::preset(name).unwrap());
        let from_two = Convention { relevant_from: 2.0, ..conventions[0].clone() };
        let mut random = random(5);
        let mut perfect_by_score = 0;
        for trial in 0..80 {
            let n = 2 + trial % 5;
            let all = permutations(n as u32);
            let labels: Vec<f32> = (0..n).map(|_| f32::from(random.random_range(0..3u8))).collect();
            // In every second trial the scores follow the labels.
            let follow = (trial % 2) as f64;
            let scores: Vec<f64> =
                labels.iter().map(|&y| random.random_range(0.0..1.0) + follow * f64::from(y)).collect();
            let sorted: Vec<u32> = descending(&scores).into_iter().map(|document| document as u32).collect();
            for (measure, convention) in
                measures.iter().flat_map(|&measure| conventions.iter().chain([&from_two]).map(move |c| (measure, c)))
            {
                for pairs in [Pairs::All, Pairs::Different] {
                    let Some(target) = target(&labels, measure, convention, pairs).unwrap() else { continue };
                    let case = format!("{measure}, {}, {pairs:?}, {labels:?} {scores:?}", convention.name);
                    let f = |order: &[u32]| target.f(order, &scores);
                    let (perfect, imperfect): (Vec<&Vec<u32>>, Vec<_>) = all.iter().partition(|o| target.is_perfect(o));
                    assert!(all.iter().all(|order| target.measure(order) <= target.perfect + 1e-12), "{case}");
                    let found = target.lowest_perfect(&scores);
                    assert!(target.is_perfect(&found), "{case}");
                    let lowest = perfect.iter().map(|o| f(o)).fold(f64::INFINITY, f64::min);
                    assert!((f(&found) - lowest).abs() < 1e-12, "{case}");
                    match target.highest_imperfect(&scores) {
                        None => assert!(imperfect.is_empty(), "{case}"),
                        Some(found) => {
                            assert!(!target.is_perfect(&found), "{case}");
                            perfect_by_score += usize::from(target.is_perfect(&sorted));
                            let highest = imperfect.iter().map(|o| f(o)).fold(f64::NEG_INFINITY, f64::max);
                            assert!((f(&found) - highest).abs() < 1e-12, "{case}");
                        }
                    }
                }
            }
        }
        assert!(perfect_by_score > 200, "the trials must reach orders that are perfect by score");
    }
}
