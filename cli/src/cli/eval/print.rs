//! Prints evaluations as a table, as lines in the format of trec_eval, or as JSON.

use std::io::Write;
use std::str::FromStr;

use burn_rank::data::trec::Run;
use burn_rank::json::{Map, Value};
use burn_rank::measure::{Evaluation, Measure};
use burn_rank::refusal::Refusal;
use burn_rank::workbench::check_field;
use burn_rank::workbench::json::json;
use burn_rank::workbench::text::{counted, did_you_mean, harmless, nearest};

use super::{EvalArgs, Format};
use crate::cli::{Result, terminal};
use crate::experiment::{ExtremeQueries, RankedQuery};
use crate::page::{Table, measured};
use crate::report::ranking_table;

/// Information about a TREC run that is printed with its measures.
pub(super) struct AboutRun {
    tag: String,
    /// The number of queries in the qrels for which the run contains no document.
    missing: usize,
    /// The number of queries in the run for which the qrels contain no judgment.
    unjudged: usize,
    complete: bool,
}

impl AboutRun {
    pub(super) fn new<T>(judged: &Run<T>, complete: bool) -> Self {
        let (missing, unjudged) = (judged.missing.len(), judged.unjudged);
        Self { tag: judged.tag.clone(), missing, unjudged, complete }
    }

    /// Returns notes about queries that occur only in the qrels, and about queries that occur only in the run.
    pub(super) fn notes(&self) -> Vec<String> {
        let missing = if self.complete { "counted as empty lists" } else { "left out (--complete counts them)" };
        let notes = [
            (self.missing, "judged queries that the run misses", missing),
            (self.unjudged, "queries of the run without judgments", "left out"),
        ];
        let found = notes.into_iter().filter(|(count, ..)| *count > 0);
        found.map(|(count, what, then)| format!("{what}: {count}, {then}")).collect()
    }

    /// Writes the run's name and its notes, which are printed above the table.
    pub(super) fn write(&self, out: &mut dyn Write) -> Result {
        writeln!(out, "run {}", harmless(&self.tag))?;
        Ok(self.notes().iter().try_for_each(|note| writeln!(out, "{note}"))?)
    }

    pub(super) fn add_to(&self, object: &mut Value) {
        object["run"] = json!(self.tag);
        object["missing_queries"] = json!(self.missing);
        object["unjudged_queries"] = json!(self.unjudged);
        object["complete"] = json!(self.complete);
    }
}

/// An evaluation and the names of its queries.
pub(super) struct Shown<'a> {
    pub(super) evaluation: &'a Evaluation,
    pub(super) queries: Vec<&'a str>,
    pub(super) run: Option<AboutRun>,
    /// The worst and best queries, which JSON output includes.
    pub(super) extremes: Option<&'a ExtremeQueries>,
}

impl Shown<'_> {
    pub(super) fn show(&self, args: &EvalArgs, out: &mut dyn Write) -> Result {
        match (args.json, args.format) {
            (true, _) => writeln!(out, "{}", self.json(args.per_query))?,
            (false, Format::Trec) => self.trec_lines(args.per_query, out)?,
            (false, Format::Table) => self.table(args.per_query, out)?,
        }
        Ok(())
    }

    fn json(&self, per_query: bool) -> Value {
        let mut value = json!(self.evaluation);
        if let Some(run) = &self.run {
            run.add_to(&mut value);
        }
        if let Some(extremes) = self.extremes {
            value["queries_shown"] = json!(extremes);
        }
        if per_query {
            let row = |(q, query): (usize, &&str)| {
                let values = self.evaluation.means.iter().zip(&self.evaluation.per_query);
                let values: Map =
                    values.map(|((measure, _), values)| (measure.to_string(), json!(values[q]))).collect();
                json!({"query": query, "measures": values})
            };
            value["per_query"] = self.queries.iter().enumerate().map(row).collect();
        }
        value
    }

    fn table(&self, per_query: bool, out: &mut dyn Write) -> Result {
        let evaluation = self.evaluation;
        writeln!(
            out,
            "convention {}, {}, {} empty",
            evaluation.convention.name,
            counted(evaluation.queries, "query"),
            evaluation.empty_queries
        )?;
        if let Some(run) = &self.run {
            run.write(out)?;
        }
        let names = evaluation.means.iter().map(|(measure, _)| measure.to_string());
        let mut table = Table::new(["query".to_string()].into_iter().chain(names));
        if per_query {
            for (q, query) in self.queries.iter().enumerate() {
                table.row(*query, evaluation.per_query.iter().map(|values| measured(values[q])));
            }
        }
        table.row("all", evaluation.means.iter().map(|(_, mean)| measured(Some(*mean))));
        Ok(write!(out, "{}", table.text())?)
    }

    fn trec_lines(&self, per_query: bool, out: &mut dyn Write) -> Result {
        if per_query {
            // The name of a query becomes one of the fields of a line.
            self.queries.iter().try_for_each(|query| check_field("query identifier", query))?;
            for (q, query) in self.queries.iter().enumerate() {
                for ((measure, _), values) in self.evaluation.means.iter().zip(&self.evaluation.per_query) {
                    if let Some(value) = values[q] {
                        writeln!(out, "{:<22}\t{query}\t{value:.4}", measure.to_string())?;
                    }
                }
            }
        }
        for (measure, mean) in &self.evaluation.means {
            writeln!(out, "{:<22}\tall\t{mean:.4}", measure.to_string())?;
        }
        note_empty(self.evaluation.empty_queries, self.evaluation.queries, &self.evaluation.convention.name);
        Ok(())
    }
}

