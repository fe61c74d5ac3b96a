//! The sections on single queries: how the selection measure is distributed over them, and how the documents of the
//! worst and the best ones are ranked.

use super::*;
use crate::experiment::{ExtremeQueries, RankedQuery};
use crate::plot::Bars;

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

    let quantiles =
        [("lowest", 0.0), ("lower quartile", 0.25), ("median", 0.5), ("upper quartile", 0.75), ("highest", 1.0)]
            .map(|(name, share)| (name, [number::measure(Some(number::quantile(&sorted, share)))]));
    let ends = [("queries at 0", 0.0), ("queries at 1", 1.0)]
        .map(|(name, at)| (name, [number::count(sorted.iter().filter(|value| **value == at).count())]));
    let summary = Table::default().with([("queries", [number::count(sorted.len())])]).with(quantiles).with(ends);

    let named = values.iter().take(NAMED).map(|(value, query)| (query.as_str(), [number::measure(Some(*value))]));
    let lowest = Table::new("query", [key]).with(named);
    let lowest = details(&format!("The {} lowest queries", values.len().min(NAMED)), lowest.html("lowest queries"));
    let mut content = figures([plot, Figure::Table(summary.html("distribution"))]);
    if left_out > 0 {
        let queries = number::counted(left_out, "query");
        let words = format!("{queries} with nothing to measure, left out by the {} convention.", convention.name);
        content = content.then(note(words));
    }
    section("queries", "Query by query", content.then(lowest))
}

/// For all folds together, the section shows at most this number of worst queries and this number of best queries.
const SHOWN: usize = 5;

/// Builds the section from the extreme queries of several fits or folds. It is empty if there are no fits. Each part
/// has a prefix, so that queries of different parts have different names.
pub(super) fn extremes(parts: &[(String, &ExtremeQueries)], convention: &Convention, seeds: &[u64]) -> Html {
    let Some((_, first)) = parts.first() else { return Html::default() };
    let list = |title: &str, of: fn(&ExtremeQueries) -> &Vec<RankedQuery>, sign: f64| -> Html {
        let of_parts = parts.iter().flat_map(|(part, found)| of(found).iter().map(move |query| (part, query)));
        let mut queries: Vec<(&String, &RankedQuery)> = of_parts.collect();
        queries.sort_by(|a, b| (sign * a.1.value).total_cmp(&(sign * b.1.value)));
        let shown = |(part, query): &(&String, &RankedQuery)| {
            let documents = number::counted(query.documents, "document");
            let value = number::measure(Some(query.value));
            let label = format!("documents of query {}", query.query);
            details(&format!("{part}query {}: {value}, {documents}", query.query), ranking_table(query).html(label))
        };
        titled(title, queries.iter().take(SHOWN).map(shown).collect())
    };
    let lists = list("Worst queries", |found| &found.worst, 1.0).then(list("Best queries", |found| &found.best, -1.0));
    if lists.is_empty() {
        return lists;
    }
    let what = note(format!(
        "These are the queries with the lowest and the highest {} ({}). Each table shows {}. \"ideal\" is the rank of \
         the document when sorted by label. Documents with equal scores are in the order of the data.{}",
        first.measure,
        convention.name,
        ExtremeQueries::SHOWN,
        first_seed(seeds)
    ));
    section("extremes", "Worst and best queries", what.then(lists))
}

/// Says which of several seeds a part of a page shows.
pub(super) fn first_seed(seeds: &[u64]) -> String {
    match seeds {
        [first, _, ..] => format!(" Seed {first}, the first of {}.", seeds.len()),
        _ => String::new(),
    }
}

/// Builds a table with the documents of a query in ranked order.
pub(crate) fn ranking_table(query: &RankedQuery) -> Table {
    let score = |score: f32| Cell::of(format!("{score:.4}"), number::figure(score.into()));
    let rows = query.shown.iter().map(|document| {
        let cells = [
            document.score.map_or_else(|| measured(None), score),
            Cell::of(document.label.to_string(), number::figure(document.label.into())),
            Cell::number(number::count(document.ideal_rank)),
            document.document.as_str().into(),
        ];
        (Cell::number(number::count(document.rank)), cells)
    });
    Table::new("rank", ["score", "label", "ideal", "document"]).with(rows)
}
