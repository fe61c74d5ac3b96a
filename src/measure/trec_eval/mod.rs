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
//! only. [`TrecEvaluator::query`] may run in parallel, but [`TrecSummary::add`] needs the values in order.

mod measure;
mod query;

use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use measure::Kind;
pub use measure::TrecMeasure;
pub use query::{Judgment, RunDocument, TrecDocuments, TrecEvaluator, TrecOptions, TrecQuery};

/// The value that replaces all smaller values before a geometric mean is computed.
const GEOMETRIC_FLOOR: f64 = 1e-5;

/// The measures of one query or of all queries, displayed as the lines that trec_eval prints.
#[derive(Debug, Clone, PartialEq)]
pub struct TrecReport<'a> {
    measures: &'a [TrecMeasure],
    query: &'a str,
    values: Vec<f64>,
    run_id: Option<&'a str>,
    queries: usize,
}

/// Sums of each measure over queries, which give the `all` lines of trec_eval's output.
#[derive(Debug, Clone)]
pub struct TrecSummary {
    measures: Vec<TrecMeasure>,
    sums: Vec<f64>,
    queries: usize,
}

impl TrecSummary {
    /// Creates a summary without queries.
    pub fn new(measures: &[TrecMeasure]) -> Self {
        Self { measures: measures.to_vec(), sums: vec![0.0; measures.len()], queries: 0 }
    }

    /// Returns the number of queries added.
    pub fn queries(&self) -> usize {
        self.queries
    }

    /// Adds the values of one query, as [`TrecEvaluator::query`] returned them.
    pub fn add(&mut self, values: &[f64]) {
        self.queries += 1;
        for ((sum, value), measure) in self.sums.iter_mut().zip(values).zip(&self.measures) {
            *sum += if measure.kind() == Kind::GeometricMean { value.max(GEOMETRIC_FLOOR).ln() } else { *value };
        }
    }

    /// Returns every measure over all queries. Counts are summed, and other measures are averaged. Without any queries,
    /// every value is 0.
    pub fn values(&self) -> Vec<f64> {
        let mean = |sum: f64| if self.queries == 0 { 0.0 } else { sum / self.queries as f64 };
        let over_queries = |(sum, measure): (&f64, &TrecMeasure)| match measure {
            measure if measure.is_count() => *sum,
            measure if measure.kind() == Kind::GeometricMean && self.queries > 0 => mean(*sum).exp(),
            _ => mean(*sum),
        };
        self.sums.iter().zip(&self.measures).map(over_queries).collect()
    }

    /// Returns the `all` lines. They state the identifier of the run and the number of queries only if these are among
    /// the measures.
    pub fn report<'a>(&'a self, run_id: &'a str) -> TrecReport<'a> {
        TrecReport {
            measures: &self.measures,
            query: "all",
            values: self.values(),
            run_id: Some(run_id),
            queries: self.queries,
        }
    }
}

impl<'a> TrecReport<'a> {
    /// Creates the report of one query, as trec_eval prints it with `-q`.
    pub fn new(measures: &'a [TrecMeasure], query: &'a str, values: Vec<f64>) -> Self {
        Self { measures, query, values, run_id: None, queries: 1 }
    }
}

/// A value in trec_eval's output: the identifier of the run, a count, or a measure.
enum Printed<'a> {
    Name(&'a str),
    Count(u64),
    Value(f64),
}

impl TrecReport<'_> {
    fn printed(&self) -> impl Iterator<Item = (&TrecMeasure, Printed<'_>)> {
        let values = self.measures.iter().zip(&self.values);
        let shown =
            values.filter(|(measure, _)| self.run_id.is_some() || matches!(measure.kind(), Kind::Mean | Kind::Count));
        shown.map(|(measure, &value)| {
            let printed = match measure.kind() {
                Kind::RunId => Printed::Name(self.run_id.unwrap_or_default()),
                Kind::Queries => Printed::Count(self.queries as u64),
                Kind::Count => Printed::Count(value as u64),
                Kind::Mean | Kind::GeometricMean => Printed::Value(value),
            };
            (measure, printed)
        })
    }
}

impl fmt::Display for TrecReport<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        for (measure, printed) in self.printed() {
            write!(formatter, "{:<22}\t{}\t", measure.to_string(), self.query)?;
            match printed {
                Printed::Name(name) => writeln!(formatter, "{name}")?,
                Printed::Count(count) => writeln!(formatter, "{count}")?,
                Printed::Value(value) => writeln!(formatter, "{value:6.4}")?,
            }
        }
        Ok(())
    }
}

/// Writes the values of the report as JSON such as `{"map": 0.25, "num_ret": 3}`, under trec_eval's names and in full
/// precision.
impl Serialize for TrecReport<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (measure, printed) in self.printed() {
            let name = measure.to_string();
            match printed {
                Printed::Name(of_run) => map.serialize_entry(&name, of_run)?,
                Printed::Count(count) => map.serialize_entry(&name, &count)?,
                Printed::Value(value) => map.serialize_entry(&name, &value)?,
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measures() -> Vec<TrecMeasure> {
        TrecMeasure::parse_list("runid,num_q,num_ret,map,gm_map").unwrap()
    }

    #[test]
    fn counts_are_summed_and_the_rest_averaged() {
        let mut summary = TrecSummary::new(&measures());
        summary.add(&[0.0, 1.0, 3.0, 0.5, 0.5]);
        summary.add(&[0.0, 1.0, 4.0, 0.0, 0.0]);
        let values = summary.values();
        assert_eq!(values[2..4], [7.0, 0.25]);
        assert!((values[4] - (0.5f64 * GEOMETRIC_FLOOR).sqrt()).abs() < 1e-15);
    }

    #[test]
    fn lines_have_the_layout_of_trec_eval() {
        let mut summary = TrecSummary::new(&measures());
        summary.add(&[0.0, 1.0, 3.0, 0.25, 0.25]);
        let lines = summary.report("A").to_string();
        let expected = "runid                 \tall\tA\nnum_q                 \tall\t1\nnum_ret               \tall\t3\nmap                   \tall\t0.2500\ngm_map                \tall\t0.2500\n";
        assert_eq!(lines, expected);
        let measures = measures();
        let of_query = TrecReport::new(&measures, "301", vec![0.0, 1.0, 3.0, 0.25, 0.25]).to_string();
        assert_eq!(of_query, "num_ret               \t301\t3\nmap                   \t301\t0.2500\n");
        let json = serde_json::to_string(&summary.report("A")).unwrap();
        assert!(json.starts_with(r#"{"runid":"A","num_q":1,"num_ret":3,"map":0.25,"gm_map":0.25"#), "{json}");
    }

    #[test]
    fn a_summary_of_no_queries_has_zeros() {
        assert_eq!(TrecSummary::new(&measures()).values(), [0.0; 5]);
    }
}