/// Prints to standard error how many queries have no relevant document, since trec_eval's format has no line for this
/// number.
pub(super) fn note_empty(empty: usize, queries: usize, convention: &str) {
    if empty > 0 {
        terminal::say(format_args!("note: empty queries: {empty} of {queries} (convention {convention})"));
    }
}

/// Prints the measures of one ranking under every convention. If a convention does not apply, for example because
/// identifiers are missing, the others are still printed.
pub(super) fn conventions(
    measures: &[Measure],
    rows: impl Iterator<Item = (&'static str, Result<Evaluation, String>)>,
    as_json: bool,
    out: &mut dyn Write,
) -> Result {
    let mut table = Table::new(["convention".to_string()].into_iter().chain(measures.iter().map(ToString::to_string)));
    let (mut counts, mut undefined, mut objects) = (None, Vec::new(), Vec::new());
    for (name, evaluation) in rows {
        match evaluation {
            Ok(evaluation) if as_json => objects.push(json!(evaluation)),
            Ok(evaluation) => {
                counts.get_or_insert((evaluation.queries, evaluation.empty_queries));
                table.row(name, evaluation.means.iter().map(|(_, mean)| measured(Some(*mean))));
            }
            Err(error) if as_json => objects.push(json!({"convention": name, "error": error})),
            Err(error) => {
                table.row(name, measures.iter().map(|_| "-"));
                undefined.push(format!("{name} is not defined here: {error}"));
            }
        }
    }
    if as_json {
        return Ok(writeln!(out, "{}", json!({"conventions": objects}))?);
    }
    if let Some((queries, empty)) = counts {
        writeln!(out, "{}, {empty} empty", counted(queries, "query"))?;
    }
    write!(out, "{}", table.text())?;
    Ok(undefined.iter().try_for_each(|line| writeln!(out, "{line}"))?)
}

/// The largest number of worst or best queries that may be requested.
const MOST: usize = 1000;

/// How many of the worst queries, and of the best queries, to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct QueriesAsked {
    pub(super) worst: usize,
    pub(super) best: usize,
}

impl FromStr for QueriesAsked {
    type Err = Refusal;

    /// Reads `worst:10`, `best:5`, or both, separated by commas.
    fn from_str(text: &str) -> Result<Self, Refusal> {
        let mut asked = Self::default();
        for part in text.split(',').map(str::trim) {
            let (end, count) = part.split_once(':').unwrap_or((part, ""));
            let place = match end {
                "worst" => &mut asked.worst,
                "best" => &mut asked.best,
                _ => {
                    let near = did_you_mean(&nearest(end, ["worst", "best"]));
                    let expected = format!("worst:N, best:N, or both, separated by a comma{near}");
                    return Err(Refusal::new("", format!("`{part}`"), expected));
                }
            };
            match count.parse() {
                Ok(count) if (1..=MOST).contains(&count) => *place = count,
                _ => return Err(Refusal::new("", format!("`{part}`"), format!("{end}:N with N from 1 to {MOST}"))),
            }
        }
        Ok(asked)
    }
}

/// Prints each of the queries as a table.
pub(super) fn print_extremes(extremes: &ExtremeQueries, out: &mut dyn Write) -> Result {
    for (end, queries) in [("worst", &extremes.worst), ("best", &extremes.best)] {
        for (at, query) in queries.iter().enumerate() {
            let RankedQuery { query: name, value, documents, shown } = query;
            let measure = &extremes.measure;
            writeln!(out, "\n{end} {} of {}: query {}, {measure} {value:.4}", at + 1, queries.len(), harmless(name))?;
            write!(out, "{}", ranking_table(query).text())?;
            if shown.len() < *documents {
                writeln!(out, "of {documents} documents {}", ExtremeQueries::SHOWN)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_read_with_their_numbers() {
        let asked = |text: &str| text.parse::<QueriesAsked>().map_err(|refusal| refusal.message());
        assert_eq!(asked("worst:10, best:2"), Ok(QueriesAsked { worst: 10, best: 2 }));
        assert_eq!(asked("best:1"), Ok(QueriesAsked { worst: 0, best: 1 }));
        assert_eq!(asked("worst"), Err("found `worst`, expected worst:N with N from 1 to 1000".to_string()));
        assert_eq!(asked("worst:0"), Err("found `worst:0`, expected worst:N with N from 1 to 1000".to_string()));
        let near = "found `wrst:3`, expected worst:N, best:N, or both, separated by a comma; did you mean `worst`?";
        assert_eq!(asked("wrst:3"), Err(near.to_string()));
    }
}
