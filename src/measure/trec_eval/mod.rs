//! The measures that trec_eval 10.0 computes from a run and relevance judgments (qrels), exact to the last printed
//! digit.
//!
//! Documents are ordered by descending score, stored as `f32`, with ties broken by descending document identifier. The
//! ranks that the run file states are ignored. A document is relevant if its judgment is at least the relevance level
//! (`-l`). The gains of NDCG ignore this level. Documents that are unjudged, or judged below 0, are not relevant. Bpref
//! leaves them out. Means cover the evaluated queries: the queries in both files or, with `-c`, all queries of the
//! qrels. With `-c`, a query that is missing from the run counts as an empty ranking.
//!
//! Queries are joined with their judgments, sorted and measured one at a time, so memory depends on the longest query
//! only.

mod measure;
pub(crate) mod query;
pub(crate) mod report;

use super::discount::Discounts;
use super::ranking::Workspace;
use super::{Convention, MeasureError};
use measure::Kind;
pub use measure::TrecMeasure;
use query::Judged;
pub use query::TrecQuery;

/// The value that replaces all smaller values before a geometric mean is computed.
const GEOMETRIC_FLOOR: f64 = 1e-5;

/// The number of top ranks whose discounts are computed once; runs usually have this many documents.
const REMEMBERED_RANKS: usize = 1000;

/// Measures and options of trec_eval that are checked once and then applied to many queries.
#[derive(Debug, Clone)]
pub struct TrecEvaluator {
    measures: Vec<TrecMeasure>,
    level: i32,
    depth: Option<usize>,
    convention: Convention,
    discounts: Discounts,
}

impl TrecEvaluator {
    /// Creates an evaluator for `level`, the lowest relevance level of a relevant document (`-l`, usually 1), and for
    /// `depth`, the largest number of documents evaluated per ranking (`-M`, `None` for all).
    ///
    /// # Errors
    /// Returns [`MeasureError::Convention`] for a relevance level below 1.
    pub fn new(measures: &[TrecMeasure], level: i32, depth: Option<usize>) -> Result<Self, MeasureError> {
        let mut convention = Convention::preset("trec_eval")?;
        convention.relevant_from = f64::from(level);
        convention.check()?;
        let discounts = Discounts::new(&convention.discount, REMEMBERED_RANKS);
        Ok(Self { measures: measures.to_vec(), level, depth, convention, discounts })
    }

    /// Returns the measures, in the same order as the values.
    pub fn measures(&self) -> &[TrecMeasure] {
        &self.measures
    }

    /// Computes every measure of one query. If a document has several judgments, the last one counts.
    ///
    /// # Errors
    /// Returns [`MeasureError::Score`] for a score of NaN. In the error, the document's number is its position in the
    /// run, counted from 1. The query's number is 1.
    pub fn query(&self, query: &TrecQuery) -> Result<Vec<f64>, MeasureError> {
        let mut judgments = query.judgments();
        let level = self.level;
        let irrelevant = judgments.values().filter(|&&relevance| (0..level).contains(&relevance)).count();
        let ranked = query.order(self.depth)?;
        let relevance: Vec<Option<i32>> =
            ranked.into_iter().map(|at| judgments.remove(query.run[at].0).filter(|r| *r >= 0)).collect();
        let label = |relevance: &i32| f64::from((*relevance).max(0));
        let mut workspace = Workspace::default();
        let list = workspace.in_order(
            relevance.iter().map(|judged| judged.as_ref().map_or(0.0, label)),
            judgments.values().map(label),
            &self.convention,
            &self.discounts,
        );
        let judged = Judged { list: &list, relevance: &relevance, irrelevant, level, convention: &self.convention };
        self.measures.iter().map(|measure| measure.value(&judged)).collect()
    }

    /// Returns every measure over all queries, given the values of each query as [`TrecEvaluator::query`] returned
    /// them. Counts are summed, and other measures are averaged. Without any queries, every value is 0.
    pub fn summary<'v>(&self, queries: impl IntoIterator<Item = &'v [f64]>) -> Vec<f64> {
        let (mut sums, mut count) = (vec![0.0; self.measures().len()], 0);
        for values in queries {
            count += 1;
            for ((sum, value), measure) in sums.iter_mut().zip(values).zip(self.measures()) {
                *sum += if measure.kind() == Kind::GeometricMean { value.max(GEOMETRIC_FLOOR).ln() } else { *value };
            }
        }
        let over_queries = |(sum, measure): (f64, &TrecMeasure)| match measure.kind() {
            _ if count == 0 => 0.0,
            Kind::Count | Kind::Queries => sum,
            Kind::GeometricMean => (sum / f64::from(count)).exp(),
            Kind::Mean | Kind::RunId => sum / f64::from(count),
        };
        sums.into_iter().zip(self.measures()).map(over_queries).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::report::TrecReport;
    use super::*;

    fn measures() -> Vec<TrecMeasure> {
        TrecMeasure::parse_list("runid,num_q,num_ret,map,gm_map").unwrap()
    }

    fn evaluator() -> TrecEvaluator {
        TrecEvaluator::new(&measures(), 1, None).unwrap()
    }

    #[test]
    fn counts_are_summed_and_the_rest_averaged() {
        let values = evaluator().summary([&[0.0, 1.0, 3.0, 0.5, 0.5][..], &[0.0, 1.0, 4.0, 0.0, 0.0]]);
        assert_eq!(values[2..4], [7.0, 0.25]);
        assert!((values[4] - (0.5f64 * GEOMETRIC_FLOOR).sqrt()).abs() < 1e-15);
    }

    #[test]
    fn lines_have_the_layout_of_trec_eval() {
        let (measures, values) = (measures(), [0.0, 1.0, 3.0, 0.25, 0.25]);
        let summary = evaluator().summary([&values[..]]);
        let all = TrecReport::of_all(&measures, "A", 1, &summary);
        let lines = all.to_string();
        let expected = "runid                 \tall\tA\nnum_q                 \tall\t1\nnum_ret               \tall\t3\nmap                   \tall\t0.2500\ngm_map                \tall\t0.2500\n";
        assert_eq!(lines, expected);
        let of_query = TrecReport::of_query(&measures, "301", &values).to_string();
        assert_eq!(of_query, "num_ret               \t301\t3\nmap                   \t301\t0.2500\n");
        let json = serde_json::to_string(&all).unwrap();
        assert!(json.starts_with(r#"{"runid":"A","num_q":1,"num_ret":3,"map":0.25,"gm_map":0.25"#), "{json}");
    }

    #[test]
    fn a_summary_of_no_queries_has_zeros() {
        assert_eq!(evaluator().summary([]), [0.0; 5]);
    }
}
