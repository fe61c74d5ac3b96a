//! Measures how well a column of values orders documents by their labels.

use crate::data::RankingDataset;
use crate::parallel;

/// The approximate number of documents in the sample.
const DOCUMENTS: usize = 100_000;

/// The number of queries whose counts are in memory at a time.
const QUERIES: usize = 256;

/// Counts of the document pairs within a query that have different labels, summed over queries.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pairs {
    all: u64,
    /// The number of pairs in which the document with the higher label has the higher value.
    alike: u64,
    /// The number of pairs in which the document with the higher label has the lower value.
    reversed: u64,
}

/// The smallest number of document pairs on which a finding is based.
const PAIRS: u64 = 50;
/// A feature is reported only if its values differ in at least this share of the pairs.
const TOLD_APART: f64 = 0.5;
/// A feature is reported only if it orders at least this share of untied pairs as the labels do, or in reverse.
const ORDERED: f64 = 0.98;

impl Pairs {
    fn add(self, other: Self) -> Self {
        Self { all: self.all + other.all, alike: self.alike + other.alike, reversed: self.reversed + other.reversed }
    }

    /// Returns the share of untied pairs that follow the labels, or that follow them in reverse if more pairs do.
    /// Returns `None` if the values do not reveal the labels, or if there are too few pairs to tell.
    pub fn gives_away(&self) -> Option<f64> {
        let told_apart = self.alike + self.reversed;
        if self.all < PAIRS || (told_apart as f64) < TOLD_APART * self.all as f64 {
            return None;
        }
        Some(self.alike.max(self.reversed) as f64 / told_apart as f64).filter(|share| *share >= ORDERED)
    }

    /// Returns whether so many pairs follow the order of their labels that the documents count as sorted.
    pub fn are_sorted(&self) -> bool {
        self.all >= PAIRS && self.alike as f64 / self.all as f64 >= ORDERED
    }

    /// Counts the pairs of one query. `levels` holds, for each document, the rank of its label among the query's
    /// labels.
    fn of_query(values: impl Iterator<Item = f32>, levels: &[usize], order: &mut Vec<(f32, usize)>) -> Self {
        order.clear();
        order.extend(values.zip(levels.iter().copied()).filter(|(value, _)| !value.is_nan()));
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut lower = Counts(vec![0; levels.iter().max().map_or(0, |most| most + 1)]);
        let (mut pairs, mut before) = (Self::default(), 0u64);
        for tied in order.chunk_by(|a, b| a.0 == b.0) {
            for (_, level) in tied {
                pairs.alike += lower.below(*level);
                pairs.reversed += before - lower.below(level + 1);
            }
            tied.iter().for_each(|(_, level)| lower.add(*level));
            before += tied.len() as u64;
        }
        // The pairs include documents without a value.
        let mut counts = vec![0u64; lower.0.len()];
        levels.iter().for_each(|level| counts[*level] += 1);
        let (sum, squares) = counts.iter().fold((0, 0), |(sum, squares), count| (sum + count, squares + count * count));
        pairs.all = (sum * sum - squares) / 2;
        pairs
    }
}

/// The number of documents of each level, as a Fenwick tree: documents are added and counted in logarithmic time.
struct Counts(Vec<u64>);

impl Counts {
    /// Adds a document of a level.
    fn add(&mut self, level: usize) {
        let mut end = level + 1;
        while let Some(count) = self.0.get_mut(end - 1) {
            *count += 1;
            end += end & end.wrapping_neg();
        }
    }

    /// Returns the number of documents below a level.
    fn below(&self, level: usize) -> u64 {
        let (mut sum, mut end) = (0, level);
        while end > 0 {
            sum += self.0[end - 1];
            end &= end - 1;
        }
        sum
    }
}

