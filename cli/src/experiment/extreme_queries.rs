//! The worst and the best queries of a ranking, with their documents in ranked order.

use burn_rank::data::RankingDataset;
use burn_rank::workbench::dataset::document_name;
use burn_rank::workbench::text::shortened;
use serde::{Deserialize, Serialize};

/// Reports show the first `FIRST` documents by score and the first `BELONG` documents by label.
const FIRST: usize = 15;
const BELONG: usize = 5;

/// The number of characters to which longer document identifiers are shortened. An identifier can be the entire comment
/// of a LETOR line.
pub(crate) const LONGEST_IDENTIFIER: usize = 60;

/// A report shows at most this number of worst queries, and at most as many best queries.
const IN_REPORT: usize = 5;

/// The queries with the lowest and the highest values of a measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExtremeQueries {
    /// The measure.
    pub measure: String,
    /// The queries with the lowest values, in ascending order.
    pub worst: Vec<RankedQuery>,
    /// The queries with the highest values, in descending order.
    pub best: Vec<RankedQuery>,
}

/// A query with its documents in ranked order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankedQuery {
    /// The identifier of the query.
    pub query: String,
    /// The value of the measure for the query.
    pub value: f64,
    /// The number of documents in the query.
    pub documents: usize,
    /// The documents to show: the first 15 by score, and the first 5 by label.
    pub shown: Vec<RankedDocument>,
}

/// A document with its rank by score and its rank by label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankedDocument {
    /// The rank of the document by score, counted from 1. Documents with equal scores are ranked in the order of the
    /// data.
    pub rank: usize,
    /// The identifier of the document; if it has none, its number in the query, counted from 1.
    pub document: String,
    /// The score of the document, if it is finite.
    pub score: Option<f32>,
    /// The label of the document.
    pub label: f32,
    /// The rank of the document by label, counted from 1. Documents with equal labels are ranked by score.
    pub ideal_rank: usize,
}

impl ExtremeQueries {
    /// Tells readers which documents of a query are shown.
    pub const SHOWN: &'static str = "the first 15 documents, and those that belong among the first 5";

    /// Picks the `worst` queries with the lowest values and the `best` queries with the highest. Queries without a
    /// value are left out. `scores` contains one score per document, and `order` the number by which it is ranked. Ties
    /// go to the first query.
    pub fn new(
        measure: impl ToString,
        data: &RankingDataset,
        [scores, order]: [&[f32]; 2],
        values: &[Option<f64>],
        [worst, best]: [usize; 2],
    ) -> Self {
        let counted = values.iter().enumerate().filter_map(|(query, value)| Some((query, (*value)?)));
        let mut ascending: Vec<(usize, f64)> = counted.filter(|(_, value)| value.is_finite()).collect();
        let mut descending = ascending.clone();
        ascending.sort_by(|a, b| a.1.total_cmp(&b.1));
        descending.sort_by(|a, b| b.1.total_cmp(&a.1));
        let first = |queries: Vec<(usize, f64)>, count: usize| {
            let ranked = |(query, value)| RankedQuery::new(data, [scores, order], query, value);
            queries.into_iter().take(count).map(ranked).collect()
        };
        Self { measure: measure.to_string(), worst: first(ascending, worst), best: first(descending, best) }
    }

    /// Picks up to five worst and five best queries. It picks fewer if a query would otherwise be in both lists.
    pub fn of_report(measure: impl ToString, data: &RankingDataset, scores: &[f32], values: &[Option<f64>]) -> Self {
        let counted = values.iter().flatten().filter(|value| value.is_finite()).count();
        let ends = [counted.div_ceil(2), counted / 2].map(|half| half.min(IN_REPORT));
        Self::new(measure, data, [scores; 2], values, ends)
    }
}

