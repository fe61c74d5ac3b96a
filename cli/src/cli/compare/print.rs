//! Prints comparisons as JSON, or as tables of at most 80 columns.

use std::io::Write;

use burn_rank::json::{Map, Value};
use burn_rank::workbench::json::json;
use burn_rank::workbench::text::{counted, harmless};

use crate::cli::Result;
use crate::number;
use crate::page::{Cell, Table, indented, measured};
use crate::report::{ComparedMeasure, ComparisonReport, labels, letter, mean_table, pair_table};

/// The number of columns of a terminal.
const COLUMNS: usize = 80;

/// Prints the tables, and what they say in a sentence for each measure.
pub(super) fn tables(report: &ComparisonReport, per_query: bool, out: &mut dyn Write) -> Result {
    writeln!(
        out,
        "convention {}, {}, {} empty",
        report.convention.name,
        counted(report.queries, "query"),
        report.empty_queries
    )?;
    writeln!(out, "compared on {} of them", report.measures[0].pairs[0].queries)?;
    // Sentences have room for names, also where the tables have letters.
    let names = labels(&report.systems);
    let labels = labels_that_fit(report, per_query);
    for (label, name) in labels.iter().zip(&report.systems).filter(|(label, name)| label != name) {
        writeln!(out, "{}  {}", harmless(label), harmless(name))?;
    }
    writeln!(out)?;
    let folds: Vec<Vec<_>> = report.measures.iter().map(|of| of.fold_means(&report.folds)).collect();
    let queries: Vec<Vec<_>> = report.measures.iter().map(ComparedMeasure::means).collect();
    let means = |name: &str, values: &[Vec<Option<f64>>]| mean_table(name, report, &labels, values).text();
    if report.fold_means_differ() {
        write!(out, "{}\n{}", means("mean of queries", &queries), means("mean of folds", &folds))?;
    } else {
        write!(out, "{}", means("mean", &queries))?;
    }
    for of in &report.measures {
        writeln!(out)?;
        write!(out, "{}", pair_table(of.measure, &of.pairs, &labels).text())?;
    }
    if per_query {
        for of in &report.measures {
            writeln!(out)?;
            write!(out, "{}", query_table(report, of, &labels).text())?;
        }
    }
    writeln!(out)?;
    let tukey = if labels.len() > 2 { ", tukey" } else { "" };
    let percent = 100.0 * report.config.confidence;
    writeln!(out, "low, high: {percent}% bootstrap interval; t, random{tukey}: two-sided p-values;")?;
    let resamples = format!("{} resamples, seed {}", report.config.resamples, report.config.seed);
    writeln!(out, "d: effect size; win/tie/loss: queries. {resamples}.")?;
    writeln!(out, "How to read this: burn-rank compare --help\n")?;
    for of in &report.measures {
        let sentence = harmless(&report.verdict(of, &names).sentence).into_owned();
        writeln!(out, "verdict  {}", indented(&sentence, "verdict  ".len()))?;
    }
    Ok(())
}

/// Returns the names of the systems, or their letters if a table with the names has lines that are too long.
fn labels_that_fit(report: &ComparisonReport, per_query: bool) -> Vec<String> {
    let labels = labels(&report.systems);
    let fits = |of: &ComparedMeasure| {
        let tables =
            [Some(pair_table(of.measure, &of.pairs, &labels)), per_query.then(|| query_table(report, of, &labels))];
        tables.into_iter().flatten().all(|table| table.text().lines().all(|line| line.chars().count() <= COLUMNS))
    };
    if report.measures.iter().all(fits) { labels } else { (0..labels.len()).map(letter).collect() }
}

/// Builds a table that shows one measure for every query under each system. With two systems, it also shows their
/// difference.
fn query_table(report: &ComparisonReport, of: &ComparedMeasure, labels: &[String]) -> Table {
    let difference = match labels {
        [first, second] => Some(format!("{second} - {first}")),
        _ => None,
    };
    let header = [of.measure.to_string()].into_iter();
    let mut table = Table::new(header.chain(labels.iter().cloned()).chain(difference));
    for (q, query) in report.query_ids.iter().enumerate() {
        let values: Vec<Option<f64>> = of.values.iter().map(|values| values[q]).collect();
        let difference = match values[..] {
            [Some(a), Some(b)] => Some(Cell::number(number::difference(b - a))),
            _ => None,
        };
        table.row(query.as_str(), values.into_iter().map(measured).chain(difference));
    }
    table
}

/// Returns the complete comparison as JSON.
pub(super) fn json(report: &ComparisonReport, per_query: bool) -> Value {
    let labels = labels(&report.systems);
    let of_measure = |of: &ComparedMeasure| {
        let mut value = json!({"means": of.means(), "pairs": of.pairs, "verdict": report.verdict(of, &labels)});
        if report.folds.len() > 1 {
            value["fold_means"] = json!(of.fold_means(&report.folds));
        }
        (of.measure.to_string(), value)
    };
    let mut object = json!({
        "convention": report.convention,
        "queries": report.queries,
        "empty_queries": report.empty_queries,
        "systems": report.systems,
        "config": report.config,
        "measures": report.measures.iter().map(of_measure).collect::<Map>(),
    });
    if per_query {
        let row = |(q, query): (usize, &String)| {
            let values = report.measures.iter().map(|of| {
                let of_systems: Vec<Option<f64>> = of.values.iter().map(|values| values[q]).collect();
                (of.measure.to_string(), json!(of_systems))
            });
            json!({"query": query, "measures": values.collect::<Map>()})
        };
        object["per_query"] = report.query_ids.iter().enumerate().map(row).collect();
    }
    object
}
