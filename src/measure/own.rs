//! Your own exact measures, in the conventions of the others.

use std::fmt::Debug;
use std::ops::Range;

use super::convention::Convention;
use super::error::MeasureError;
use super::orders::Orders;
use super::ranking::{RankedList, Ranking};

/// An exact measure of a ranked list, larger for a better list. [`Measure::own`](super::Measure::own) makes a
/// [`Measure`](super::Measure) of it, which goes wherever the measures of this crate go.
///
/// ```
/// use burn_rank::measure::{Convention, ListMeasure, Measure, RankedDocuments, Rankings, evaluate};
///
/// /// The share of the gain that the first half of the list holds.
/// #[derive(Debug)]
/// struct UpperHalf;
///
/// impl ListMeasure for UpperHalf {
///     fn name(&self) -> &str {
///         "upper_half"
///     }
///     fn value(&self, list: &RankedDocuments) -> Option<f64> {
///         let all: f64 = list.ideal_gains().iter().sum();
///         let upper: f64 = list.gains().take(list.retrieved() / 2).sum();
///         (all > 0.0).then(|| upper / all)
///     }
/// }
///
/// let rankings = Rankings { scores: &[0.3, 0.2, 0.1, 0.0], labels: &[1.0, 0.0, 1.0, 0.0], offsets: &[0, 4], document_ids: &[] };
/// let measures = [Measure::own(UpperHalf), Measure::Ap(None)];
/// let found = evaluate(&rankings, &measures, &Convention::default())?;
/// assert_eq!(found.means[0].1, 0.5);
/// assert_eq!(found.means[0].0.to_string(), "upper_half");
/// # Ok::<(), burn_rank::measure::MeasureError>(())
/// ```
pub trait ListMeasure: Debug + Send + Sync {
    /// Returns the name with its parameters, as in `ndcg@10`. It is printed and written, and distinguishes the measure
    /// from others. It must not be the name of a measure of this crate.
    fn name(&self) -> &str;

    /// Returns the value of one query, a finite number. `None` means that the query has nothing to find; the convention
    /// then leaves the query out or gives it a value ([`EmptyQuery`](super::EmptyQuery)).
    fn value(&self, list: &RankedDocuments) -> Option<f64>;

    /// Whether all values lie in `[0, 1]`, as learners that bound a measure require. The default is `true`.
    fn in_unit_interval(&self) -> bool {
        true
    }

    /// Returns the requirement on labels if a `label` of 0 or above violates it. The default is `None`: every label is
    /// valid that the gain of the convention allows.
    fn expected_label(&self, _label: f64) -> Option<String> {
        None
    }
}

/// The content of [`Measure::Own`](super::Measure::Own): a [`ListMeasure`] that all copies share, equal to those with
/// the same name.
#[derive(Debug, Clone, Copy)]
pub struct OwnMeasure(&'static dyn ListMeasure);

impl OwnMeasure {
    /// A measure that lives as long as the program, such as a `static`.
    pub const fn new(measure: &'static dyn ListMeasure) -> Self {
        Self(measure)
    }

    /// The measure.
    pub fn get(&self) -> &'static dyn ListMeasure {
        self.0
    }

    /// Refuses the first label that the measure has no meaning for. `query` counts from 1.
    pub(super) fn check_labels(&self, ranking: &Ranking, query: usize) -> Result<(), MeasureError> {
        for (document, &label) in ranking.labels.iter().enumerate().filter(|(_, label)| **label >= 0.0) {
            if let Some(expected) = self.0.expected_label(f64::from(label)) {
                return Err(MeasureError::Label { query, document: document + 1, found: label, expected });
            }
        }
        Ok(())
    }
}

impl PartialEq for OwnMeasure {
    fn eq(&self, other: &Self) -> bool {
        self.0.name() == other.0.name()
    }
}

/// The documents of one query in rank order, read as a [`Convention`] says. Positions count from 0, ranks from 1.
///
/// If the convention averages over the orders of equal scores ([`Ties::Average`](super::Ties::Average)), documents of
/// one score share their positions. [`gains`](Self::gains) and [`relevance`](Self::relevance) then give their mean at
/// each of these positions, which makes a sum over positions exact. A measure that combines documents, such as average
/// precision, uses [`mean_over_orders`](Self::mean_over_orders) instead.
pub struct RankedDocuments<'a> {
    list: &'a RankedList<'a>,
    convention: &'a Convention,
}

