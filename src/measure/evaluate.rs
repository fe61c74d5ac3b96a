//! Measures of many queries. Each list is sorted once for all measures, and queries are evaluated in parallel. Means
//! are summed in the order of the queries, so they are identical bit for bit with any number of threads.

use std::ops::Range;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::convention::Convention;
use super::discount::Discounts;
use super::error::MeasureError;
use super::mean::mean;
use super::ranking::{Ranking, Workspace};
use super::{Measure, value};
use crate::parallel;

/// The number of queries that one task ranks with the same buffers.
const QUERIES_PER_TASK: usize = 32;
/// The number of top ranks whose discounts are computed once and then reused.
const REMEMBERED_RANKS: usize = 2048;

/// The scored documents of many queries, in flat arrays.
#[derive(Debug, Clone, Copy)]
pub struct Rankings<'a> {
    /// One score per document. Higher scores rank higher, and -inf means that the document was not retrieved.
    pub scores: &'a [f32],
    /// One label per document.
    pub labels: &'a [f32],
    /// The `queries + 1` offsets into the documents; query `q` is `offsets[q]..offsets[q + 1]`.
    pub offsets: &'a [usize],
    /// One identifier per document; empty if the data have no identifiers.
    pub document_ids: &'a [String],
}

impl<'a> Rankings<'a> {
    /// Returns the number of queries.
    pub fn queries(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    fn range(&self, query: usize) -> Range<usize> {
        self.offsets[query]..self.offsets[query + 1]
    }

    fn ranking(&self, query: usize) -> Ranking<'a> {
        let range = self.range(query);
        Ranking {
            scores: &self.scores[range.clone()],
            labels: &self.labels[range.clone()],
            ids: (!self.document_ids.is_empty()).then(|| &self.document_ids[range]),
        }
    }

    fn check(&self) -> Result<(), MeasureError> {
        let documents = self.labels.len();
        let lengths = [("scores", self.scores.len(), false), ("document identifiers", self.document_ids.len(), true)];
        for (what, found, may_be_absent) in lengths {
            if found != documents && !(may_be_absent && found == 0) {
                return Err(MeasureError::Length { what, found, expected: documents });
            }
        }
        let found = match self.offsets {
            [] => Some("are absent".to_string()),
            [first, ..] if *first != 0 => Some(format!("start at {first}")),
            [.., last] if *last != documents => Some(format!("end at {last}")),
            offsets => {
                let falls = offsets.windows(2).find(|pair| pair[0] > pair[1]);
                falls.map(|pair| format!("fall from {} to {}", pair[0], pair[1]))
            }
        };
        found.map_or(Ok(()), |found| Err(MeasureError::Offsets { found, documents }))
    }
}

/// The measures of a set of queries, and the convention by which they were computed.
///
/// An evaluation is written as `{"convention", "queries", "empty_queries", "measures": {"ndcg@10": ..}}`.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// The convention.
    pub convention: Convention,
    /// The number of queries, including those without a relevant document.
    pub queries: usize,
    /// The number of queries without a relevant document.
    pub empty_queries: usize,
    /// The mean of every measure, in the order requested.
    pub means: Vec<(Measure, f64)>,
    /// The value of each measure for each query, `per_query[measure][query]`, with measures in the order requested. A
    /// value is `None` if the convention excludes the query.
    pub per_query: Vec<Vec<Option<f64>>>,
}

impl Serialize for Evaluation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Means<'a>(&'a [(Measure, f64)]);
        impl Serialize for Means<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map(self.0.iter().map(|(measure, mean)| (measure, mean)))
            }
        }
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("convention", &self.convention)?;
        map.serialize_entry("queries", &self.queries)?;
        map.serialize_entry("empty_queries", &self.empty_queries)?;
        map.serialize_entry("measures", &Means(&self.means))?;
        map.end()
    }
}

/// The values of all measures for one query.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct QueryValues {
    /// One value per measure, in the order requested. A value is `None` if the convention excludes the query.
    pub values: Vec<Option<f64>>,
    /// Whether the query has no relevant document.
    pub empty: bool,
}

/// Measures and a convention that are checked once and then applied to many rankings.
#[derive(Debug, Clone)]
pub struct Evaluator {
    measures: Vec<Measure>,
    convention: Convention,
    discounts: Discounts,
}

impl Evaluator {
    /// Creates an evaluator after checking the parameters of the measures and the convention.
    ///
    /// # Errors
    /// Returns [`MeasureError::MeasureParameter`] if a cut-off is 0 or a persistence is not between 0 and 1. Returns
    /// [`MeasureError::Convention`] if a field of the convention is out of range.
    pub fn new(measures: &[Measure], convention: &Convention) -> Result<Self, MeasureError> {
        measures.iter().try_for_each(Measure::check)?;
        convention.check()?;
        Ok(Self {
            measures: measures.to_vec(),
            convention: convention.clone(),
            discounts: Discounts::new(&convention.discount, REMEMBERED_RANKS),
        })
    }

