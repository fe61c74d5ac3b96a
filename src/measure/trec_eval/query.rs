//! A query of a TREC run, joined with its relevance judgments.

use std::collections::HashMap;

use crate::measure::ranking::{RankedList, document_of, order_ties_by_id, sort_key};
use crate::measure::{Convention, Measure, MeasureError, Ranking, value};

/// The persistence of trec_eval's rank-biased precision.
pub(super) const PERSISTENCE: f64 = 0.9;

/// The documents of one query, both those retrieved (in any order) and those judged.
#[derive(Debug, Clone, Copy)]
pub struct TrecQuery<'a> {
    /// The retrieved documents, each with its identifier and score. A query that is missing from the run has no
    /// retrieved documents (`-c`).
    pub run: &'a [(&'a str, f32)],
    /// The judged documents, each with its identifier and relevance level. A document whose level is below 0 counts as
    /// not judged.
    pub qrels: &'a [(&'a str, i32)],
}

/// The documents of one query that were retrieved or judged, as scores, labels and identifiers for any convention.
#[derive(Debug, Clone, PartialEq)]
pub struct TrecDocuments {
    /// One score per document. Retrieved documents come first, in the order of the run. Judged documents that were not
    /// retrieved follow, with the score -inf.
    pub scores: Vec<f32>,
    /// One label per document: its relevance level, or 0 if it was not judged.
    pub labels: Vec<f32>,
    /// One identifier per document.
    pub ids: Vec<String>,
}

impl TrecDocuments {
    /// Returns the ranking on which a convention's measures are computed.
    pub fn ranking(&self) -> Ranking<'_> {
        Ranking { scores: &self.scores, labels: &self.labels, ids: Some(&self.ids) }
    }
}

impl<'a> TrecQuery<'a> {
    /// Returns the positions of the first `depth` documents of the run in trec_eval's order: by descending score, with
    /// ties broken by descending identifier.
    ///
    /// # Errors
    /// Returns [`MeasureError::Score`] for a score of NaN. In the error, the document's number is its position in the
    /// run, counted from 1. The query's number is 1.
    pub(super) fn order(&self, depth: Option<usize>) -> Result<Vec<usize>, MeasureError> {
        let run = self.run;
        if let Some(at) = run.iter().position(|(_, score)| score.is_nan()) {
            return Err(MeasureError::Score { query: 1, document: at + 1, found: run[at].1 });
        }
        let mut keys: Vec<u64> = run.iter().enumerate().map(|(at, (_, score))| sort_key(*score, at)).collect();
        keys.sort_unstable();
        order_ties_by_id(&mut keys, |at| run[at].0);
        keys.truncate(depth.unwrap_or(usize::MAX));
        Ok(keys.into_iter().map(document_of).collect())
    }

    /// Maps each judged document's identifier to its relevance level. If a document has several judgments, the last one
    /// counts.
    pub(super) fn judgments(&self) -> HashMap<&'a str, i32> {
        self.qrels.iter().copied().collect()
    }
}

/// Returns the documents as scores, labels and identifiers, for conventions other than trec_eval's. Retrieved
/// documents after the first `depth` count as not retrieved.
///
/// # Errors
/// Returns [`MeasureError::Score`] for a score of NaN, as
/// [`TrecEvaluator::query`](super::TrecEvaluator::query) does.
pub fn documents(query: &TrecQuery, depth: Option<usize>) -> Result<TrecDocuments, MeasureError> {
    let mut judgments = query.judgments();
    let mut documents = TrecDocuments { scores: Vec::new(), labels: Vec::new(), ids: Vec::new() };
    let mut add = |id: &str, score: f32, relevance: i32| {
        documents.scores.push(score);
        documents.labels.push(relevance as f32);
        documents.ids.push(id.to_owned());
    };
    let mut retrieved = query.order(depth)?;
    retrieved.sort_unstable();
    for (id, score) in retrieved.into_iter().map(|at| query.run[at]) {
        add(id, score, judgments.remove(id).unwrap_or(0));
    }
    // Keeps the order of the judgments, which a hash map would lose.
    for (id, _) in query.qrels {
        if let Some(relevance) = judgments.remove(id) {
            add(id, f32::NEG_INFINITY, relevance);
        }
    }
    Ok(documents)
}

/// A query's documents in rank order, with their relevance levels.
pub(super) struct Judged<'a> {
    pub(super) list: &'a RankedList<'a>,
    /// The relevance level at each position, or `None` for an unjudged document.
    pub(super) relevance: &'a [Option<i32>],
    /// The number of documents judged not relevant, retrieved or not.
    pub(super) irrelevant: usize,
    /// The lowest relevance level of a relevant document.
    pub(super) level: i32,
    pub(super) convention: &'a Convention,
}

