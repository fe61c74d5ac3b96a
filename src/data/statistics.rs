//! Statistics of a dataset, for reports and for choosing a normalizer or a batch size.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::dataset::RankingDataset;

/// Counts that describe a dataset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Statistics {
    /// The number of queries.
    pub queries: usize,
    /// The number of documents.
    pub documents: usize,
    /// The number of features.
    pub features: usize,
    /// The number of queries without a relevant document (a label of at least 1).
    pub empty_queries: usize,
    /// The number of queries whose documents all have the same label. These queries usually give no gradient.
    pub single_label_queries: usize,
    /// The number of documents with each label, in ascending order of the labels.
    pub labels: Vec<(f32, usize)>,
    /// The number of queries by list length. The entry for `n` counts the queries with lengths from `n` up to, but not
    /// including, `2 n`.
    pub list_lengths: Vec<(usize, usize)>,
    /// The numbers of documents of the shortest, the median and the longest query. With two middle queries, the median
    /// is the shorter one.
    pub length_range: (usize, usize, usize),
    /// The number of missing values.
    #[serde(default, skip_serializing_if = "is_none")]
    pub missing_values: usize,
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

impl RankingDataset {
    /// Counts queries, documents, labels and list lengths.
    pub fn statistics(&self) -> Statistics {
        let mut labels: BTreeMap<u32, usize> = BTreeMap::new();
        for label in &self.labels {
            // Labels are not negative, so their bits have the same order.
            *labels.entry(label.to_bits()).or_default() += 1;
        }
        let mut lengths: Vec<usize> = (0..self.queries()).map(|q| self.range(q).len()).collect();
        lengths.sort_unstable();
        let power = |length: &usize| length.checked_ilog2().map(|power| 1 << power);
        let powers: Vec<usize> = lengths.iter().filter_map(power).collect();
        let last = lengths.len().saturating_sub(1);
        let length = |index: usize| lengths.get(index).copied().unwrap_or(0);
        Statistics {
            queries: self.queries(),
            documents: self.documents(),
            features: self.feature_count,
            empty_queries: (0..self.queries()).filter(|&q| !self.has_relevant(q)).count(),
            single_label_queries: (0..self.queries()).filter(|&q| !self.has_two_labels(q)).count(),
            labels: labels.into_iter().map(|(bits, count)| (f32::from_bits(bits), count)).collect(),
            list_lengths: powers.chunk_by(|a, b| a == b).map(|same| (same[0], same.len())).collect(),
            length_range: (length(0), length(last / 2), length(last)),
            missing_values: (0..self.feature_count).map(|of| self.features.missing_of(self.feature_count, of)).sum(),
        }
    }

    /// Returns whether query `q` has a relevant document (a label of at least 1).
    pub fn has_relevant(&self, q: usize) -> bool {
        self.query_labels(q).iter().any(|&label| label >= 1.0)
    }

    /// Says why no query has two documents with different labels.
    pub(crate) fn one_label_in_words(&self) -> String {
        let has_one = |q: usize| self.range(q).len() == 1;
        match self.labels.split_first() {
            Some(_) if (0..self.queries()).all(has_one) => {
                "every query has one document, so no query has two labels (is this the right column for queries?)"
                    .to_owned()
            }
            Some((first, others)) if others.iter().all(|label| label == first) => {
                format!("all labels are {first}, so no query has two labels")
            }
            _ => "no query has two labels".to_owned(),
        }
    }

    /// Returns whether query `q` has two documents with different labels.
    pub fn has_two_labels(&self, q: usize) -> bool {
        self.query_labels(q).windows(2).any(|pair| pair[0] != pair[1])
    }

    /// Returns whether some documents have a value of this feature and other documents have none; features are counted
    /// from 0.
    pub(crate) fn is_partly_missing(&self, feature: usize) -> bool {
        (1..self.documents()).contains(&self.features.missing_of(self.feature_count, feature))
    }

    /// Returns the smallest and the largest value of each feature, ignoring missing values. A feature without values
    /// gets (0, 0).
    pub fn feature_ranges(&self) -> Vec<(f32, f32)> {
        self.features.ranges(self.feature_count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_a_small_set() {
        let labels = vec![0.0, 2.0, 0.0, 0.0, 0.5, 1.0, 1.0];
        let features = vec![1.0, -4.0, 2.0, 5.0, 0.0, 0.0, 3.0];
        let data =
            RankingDataset::builder().features(features, 1).labels(labels).query_sizes(&[2, 2, 1, 2]).build().unwrap();
        let statistics = data.statistics();
        assert_eq!((statistics.queries, statistics.documents, statistics.features), (4, 7, 1));
        assert_eq!((statistics.empty_queries, statistics.single_label_queries), (2, 3));
        assert_eq!(statistics.labels, [(0.0, 3), (0.5, 1), (1.0, 2), (2.0, 1)]);
        assert_eq!(statistics.list_lengths, [(1, 1), (2, 3)]);
        assert_eq!(statistics.length_range, (1, 2, 2));
        assert_eq!(data.feature_ranges(), [(-4.0, 5.0)]);
    }

    #[test]
    fn an_empty_set_has_zero_counts() {
        let statistics = RankingDataset::default().statistics();
        assert_eq!((statistics.queries, statistics.documents, statistics.length_range), (0, 0, (0, 0, 0)));
    }
}