    /// Computes all measures of all queries, in parallel.
    ///
    /// # Errors
    /// Returns the errors of [`Evaluator::first_measure`], and [`MeasureError::NoQueries`] if a measure has no value
    /// for any query.
    pub fn evaluate(&self, rankings: &Rankings) -> Result<Evaluation, MeasureError> {
        let (values, empty_queries) = self.values(rankings)?;
        let count = self.measures.len();
        let per_query = (0..count).map(|m| values.iter().skip(m).step_by(count).copied().collect()).collect();
        self.evaluation(rankings.queries(), empty_queries, per_query)
    }

    /// Computes all measures of one query, as input for [`Evaluator::summary`].
    ///
    /// # Errors
    /// Returns [`MeasureError::Length`] if arrays differ in length. Returns [`MeasureError::NoDocumentIds`] if the
    /// convention breaks ties by identifier and the documents have none. Returns [`MeasureError::Score`] for a score of
    /// NaN or +inf. Returns [`MeasureError::Label`] for a label that the convention rejects, and
    /// [`MeasureError::Grade`] for a label above the maximum grade of ERR. In error messages, the query's number is 1.
    pub fn query(&self, ranking: &Ranking) -> Result<QueryValues, MeasureError> {
        let mut values = Vec::with_capacity(self.measures.len());
        let empty = self.append(ranking, 1, &mut Workspace::default(), &mut values)?;
        Ok(QueryValues { values, empty })
    }

    /// Combines the values of individual queries, in the given order, into an evaluation.
    ///
    /// # Errors
    /// Returns [`MeasureError::NoQueries`] if a measure has no value for any query.
    ///
    /// # Panics
    /// Panics if the values come from an evaluator with another number of measures.
    #[track_caller]
    pub fn summary(&self, queries: &[&QueryValues]) -> Result<Evaluation, MeasureError> {
        let own = queries.iter().all(|query| query.values.len() == self.measures.len());
        assert!(own, "values of queries: expected one for each measure of this evaluator");
        let of_measure = |m: usize| queries.iter().map(|query| query.values[m]).collect();
        let per_query = (0..self.measures.len()).map(of_measure).collect();
        self.evaluation(queries.len(), queries.iter().filter(|query| query.empty).count(), per_query)
    }

    fn evaluation(
        &self,
        queries: usize,
        empty_queries: usize,
        per_query: Vec<Vec<Option<f64>>>,
    ) -> Result<Evaluation, MeasureError> {
        let mean = |(measure, values): (&Measure, &Vec<Option<f64>>)| Ok((*measure, self.mean_of(measure, values)?));
        let means = self.measures.iter().zip(&per_query).map(mean).collect::<Result<_, _>>()?;
        Ok(Evaluation { convention: self.convention.clone(), queries, empty_queries, means, per_query })
    }

    /// Computes the first measure for every query, in order.
    ///
    /// # Errors
    /// Returns [`MeasureError::Length`] or [`MeasureError::Offsets`] if the lengths of the arrays or the query offsets
    /// are inconsistent. Returns the error of the first query for which [`Evaluator::query`] fails, with the query's
    /// number counted from 1. All measures are computed, so any of them can cause an error.
    pub fn first_measure(&self, rankings: &Rankings) -> Result<Vec<Option<f64>>, MeasureError> {
        let (values, _) = self.values(rankings)?;
        Ok(values.into_iter().step_by(self.measures.len().max(1)).collect())
    }

    /// Returns the values in the order `values[query * measures + measure]`, and the number of queries without a
    /// relevant document.
    fn values(&self, rankings: &Rankings) -> Result<(Vec<Option<f64>>, usize), MeasureError> {
        rankings.check()?;
        let queries = rankings.queries();
        let tasks = parallel::map((0..queries).step_by(QUERIES_PER_TASK), |first| {
            let (mut workspace, mut empty) = (Workspace::default(), 0);
            let mut values = Vec::with_capacity(QUERIES_PER_TASK * self.measures.len());
            for query in first..(first + QUERIES_PER_TASK).min(queries) {
                let ranking = rankings.ranking(query);
                empty += usize::from(self.append(&ranking, query + 1, &mut workspace, &mut values)?);
            }
            Ok((values, empty))
        });
        let mut values = Vec::with_capacity(queries * self.measures.len());
        let mut empty_queries = 0;
        // Returns the first error in the order of the queries, whichever thread met one first.
        for task in tasks {
            let (of_task, empty) = task?;
            values.extend(of_task);
            empty_queries += empty;
        }
        Ok((values, empty_queries))
    }

