//! Finds the perfect permutation with the lowest `F` and the imperfect permutation with the highest `F`, for any
//! measure.
//!
//! Sorting the documents by descending score maximizes `F`. Each pair that a permutation ranks against the scores
//! lowers `F` by a constant times the difference between the two scores. The measure depends only on the `level` of
//! each document, that is, on its gain or its relevance.
//!
//! * The perfect permutation with the lowest `F` sorts the documents by descending level, and by ascending score within
//!   each level. Some measures read only the first ranks, such as reciprocal rank and every measure with a cut-off. For
//!   these measures, the documents at all other ranks are sorted by ascending score, whatever their level. Bisection
//!   finds how many documents must be sorted by level. A second candidate also swaps the first two documents, for
//!   conventions that do not discount the second rank. A third candidate serves measures that ignore the order above a
//!   cut-off (precision, recall, success). This candidate takes only as many documents as necessary from the highest
//!   levels, and sorts the documents above the cut-off by ascending score. The search returns the perfect candidate
//!   with the lowest `F`.
//! * The imperfect permutation is the order by score, unless that order is perfect. If the order by score is perfect,
//!   the documents of each level are adjacent. The smallest change that lowers the measure moves a document past the
//!   border between two levels. Usually this document moves by one rank. The document moves further if swapping two
//!   neighbors leaves the measure unchanged. This happens below a cut-off and between ranks with the same discount. For
//!   the measure success, moving one document is not enough if several relevant documents are above the cut-off. In
//!   this case, only as many documents as necessary are moved from the lowest levels to the top.
//!
//! The searches cost O(n log n), plus O(log n) evaluations of the measure.

use std::cmp::Reverse;

use super::Pairs;
use super::bounds::PermutationSet;
use crate::learner::solver::descending;

/// A permutation counts as perfect if its measure is at least this fraction of the perfect measure. The fraction is
/// below 1 because rounding depends on the order of addition.
const PERFECT: f64 = 1.0 - 1e-9;

/// A function that returns the measure of a permutation. The permutation lists the documents from the first rank to the
/// last.
type OrderMeasure<'a> = Box<dyn Fn(&[u32]) -> f64 + Send + Sync + 'a>;

/// The input of the searches for one query.
pub(super) struct Target<'a> {
    /// The level of each document. Documents that the measure does not distinguish have the same level. Better
    /// documents have higher levels.
    level: Vec<u32>,
    /// The rank up to which the measure reads the ranking, if it has a cut-off.
    cutoff: Option<usize>,
    /// Returns the measure of a permutation.
    measure: OrderMeasure<'a>,
    /// The measure of a perfect permutation.
    pub(super) perfect: f64,
    /// Empty working sets for the query.
    pub(super) empty: PermutationSet,
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
        let mut empty = PermutationSet::new(level.len(), perfect);
        empty.levels = (pairs == Pairs::Different).then(|| level.clone());
        Self { level, cutoff, measure: Box::new(measure), perfect, empty }
    }

    /// Returns the measure of a permutation.
    pub(super) fn measure(&self, order: &[u32]) -> f64 {
        (self.measure)(order)
    }

    /// Returns a permutation with the lowest measure, obtained by sorting the documents by ascending level.
    pub(super) fn worst(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.level.len() as u32).collect();
        order.sort_by_key(|&document| self.level[document as usize]);
        order
    }

    fn is_perfect(&self, order: &[u32]) -> bool {
        self.measure(order) >= PERFECT * self.perfect
    }

    /// Returns `F` of a permutation for the given scores.
    fn f(&self, order: &[u32], scores: &[f64]) -> f64 {
        let coefficients = self.empty.coefficients(order);
        coefficients.iter().zip(scores).map(|(coefficient, score)| coefficient * score).sum()
    }

    /// Returns `with(places)` for the smallest number `places` for which `wanted(with(places))` is true. If no number
    /// below `most` qualifies, the result is `with(most)`. The number is found by bisection. If `wanted` is true for
    /// one number, it must therefore also be true for all larger numbers.
    fn fewest(most: usize, with: impl Fn(usize) -> Vec<u32>, wanted: impl Fn(&[u32]) -> bool) -> Vec<u32> {
        let (mut low, mut high) = (0, most);
        while low < high {
            let middle = low + (high - low) / 2;
            if wanted(&with(middle)) { high = middle } else { low = middle + 1 }
        }
        with(high)
    }

    /// Returns the perfect permutation with the lowest `F` at the given scores.
    pub(super) fn lowest_perfect(&self, scores: &[f64]) -> Vec<u32> {
        let ascending: Vec<u32> = descending(scores).into_iter().rev().map(|document| document as u32).collect();
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

    /// Returns the imperfect permutation with the highest `F` at the given scores, or `None` if every permutation is
    /// perfect.
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
                    if self.empty.levels.is_none() || level(from) != level(to) {
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

/// Returns the documents of `head`, followed by all other documents in the order in which `all` lists them.
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

    /// Compares both searches with an exhaustive search over all orders, for every measure in [0, 1] and for
    /// conventions that treat labels differently.
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