impl<'a> RankedDocuments<'a> {
    pub(super) fn new(list: &'a RankedList<'a>, convention: &'a Convention) -> Self {
        Self { list, convention }
    }

    /// The convention.
    pub fn convention(&self) -> &Convention {
        self.convention
    }

    /// Number of documents that have a rank.
    pub fn retrieved(&self) -> usize {
        self.list.labels.len()
    }

    /// Labels by position. Tied documents share their positions, and their labels are in no particular order.
    pub fn labels(&self) -> &[f64] {
        self.list.labels
    }

    /// Labels of the documents that were not retrieved.
    pub fn unretrieved(&self) -> &[f64] {
        self.list.unranked
    }

    /// Number of relevant documents, retrieved or not.
    pub fn relevant(&self) -> usize {
        self.list.relevant
    }

    /// Positions that two documents or more share, in ascending order.
    pub fn ties(&self) -> impl Iterator<Item = Range<usize>> {
        self.list.groups.iter().filter(|group| group.len() > 1).map(|group| group.start..group.end)
    }

    /// Gain of the document at each position, or the mean of those that share it.
    pub fn gains(&self) -> impl Iterator<Item = f64> {
        self.at_positions(|label| self.convention.gain.of(label))
    }

    /// 1 at the positions of relevant documents, else 0; the share of relevant ones where several share a position.
    pub fn relevance(&self) -> impl Iterator<Item = f64> {
        self.at_positions(|label| f64::from(u8::from(label >= self.convention.relevant_from)))
    }

    /// Discount of a rank, from 1.
    ///
    /// # Panics
    /// Rank 0.
    pub fn discount(&self, rank: usize) -> f64 {
        self.list.discounts.at_position(rank.checked_sub(1).expect("ranks count from 1"))
    }

    /// Gains of all documents, retrieved or not, the largest first: the gains of the ideal list.
    pub fn ideal_gains(&self) -> Vec<f64> {
        let mut gains: Vec<f64> = self.list.all_labels().map(|label| self.convention.gain.of(label)).collect();
        gains.sort_unstable_by(|a, b| b.total_cmp(a));
        gains
    }

    /// The mean of `value`, which is given labels by position, over the orders of the documents that share positions.
    /// It is exact up to 120 different orders of labels; beyond, the mean over 120 that are drawn, the same in every
    /// evaluation.
    pub fn mean_over_orders(&self, value: impl FnMut(&[f64]) -> f64) -> f64 {
        Orders::new(self.list.labels, self.ties().collect()).mean(value)
    }