/// Counts the pairs of documents that agree or disagree with the labels, for each feature and for the order of the
/// file.
pub(super) fn pairs(data: &RankingDataset) -> (Vec<Pairs>, Pairs) {
    let queries = sample(data);
    let width = data.feature_count;
    let of_query = |q: &usize| {
        let (documents, levels) = (data.range(*q), levels(data.query_labels(*q)));
        let mut rows = vec![0.0; documents.len() * width];
        data.features.copy_rows(width, documents, &mut rows);
        let mut order = Vec::new();
        let of_feature =
            |feature: usize| Pairs::of_query(rows.iter().skip(feature).step_by(width).copied(), &levels, &mut order);
        let mut features: Vec<Pairs> = (0..width).map(of_feature).collect();
        let places = (0..levels.len()).map(|place| -(place as f32));
        features.push(Pairs::of_query(places, &levels, &mut order));
        features
    };
    let mut sums = vec![Pairs::default(); width + 1];
    for part in queries.chunks(QUERIES) {
        for of_query in parallel::map(part, of_query) {
            sums.iter_mut().zip(of_query).for_each(|(sum, more)| *sum = sum.add(more));
        }
    }
    let places = sums.pop().unwrap_or_default();
    (sums, places)
}

/// Returns the rank of each label among the distinct labels of its query.
fn levels(labels: &[f32]) -> Vec<usize> {
    let mut all = labels.to_vec();
    all.sort_unstable_by(f32::total_cmp);
    all.dedup();
    labels.iter().map(|label| all.partition_point(|other| other < label)).collect()
}

/// Returns a sample of evenly spaced queries, each with at least two different labels. The queries together have about
/// [`DOCUMENTS`] documents or fewer.
fn sample(data: &RankingDataset) -> Vec<usize> {
    let stride = data.documents().div_ceil(DOCUMENTS).max(1);
    (0..data.queries()).step_by(stride).filter(|q| data.has_two_labels(*q)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_those_of_the_definition() {
        let values = [0.5, f32::NAN, 0.5, 0.25, 1.0, -2.0];
        let labels = [2.0, 0.0, 0.0, 1.0, 1.0, 0.0];
        let (mut all, mut alike, mut reversed) = (0, 0, 0);
        for (a, label) in labels.iter().enumerate() {
            for (b, _) in labels.iter().enumerate().filter(|(_, other)| *other < label) {
                all += 1;
                alike += u64::from(values[a] > values[b]);
                reversed += u64::from(values[a] < values[b]);
            }
        }
        let found = Pairs::of_query(values.into_iter(), &levels(&labels), &mut Vec::new());
        assert_eq!((found.all, found.alike, found.reversed), (all, alike, reversed));
    }

    /// Work that grows with documents times labels would take minutes.
    #[test]
    fn a_long_list_of_different_labels_is_counted_in_n_log_n() {
        let count = 300_000u64;
        let labels: Vec<f32> = (0..count).map(|document| document as f32).collect();
        let of = |values: Vec<f32>| Pairs::of_query(values.into_iter(), &levels(&labels), &mut Vec::new());
        let (pairs, last) = (count * (count - 1) / 2, count - 1);
        let sorted = of(labels.clone());
        assert_eq!((sorted.all, sorted.alike, sorted.reversed), (pairs, pairs, 0));
        // The document of the highest label has the lowest value.
        let moved = of((0..count).map(|document| ((document + 1) % count) as f32).collect());
        assert_eq!((moved.all, moved.alike, moved.reversed), (pairs, pairs - last, last));
    }

    #[test]
    fn the_counts_of_many_queries_are_summed() {
        let queries = 2 * QUERIES + 7;
        let labels: Vec<f32> = (0..2 * queries).map(|document| (document % 2) as f32).collect();
        let data = RankingDataset::builder().features(labels.clone(), 1).labels(labels).query_sizes(&vec![2; queries]);
        let (features, places) = pairs(&data.build().unwrap());
        let queries = queries as u64;
        assert_eq!((features[0].all, features[0].alike, places.reversed), (queries, queries, queries));
    }
}
