//! Statistics of the data: counts, and histograms of labels and list lengths.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::experiment::{DataReport, Sets};
use crate::plot::{Bars, Group};

/// Builds the section on the data of one split.
pub(super) fn of_split(data: &Sets<DataReport>) -> Html {
    let groups: Vec<Histograms> = data.iter().map(|(name, set)| Histograms::new(name, [set].into_iter())).collect();
    let rows = data.iter().map(|(name, set)| (name.to_string(), set));
    let table = counts("set", data.train.statistics.features > 0, rows);
    section("data", "Data", table.then(histograms(&groups)))
}

/// Builds the section on the data of every fold. Together, the test sets of all folds make up the entire data, because
/// each query is tested once.
pub(super) fn of_folds(folds: &[(usize, &Sets<DataReport>)]) -> Html {
    let rows =
        folds.iter().flat_map(|(fold, data)| data.iter().map(move |(name, set)| (format!("{fold} {name}"), set)));
    let tests = folds.iter().filter_map(|(_, data)| data.test.as_ref());
    let groups = [Histograms::new("test queries of all folds", tests)];
    section("data", "Data", counts("fold", true, rows).then(histograms(&groups)))
}

/// Builds a table of sets. Texts have no column of features.
fn counts<'a>(first: &str, has_features: bool, sets: impl Iterator<Item = (String, &'a DataReport)>) -> Html {
    let features = has_features.then_some("features");
    let others = ["without a label of 1 or above", "with one label only", "shortest, median, longest query", "SHA-256"];
    let columns = ["queries", "documents"].into_iter().chain(features).chain(others);
    let rows = sets.map(|(name, set)| {
        let of = &set.statistics;
        let features = has_features.then_some(of.features);
        let others = [of.empty_queries, of.single_label_queries];
        let counts = [of.queries, of.documents].into_iter().chain(features).chain(others);
        let (shortest, median, longest) = of.length_range;
        let lengths = [shortest, median, longest].map(number::count).join(", ");
        let short: String = set.hash.chars().take(8).collect();
        let hash = element("code", short).within("abbr", &[("title", &set.hash)]);
        (name, counts.map(|value| Html::text(number::count(value))).chain([Html::text(lengths), hash]))
    });
    Table::new(first, columns).with(rows).html("data")
}

/// Returns the labels and the lengths of the lists of all sets together. They tell data with the same names of queries
/// apart.
pub(super) fn told_by<'a>(sets: impl Iterator<Item = &'a DataReport>) -> String {
    let Histograms { labels, lengths, .. } = Histograms::new("", sets);
    format!("{labels:?} {lengths:?}")
}

/// Counts of labels and list lengths, which are drawn as percentages.
struct Histograms {
    name: String,
    ink: Ink,
    /// The number of documents with each label; the key is the label's bit pattern. Bit patterns have the same order as
    /// labels, because labels are not negative.
    labels: BTreeMap<u32, usize>,
    /// The number of queries in each range of list lengths; the key is the power of two at which the range begins.
    lengths: BTreeMap<usize, usize>,
}

impl Histograms {
    fn new<'a>(name: &str, sets: impl Iterator<Item = &'a DataReport>) -> Self {
        let (mut labels, mut lengths) = (BTreeMap::new(), BTreeMap::new());
        for set in sets {
            for (label, count) in &set.statistics.labels {
                *labels.entry(label.to_bits()).or_default() += count;
            }
            for (length, count) in &set.statistics.list_lengths {
                *lengths.entry(*length).or_default() += count;
            }
        }
        Self { name: name.to_string(), ink: Ink::from_set(name), labels, lengths }
    }
}

fn histograms(sets: &[Histograms]) -> Html {
    let legend: Vec<(Ink, String)> = sets.iter().map(|set| (set.ink, set.name.clone())).collect();

    let labels: BTreeSet<u32> = sets.iter().flat_map(|set| set.labels.keys().copied()).collect();
    let categories: Vec<String> = labels.iter().map(|bits| f32::from_bits(*bits).to_string()).collect();
    let by_label: Vec<Group> = sets.iter().map(|set| group(set, &set.labels, labels.iter())).collect();
    let by_label = Bars::grouped(categories.clone(), &by_label);

    let known = || sets.iter().flat_map(|set| set.lengths.keys().copied());
    let (shortest, longest) = (known().min().unwrap_or(usize::MAX), known().max().unwrap_or(0));
    let starts = std::iter::successors(Some(shortest.max(1)), |start| start.checked_mul(2));
    let starts: Vec<usize> = starts.take_while(|start| *start <= longest).collect();
    let by_length: Vec<Group> = sets.iter().map(|set| group(set, &set.lengths, starts.iter())).collect();
    let by_length = Bars::ranges(starts.iter().copied().map(number::count).collect(), &by_length);

    let rows = sets.iter().map(|set| {
        let total: usize = set.labels.values().sum();
        let cell = move |bits: &u32| {
            let count = set.labels.get(bits).copied().unwrap_or(0);
            let share = format!(" {:.1} %", 100.0 * count as f64 / total.max(1) as f64);
            Html::text(number::count(count)).then(element("small", share))
        };
        (set.name.as_str(), labels.iter().map(cell))
    });
    let table = Table::new("documents with label", categories).with(rows);
    let plots = figures([
        Figure::new("documents by label, %", by_label, legend.clone()),
        Figure::new("queries by number of documents, %", by_length, legend),
    ]);
    let lengths = note("A bar of list lengths covers the lengths from the number at its left up to the next number.");
    plots.then(lengths).then(table.html("documents by label"))
}

/// Converts counts to percentages of all counts in `set`, in the order of `keys`.
fn group<'a, K: Ord + 'a>(set: &Histograms, counts: &BTreeMap<K, usize>, keys: impl Iterator<Item = &'a K>) -> Group {
    let total: usize = counts.values().sum();
    let share = |key| 100.0 * counts.get(key).copied().unwrap_or(0) as f64 / total.max(1) as f64;
    (set.ink, keys.map(share).collect())
}
