//! The ranked list that is built from scores and used by every measure.

use super::convention::{Convention, NegativeLabel, Ties};
use super::discount::Discounts;
use super::error::MeasureError;

/// The scored documents of one query, in the order of the file.
///
/// A score of -inf means that the document was not retrieved. A document that was not retrieved has no rank, but still
/// counts among the relevant documents and in the ideal order. Scores of NaN and +inf are errors.
#[derive(Debug, Clone, Copy)]
pub struct Ranking<'a> {
    /// One score per document, where higher scores rank higher.
    pub scores: &'a [f32],
    /// One label per document.
    pub labels: &'a [f32],
    /// One identifier per document, which is needed if the convention breaks ties by identifier.
    pub ids: Option<&'a [String]>,
}

/// A group of documents whose order the convention leaves open. The documents share the positions `start..end`, and
/// `relevant` of them are relevant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) relevant: usize,
}

impl Group {
    /// Returns the number of documents.
    pub(super) fn len(&self) -> usize {
        self.end - self.start
    }

    /// Returns how many positions of the group are among the first `k`.
    pub(super) fn within(&self, k: usize) -> usize {
        self.end.min(k).saturating_sub(self.start)
    }

    /// Returns the probability that a given document of the group is relevant.
    pub(super) fn relevant_share(&self) -> f64 {
        self.relevant as f64 / self.len() as f64
    }
}

/// The documents of one query in rank order.
pub(super) struct RankedList<'a> {
    /// Labels by position, in no particular order within a group.
    pub(super) labels: &'a [f64],
    /// Consecutive groups of tied documents that together cover all positions. Each group has one document unless the
    /// convention averages over ties.
    pub(super) groups: &'a [Group],
    /// Groups of documents with equal scores, regardless of the convention. If the convention averages over ties, this
    /// is the same slice as `groups`.
    pub(super) equal_scores: &'a [Group],
    /// Labels of documents that were not retrieved.
    pub(super) unranked: &'a [f64],
    /// Number of relevant documents, retrieved or not.
    pub(super) relevant: usize,
    /// Whether any label is above 0.
    pub(super) any_positive: bool,
    pub(super) discounts: &'a Discounts,
}

impl RankedList<'_> {
    /// Iterates over the labels of all documents.
    pub(super) fn all_labels(&self) -> impl Iterator<Item = f64> + '_ {
        self.labels.iter().chain(self.unranked).copied()
    }

    /// Iterates over the groups whose first position is below `k`, or over all groups if `k` is `None`.
    pub(super) fn groups_within(&self, k: Option<usize>) -> impl Iterator<Item = &Group> + '_ {
        let k = k.unwrap_or(usize::MAX);
        self.groups.iter().take_while(move |group| group.start < k)
    }

    /// Returns the expected number of relevant documents among the first `k`.
    pub(super) fn expected_hits(&self, k: Option<usize>) -> f64 {
        let hits = |group: &Group| match group.within(k.unwrap_or(usize::MAX)) {
            inside if inside == group.len() => group.relevant as f64,
            inside => inside as f64 * group.relevant_share(),
        };
        // Starts from 0, because an empty sum of floats is -0.
        self.groups_within(k).map(hits).fold(0.0, |sum, hits| sum + hits)
    }
}

/// Buffers that are reused from one query to the next, so ranking a query allocates no memory.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    keys: Vec<u64>,
    labels: Vec<f64>,
    unranked: Vec<f64>,
    groups: Vec<Group>,
    equal_scores: Vec<Group>,
}

/// Returns a number by which documents are sorted. The upper half of the key rises as the score falls; the lower half
/// is the document's position in the file.
pub(super) fn sort_key(score: f32, document: usize) -> u64 {
    u64::from(descending_key(score)) << 32 | document as u64
}

/// Returns the position in the file of the document with this key.
pub(super) fn document_of(key: u64) -> usize {
    (key & u64::from(u32::MAX)) as usize
}

/// Sorts documents with equal scores by descending identifier.
pub(super) fn order_ties_by_id<'a>(sorted: &mut [u64], id: impl Fn(usize) -> &'a str) {
    for tied in sorted.chunk_by_mut(|a, b| a >> 32 == b >> 32) {
        if tied.len() > 1 {
            tied.sort_by(|a, b| id(document_of(*b)).cmp(id(document_of(*a))));
        }
    }
}