impl RankedQuery {
    /// Ranks the documents of a query. `scores` contains one score for each document of `data`, and `order` one number
    /// by which it is ranked.
    fn new(data: &RankingDataset, [scores, order]: [&[f32]; 2], query: usize, value: f64) -> Self {
        let range = data.range(query);
        let documents = range.len();
        let (scores, numbers, labels) = (&scores[range.clone()], &order[range.clone()], &data.labels[range]);
        let mut ranked: Vec<usize> = (0..documents).collect();
        ranked.sort_by(|&one, &other| numbers[other].total_cmp(&numbers[one]));
        let mut ideal = ranked.clone();
        ideal.sort_by(|&one, &other| labels[other].total_cmp(&labels[one]));
        let mut ideal_ranks = vec![0; documents];
        ideal.into_iter().enumerate().for_each(|(at, document)| ideal_ranks[document] = at + 1);
        let shown = (1..).zip(ranked).filter(|&(rank, document)| rank <= FIRST || ideal_ranks[document] <= BELONG);
        let document = |(rank, document): (usize, usize)| RankedDocument {
            rank,
            document: shortened(&document_name(data, query, document), LONGEST_IDENTIFIER),
            score: Some(scores[document]).filter(|score| score.is_finite()),
            label: labels[document],
            ideal_rank: ideal_ranks[document],
        };
        Self { query: data.query_ids[query].clone(), value, documents, shown: shown.map(document).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ideal_ranks_keep_the_order_of_equal_labels() {
        let (scores, labels) = ([0.1, 0.9, 0.5, 0.5], vec![2.0, 0.0, 1.0, 1.0]);
        let data =
            RankingDataset::builder().features(vec![0.0; 4], 1).labels(labels).query_sizes(&[4]).build().unwrap();
        let query = RankedQuery::new(&data, [&scores, &scores], 0, 0.0);
        let ranks: Vec<_> = query.shown.iter().map(|of| (&*of.document, of.rank, of.ideal_rank)).collect();
        assert_eq!(ranks, [("2", 1, 4), ("3", 2, 2), ("4", 3, 3), ("1", 4, 1)]);
    }

    #[test]
    fn the_ends_are_picked_by_value_and_few_queries_are_not_picked_twice() {
        let labels = vec![0.0, 1.0, 1.0, 0.0, 1.0];
        let mut data =
            RankingDataset::builder().features(vec![0.0; 5], 1).labels(labels).query_sizes(&[2, 2, 1]).build().unwrap();
        data.document_ids = ["a".to_string(), "b".repeat(70), String::new(), "d".into(), "e".into()].to_vec();
        let scores = [2.0, 1.0, f32::NEG_INFINITY, 3.0, 0.0];
        let found = ExtremeQueries::of_report("mrr", &data, &scores, &[Some(0.5), Some(0.25), None]);
        let names = |queries: &[RankedQuery]| queries.iter().map(|query| query.query.clone()).collect::<Vec<_>>();
        assert_eq!((names(&found.worst), names(&found.best)), (vec!["2".to_string()], vec!["1".to_string()]));
        let places = |query: &RankedQuery| -> Vec<(usize, usize, Option<f32>)> {
            query.shown.iter().map(|document| (document.rank, document.ideal_rank, document.score)).collect()
        };
        assert_eq!(places(&found.worst[0]), [(1, 2, Some(3.0)), (2, 1, None)]);
        assert_eq!(found.worst[0].shown[1].document, "1", "a document without an identifier has its number");
        assert_eq!(found.best[0].shown[1].document, format!("{}\u{2026}", "b".repeat(60)));
    }

    #[test]
    fn a_long_query_has_its_first_documents_and_those_that_belong_there() {
        let labels = (0..100).map(|document| if document == 80 { 1.0 } else { 0.0 }).collect();
        let data =
            RankingDataset::builder().features(vec![0.0; 100], 1).labels(labels).query_sizes(&[100]).build().unwrap();
        let scores: Vec<f32> = (0..100).map(|document| -(document as f32)).collect();
        let query = RankedQuery::new(&data, [&scores, &scores], 0, 0.0);
        let ranks: Vec<usize> = query.shown.iter().map(|document| document.rank).collect();
        assert_eq!(ranks, (1..=15).chain([81]).collect::<Vec<_>>());
        assert_eq!((query.documents, query.shown[15].ideal_rank), (100, 1));
    }
}
