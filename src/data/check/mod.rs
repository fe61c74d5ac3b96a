//! Checks data for faults before training, as `burn-rank check` does.
//!
//! Data sets are added one after another, so the features of only one set are in memory at a time. Features and
//! documents are numbered from 1.

mod finding;
mod known;
mod order;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};

use super::dataset::RankingDataset;
use super::statistics::Statistics;
use crate::parallel;
use crate::refusal::Refusal;
use crate::text::{counted, plural};
pub use finding::{Finding, Kind, Level, Report, SetReport};
use finding::{features_in_words, listed};
pub use known::ISTELLA_MISSING;

/// Values of larger magnitude are reported, because without a normalizer they would dominate what a scorer learns.
const HUGE: f32 = 1e6;
/// The largest label that losses with the gain `2^y - 1` accept.
const LARGEST_LABEL: f32 = 30.0;
/// The number of feature values that the checks read into memory at a time.
const CELLS: usize = 1 << 22;
/// The bytes that the comparison of documents takes for each: its hash, and a place in a table of hashes.
const BYTES_OF_DOCUMENT: u64 = 8 + 36;
/// The bytes that a document of the longest query takes in addition, besides its features: its place in the order of a
/// feature, its label's rank, and a place in the query's table of hashes.
const BYTES_IN_QUERY: u64 = 16 + 8 + 36;
/// The largest number of examples that a finding lists.
const EXAMPLES: usize = 5;

/// Checks sets for faults, one after another.
#[derive(Debug, Default)]
pub struct Check {
    sets: Vec<SetReport>,
    findings: Vec<Finding>,
    /// The index of the first set that contains each query.
    queries: HashMap<String, usize>,
    /// The index of the first set that contains each document, by the hash of its features.
    documents: HashMap<u64, usize>,
    /// Whether the queries of each set are numbered in their order.
    counted: Vec<bool>,
    /// The names of the features, if the first set names its features.
    names: Vec<String>,
}

impl Check {
    /// Returns the names of the features; empty if they are not known.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Checks a set. Missing values must be NaN.
    ///
    /// # Errors
    /// Returns a refusal if too little memory is free to compare the documents.
    pub fn add(&mut self, name: &str, data: &RankingDataset) -> Result<(), Refusal> {
        let (longest, width) = (data.longest_query() as u64, data.feature_count as u64);
        let bytes = data.documents() as u64 * BYTES_OF_DOCUMENT + longest * (BYTES_IN_QUERY + 4 * width);
        let what = format!("a comparison of {}", counted(data.documents(), "document"));
        Refusal::ask_memory(name, what, bytes, "check fewer documents at once")?;
        if self.sets.is_empty() {
            self.names.clone_from(&data.feature_names);
        }
        let statistics = data.statistics();
        let survey = data.features.survey(data.feature_count);
        let set = SetReport { name: name.to_string(), statistics, ranges: survey.ranges() };
        let missing: Vec<usize> = (1..).zip(&survey.missing_of).filter(|(_, n)| **n > 0).map(|(f, _)| f).collect();
        self.check_width(&set);
        self.check_labels(&set, data);
        self.check_order(&set, data);
        self.check_features(&set, &survey.missing_of);
        if !missing.is_empty() {
            let share = 100.0 * set.statistics.missing_values as f64 / data.features.len().max(1) as f64;
            let words = format!(
                "{share:.3}% of the values are missing, in {}: missing = \"indicator\" in [data.read] keeps them",
                self.in_words(&missing)
            );
            self.find(Level::Note, Kind::MissingValue, &set, self.called(&missing), words);
        }
        drop(survey);
        let hashes = document_hashes(data);
        self.check_duplicates(&set, data, &hashes);
        self.check_overlap(&set, data, &hashes);
        self.sets.push(set);
        Ok(())
    }

    /// Adds a problem that was found while a set was being read.
    pub fn note(&mut self, set: &str, kind: Kind, message: String) {
        let set = set.to_string();
        self.findings.push(Finding { level: Level::Problem, kind, set, count: 1, examples: Vec::new(), message });
    }