    /// Appends every measure of one query and returns whether the query has no relevant document. Error messages
    /// contain the query's `number`, counted from 1.
    fn append(
        &self,
        ranking: &Ranking,
        number: usize,
        workspace: &mut Workspace,
        values: &mut Vec<Option<f64>>,
    ) -> Result<bool, MeasureError> {
        let list = workspace.rank(ranking, &self.convention, &self.discounts, number)?;
        for measure in &self.measures {
            if let Measure::Own(own) = measure {
                own.check_labels(ranking, number)?;
            }
            values.push(value(measure, &list, &self.convention, number)?);
        }
        Ok(list.relevant == 0)
    }

    fn mean_of(&self, measure: &Measure, values: &[Option<f64>]) -> Result<f64, MeasureError> {
        mean(values).ok_or_else(|| MeasureError::NoQueries {
            measure: measure.to_string(),
            convention: self.convention.name.clone(),
            queries: values.len(),
            needed: measure.needs(),
        })
    }
}

/// Computes all `measures` of all queries by one `convention`, in parallel.
///
/// # Errors
/// Returns the errors of [`Evaluator::new`] and [`Evaluator::evaluate`].
pub fn evaluate(
    rankings: &Rankings,
    measures: &[Measure],
    convention: &Convention,
) -> Result<Evaluation, MeasureError> {
    Evaluator::new(measures, convention)?.evaluate(rankings)
}