fn has_ties(sorted: &[u64]) -> bool {
    sorted.windows(2).any(|two| two[0] >> 32 == two[1] >> 32)
}

/// Returns a key that rises as scores fall; -0 and 0 have the same key.
fn descending_key(score: f32) -> u32 {
    let bits = (score + 0.0).to_bits();
    let ascending = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
    !ascending
}

impl Workspace {
    /// Sorts the documents of one query. Error messages contain `query`, the query's number counted from 1.
    pub(super) fn rank<'a>(
        &'a mut self,
        ranking: &Ranking,
        convention: &Convention,
        discounts: &'a Discounts,
        query: usize,
    ) -> Result<RankedList<'a>, MeasureError> {
        let documents = ranking.labels.len();
        for (what, found) in
            [("scores", ranking.scores.len()), ("document identifiers", ranking.ids.map_or(documents, <[_]>::len))]
        {
            if found != documents {
                return Err(MeasureError::Length { what, found, expected: documents });
            }
        }
        self.keys.clear();
        self.unranked.clear();
        for (document, (&score, &label)) in ranking.scores.iter().zip(ranking.labels).enumerate() {
            if score.is_nan() || score == f32::INFINITY {
                return Err(MeasureError::Score { query, document: document + 1, found: score });
            }
            match meaning(label, convention) {
                Ok(Some(label)) if score == f32::NEG_INFINITY => self.unranked.push(label),
                Ok(Some(_)) => self.keys.push(sort_key(score, document)),
                Ok(None) => {}
                Err(expected) => {
                    return Err(MeasureError::Label { query, document: document + 1, found: label, expected });
                }
            }
        }
        self.keys.sort_unstable();
        // Without equal scores, no identifiers are needed.
        if convention.ties == Ties::DocumentIdDescending && has_ties(&self.keys) {
            let Some(ids) = ranking.ids else {
                return Err(MeasureError::NoDocumentIds { convention: convention.name.clone() });
            };
            order_ties_by_id(&mut self.keys, |document| ids[document].as_str());
        }
        self.labels.clear();
        self.labels.extend(self.keys.iter().map(|&key| f64::from(ranking.labels[document_of(key)]).max(0.0)));
        Ok(self.list(convention, discounts))
    }

    /// Builds a ranked list from labels that are already in rank order. `labels` are the labels by position, and
    /// `unranked` are the labels of documents that were not retrieved.
    pub(super) fn in_order<'a>(
        &'a mut self,
        labels: impl Iterator<Item = f64>,
        unranked: impl Iterator<Item = f64>,
        convention: &Convention,
        discounts: &'a Discounts,
    ) -> RankedList<'a> {
        self.labels.clear();
        self.labels.extend(labels);
        self.unranked.clear();
        self.unranked.extend(unranked);
        self.keys.clear();
        self.keys.extend((0..self.labels.len() as u64).map(|position| position << 32));
        self.list(convention, discounts)
    }

    /// Builds the ranked list from the keys and labels in the buffers.
    fn list<'a>(&'a mut self, convention: &Convention, discounts: &'a Discounts) -> RankedList<'a> {
        let from = convention.relevant_from;
        let relevant_in = |labels: &[f64]| labels.iter().filter(|&&label| label >= from).count();
        self.equal_scores.clear();
        self.groups.clear();
        let mut start = 0;
        for tied in self.keys.chunk_by(|a, b| a >> 32 == b >> 32) {
            let end = start + tied.len();
            self.equal_scores.push(Group { start, end, relevant: relevant_in(&self.labels[start..end]) });
            start = end;
        }
        if convention.ties != Ties::Average {
            self.groups.extend(self.labels.iter().enumerate().map(|(start, &label)| Group {
                start,
                end: start + 1,
                relevant: usize::from(label >= from),
            }));
        }
        let relevant =
            self.equal_scores.iter().map(|group| group.relevant).sum::<usize>() + relevant_in(&self.unranked);
        let any_positive = self.labels.iter().chain(&self.unranked).any(|&label| label > 0.0);
        let groups = if convention.ties == Ties::Average { &self.equal_scores } else { &self.groups };
        RankedList {
            labels: &self.labels,
            groups,
            equal_scores: &self.equal_scores,
            unranked: &self.unranked,
            relevant,
            any_positive,
            discounts,
        }
    }
}

