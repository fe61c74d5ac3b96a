//! Statistics of the data: counts, and histograms of labels and list lengths.

use std::collections::{BTreeMap, BTreeSet};

use crate::experiment::{DataReport, Sets};
use crate::number;
use crate::page::{Figure, Html, Table, element, figures, note, section};
use crate::plot::{Bars, Group, Ink};

/// Builds the section on the data of one split.
pub(super) fn of_split(data: &Sets<DataReport>) -> Html {
    let has_features = data.train.statistics.features > 0;
    let mut table = counts("set", has_features);
    for (name, set) in data.iter() {
        count_row(&mut table, name, set, has_features);
    }
    let groups: Vec<Histograms> = data.iter().map(|(name, set)| Histograms::new(name, [set].into_iter())).collect();
    section("data", "Data", table.html("data").then(histograms(&groups)))
}

/// Builds the section on the data of every fold. Together, the test sets of all folds make up the entire data, because
/// each query is tested once.
pub(super) fn of_folds(folds: &[(usize, &Sets<DataReport>)]) -> Html {
    let mut table = counts("fold", true);
    for (fold, data) in folds {
        for (name, set) in data.iter() {
            count_row(&mut table, &format!("{fold} {name}"), set, true);
        }
    }
    let tests = folds.iter().filter_map(|(_, data)| data.test.as_ref());
    let groups = [Histograms::new("test queries of all folds", tests)];
    section("data", "Data", table.html("data").then(histograms(&groups)))
}

/// The column of a table that texts do not have.
const FEATURES: &str = "features";

fn counts(first: &str, has_features: bool) -> Table {
    let columns = [
        first,
        "queries",
        "documents",
        FEATURES,
        "empty",
        "with one label only",
        "shortest, median, longest query",
        "SHA-256",
    ];
    Table::new(columns.into_iter().filter(|&column| has_features || column != FEATURES))
}

fn count_row(table: &mut Table, name: &str, set: &DataReport, has_features: bool) {
    let statistics = &set.statistics;
    let (shortest, median, longest) = statistics.length_range;
    let counts = [
        Some(statistics.queries),
        Some(statistics.documents),
        has_features.then_some(statistics.features),
        Some(statistics.empty_queries),
        Some(statistics.single_label_queries),
    ];
    let lengths = [shortest, median, longest].map(number::count).join(", ");
    let short: String = set.hash.chars().take(8).collect();
    let hash = element("code", short).within("abbr", &[("title", &set.hash)]);
    table.row(
        name,
        counts.into_iter().flatten().map(|value| Html::text(number::count(value))).chain([Html::text(lengths), hash]),
    );
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
    let by_label = sets.iter().map(|set| group(set, &set.labels, labels.iter().copied())).collect::<Vec<_>>();
    let by_label = Bars::grouped(categories.clone(), &by_label);

    let known = sets.iter().flat_map(|set| set.lengths.keys().copied());
    let (low, high) = known.fold((usize::MAX, 0), |(low, high), length| (low.min(length), high.max(length)));
    let starts: Vec<usize> = std::iter::successors(Some(low.max(1)), |start| start.checked_mul(2))
        .take_while(|start| *start <= high)
        .collect();
    let by_length = sets.iter().map(|set| group(set, &set.lengths, starts.iter().copied())).collect::<Vec<_>>();
    let names = starts.iter().map(|start| number::count(*start)).collect();
    let by_length = Bars::ranges(names, &by_length);

    let mut table = Table::new(["documents with label".to_string()].into_iter().chain(categories));
    for set in sets {
        let total: usize = set.labels.values().sum();
        let cell = |bits: &u32| {
            let count = set.labels.get(bits).copied().unwrap_or(0);
            let share = format!(" {:.1} %", 100.0 * count as f64 / total.max(1) as f64);
            Html::text(number::count(count)).then(element("small", share))
        };
        table.row(set.name.as_str(), labels.iter().map(cell));
    }
    let plots = figures([
        Figure::new("documents by label, %", by_label, legend.clone()),
        Figure::new("queries by number of documents, %", by_length, legend),
    ]);
    let lengths = note(
        "A bar of list lengths covers the lengths from the number at its left up to the next number. Empty queries \
         have no relevant document.",
    );
    plots.then(lengths).then(table.html("documents by label"))
}

/// Converts counts to percentages of all counts in `set`, in the order of `keys`.
fn group<K: Ord>(set: &Histograms, counts: &BTreeMap<K, usize>, keys: impl Iterator<Item = K>) -> Group {
    let total: usize = counts.values().sum();
    let share = |key: K| 100.0 * counts.get(&key).copied().unwrap_or(0) as f64 / total.max(1) as f64;
    Group { name: set.name.clone(), ink: set.ink, shares: keys.map(share).collect() }
}