    /// Finishes the checks and returns the findings, problems first.
    pub fn finish(mut self) -> Report {
        let (published, off) = known::recognize(&self.sets);
        self.findings.extend(off);
        // Stable: in the order of the sets.
        self.findings.sort_by_key(|finding| finding.level == Level::Note);
        Report { sets: self.sets, published, findings: self.findings }
    }

    fn find(&mut self, level: Level, kind: Kind, set: &SetReport, about: impl Into<Several>, message: String) {
        let (set, Several { count, examples }) = (set.name.clone(), about.into());
        self.findings.push(Finding { level, kind, set, count, examples, message });
    }

    /// Returns the names of features, or their numbers if they have no names.
    fn called(&self, features: &[usize]) -> Vec<String> {
        let name = |feature: &usize| self.names.get(feature - 1).cloned().unwrap_or_else(|| feature.to_string());
        features.iter().map(name).collect()
    }

    /// Describes features in words, by name if names are known.
    fn in_words(&self, features: &[usize]) -> String {
        if self.names.is_empty() {
            return features_in_words(features);
        }
        let mut named: Vec<String> =
            self.called(features).iter().take(EXAMPLES).map(|name| format!("`{name}`")).collect();
        if features.len() > EXAMPLES {
            named.push(format!("{} more", features.len() - EXAMPLES));
        }
        format!("{} {}", plural(features.len(), "column"), listed(&named))
    }

    fn check_width(&mut self, set: &SetReport) {
        let Some(first) = self.sets.first() else { return };
        let (found, expected) = (set.statistics.features, first.statistics.features);
        // Sparse text may leave out the last features, but additional features are rejected.
        let (level, advice) = match found.cmp(&expected) {
            Ordering::Equal => return,
            Ordering::Less => (Level::Note, "in text, the last ones count as 0, unless data.read gives their number"),
            Ordering::Greater => (Level::Problem, "set data.read.features to their number"),
        };
        let words = format!("{} here, {expected} in {}: {advice}", counted(found, "feature"), first.name);
        self.find(level, Kind::FeatureCount, set, vec![found.to_string()], words);
    }

    fn check_labels(&mut self, set: &SetReport, data: &RankingDataset) {
        let Statistics { queries, single_label_queries, empty_queries, .. } = set.statistics;
        let ids = |of: &dyn Fn(usize) -> bool| -> Vec<String> {
            (0..data.queries()).filter(|&q| of(q)).map(|q| data.query_ids[q].clone()).collect()
        };
        let some = |count: usize, what: &str, ids: &[String]| {
            format!("{count} of {} {} {what}{}", counted(queries, "query"), have(count), as_in_query(ids))
        };
        let (one_label, empty) = (ids(&|q| !data.has_two_labels(q)), ids(&|q| !data.has_relevant(q)));
        if queries == single_label_queries {
            let words = format!("{}: there is nothing to learn", data.one_label_in_words());
            self.find(Level::Problem, Kind::OneLabel, set, one_label, words);
        } else if single_label_queries > 0 {
            let words = some(single_label_queries, "one label only", &one_label) + ": nothing is learned there";
            self.find(Level::Note, Kind::OneLabel, set, one_label, words);
        }
        if empty_queries > 0 {
            let words = some(empty_queries, "no relevant document, of label 1 or above", &empty);
            self.find(Level::Note, Kind::NoRelevant, set, empty, words);
        }
        let labels: Vec<f32> = set.labels().collect();
        let with = |of: &dyn Fn(f32) -> bool| -> Vec<String> {
            labels.iter().filter(|label| of(**label)).map(f32::to_string).collect()
        };
        let large = with(&|label| label > LARGEST_LABEL);
        if let Some(largest) = large.last() {
            let words = format!(
                "labels up to {largest}: losses with the gain 2^y - 1 accept labels from 0 to {LARGEST_LABEL}; map \
                 them to grades from 0 to 4, or set gain = \"linear\" in the convention and the loss"
            );
            self.find(Level::Problem, Kind::LabelLevel, set, large, words);
        }
        let fractions = with(&|label| label.fract() != 0.0);
        if !fractions.is_empty() {
            let words = format!(
                "labels that are not whole{}: set gain = \"linear\" in the convention and the loss; losses with \
                 another gain, TREC judgments and other tools need whole ones",
                as_in(&fractions)
            );
            self.find(Level::Note, Kind::LabelLevel, set, fractions, words);
        }
        if labels.len() > 1 && labels[0] >= 1.0 {
            let words = format!("no label is 0, the lowest is {}: every document counts as relevant", labels[0]);
            self.find(Level::Note, Kind::LabelLevel, set, vec![labels[0].to_string()], words);
        }
    }

