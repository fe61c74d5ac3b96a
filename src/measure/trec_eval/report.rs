//! The lines that trec_eval prints.

use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::measure::{Kind, TrecMeasure};

/// The measures of one query or of all queries, displayed as the lines that trec_eval prints.
#[derive(Debug, Clone, PartialEq)]
pub struct TrecReport<'a> {
    measures: &'a [TrecMeasure],
    query: &'a str,
    values: &'a [f64],
    run_id: Option<&'a str>,
    queries: usize,
}

impl<'a> TrecReport<'a> {
    /// Creates the report of one query, as trec_eval prints it with `-q`.
    pub fn of_query(measures: &'a [TrecMeasure], query: &'a str, values: &'a [f64]) -> Self {
        Self { measures, query, values, run_id: None, queries: 1 }
    }

    /// Creates the `all` lines from the values over all queries. They state the identifier of the run and the number of
    /// queries only if these are among the measures.
    pub fn of_all(measures: &'a [TrecMeasure], run_id: &'a str, queries: usize, values: &'a [f64]) -> Self {
        Self { measures, query: "all", values, run_id: Some(run_id), queries }
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
        let values = self.measures.iter().zip(self.values);
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