/// Returns the label as the convention interprets it, or `None` for padding. If a label has no meaning, the error
/// describes the labels that are expected.
fn meaning(label: f32, convention: &Convention) -> Result<Option<f64>, String> {
    let label = f64::from(label);
    if label < 0.0 {
        return match convention.negative_label {
            NegativeLabel::Refuse => Err("a number, 0 or above".to_string()),
            NegativeLabel::Zero => Ok(Some(0.0)),
            NegativeLabel::Absent => Ok(None),
        };
    }
    match convention.gain.expected_label(label) {
        Some(expected) => Err(expected),
        None => Ok(Some(label)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank<T>(
        ties: Ties,
        scores: &[f32],
        labels: &[f32],
        ids: Option<&[String]>,
        read: impl Fn(&RankedList) -> T,
    ) -> Result<T, MeasureError> {
        let convention = Convention { ties, ..Convention::default() };
        let discounts = Discounts::new(&convention.discount, 0);
        Workspace::default().rank(&Ranking { scores, labels, ids }, &convention, &discounts, 3).map(|list| read(&list))
    }

    fn order(ties: Ties, scores: &[f32], ids: Option<&[String]>) -> Vec<f64> {
        let labels: Vec<f32> = (0..scores.len()).map(|label| label as f32).collect();
        rank(ties, scores, &labels, ids, |list| list.labels.to_vec()).unwrap()
    }

    #[test]
    fn keys_fall_as_scores_rise() {
        let scores = [f32::MIN, -1.5, -1e-40, 0.0, 1e-40, 2.0, f32::MAX];
        assert!(scores.windows(2).all(|pair| descending_key(pair[0]) > descending_key(pair[1])));
        assert_eq!(descending_key(-0.0), descending_key(0.0));
    }

    #[test]
    fn ties_are_ordered_as_the_convention_says() {
        let scores = [1.0, 2.0, 1.0, 2.0];
        let ids = ["d1", "d2", "d3", "d10"].map(String::from);
        assert_eq!(order(Ties::FileOrder, &scores, None), [1.0, 3.0, 0.0, 2.0]);
        assert_eq!(order(Ties::DocumentIdDescending, &scores, Some(&ids)), [1.0, 3.0, 2.0, 0.0]);
    }

    #[test]
    fn groups_hold_equal_scores_only_where_ties_are_averaged() {
        let (scores, labels) = ([1.0, 2.0, 1.0, 0.5], [1.0, 0.0, 0.0, 2.0]);
        let groups = |ties| {
            rank(ties, &scores, &labels, None, |list| {
                list.groups.iter().map(|g| (g.start, g.end, g.relevant)).collect::<Vec<_>>()
            })
            .unwrap()
        };
        assert_eq!(groups(Ties::Average), [(0, 1, 0), (1, 3, 1), (3, 4, 1)]);
        assert_eq!(groups(Ties::FileOrder), [(0, 1, 0), (1, 2, 1), (2, 3, 0), (3, 4, 1)]);
    }

    #[test]
    fn documents_that_were_not_retrieved_have_no_rank_but_count() {
        let found = rank(Ties::Average, &[f32::NEG_INFINITY, 1.0], &[1.0, 0.0], None, |list| {
            (list.labels.to_vec(), list.unranked.to_vec(), list.relevant)
        });
        assert_eq!(found.unwrap(), (vec![0.0], vec![1.0], 1));
    }

    #[test]
    fn bad_input_is_refused() {
        let message =
            |scores: &[f32], labels: &[f32]| rank(Ties::Average, scores, labels, None, |_| ()).unwrap_err().to_string();
        assert!(message(&[0.0, f32::NAN], &[0.0, 0.0]).starts_with("document 2 of query 3 has the score NaN"));
        assert!(message(&[f32::INFINITY], &[0.0]).contains("score inf"));
        assert!(message(&[0.0], &[-1.0]).contains("label -1: expected a number, 0 or above"));
        assert!(message(&[0.0], &[f32::NAN]).contains("label NaN"));
        assert!(message(&[0.0], &[2000.0]).contains("0 to 960"));
        assert!(message(&[0.0], &[0.0, 0.0]).contains("1 scores for 2 documents"));
        let no_ids = |scores: &[f32]| rank(Ties::DocumentIdDescending, scores, &[0.0, 1.0], None, |_| ());
        assert!(matches!(no_ids(&[0.5, 0.5]), Err(MeasureError::NoDocumentIds { .. })));
        assert!(no_ids(&[0.5, 0.25]).is_ok(), "no scores are equal");
    }
}
