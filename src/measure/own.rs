//! User-defined measures, which follow the same conventions as the measures of this crate.

use std::fmt::Debug;
use std::ops::Range;

use super::convention::Convention;
use super::error::MeasureError;
use super::orders::Orders;
use super::ranking::{RankedList, Ranking};

/// An exact measure of a ranked list, which is larger for better lists. [`Measure::own`](super::Measure::own) turns a
/// `ListMeasure` into a [`Measure`](super::Measure) that works like the measures of this crate.
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
/// let rankings = Rankings {
///     scores: &[0.3, 0.2, 0.1, 0.0],
///     labels: &[1.0, 0.0, 1.0, 0.0],
///     offsets: &[0, 4],
///     document_ids: &[],
/// };
/// let measures = [Measure::own(UpperHalf), Measure::Ap(None)];
/// let found = evaluate(&rankings, &measures, &Convention::default())?;
/// assert_eq!(found.means[0].1, 0.5);
/// assert_eq!(found.means[0].0.to_string(), "upper_half");
/// # Ok::<(), burn_rank::measure::MeasureError>(())
/// ```
pub trait ListMeasure: Debug + Send + Sync {
    /// Returns the name of the measure with its parameters, such as `ndcg@10`. The measure is identified by its name,
    /// which is printed and written to files. The name must differ from the names of this crate's measures.
    fn name(&self) -> &str;

    /// Returns the value of one query as a finite number. `None` means that the measure has no value for this query,
    /// for example because no document is relevant. If a query has no value, the convention either excludes the query
    /// from the mean or assigns a value to it ([`EmptyQuery`](super::EmptyQuery)).
    fn value(&self, list: &RankedDocuments) -> Option<f64>;

    /// Returns whether all values lie in `[0, 1]`; learners that bound a measure require this.
    fn in_unit_interval(&self) -> bool {
        true
    }

    /// Returns a description of the accepted labels if the measure does not accept `label`, which is 0 or above. The
    /// default is `None`, which accepts every label that the convention's gain accepts.
    fn expected_label(&self, _label: f64) -> Option<String> {
        None
    }
}

/// Two user-defined measures with the same name are equal.
impl PartialEq for dyn ListMeasure {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl dyn ListMeasure {
    /// Returns an error for the first label that the measure does not accept. The number `query` is counted from 1.
    pub(super) fn check_labels(&self, ranking: &Ranking, query: usize) -> Result<(), MeasureError> {
        for (document, &label) in ranking.labels.iter().enumerate().filter(|(_, label)| **label >= 0.0) {
            if let Some(expected) = self.expected_label(f64::from(label)) {
                return Err(MeasureError::Label { query, document: document + 1, found: label, expected });
            }
        }
        Ok(())
    }
}

/// The documents of one query in rank order, interpreted by a [`Convention`]. Positions count from 0, and ranks from 1.
///
/// If the convention averages over ties ([`Ties::Average`](super::Ties::Average)), documents with equal scores share
/// their positions. For tied documents, [`gains`](Self::gains) and [`relevance`](Self::relevance) give the mean at each
/// shared position, so sums over positions are exact. A measure that combines several documents, such as average
/// precision, uses [`mean_over_orders`](Self::mean_over_orders) instead.
pub struct RankedDocuments<'a> {
    list: &'a RankedList<'a>,
    convention: &'a Convention,
}

impl<'a> RankedDocuments<'a> {
    pub(super) fn new(list: &'a RankedList<'a>, convention: &'a Convention) -> Self {
        Self { list, convention }
    }

    /// Returns the convention by which the measure is computed.
    pub fn convention(&self) -> &Convention {
        self.convention
    }

    /// Returns the number of documents that have a rank.
    pub fn retrieved(&self) -> usize {
        self.list.labels.len()
    }

    /// Returns the label of the document at each position. Tied documents share their positions, and their labels are
    /// in no particular order.
    pub fn labels(&self) -> &[f64] {
        self.list.labels
    }

    /// Returns the labels of documents that were not retrieved.
    pub fn unretrieved(&self) -> &[f64] {
        self.list.unranked
    }

    /// Returns the number of relevant documents, retrieved or not.
    pub fn relevant(&self) -> usize {
        self.list.relevant
    }

    /// Returns the ranges of positions that several documents share, in ascending order.
    pub fn ties(&self) -> impl Iterator<Item = Range<usize>> {
        self.list.groups.iter().filter(|group| group.len() > 1).map(|group| group.start..group.end)
    }

    /// Returns the gain of the document at each position. At positions that several documents share, returns their mean
    /// gain.
    pub fn gains(&self) -> impl Iterator<Item = f64> {
        self.at_positions(|label| self.convention.gain.of(label))
    }

    /// Returns 1 for each position with a relevant document, otherwise 0. At positions that several documents share,
    /// returns the fraction of these documents that are relevant.
    pub fn relevance(&self) -> impl Iterator<Item = f64> {
        self.at_positions(|label| f64::from(u8::from(label >= self.convention.relevant_from)))
    }

    /// Returns the discount of a rank, counted from 1.
    ///
    /// # Panics
    /// Panics if the rank is 0.
    pub fn discount(&self, rank: usize) -> f64 {
        self.list.discounts.at_position(rank.checked_sub(1).expect("ranks count from 1"))
    }

    /// Returns the gains of all documents, retrieved or not, in descending order as in the ideal list.
    pub fn ideal_gains(&self) -> Vec<f64> {
        let mut gains: Vec<f64> = self.list.all_labels().map(|label| self.convention.gain.of(label)).collect();
        gains.sort_unstable_by(|a, b| b.total_cmp(a));
        gains
    }

    /// Returns the mean of `value` over all orders of the documents that share positions. `value` receives the labels
    /// in the order of the positions. The mean is exact for up to 120 different orders of labels. For more orders, the
    /// mean covers a random sample of 120, the same in every evaluation.
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

    /// A second implementation of average precision, for comparison in tests. Average precision compares relevant
    /// documents, so it needs all orders of tied documents.
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
