//! The exact type two bound, computed without visiting every order of the documents.
//!
//! `F` is linear in the scores: the score at rank `r` has the weight `(n + 1 - 2 r) / (n (n - 1))`. The measure depends
//! only on the pattern, which is the set of ranks that hold relevant documents. Among the orders with the same pattern,
//! `F` is largest if the relevant and the irrelevant documents are each in descending order of score. Among perfect
//! orders, `F` is smallest if the relevant and the irrelevant documents are each in ascending order of score. It is
//! therefore enough to visit `C(n, relevant)` patterns instead of `n!` orders. For example, 21 documents with 7
//! relevant ones have 116,280 patterns.

/// All patterns, with their average precision. Each pattern is a choice of the ranks that hold relevant documents.
#[derive(Debug, Clone)]
pub(super) struct Orders {
    /// The numbers of relevant and of irrelevant documents.
    counts: [usize; 2],
    /// The average precision of each pattern, in the order in which [`visit`] visits them; the perfect pattern is
    /// first.
    precisions: Vec<f64>,
}

/// The quantities that determine the type two bound, computed over all orders of a query's documents.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TypeTwo {
    /// The average precision of the documents sorted by score.
    pub(super) precision: f64,
    /// The smallest `F` of a perfect order minus the largest `F` of an imperfect one.
    pub(super) gap: f64,
    /// The loss that equation (6) defines. It is the largest `1 - E` among the imperfect orders whose `F` is at least
    /// the `F` of some perfect order.
    pub(super) loss: f64,
    /// For each factor, the largest `(1 - E) exp(-(F* - F))` after the scores have been multiplied by it.
    pub(super) exponential: Vec<f64>,
}

impl Orders {
    pub(super) fn new(relevant: usize, irrelevant: usize) -> Self {
        let mut precisions = Vec::new();
        let precision = |sum: f64, rank: usize, placed: usize| sum + (placed + 1) as f64 / rank as f64;
        let place = |at: Place, sum: f64| if at.kind == 0 { precision(sum, at.rank, at.place) } else { sum };
        let counts = [relevant, irrelevant];
        visit(counts, [0, 0], 0.0, &place, &mut |sum: f64| precisions.push(sum / relevant as f64));
        Self { counts, precisions }
    }

    /// Returns the largest `1 - E` of any order.
    pub(super) fn largest_loss(&self) -> f64 {
        self.precisions.iter().map(|precision| 1.0 - precision).fold(0.0, f64::max)
    }

    /// Examines all orders of documents with these scores; `exponential` also needs the scores multiplied by each of
    /// `factors`.
    pub(super) fn examine(&self, relevant: &[f64], irrelevant: &[f64], factors: &[f64]) -> TypeTwo {
        assert_eq!([relevant.len(), irrelevant.len()], self.counts, "documents of these orders");
        let descending = |scores: &[f64]| {
            let mut scores = scores.to_vec();
            scores.sort_by(|left, right| right.total_cmp(left));
            scores
        };
        let (relevant, irrelevant) = (descending(relevant), descending(irrelevant));
        let n = relevant.len() + irrelevant.len();
        let weight = |rank: usize| (n as f64 + 1.0 - 2.0 * rank as f64) / (n * (n - 1)) as f64;
        let ascending = relevant.iter().rev().chain(irrelevant.iter().rev());
        let least: f64 = ascending.enumerate().map(|(place, score)| weight(place + 1) * score).sum();

        let place = |at: Place, sum: f64| sum + weight(at.rank) * [&relevant, &irrelevant][at.kind][at.place];
        let mut largest = Vec::with_capacity(self.precisions.len());
        visit(self.counts, [0, 0], 0.0, &place, &mut |sum: f64| largest.push(sum));

        let mut found = TypeTwo {
            precision: precision_of_scores(&relevant, &irrelevant),
            gap: f64::INFINITY,
            loss: 0.0,
            exponential: vec![0.0; factors.len()],
        };
        // The perfect pattern is the first.
        for (value, precision) in largest.iter().zip(&self.precisions).skip(1) {
            let (ahead, loss) = (least - value, 1.0 - precision);
            found.gap = found.gap.min(ahead);
            if ahead <= 0.0 {
                found.loss = found.loss.max(loss);
            }
            for (bound, factor) in found.exponential.iter_mut().zip(factors) {
                *bound = bound.max(loss * (-factor * ahead).exp());
            }
        }
        found
    }
}

/// A rank that holds the `place`-th document of a kind, counted from 0: relevant documents are of kind 0, irrelevant
/// ones of kind 1.
#[derive(Debug, Clone, Copy)]
struct Place {
    rank: usize,
    place: usize,
    kind: usize,
}

/// Calls `each` for every pattern with `counts` of relevant and of irrelevant documents that begins with `placed` of
/// them, the perfect one first. The argument of `each` is `sum`, which `place` updates at each rank of the pattern.
fn visit<P: Fn(Place, f64) -> f64, E: FnMut(f64)>(
    counts: [usize; 2],
    placed: [usize; 2],
    sum: f64,
    place: &P,
    each: &mut E,
) {
    if placed == counts {
        return each(sum);
    }
    for kind in [0, 1] {
        if placed[kind] < counts[kind] {
            let mut next = placed;
            next[kind] += 1;
            let at = Place { rank: placed[0] + placed[1] + 1, place: placed[kind], kind };
            visit(counts, next, place(at, sum), place, each);
        }
    }
}

