//! Prints comparisons as JSON, or as tables of at most 80 columns.

use std::io::Write;

use burn_rank::json::{Map, Value};
use burn_rank::measure::significance::{ComparisonConfig, SystemPair};
use burn_rank::workbench::json::json;
use burn_rank::workbench::text::{counted, harmless};

use super::systems::Systems;
use crate::cli::failure::Failure;
use crate::page::Table;
use crate::report::{letter, pair_table};

/// Prints the tables, given the compared pairs of systems for each measure as `pairs[measure]`.
pub(super) fn tables(
    systems: &Systems,
    pairs: &[Vec<SystemPair>],
    config: &ComparisonConfig,
    per_query: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let first = &systems.evaluations[0];
    writeln!(
        out,
        "convention {}, {}, {} without a relevant document",
        first.convention.name,
        counted(first.queries, "query"),
        first.empty_queries
    )?;
    writeln!(out, "compared on {} of them", pairs[0][0].comparison.queries)?;
    for (at, name) in systems.names.iter().enumerate() {
        writeln!(out, "{}  {}", letter(at), harmless(name))?;
    }
    writeln!(out)?;
    write!(out, "{}", means(systems).text())?;
    for (measure, pairs) in pairs.iter().enumerate() {
        writeln!(out)?;
        write!(out, "{}", pair_table(first.means[measure].0, pairs).text())?;
    }
    if per_query {
        for measure in 0..first.means.len() {
            writeln!(out)?;
            write!(out, "{}", query_table(systems, measure).text())?;
        }
    }
    writeln!(out)?;
    let tukey = if systems.names.len() > 2 { ", tukey" } else { "" };
    let percent = 100.0 * config.confidence;
    writeln!(out, "low, high: {percent}% bootstrap interval; t, random{tukey}: two-sided p-values;")?;
    let resamples = format!("{} resamples, seed {}", config.resamples, config.seed);
    writeln!(out, "d: effect size; win/tie/loss: queries. {resamples}.")?;
    writeln!(out, "How to read this: burn-rank compare --help")?;
    Ok(())
}

fn means(systems: &Systems) -> Table {
    let measures = systems.evaluations[0].means.iter().map(|(measure, _)| measure.to_string());
    let mut table = Table::new(["mean".to_string()].into_iter().chain(measures));
    for (at, evaluation) in systems.evaluations.iter().enumerate() {
        table.row(letter(at), evaluation.means.iter().map(|(_, mean)| format!("{mean:.4}")));
    }
    table
}

/// Builds a table that shows one measure for every query under each system. With two systems, it also shows their
/// difference.
fn query_table(systems: &Systems, measure: usize) -> Table {
    let count = systems.names.len();
    let difference = (count == 2).then(|| "B - A".to_string());
    let header = [systems.evaluations[0].means[measure].0.to_string()].into_iter();
    let mut table = Table::new(header.chain((0..count).map(letter)).chain(difference));
    let cell = |value: Option<f64>| value.map_or("-".to_string(), |value| format!("{value:.4}"));
    for (q, query) in systems.queries.iter().enumerate() {
        let values: Vec<Option<f64>> =
            systems.evaluations.iter().map(|evaluation| evaluation.per_query[measure][q]).collect();
        let difference = match values[..] {
            [Some(a), Some(b)] => Some(format!("{:+.4}", b - a)),
            _ => None,
        };
        table.row(query.as_str(), values.into_iter().map(cell).chain(difference));
    }
    table
}

/// Returns the complete comparison as JSON.
pub(super) fn json(systems: &Systems, pairs: &[Vec<SystemPair>], config: &ComparisonConfig, per_query: bool) -> Value {
    let first = &systems.evaluations[0];
    let of_measure = |(measure, pairs): (usize, &Vec<SystemPair>)| {
        let means: Vec<f64> = systems.evaluations.iter().map(|evaluation| evaluation.means[measure].1).collect();
        (first.means[measure].0.to_string(), json!({"means": means, "pairs": pairs}))
    };
    let mut object = json!({
        "convention": first.convention,
        "queries": first.queries,
        "empty_queries": first.empty_queries,
        "systems": systems.names,
        "config": config,
        "measures": pairs.iter().enumerate().map(of_measure).collect::<Map>(),
    });
    if per_query {
        let row = |(q, query): (usize, &String)| {
            let values = first.means.iter().enumerate().map(|(measure, (name, _))| {
                let of_systems: Vec<Option<f64>> =
                    systems.evaluations.iter().map(|evaluation| evaluation.per_query[measure][q]).collect();
                (name.to_string(), json!(of_systems))
            });
            json!({"query": query, "measures": values.collect::<Map>()})
        };
        object["per_query"] = systems.queries.iter().enumerate().map(row).collect();
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_have_letters() {
        assert_eq!([0, 1, 25, 26, 27, 52, 701, 702].map(letter), ["A", "B", "Z", "AA", "AB", "BA", "ZZ", "AAA"]);
    }
}
