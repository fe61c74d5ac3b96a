//! Shows the queries on which two systems differ most, with both rankings side by side.

use std::collections::BTreeMap;

use super::*;
use crate::experiment::LONGEST_IDENTIFIER;

/// For each pair of systems, this many queries with the largest gains are shown, and the same number with the largest
/// losses.
const QUERIES: usize = 5;

/// A query shows each system's first `FIRST` documents and the first `BELONG` documents by label.
const FIRST: usize = 10;
const BELONG: usize = 5;

/// A document with its rank in each of the two rankings.
#[derive(Debug, Clone, PartialEq)]
struct Placed {
    document: String,
    label: f32,
    /// The rank of the document in each ranking, counted from 1. It is `None` if the system did not retrieve the
    /// document.
    ranks: [Option<usize>; 2],
    /// The rank of the document by label, counted from 1.
    ideal: usize,
}

/// Builds the section for all shown pairs of systems. It is empty if the systems do not differ on any query.
pub(super) fn moved(report: &ComparisonReport, labels: &[String], rankings: &Rankings) -> Html {
    let Some(of) = report.measures.first() else { return Html::default() };
    let of_pair = |pair: &Comparison| {
        let [first, second] = [pair.first, pair.second].map(|system| labels[system].as_str());
        let mut order = by_query(of, pair);
        order.sort_by(|a, b| b.1.total_cmp(&a.1));
        let of_query = |&(query, difference): &(usize, f64)| {
            let [from, to] = [pair.first, pair.second].map(|system| number::measure(of.values[system][query]));
            let difference = number::difference(difference);
            let title = format!("query {}: {difference}, from {from} to {to}", report.query_ids[query]);
            let shown = match rankings(query, pair.first).zip(rankings(query, pair.second)) {
                Some((one, other)) => table([first, second], &side_by_side(&one, &other)),
                None => note(
                    "The rankings are not known, because reports have only values. To see rankings, compare rankers on \
                     their data, or runs of cv that kept their scores (--keep scores).",
                ),
            };
            details(&title, shown)
        };
        let gained = order.iter().filter(|(_, difference)| *difference > 0.0).take(QUERIES).map(of_query).collect();
        let lost = order.iter().rev().filter(|(_, difference)| *difference < 0.0).take(QUERIES).map(of_query).collect();
        let [of_gained, of_lost] = ["gained", "lost"].map(|what| format!("From {first} to {second}: {what}"));
        titled(&of_gained, gained).then(titled(&of_lost, lost))
    };
    let parts: Html = shown_pairs(report).into_iter().map(of_pair).collect();
    if parts.is_empty() {
        return parts;
    }
    let seeds = if report.folds.is_empty() { "" } else { " A run of several seeds has the rankings of its first." };
    let words = format!(
        "The queries with the largest differences in {}. Each table shows the first {FIRST} documents of both systems, \
         and the {BELONG} documents with the highest labels, in the order of the second system. ideal: the rank of the \
         document when sorted by label. Documents with equal scores are in the order of the data.{seeds}",
        of.measure
    );
    section("moved", "What changed most", note(words).then(parts))
}

fn table(names: [&str; 2], documents: &[Placed]) -> Html {
    let [first, second] = names.map(|name| format!("rank in {name}"));
    let rows = documents.iter().map(|placed| {
        let [first, second] = placed.ranks.map(|rank| rank.map_or(number::measure(None), number::count));
        let label = number::figure(f64::from(placed.label));
        (placed.document.as_str(), [label, first, second, number::count(placed.ideal)])
    });
    Table::new("document", ["label", &first, &second, "ideal"]).with(rows).html("both rankings")
}

/// Returns the documents to show for a query, in the order in which the second system ranks them.
fn side_by_side(first: &[ScoredDocument], second: &[ScoredDocument]) -> Vec<Placed> {
    let mut placed: Vec<Placed> = Vec::new();
    let mut at: BTreeMap<&str, usize> = BTreeMap::new();
    for (system, ranking) in [first, second].into_iter().enumerate() {
        let mut order: Vec<&ScoredDocument> = ranking.iter().collect();
        order.sort_by(|a, b| b.score.total_cmp(&a.score));
        for (rank, scored) in order.into_iter().enumerate() {
            let index = *at.entry(&scored.document).or_insert_with(|| {
                let document = shortened(&scored.document, LONGEST_IDENTIFIER);
                placed.push(Placed { document, label: scored.label, ranks: [None; 2], ideal: 0 });
                placed.len() - 1
            });
            placed[index].ranks[system] = (scored.score > f32::NEG_INFINITY).then_some(rank + 1);
        }
    }
    let last = |rank: Option<usize>| rank.unwrap_or(usize::MAX);
    placed.sort_by_key(|document| (last(document.ranks[1]), last(document.ranks[0])));
    let mut ideal: Vec<usize> = (0..placed.len()).collect();
    ideal.sort_by(|&a, &b| placed[b].label.total_cmp(&placed[a].label));
    ideal.into_iter().enumerate().for_each(|(rank, document)| placed[document].ideal = rank + 1);
    let first = |rank: &Option<usize>| rank.is_some_and(|rank| rank <= FIRST);
    placed.retain(|document| document.ranks.iter().any(first) || document.ideal <= BELONG);
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_of_both_rankings_stand_in_the_order_of_the_second() {
        let scored = |document: &str, label, score| ScoredDocument { document: document.into(), label, score };
        let first = [scored("a", 0.0, 3.0), scored("b", 2.0, 1.0), scored("c", 1.0, 2.0)];
        let second = [scored("b", 2.0, 9.0), scored("c", 1.0, f32::NEG_INFINITY), scored("d", 0.0, 1.0)];
        let found: Vec<_> = side_by_side(&first, &second).into_iter().map(|p| (p.document, p.ranks, p.ideal)).collect();
        let expected = [
            ("b", [Some(3), Some(1)], 1),
            ("d", [None, Some(2)], 3),
            ("a", [Some(1), None], 4),
            ("c", [Some(2), None], 2),
        ];
        assert_eq!(found, expected.map(|(document, ranks, ideal)| (document.to_string(), ranks, ideal)));
    }

    #[test]
    fn of_long_lists_only_what_stands_or_belongs_high_is_shown() {
        let list = |sign: f32| -> Vec<ScoredDocument> {
            let of = |at: usize| ScoredDocument {
                document: at.to_string(),
                label: if at == 50 { 1.0 } else { 0.0 },
                score: sign * at as f32,
            };
            (0..100).map(of).collect()
        };
        let shown = side_by_side(&list(-1.0), &list(-1.0));
        assert_eq!(shown.len(), 11);
        assert_eq!((shown[10].document.as_str(), shown[10].ranks, shown[10].ideal), ("50", [Some(51); 2], 1));
    }
}