impl Judged<'_> {
    /// Returns the value of a measure in the convention of trec_eval.
    pub(super) fn measure(&self, measure: Measure) -> Result<f64, MeasureError> {
        value(&measure, self.list, self.convention, 1).map(Option::unwrap_or_default)
    }

    /// Returns the number of documents retrieved.
    pub(super) fn retrieved(&self) -> usize {
        self.list.labels.len()
    }

    /// Returns the number of relevant documents among the first `k`.
    pub(super) fn hits(&self, k: usize) -> f64 {
        self.list.expected_hits(Some(k))
    }

    pub(super) fn set_precision(&self) -> f64 {
        ratio(self.hits(self.retrieved()), self.retrieved())
    }

    pub(super) fn set_recall(&self) -> f64 {
        ratio(self.hits(self.retrieved()), self.list.relevant)
    }

    /// Computes bpref, `1/R sum over relevant documents of 1 - min(irrelevant above it, R) / min(irrelevant, R)`.
    pub(super) fn bpref(&self) -> f64 {
        let relevant = self.list.relevant;
        if relevant == 0 {
            return 0.0;
        }
        let most = self.irrelevant.min(relevant) as f64;
        let (mut above, mut sum) = (0, 0.0);
        for &relevance in self.relevance.iter().flatten() {
            if relevance < self.level {
                above += 1;
            } else {
                sum += if above == 0 { 1.0 } else { 1.0 - above.min(relevant) as f64 / most };
            }
        }
        sum / relevant as f64
    }

    /// Returns the total weight of the ranks with an unjudged document or beyond the end of the run. For a query that
    /// is missing from the run, this weight is 0, like all other measures.
    pub(super) fn rank_biased_residual(&self) -> f64 {
        if self.relevance.is_empty() {
            return 0.0;
        }
        let mut weight = 1.0 - PERSISTENCE;
        let mut unjudged = 0.0;
        for judged in self.relevance {
            unjudged += if judged.is_none() { weight } else { 0.0 };
            weight *= PERSISTENCE;
        }
        unjudged + weight / (1.0 - PERSISTENCE)
    }

    /// Returns the highest precision among the ranks at which at least the share `level` of the relevant documents has
    /// been retrieved. This share of the relevant documents is rounded to a whole number of documents.
    pub(super) fn interpolated_precision(&self, level: f64) -> f64 {
        let wanted = (level * self.list.relevant as f64).round() as usize;
        let mut hits = 0;
        let mut best: f64 = 0.0;
        for group in self.list.groups {
            hits += group.relevant;
            if group.relevant > 0 && hits >= wanted {
                best = best.max(hits as f64 / group.end as f64);
            }
        }
        best
    }
}

/// Returns `a / b`, or 0 if `b` is 0.
pub(super) fn ratio(a: f64, b: usize) -> f64 {
    if b == 0 { 0.0 } else { a / b as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::trec_eval::{TrecEvaluator, TrecMeasure};

    const RUN: [(&str, f32); 4] = [("a", 1.0), ("b", 2.0), ("c", 1.0), ("d", 0.5)];
    const QRELS: [(&str, i32); 4] = [("a", 1), ("b", 0), ("d", 2), ("e", 1)];

    fn values(measures: &str, level: i32, depth: Option<usize>) -> Vec<f64> {
        let query = TrecQuery { run: &RUN, qrels: &QRELS };
        let measures = TrecMeasure::parse_list(measures).unwrap();
        TrecEvaluator::new(&measures, level, depth).unwrap().query(&query).unwrap()
    }

    #[test]
    fn worked_values_with_ties_by_descending_identifier() {
        // Order b, c (not judged), a (relevant), d (relevant); e is relevant and not retrieved.
        let found = values("num_ret,num_rel,num_rel_ret,recip_rank,bpref,P.5", 1, None);
        assert_eq!(found, [4.0, 3.0, 2.0, 1.0 / 3.0, 0.0, 2.0 / 5.0]);
        assert_eq!(values("iprec_at_recall.0,1", 1, None), [0.5, 0.0]);
    }

    #[test]
    fn relevance_level_and_depth_change_the_values() {
        assert_eq!(values("num_rel,recip_rank", 2, None), [1.0, 0.25]);
        assert_eq!(values("ndcg", 2, None), values("ndcg", 1, None));
        assert_eq!(values("num_ret,num_rel_ret,num_rel", 1, Some(3)), [3.0, 1.0, 3.0]);
    }

    #[test]
    fn documents_are_given_to_other_conventions() {
        let query = TrecQuery { run: &RUN, qrels: &QRELS };
        assert_eq!(query.order(None).unwrap(), [1, 2, 0, 3]);
        let all = documents(&query, None).unwrap();
        assert_eq!(all.ids, ["a", "b", "c", "d", "e"]);
        assert_eq!(all.scores, [1.0, 2.0, 1.0, 0.5, f32::NEG_INFINITY]);
        assert_eq!(all.labels, [1.0, 0.0, 0.0, 2.0, 1.0]);
        // The second of the tied documents is cut; it was judged and is now not retrieved.
        let cut = documents(&query, Some(2)).unwrap();
        assert_eq!(cut.ids, ["b", "c", "a", "d", "e"]);
        assert_eq!(cut.scores[1..3], [1.0, f32::NEG_INFINITY]);
        let convention = Convention::preset("trec_eval").unwrap();
        let of_convention = |depth| {
            let documents = documents(&query, depth).unwrap();
            [Measure::Ndcg(None), Measure::Ap(None), Measure::Recall(None)]
                .map(|measure| measure.query(&documents.ranking(), &convention).unwrap().unwrap())
        };
        for depth in [None, Some(2), Some(3)] {
            assert_eq!(of_convention(depth).to_vec(), values("ndcg,map,set_recall", 1, depth));
        }
    }

    #[test]
    fn bad_input_is_refused() {
        let evaluator = TrecEvaluator::new(&TrecMeasure::parse("map").unwrap(), 1, None).unwrap();
        assert!(evaluator.query(&TrecQuery { run: &[("a", f32::NAN)], qrels: &[] }).is_err());
        assert!(TrecEvaluator::new(&[], 0, None).is_err());
        assert_eq!(evaluator.query(&TrecQuery { run: &[], qrels: &QRELS }).unwrap(), [0.0]);
    }
}
