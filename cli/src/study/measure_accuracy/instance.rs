//! Bounds on the error of a surrogate for one query with given positions. These bounds also hold for equal scores.
//!
//! The theorems do not cover equal scores, because a tied document has no single rank. However, tied documents share a
//! range of ranks, and the exact measure is the mean over all orders of the tied documents. The error of a surrogate's
//! term for a document is therefore at most the largest difference from the term at a rank in this range:
//!
//! * The bound for NDCG is `1 / Z sum_x G(y_x) max_r |D(p_x) - D(r)|`.
//! * The bound for AP is `1 / R sum_y max_{r, c} |S_y - (1 + c) / r|`. Here `S_y` is the term of ApproxAP, and `c`
//!   counts the relevant documents that may precede `y` at rank `r`.
//!
//! Without equal scores, the bound is the sum of the terms' absolute errors; in the surrogate itself, errors may
//! cancel.

use std::cmp::Ordering;

use crate::study::*;

/// A query with the approximate position of each document, computed for one value of alpha.
pub(super) struct Instance<'a> {
    query: &'a ScoredQuery,
    positions: Vec<f64>,
}

/// How many documents are ranked above a document, and how many others are tied with it: first the irrelevant ones,
/// then the relevant ones.
#[derive(Default)]
struct Around {
    ahead: [usize; 2],
    tied: [usize; 2],
}

impl<'a> Instance<'a> {
    pub(super) fn new(query: &'a ScoredQuery, alpha: f64) -> Self {
        Self { query, positions: positions(&query.scores, alpha, Step::Logistic).0 }
    }

    fn is_relevant(&self, document: usize) -> bool {
        self.query.labels[document] >= 1.0
    }

    fn around(&self, document: usize) -> Around {
        let mut found = Around::default();
        for (other, score) in self.query.scores.iter().enumerate().filter(|(other, _)| *other != document) {
            let counts = match score.total_cmp(&self.query.scores[document]) {
                Ordering::Greater => &mut found.ahead,
                Ordering::Equal => &mut found.tied,
                Ordering::Less => continue,
            };
            counts[usize::from(self.is_relevant(other))] += 1;
        }
        found
    }

    /// Returns a bound on the error of ApproxNDCG for this query.
    pub(super) fn of_ndcg(&self) -> f64 {
        let term = |(document, label): (usize, &f64)| {
            let Around { ahead, tied } = self.around(document);
            let before: usize = ahead.iter().sum();
            // The discount falls, so the farthest rank is at an end of the range.
            let ends = [before, before + tied[0] + tied[1]].map(|before| discount((before + 1) as f64));
            let found = discount(self.positions[document]);
            gain(*label) * ends.into_iter().map(|end| (found - end).abs()).fold(0.0, f64::max)
        };
        self.query.labels.iter().enumerate().map(term).sum::<f64>() / self.query.ideal_dcg()
    }

    /// Returns a bound on the error of ApproxAP for this query.
    pub(super) fn of_ap(&self, beta: f64) -> f64 {
        let relevant: Vec<usize> = (0..self.positions.len()).filter(|document| self.is_relevant(*document)).collect();
        let term = |document: usize| {
            let position = self.positions[document];
            let before = |other: &usize| 1.0 / (1.0 + (-beta * (position - self.positions[*other])).exp());
            let found = (1.0 + relevant.iter().filter(|other| **other != document).map(before).sum::<f64>()) / position;
            let Around { ahead, tied } = self.around(document);
            let mut farthest = 0f64;
            for before in 0..=tied[0] + tied[1] {
                let rank = (ahead[0] + ahead[1] + before + 1) as f64;
                for relevant in [before.saturating_sub(tied[0]), before.min(tied[1])] {
                    let precision = (1 + ahead[1] + relevant) as f64 / rank;
                    farthest = farthest.max((found - precision).abs());
                }
            }
            farthest
        };
        relevant.iter().map(|document| term(*document)).sum::<f64>() / relevant.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::source::Subject;
    use burn_rank::loss::LossSpec;
    use burn_rank::measure::{Convention, Measure};

    fn errors(query: &ScoredQuery, alpha: f64, beta: f64) -> [f64; 2] {
        let error = |spec: LossSpec, measure| {
            let exact = query.exact(measure, &Convention::default()).unwrap();
            (query.surrogate(&spec.with("alpha", alpha)).unwrap() - exact).abs()
        };
        [
            error(LossSpec::new("approx_ndcg"), Measure::Ndcg(None)),
            error(LossSpec::new("approx_ap").with("beta", beta), Measure::Ap(None)),
        ]
    }

    #[test]
    fn no_query_exceeds_its_bound_with_equal_scores_or_without() {
        for (number, mut query) in Subject::generated(12, 7).queries.into_iter().enumerate() {
            if number % 2 == 0 {
                query.scores.iter_mut().for_each(|score| *score = score.round());
            }
            for (alpha, beta) in [(1.0, 1.0), (10.0, 10.0), (100.0, 50.0)] {
                let instance = Instance::new(&query, alpha);
                let bounds = [instance.of_ndcg(), instance.of_ap(beta)];
                for (error, bound) in errors(&query, alpha, beta).into_iter().zip(bounds) {
                    assert!(error <= bound + 1e-9, "{number}, alpha {alpha}: {error} {bound}");
                }
            }
        }
    }

    /// With one relevant document, errors cannot cancel, so the bound must equal the error. The error exceeds a bound
    /// that was computed from positions with another alpha.
    #[test]
    fn the_bound_is_the_error_where_nothing_cancels_and_is_of_its_own_positions() {
        let query = ScoredQuery { scores: vec![0.3, 0.1, -0.5], labels: vec![0.0, 1.0, 0.0] };
        let (found, instance) = (errors(&query, 10.0, 10.0), Instance::new(&query, 10.0));
        for (error, bound) in found.into_iter().zip([instance.of_ndcg(), instance.of_ap(10.0)]) {
            assert!(error > 1e-3 && (error - bound).abs() < 1e-7, "{error} {bound}");
        }
        assert!(found[0] > Instance::new(&query, 100.0).of_ndcg() + 1e-3);
    }

    /// Two tied documents both have the position 1.5. Depending on their order, the AP is 1 or 1/2; ApproxAP gives 2/3.
    #[test]
    fn equal_scores_are_bounded_by_the_ranks_that_they_share() {
        let query = ScoredQuery { scores: vec![1.0, 1.0], labels: vec![1.0, 0.0] };
        let instance = Instance::new(&query, 10.0);
        assert!((instance.of_ap(10.0) - 1.0 / 3.0).abs() < 1e-12);
        let ndcg = 1.0 / 2.5f64.log2();
        assert!((instance.of_ndcg() - (1.0 - ndcg).max(ndcg - 1.0 / 3f64.log2())).abs() < 1e-12);
    }
}