/// Returns the average precision of documents sorted by score; in a tie, irrelevant documents come first.
fn precision_of_scores(relevant: &[f64], irrelevant: &[f64]) -> f64 {
    let ahead = |score: f64| irrelevant.iter().filter(|other| **other >= score).count();
    let precision = |(place, score): (usize, &f64)| (place + 1) as f64 / (place + 1 + ahead(*score)) as f64;
    relevant.iter().enumerate().map(precision).sum::<f64>() / relevant.len() as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns all permutations of documents. A document is a pair of its score and a flag that says whether it is
    /// relevant.
    fn permutations(documents: &[(f64, bool)]) -> Vec<Vec<(f64, bool)>> {
        if documents.is_empty() {
            return vec![Vec::new()];
        }
        (0..documents.len())
            .flat_map(|first| {
                let mut rest = documents.to_vec();
                let head = rest.remove(first);
                permutations(&rest).into_iter().map(move |tail| [vec![head], tail].concat())
            })
            .collect()
    }

    fn precision(order: &[(f64, bool)]) -> f64 {
        let relevant: Vec<usize> = (0..order.len()).filter(|rank| order[*rank].1).collect();
        let sum: f64 = relevant.iter().enumerate().map(|(i, rank)| (i + 1) as f64 / (rank + 1) as f64).sum();
        sum / relevant.len() as f64
    }

    /// Computes `F` by its definition, as a sum over pairs.
    fn ahead(order: &[(f64, bool)]) -> f64 {
        let n = order.len();
        let pairs = (0..n).flat_map(|upper| (upper + 1..n).map(move |lower| (upper, lower)));
        pairs.map(|(upper, lower)| order[upper].0 - order[lower].0).sum::<f64>() / (n * (n - 1)) as f64
    }

    fn brute_force(relevant: &[f64], irrelevant: &[f64], factor: f64) -> TypeTwo {
        let documents: Vec<(f64, bool)> =
            relevant.iter().map(|score| (*score, true)).chain(irrelevant.iter().map(|score| (*score, false))).collect();
        let orders: Vec<(f64, f64)> =
            permutations(&documents).iter().map(|order| (precision(order), ahead(order))).collect();
        let (perfect, imperfect): (Vec<_>, Vec<_>) = orders.into_iter().partition(|(precision, _)| *precision == 1.0);
        let mut found = TypeTwo { precision: 0.0, gap: f64::INFINITY, loss: 0.0, exponential: vec![0.0] };
        for (_, best) in &perfect {
            for (precision, other) in &imperfect {
                found.gap = found.gap.min(best - other);
                if best <= other {
                    found.loss = found.loss.max(1.0 - precision);
                }
                found.exponential[0] = found.exponential[0].max((1.0 - precision) * (-factor * (best - other)).exp());
            }
        }
        let mut sorted = documents;
        sorted.sort_by(|left, right| right.0.total_cmp(&left.0));
        found.precision = precision(&sorted);
        found
    }

    fn close(left: &TypeTwo, right: &TypeTwo) -> bool {
        let near = |left: f64, right: f64| (left - right).abs() < 1e-9;
        near(left.precision, right.precision)
            && near(left.gap, right.gap)
            && near(left.loss, right.loss)
            && near(left.exponential[0], right.exponential[0])
    }

    #[test]
    fn structure_gives_what_all_orders_of_seven_documents_give() {
        let (relevant, irrelevant) = ([0.9, -0.3, 0.45], [0.4, -0.8, 0.1, -0.35]);
        for factor in [1.0, 7.0] {
            let found = Orders::new(3, 4).examine(&relevant, &irrelevant, &[factor]);
            let expected = brute_force(&relevant, &irrelevant, factor);
            assert!(close(&found, &expected), "{found:?} {expected:?}");
        }
    }

    #[test]
    fn structure_gives_what_all_orders_of_eight_documents_give() {
        let (relevant, irrelevant) = ([0.9, -0.3, 0.45, 0.7], [0.4, -0.8, 0.1, -0.35]);
        let found = Orders::new(4, 4).examine(&relevant, &irrelevant, &[1.0]);
        assert!(close(&found, &brute_force(&relevant, &irrelevant, 1.0)));
    }

    #[test]
    fn seven_of_twenty_one_have_their_patterns() {
        let orders = Orders::new(7, 14);
        assert_eq!(orders.precisions.len(), 116_280);
        assert_eq!(orders.precisions[0], 1.0);
        assert!(orders.precisions[1..].iter().all(|precision| *precision < 1.0));
    }

    proptest! {
        /// Compares the results with an enumeration of all orders, for up to six documents.
        #[test]
        fn structure_gives_what_all_orders_give(
            relevant in prop::collection::vec(-1.0..1.0f64, 1..=3),
            irrelevant in prop::collection::vec(-1.0..1.0f64, 1..=3),
        ) {
            let found = Orders::new(relevant.len(), irrelevant.len()).examine(&relevant, &irrelevant, &[2.0]);
            prop_assert!(close(&found, &brute_force(&relevant, &irrelevant, 2.0)));
        }

        /// Tests Theorem 2. Also tests Theorem 3, after scaling the scores so that the theorem's condition holds.
        #[test]
        fn the_theorems_hold(
            relevant in prop::collection::vec(-1.0..1.0f64, 1..=4),
            irrelevant in prop::collection::vec(-1.0..1.0f64, 1..=4),
        ) {
            let orders = Orders::new(relevant.len(), irrelevant.len());
            let TypeTwo { precision, gap, loss, .. } = orders.examine(&relevant, &irrelevant, &[]);
            prop_assert!(1.0 - precision <= loss + 1e-12);
            if gap > 1e-6 {
                let bound = orders.examine(&relevant, &irrelevant, &[precision / gap]).exponential[0];
                prop_assert!(bound <= (-precision).exp() + 1e-9);
            }
        }
    }
}
