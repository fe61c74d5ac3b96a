//! The section with the worst and the best queries, which shows how their documents are ranked.

use burn_rank::measure::Convention;

use crate::experiment::{ExtremeQueries, RankedQuery};
use crate::number;
use crate::page::{Cell, Html, Table, details, element, note, section};

/// For all folds together, the section shows at most this number of worst queries and this number of best queries.
const SHOWN: usize = 5;

/// Builds the section from the extreme queries of several fits or folds. It is empty if there are no fits. Each part
/// has a prefix, so that queries of different parts have different names.
pub(super) fn extremes(parts: &[(String, &ExtremeQueries)], convention: &Convention) -> Html {
    let Some((_, first)) = parts.first() else { return Html::default() };
    let named = |of: fn(&ExtremeQueries) -> &Vec<RankedQuery>| -> Vec<(&str, &RankedQuery)> {
        parts.iter().flat_map(|(part, found)| of(found).iter().map(move |query| (part.as_str(), query))).collect()
    };
    let (mut worst, mut best) = (named(|found| &found.worst), named(|found| &found.best));
    worst.sort_by(|a, b| a.1.value.total_cmp(&b.1.value));
    best.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
    if worst.is_empty() && best.is_empty() {
        return Html::default();
    }
    let list = |title: &str, queries: &[(&str, &RankedQuery)]| -> Html {
        let of = |(part, query): &(&str, &RankedQuery)| {
            let documents = number::counted(query.documents, "document");
            let value = number::measure(Some(query.value));
            let label = format!("documents of query {}", query.query);
            details(&format!("{part}query {}: {value}, {documents}", query.query), ranking_table(query).html(label))
        };
        let queries: Html = queries.iter().take(SHOWN).map(of).collect();
        if queries.is_empty() { queries } else { element("p", element("strong", title)).then(queries) }
    };
    let what = note(format!(
        "The queries with the lowest and the highest {} ({}). Each table shows {}. ideal: the rank of the document when \
         sorted by label. Documents with equal scores are in the order of the data.",
        first.measure,
        convention.name,
        ExtremeQueries::SHOWN
    ));
    let content = what.then(list("Worst queries", &worst)).then(list("Best queries", &best));
    section("extremes", "Worst and best queries", content)
}

/// Builds a table with the documents of a query in ranked order.
pub(crate) fn ranking_table(query: &RankedQuery) -> Table {
    let mut table = Table::new(["rank", "score", "label", "ideal", "document"]);
    for document in &query.shown {
        let score = |score: f32| Cell::of(format!("{score:.4}"), number::figure(score.into()));
        let cells = [
            document.score.map_or_else(|| Cell::number(number::measure(None)), score),
            Cell::of(document.label.to_string(), number::figure(document.label.into())),
            Cell::number(number::count(document.ideal_rank)),
            document.document.as_str().into(),
        ];
        table.row(Cell::number(number::count(document.rank)), cells);
    }
    table
}