    fn at_positions(&self, of: impl Fn(f64) -> f64) -> impl Iterator<Item = f64> {
        self.list.groups.iter().flat_map(move |group| {
            let mean = match &self.list.labels[group.start..group.end] {
                [label] => of(*label),
                labels => labels.iter().map(|&label| of(label)).sum::<f64>() / labels.len() as f64,
            };
            std::iter::repeat_n(mean, group.len())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::testing::assert_expectation_is_the_mean_of_all_orders;
    use crate::measure::{EmptyQuery, Measure, Rankings, Ties, evaluate};

    /// NDCG@k, once more.
    #[derive(Debug)]
    struct OwnNdcg {
        name: String,
        k: usize,
    }

    fn own_ndcg(k: usize) -> Measure {
        Measure::own(OwnNdcg { name: format!("own_ndcg@{k}"), k })
    }

    impl ListMeasure for OwnNdcg {
        fn name(&self) -> &str {
            &self.name
        }

        fn value(&self, list: &RankedDocuments) -> Option<f64> {
            let dcg = |gains: &mut dyn Iterator<Item = f64>| -> f64 {
                gains.take(self.k).zip(1..).map(|(gain, rank)| gain * list.discount(rank)).sum()
            };
            let ideal = dcg(&mut list.ideal_gains().into_iter());
            (ideal > 0.0).then(|| dcg(&mut list.gains()) / ideal)
        }
    }

    /// Average precision again: it compares relevant documents, so ties need their orders.
    #[derive(Debug)]
    struct OwnAp;

    impl ListMeasure for OwnAp {
        fn name(&self) -> &str {
            "own_ap"
        }

        fn value(&self, list: &RankedDocuments) -> Option<f64> {
            let precisions = |labels: &[f64]| {
                let mut hits = 0.0;
                let at = |(rank, &label): (usize, &f64)| {
                    hits += f64::from(u8::from(label >= 1.0));
                    if label >= 1.0 { hits / rank as f64 } else { 0.0 }
                };
                (1..).zip(labels).map(at).sum()
            };
            (list.relevant() > 0).then(|| list.mean_over_orders(precisions) / list.relevant() as f64)
        }

        fn expected_label(&self, label: f64) -> Option<String> {
            (label > 4.0).then(|| "up to 4".to_string())
        }
    }

    #[test]
    fn ties_are_averaged_over_their_orders() {
        assert_expectation_is_the_mean_of_all_orders(own_ndcg(3));
        assert_expectation_is_the_mean_of_all_orders(Measure::own(OwnAp));
    }

    #[test]
    fn values_are_those_of_the_same_measures_of_this_crate() {
        let documents = 0..360u32;
        let hash = |document: u32| document.wrapping_mul(2_654_435_761) >> 16;
        let scores: Vec<f32> = documents.clone().map(|d| (hash(d) % 40) as f32).collect();
        let labels: Vec<f32> = documents.map(|d| (hash(d + 9_000) % 7).saturating_sub(4) as f32).collect();
        let offsets: Vec<usize> = (0..=60).map(|query| 6 * query).collect();
        let rankings = Rankings { scores: &scores, labels: &labels, offsets: &offsets, document_ids: &[] };
        for preset in ["standard", "letor", "sklearn", "rax"] {
            let convention = Convention::preset(preset).unwrap();
            let measures = [Measure::Ndcg(Some(5)), own_ndcg(5), Measure::own(OwnAp), Measure::Ap(None)];
            let found = evaluate(&rankings, &measures, &convention).unwrap();
            let mut compared = 0;
            // scikit-learn's average precision takes tied documents at once.
            let same = if preset == "sklearn" { &[(0, 1)][..] } else { &[(0, 1), (2, 3)] };
            for &(one, other) in same {
                for (one, other) in found.per_query[one].iter().zip(&found.per_query[other]) {
                    assert_eq!(one.is_some(), other.is_some(), "{preset}");
                    let difference = one.zip(*other).map_or(0.0, |(one, other)| (one - other).abs());
                    assert!(difference < 1e-12, "{preset}: {one:?} {other:?}");
                    compared += usize::from(one.is_some());
                }
            }
            assert!(compared > 50, "{preset}: {compared}");
        }
    }

    #[test]
    fn a_query_with_nothing_to_find_is_left_out_or_has_the_value_of_the_convention() {
        let ranking = Ranking { scores: &[1.0, 0.0], labels: &[0.0, 0.0], ids: None };
        let value = |empty| {
            let convention = Convention { empty, ties: Ties::FileOrder, ..Convention::default() };
            own_ndcg(3).query(&ranking, &convention).unwrap()
        };
        assert_eq!(value(EmptyQuery::Exclude), None);
        assert_eq!(value(EmptyQuery::Value(1.0)), Some(1.0));
    }

    #[test]
    fn names_and_labels_are_checked() {
        let ranking = Ranking { scores: &[1.0, 0.0], labels: &[0.0, 5.0], ids: None };
        let refused = |measure: Measure| measure.query(&ranking, &Convention::default()).unwrap_err().to_string();
        assert_eq!(refused(Measure::own(OwnAp)), "document 2 of query 1 has the label 5: expected up to 4");
        let taken = refused(Measure::own(OwnNdcg { name: "NDCG@10".into(), k: 10 }));
        assert_eq!(taken, "measure `NDCG@10`: expected a name that no measure of this crate has");
        assert_eq!(own_ndcg(3), own_ndcg(3));
        assert_ne!(own_ndcg(3), own_ndcg(4));
    }
}