impl Measure {
    /// Describes what a query must contain for the measure not to be 0/0.
    fn needs(self) -> &'static str {
        match self {
            Measure::Ndcg(_) => "a label with a gain above 0",
            Measure::Dcg(_) | Measure::Err(_) => "a label above 0",
            Measure::KendallTau | Measure::PairAccuracy => "two documents of different labels",
            Measure::Own(_) => "anything that it finds",
            _ => "a relevant document",
        }
    }

    /// Computes this measure of one query. Returns `None` if the convention excludes the query because none of its
    /// documents is relevant.
    ///
    /// # Errors
    /// Returns the errors of [`Evaluator::new`] and [`Evaluator::query`].
    pub fn query(&self, ranking: &Ranking, convention: &Convention) -> Result<Option<f64>, MeasureError> {
        self.check()?;
        convention.check()?;
        let discounts = Discounts::new(&convention.discount, 0);
        let mut workspace = Workspace::default();
        let list = workspace.rank(ranking, convention, &discounts, 1)?;
        if let Measure::Own(own) = self {
            own.check_labels(ranking, 1)?;
        }
        value(self, &list, convention, 1)
    }

    /// Computes the mean of this measure over all queries, in parallel. Model selection and boosting use this mean.
    ///
    /// # Errors
    /// Returns the errors of [`Evaluator::new`] and [`Evaluator::evaluate`].
    pub fn mean(&self, rankings: &Rankings, convention: &Convention) -> Result<f64, MeasureError> {
        let evaluator = Evaluator::new(&[*self], convention)?;
        evaluator.mean_of(self, &evaluator.first_measure(rankings)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::testing::assert_close;

    /// Creates 300 queries with 0 to 39 documents each, labels from 0 to 3, and tied scores. Some of the queries have
    /// no relevant document.
    fn many() -> (Vec<f32>, Vec<f32>, Vec<usize>) {
        let mut offsets = vec![0];
        for query in 0..300 {
            offsets.push(offsets[query] + query * 7 % 40);
        }
        let documents = 0..offsets[300] as u32;
        let hash = |document: u32| document.wrapping_mul(2_654_435_761) >> 16;
        let scores = documents.clone().map(|d| (hash(d) % 23) as f32).collect();
        let labels = documents.map(|d| (hash(d + 90_000) % 9).saturating_sub(5) as f32).collect();
        (scores, labels, offsets)
    }

    fn all_measures() -> Vec<Measure> {
        crate::measure::name::FAMILIES.iter().map(|family| family.name.parse().unwrap()).collect()
    }

    #[test]
    fn many_queries_have_the_values_of_single_queries() {
        let (scores, labels, offsets) = many();
        let rankings = Rankings { scores: &scores, labels: &labels, offsets: &offsets, document_ids: &[] };
        for preset in ["standard", "letor", "sklearn", "lightgbm"] {
            let convention = Convention::preset(preset).unwrap();
            let found = evaluate(&rankings, &all_measures(), &convention).unwrap();
            for (m, (measure, mean)) in found.means.iter().enumerate() {
                for query in 0..rankings.queries() {
                    let alone = measure.query(&rankings.ranking(query), &convention).unwrap();
                    assert_eq!(found.per_query[m][query], alone, "{measure} of query {query}");
                }
                assert_eq!(measure.mean(&rankings, &convention).unwrap(), *mean);
            }
            let evaluator = Evaluator::new(&all_measures(), &convention).unwrap();
            let queries: Vec<QueryValues> =
                (0..rankings.queries()).map(|query| evaluator.query(&rankings.ranking(query)).unwrap()).collect();
            assert_eq!(evaluator.summary(&queries.iter().collect::<Vec<_>>()).unwrap(), found);
        }
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let (scores, labels, offsets) = many();
        let rankings = Rankings { scores: &scores, labels: &labels, offsets: &offsets, document_ids: &[] };
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| evaluate(&rankings, &all_measures(), &Convention::default()).unwrap())
        };
        assert_eq!(run(1), run(2));
    }

    #[test]
    fn the_convention_decides_how_empty_queries_count() {
        let rankings = Rankings {
            scores: &[1.0, 0.0, 1.0, 0.0],
            labels: &[1.0, 0.0, 0.0, 0.0],
            offsets: &[0, 2, 4, 4],
            document_ids: &[],
        };
        let mean = |preset| {
            let convention = Convention::preset(preset).unwrap();
            let found = evaluate(&rankings, &[Measure::Ndcg(None), Measure::Precision(Some(1))], &convention).unwrap();
            assert_eq!((found.queries, found.empty_queries), (3, 2));
            (found.means[0].1, found.means[1].1)
        };
        assert_eq!(mean("standard"), (1.0, 1.0));
        assert_eq!(mean("letor"), (1.0 / 3.0, 1.0 / 3.0));
        assert_eq!(mean("lightgbm"), (1.0, 1.0 / 3.0));
        let nothing = Rankings { labels: &[0.0; 4], ..rankings };
        let message = evaluate(&nothing, &[Measure::Wta], &Convention::default()).unwrap_err().to_string();
        assert!(message.contains("wta has no mean") && message.ends_with("(3 queries)"), "{message}");
    }

    #[test]
    fn a_constant_scorer_has_the_value_of_a_random_order() {
        let labels: Vec<f32> = (0..1000).map(|document| [0.0, 0.0, 2.0, 0.0, 1.0][document % 5]).collect();
        let ranking = Ranking { scores: &[0.7; 1000], labels: &labels, ids: None };
        let value = |measure: Measure| measure.query(&ranking, &Convention::default()).unwrap().unwrap();
        let discount =
            |ranks: std::ops::RangeInclusive<usize>| ranks.map(|r| 1.0 / (1.0 + r as f64).log2()).sum::<f64>();
        let ideal = 3.0 * discount(1..=200) + discount(201..=400);
        assert_close(value(Measure::Ndcg(None)), 0.8 * discount(1..=1000) / ideal);
        assert_close(value(Measure::Ndcg(Some(10))), 0.8 / 3.0);
        assert_close(value(Measure::Precision(Some(7))), 0.4);
        assert_close(value(Measure::Recall(Some(10))), 0.01);
        assert_close(value(Measure::RPrecision), 0.4);
        assert_close(value(Measure::Rbp { persistence: 0.5 }), 0.4);
        assert_close(value(Measure::KendallTau), 0.0);
        assert_close(value(Measure::PairAccuracy), 0.5);
        let others = 399.0 / 999.0;
        let ap: f64 = (1..=1000).map(|r| (1.0 + (r - 1) as f64 * others) / r as f64).sum();
        assert_close(value(Measure::Ap(None)), ap / 1000.0);
    }

    #[test]
    fn an_evaluation_is_written_with_its_convention() {
        let rankings = Rankings { scores: &[1.0, 0.0], labels: &[0.0, 1.0], offsets: &[0, 2], document_ids: &[] };
        let found =
            evaluate(&rankings, &[Measure::Ap(None), Measure::Precision(Some(2))], &Convention::default()).unwrap();
        assert_eq!(
            serde_json::to_string(&found).unwrap(),
            r#"{"convention":"standard","queries":1,"empty_queries":0,"measures":{"map":0.5,"p@2":0.5}}"#
        );
    }

    #[test]
    fn bad_rankings_are_refused() {
        let message = |scores: &[f32], offsets: &[usize]| {
            let rankings = Rankings { scores, labels: &[0.0, 1.0, 1.0], offsets, document_ids: &[] };
            evaluate(&rankings, &[Measure::Wta], &Convention::default()).unwrap_err().to_string()
        };
        assert!(message(&[0.0; 2], &[0, 3]).contains("2 scores for 3 documents"));
        assert!(message(&[0.0; 3], &[]).contains("are absent"));
        assert!(message(&[0.0; 3], &[1, 3]).contains("start at 1"));
        assert!(message(&[0.0; 3], &[0, 2]).contains("end at 2"));
        assert!(message(&[0.0; 3], &[0, 3, 2, 3]).contains("fall from 3 to 2"));
        assert!(message(&[0.0, 0.0, f32::NAN], &[0, 1, 3]).starts_with("document 2 of query 2"));
    }
}