    fn check_order(&mut self, set: &SetReport, data: &RankingDataset) {
        let (features, places) = order::pairs(data);
        for (feature, share) in (1..).zip(&features).filter_map(|(f, pairs)| Some((f, pairs.gives_away()?))) {
            let share = 100.0 * share;
            let words = format!(
                "{} gives the label away: it orders {share:.1}% of the pairs of documents in which it differs as their \
                labels do, or in reverse; leave it out if it is not known when documents are ranked",
                self.in_words(&[feature])
            );
            self.find(Level::Problem, Kind::GivesLabelAway, set, self.called(&[feature]), words);
        }
        if places.are_sorted() {
            let words = "the documents are sorted by label: tools that keep the order of the file among equal scores \
                measure too high a value; the convention `standard` does not"
                .to_string();
            self.find(Level::Note, Kind::SortedByLabel, set, Several::default(), words);
        }
    }

    fn check_features(&mut self, set: &SetReport, missing: &[usize]) {
        let constant = constant(&set.ranges, missing, set.statistics.documents);
        if constant.len() == set.ranges.len() && set.statistics.documents > 1 {
            let words = "no feature varies: there is nothing to learn".to_string();
            self.find(Level::Problem, Kind::ConstantFeature, set, self.called(&constant), words);
        } else if !constant.is_empty() {
            let words = format!("{} {} one value in all documents", self.in_words(&constant), have(constant.len()));
            self.find(Level::Note, Kind::ConstantFeature, set, self.called(&constant), words);
        }
        let size = |(low, high): &(f32, f32)| low.abs().max(high.abs());
        let huge: Vec<usize> = (1..).zip(&set.ranges).filter(|(_, range)| size(range) > HUGE).map(|(f, _)| f).collect();
        let largest = set.ranges.iter().map(size).fold(0.0, f32::max);
        if largest == f32::MAX {
            let words = format!(
                "{} reach {largest:e}, the largest 32-bit float: if it stands for a missing value, say so with --read \
                 missing_value={largest:e} and --missing",
                self.in_words(&huge)
            );
            self.find(Level::Problem, Kind::HugeFeature, set, self.called(&huge), words);
        } else if !huge.is_empty() {
            let verb = if huge.len() == 1 { "reaches" } else { "reach" };
            let words = format!(
                "{} {verb} {largest:.3e} in size: networks and linear rankers need a normalizer, such as \"gauss\" or \
                 \"auto\"",
                self.in_words(&huge)
            );
            self.find(Level::Note, Kind::HugeFeature, set, self.called(&huge), words);
        }
    }

