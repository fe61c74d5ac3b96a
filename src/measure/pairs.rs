//! Measures of pairs of documents: Kendall's tau and ordered pair accuracy.
//!
//! Let C be the number of document pairs that scores and labels put in the same order. Let D be the number of document
//! pairs that scores and labels put in opposite orders. Kendall's tau is `tau = (C - D) / P`, where P is a number of
//! pairs. By convention, P counts the pairs with different labels, or all pairs (tau-a). In tau-b, P is the geometric
//! mean of the number of pairs with different labels and the number of pairs with different scores. Ordered pair
//! accuracy is `C / pairs with different labels`.
//!
//! If the convention averages over ties, a pair with equal scores is in each order half of the time. If ties are
//! averaged, a tied pair counts as 0 in tau and as 1/2 in the accuracy. If the convention orders ties, tau uses that
//! order, except that tau-b always ignores tied pairs. If the convention orders ties, the accuracy counts a tied pair
//! as 0, like Rax and TensorFlow Ranking. Tau and the accuracy cost O(n log n), because a Fenwick tree counts the
//! smaller labels before each document. Documents that were not retrieved are ignored. If all labels are equal, tau and
//! the accuracy are 0/0.

use super::convention::{Convention, KendallTau, Ties};
use super::ranking::{Group, RankedList};

/// Computes Kendall's tau between scores and labels, a value in -1..=1.
pub(super) fn kendall_tau(list: &RankedList, convention: &Convention) -> Option<f64> {
    let groups = match convention.kendall_tau {
        KendallTau::TauB => list.equal_scores,
        KendallTau::LabelPairs | KendallTau::AllPairs => list.groups,
    };
    let pairs = Pairs::count(list, groups);
    let with_different_labels = pairs.all - pairs.equal_labels;
    let denominator = match convention.kendall_tau {
        KendallTau::LabelPairs => with_different_labels,
        KendallTau::AllPairs => pairs.all,
        KendallTau::TauB => (with_different_labels * (pairs.all - pairs.equal_scores)).sqrt(),
    };
    (with_different_labels > 0.0 && denominator > 0.0).then(|| (pairs.concordant - pairs.discordant) / denominator)
}

/// Computes the share of the pairs that the scores order correctly, among the pairs with different labels. The share is
/// a value in 0..=1.
pub(super) fn pair_accuracy(list: &RankedList, convention: &Convention) -> Option<f64> {
    let pairs = Pairs::count(list, list.equal_scores);
    let with_different_labels = pairs.all - pairs.equal_labels;
    let undecided = with_different_labels - pairs.concordant - pairs.discordant;
    let right = match convention.ties {
        Ties::Average => pairs.concordant + undecided / 2.0,
        Ties::FileOrder | Ties::DocumentIdDescending => pairs.concordant,
    };
    (with_different_labels > 0.0).then(|| right / with_different_labels)
}

/// Numbers of pairs, which `f64` holds exactly for lists of up to 10^8 documents.
#[derive(Debug, PartialEq)]
struct Pairs {
    all: f64,
    concordant: f64,
    discordant: f64,
    equal_labels: f64,
    equal_scores: f64,
}

impl Pairs {
    fn count(list: &RankedList, groups: &[Group]) -> Self {
        let mut distinct = list.labels.to_vec();
        distinct.sort_unstable_by(f64::total_cmp);
        let equal_labels = distinct.chunk_by(|a, b| a == b).map(|equal| pairs_of(equal.len())).sum();
        distinct.dedup();
        let level = |label: &f64| distinct.partition_point(|known| known < label);
        let mut before = CountTree::new(distinct.len());
        let (mut concordant, mut discordant, mut seen) = (0, 0, 0);
        for group in groups {
            let labels = &list.labels[group.start..group.end];
            for label in labels {
                let level = level(label);
                discordant += before.below(level);
                concordant += seen - before.below(level + 1);
            }
            labels.iter().for_each(|label| before.add(level(label)));
            seen += labels.len();
        }
        Self {
            all: pairs_of(list.labels.len()),
            concordant: concordant as f64,
            discordant: discordant as f64,
            equal_labels,
            equal_scores: list.equal_scores.iter().map(|group| pairs_of(group.len())).sum(),
        }
    }
}

fn pairs_of(documents: usize) -> f64 {
    documents as f64 * (documents as f64 - 1.0) / 2.0
}

/// Fenwick tree of counts.
struct CountTree(Vec<usize>);

impl CountTree {
    fn new(levels: usize) -> Self {
        Self(vec![0; levels + 1])
    }

    fn add(&mut self, level: usize) {
        let mut node = level + 1;
        while node < self.0.len() {
            self.0[node] += 1;
            node += node & node.wrapping_neg();
        }
    }

    /// Returns how many labels below `level` have been added so far.
    fn below(&self, level: usize) -> usize {
        let mut node = level;
        let mut count = 0;
        while node > 0 {
            count += self.0[node];
            node -= node & node.wrapping_neg();
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use crate::measure::convention::KendallTau;
    use crate::measure::testing::{assert_close, assert_expectation_is_the_mean_of_all_orders, value};
    use crate::measure::{Convention, Measure, Ties};

    fn tau(kendall_tau: KendallTau, ties: Ties, scores: &[f32], labels: &[f32]) -> f64 {
        value(Measure::KendallTau, &Convention { kendall_tau, ties, ..Convention::default() }, scores, labels)
    }

    #[test]
    fn worked_values() {
        let (scores, labels) = ([4.0, 3.0, 2.0, 1.0], [2.0, 4.0, 1.0, 2.0]);
        // Concordant: 2>1, 4>1, 4>2; discordant: 2<4, 1<2; equal labels: one pair.
        assert_close(tau(KendallTau::AllPairs, Ties::FileOrder, &scores, &labels), 1.0 / 6.0);
        assert_close(tau(KendallTau::LabelPairs, Ties::FileOrder, &scores, &labels), 1.0 / 5.0);
        assert_close(tau(KendallTau::TauB, Ties::FileOrder, &scores, &labels), 1.0 / 30f64.sqrt());
        assert_close(value(Measure::PairAccuracy, &Convention::default(), &scores, &labels), 3.0 / 5.0);
    }

    #[test]
    fn pairs_with_equal_scores() {
        let (scores, labels) = ([1.0, 1.0, 0.0], [0.0, 1.0, 0.0]);
        assert_close(tau(KendallTau::LabelPairs, Ties::Average, &scores, &labels), 1.0 / 2.0);
        assert_close(tau(KendallTau::LabelPairs, Ties::FileOrder, &scores, &labels), 0.0);
        assert_close(tau(KendallTau::TauB, Ties::FileOrder, &scores, &labels), 1.0 / 2.0);
        assert_close(value(Measure::PairAccuracy, &Convention::default(), &scores, &labels), 3.0 / 4.0);
        let file_order = Convention::preset("rax").unwrap();
        assert_close(value(Measure::PairAccuracy, &file_order, &scores, &labels), 1.0 / 2.0);
    }

    #[test]
    fn ties_are_averaged_exactly() {
        assert_expectation_is_the_mean_of_all_orders(Measure::KendallTau);
        assert_expectation_is_the_mean_of_all_orders(Measure::PairAccuracy);
    }
}
