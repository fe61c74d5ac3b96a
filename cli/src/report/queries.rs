//! The section on how the selection measure is distributed over queries.

use burn_rank::measure::{Convention, Measure};
use burn_rank::workbench::mean_of;

use crate::experiment::PerQuery;
use crate::number;
use crate::page::{Figure, Html, Table, details, figures, note, section};
use crate::plot::{Bars, Ink};

/// The number of queries listed by name, which are those with the lowest values.
const NAMED: usize = 20;

/// Builds the section from the queries of all `parts`, such as folds. Each part has a prefix, so that queries of
/// different parts have different names.
pub(super) fn distribution(parts: &[(String, &PerQuery)], selection: Measure, convention: &Convention) -> Html {
    let Some((_, first)) = parts.first() else { return Html::default() };
    let key = selection.to_string();
    let mut values: Vec<(f64, String)> = Vec::new();
    let mut left_out = 0;
    for (part, per_query) in parts {
        for (value, query) in per_query.values.get(&key).into_iter().flatten().zip(&per_query.queries) {
            match value {
                Some(value) if value.is_finite() => values.push((*value, format!("{part}{query}"))),
                _ => left_out += 1,
            }
        }
    }
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let sorted: Vec<f64> = values.iter().map(|(value, _)| *value).collect();
    let Some(mean) = mean_of(sorted.iter().copied()) else { return Html::default() };
    let set = &first.set;
    let name = format!("{selection} ({})", convention.name);
    let bars = Bars::histogram(&sorted, Ink::from_set(set), mean);
    let legend = [
        (Ink::from_set(set), format!("{set} queries")),
        (Ink::Mark, format!("mean over queries, {}", number::measure(Some(mean)))),
    ];
    let plot = Figure::new(format!("{set} queries by {name}"), bars, legend);

    let mut summary = Table::default();
    summary.row("queries", [number::count(sorted.len())]);
    for (name, share) in
        [("lowest", 0.0), ("lower quartile", 0.25), ("median", 0.5), ("upper quartile", 0.75), ("highest", 1.0)]
    {
        summary.row(name, [number::measure(Some(number::quantile(&sorted, share)))]);
    }
    summary.row("queries at 0", [number::count(sorted.iter().filter(|value| **value == 0.0).count())]);
    summary.row("queries at 1", [number::count(sorted.iter().filter(|value| **value == 1.0).count())]);

    let mut lowest = Table::new(["query", selection.to_string().as_str()]);
    for (value, query) in values.iter().take(NAMED) {
        lowest.row(query.as_str(), [number::measure(Some(*value))]);
    }
    let lowest = details(&format!("The {} lowest queries", values.len().min(NAMED)), lowest.html("lowest queries"));
    let out = if left_out > 0 {
        note(format!(
            "{} with nothing to measure, left out by the {} convention.",
            number::counted(left_out, "query"),
            convention.name
        ))
    } else {
        Html::default()
    };
    section(
        "queries",
        "Query by query",
        figures([plot, Figure::Table(summary.html("distribution"))]).then(out).then(lowest),
    )
}