    fn check_duplicates(&mut self, set: &SetReport, data: &RankingDataset, hashes: &[u64]) {
        let of_query = |q: usize| -> (Several, usize) {
            let mut first: HashMap<u64, f32> = HashMap::new();
            let (mut again, mut otherwise) = (Several::default(), 0);
            for (place, d) in data.range(q).enumerate() {
                match first.get(&hashes[d]) {
                    Some(label) => {
                        otherwise += usize::from(*label != data.labels[d]);
                        again.add(|| format!("query {}, document {}", data.query_ids[q], place + 1));
                    }
                    None => {
                        first.insert(hashes[d], data.labels[d]);
                    }
                }
            }
            (again, otherwise)
        };
        let found = parallel::map(0..data.queries(), of_query);
        let otherwise: usize = found.iter().map(|(_, otherwise)| otherwise).sum();
        let mut again = Several::default();
        found.into_iter().for_each(|(of_query, _)| again.append(of_query));
        if again.count > 0 {
            let labels = match otherwise {
                0 => String::new(),
                count => format!("; {count} of them with another label"),
            };
            let words = format!(
                "{} {} the features of another one in the query{}{labels}",
                counted(again.count, "document"),
                have(again.count),
                as_in(&again.examples)
            );
            self.find(Level::Note, Kind::DuplicateDocument, set, again, words);
        }
    }

    /// Reports queries and documents of the set that already occur in earlier sets.
    fn check_overlap(&mut self, set: &SetReport, data: &RankingDataset, hashes: &[u64]) {
        let this = self.sets.len();
        let mut again: Vec<Vec<usize>> = vec![Vec::new(); this];
        for (q, id) in data.query_ids.iter().enumerate() {
            let first = *self.queries.entry(id.clone()).or_insert(this);
            if first < this {
                again[first].push(q);
            }
        }
        let is_counted = are_counted(&data.query_ids);
        for (first, queries) in again.into_iter().enumerate().filter(|(_, queries)| !queries.is_empty()) {
            let shares = |q: &usize| {
                let mut documents = data.range(*q).filter(|d| hashes[*d] != EMPTY).peekable();
                documents.peek().is_some() && documents.all(|d| self.documents.get(&hashes[d]) == Some(&first))
            };
            // Files that count their queries have the same numbers for different queries.
            let may_differ = is_counted && self.counted[first];
            let (same, other): (Vec<usize>, Vec<usize>) = queries.into_iter().partition(|q| !may_differ || shares(q));
            let name = self.sets[first].name.clone();
            let [same, other] =
                [same, other].map(|of| of.iter().map(|&q| data.query_ids[q].clone()).collect::<Vec<_>>());
            if !same.is_empty() {
                let verb = if same.len() == 1 { "is" } else { "are" };
                let words = format!("{} {verb} in {name} too{}", counted(same.len(), "query"), as_in_query(&same));
                self.find(Level::Problem, Kind::SameQuery, set, same, words);
            }
            if !other.is_empty() {
                let words = format!(
                    "{} {} the number of one in {name}, but have no document in common: both files number their \
                     queries",
                    counted(other.len(), "query"),
                    have(other.len())
                );
                self.find(Level::Note, Kind::SameQuery, set, other, words);
            }
        }
        self.counted.push(is_counted);
        let mut again = vec![Several::default(); this];
        for (q, id) in data.query_ids.iter().enumerate() {
            for (place, d) in data.range(q).enumerate().filter(|(_, d)| hashes[*d] != EMPTY) {
                let first = *self.documents.entry(hashes[d]).or_insert(this);
                if first < this {
                    again[first].add(|| format!("query {id}, document {}", place + 1));
                }
            }
        }
        for (first, documents) in again.into_iter().enumerate().filter(|(_, documents)| documents.count > 0) {
            let (count, verb) = (counted(documents.count, "document"), have(documents.count));
            let (name, example) = (&self.sets[first].name, as_in(&documents.examples));
            let words = format!("{count} {verb} the features of one in {name}{example}");
            self.find(Level::Note, Kind::SameDocument, set, documents, words);
        }
    }
}

/// The number of documents that a finding is about, and the first of them.
#[derive(Debug, Clone, Default)]
struct Several {
    count: usize,
    examples: Vec<String>,
}

impl From<Vec<String>> for Several {
    fn from(mut examples: Vec<String>) -> Self {
        let count = examples.len();
        examples.truncate(EXAMPLES);
        Self { count, examples }
    }
}

impl Several {
    fn add(&mut self, example: impl FnOnce() -> String) {
        self.count += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(example());
        }
    }

    fn append(&mut self, more: Several) {
        self.count += more.count;
        self.examples.extend(more.examples.into_iter().take(EXAMPLES - self.examples.len()));
    }
}

/// The hash of documents whose features are all 0; these documents are never reported as duplicates in a query.
const EMPTY: u64 = 0;

/// Returns whether no feature tells documents apart, neither by its value nor by being missing.
pub fn no_feature_varies(data: &RankingDataset) -> bool {
    let survey = data.features.survey(data.feature_count);
    constant(&survey.ranges(), &survey.missing_of, data.documents()).len() == data.feature_count
}

/// Returns the features, from 1, that are the same in all documents. `missing` is the number of documents that lack
/// each feature.
fn constant(ranges: &[(f32, f32)], missing: &[usize], documents: usize) -> Vec<usize> {
    let is_constant = |((low, high), missing): (&(f32, f32), &usize)| low == high && [0, documents].contains(missing);
    (1..).zip(ranges.iter().zip(missing)).filter(|(_, about)| is_constant(*about)).map(|(feature, _)| feature).collect()
}

/// The number of documents whose features a thread hashes at a time.
const ROWS: usize = 64;

/// Returns a hash of the features of each document. Equal values have the same hash, as do -0 and 0, and all missing
/// values. Zeros at the end of a row do not count, since a file of sparse lines may end with an earlier feature.
pub fn document_hashes(data: &RankingDataset) -> Vec<u64> {
    let width = data.feature_count;
    let of_row = |row: &[f32]| {
        let Some(last) = row.iter().rposition(|value| *value != 0.0) else { return EMPTY };
        let mut hash = DefaultHasher::new();
        for value in &row[..=last] {
            hash.write_u32(if value.is_nan() { f32::NAN } else { value + 0.0 }.to_bits());
        }
        hash.finish().max(1)
    };
    let of_rows = |rows: &[f32]| rows.chunks(width).map(of_row).collect::<Vec<u64>>();
    if width == 0 {
        return vec![EMPTY; data.documents()];
    }
    let mut hashes = Vec::with_capacity(data.documents());
    data.each_block(0..data.queries(), CELLS, |_, rows| {
        hashes.extend(parallel::map(rows.chunks(ROWS * width), of_rows).into_iter().flatten());
    });
    hashes
}

/// Returns whether the identifiers of queries are the numbers from 0 or 1, in any order.
pub fn are_counted(ids: &[String]) -> bool {
    let mut numbers: Vec<usize> = ids.iter().filter_map(|id| id.parse().ok()).collect();
    numbers.sort_unstable();
    let first = numbers.first().copied().unwrap_or(2);
    numbers.len() == ids.len() && first <= 1 && (first..).zip(&numbers).all(|(number, found)| number == *found)
}

/// Returns `, as in A` for the first example `A`; empty without examples.
fn as_in(examples: &[String]) -> String {
    examples.first().map(|example| format!(", as in {example}")).unwrap_or_default()
}

/// Returns `, as in query A` for the first identifier `A`; empty without identifiers.
fn as_in_query(ids: &[String]) -> String {
    ids.first().map(|id| format!(", as in query {id}")).unwrap_or_default()
}

fn have(count: usize) -> &'static str {
    if count == 1 { "has" } else { "have" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbors_among_features_are_named_together() {
        assert_eq!(features_in_words(&[7]), "feature 7");
        assert_eq!(features_in_words(&[1, 2]), "features 1, 2");
        assert_eq!(features_in_words(&[1, 3, 4, 5, 9]), "features 1, 3 to 5 and 9");
        let odd: Vec<usize> = (0..12).map(|at| 2 * at + 1).collect();
        assert_eq!(features_in_words(&odd), "features 1, 3, 5, 7, 9, 11, 13, 15 and 4 more");
    }
}
