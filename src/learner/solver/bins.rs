//! Features cut into at most 256 bins, which threshold learners scan instead of sorted values.
//!
//! A feature with no more distinct values than bins loses nothing: every pair of neighbouring values has a threshold
//! half-way between them. Others are cut where the documents divide most evenly.

use rayon::prelude::*;

use crate::data::RankingDataset;
use crate::op::Execution;

/// Maximum number of bins of a feature.
pub(crate) const MAX_BINS: usize = 256;

/// The binned features of a dataset.
pub(crate) struct Bins {
    documents: usize,
    /// Feature-major: the bin of document `d` in feature `f` is at `f * documents + d`.
    codes: Vec<u8>,
    /// Ascending thresholds of each feature: bin `b` holds the values above threshold `b - 1` and up to threshold `b`.
    thresholds: Vec<Vec<f32>>,
}

impl Bins {
    /// Cuts every feature into at most `bins` bins (2 to [`MAX_BINS`]).
    pub(crate) fn new(data: &RankingDataset, bins: usize) -> Self {
        let (codes, thresholds): (Vec<Vec<u8>>, Vec<Vec<f32>>) = (0..data.feature_count)
            .into_par_iter()
            .map(Execution::current().bind(|feature| {
                let values: Vec<f32> = (0..data.documents()).map(|d| data.row(d)[feature]).collect();
                let thresholds = cut(&values, bins);
                let codes = values.iter().map(|&x| thresholds.partition_point(|&t| t < x) as u8).collect();
                (codes, thresholds)
            }))
            .unzip();
        Self { documents: data.documents(), codes: codes.concat(), thresholds }
    }

    /// Number of features.
    pub(crate) fn features(&self) -> usize {
        self.thresholds.len()
    }

    /// The bin of every document in a feature.
    pub(crate) fn codes(&self, feature: usize) -> &[u8] {
        &self.codes[feature * self.documents..(feature + 1) * self.documents]
    }

    /// Number of documents.
    pub(crate) fn documents(&self) -> usize {
        self.documents
    }

    /// The thresholds of a feature, ascending; none when it is constant.
    pub(crate) fn thresholds(&self, feature: usize) -> &[f32] {
        &self.thresholds[feature]
    }
}

fn cut(values: &[f32], bins: usize) -> Vec<f32> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f32::total_cmp);
    let groups: Vec<(f32, usize)> = sorted.chunk_by(|a, b| a == b).map(|group| (group[0], group.len())).collect();
    let mut thresholds = Vec::new();
    let (mut bins_left, mut documents_left, mut in_bin) = (bins, values.len(), 0);
    for (position, pair) in groups.windows(2).enumerate() {
        in_bin += pair[0].1;
        let groups_left = groups.len() - position - 1;
        let full = in_bin * bins_left >= documents_left;
        if bins_left > 1 && (full || groups_left < bins_left) {
            thresholds.push(between(pair[0].0, pair[1].0));
            documents_left -= in_bin;
            bins_left -= 1;
            in_bin = 0;
        }
    }
    thresholds
}

/// A number `t` with `low <= t < high`, half-way where there is room.
fn between(low: f32, high: f32) -> f32 {
    let middle = ((f64::from(low) + f64::from(high)) / 2.0) as f32;
    if middle < high { middle } else { low }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::testing::dataset;

    #[test]
    fn few_values_get_a_threshold_between_each_pair() {
        let data = dataset(2, &[&[(0.0, &[3.0, 1.0]), (0.0, &[1.0, 1.0]), (0.0, &[3.0, 1.0]), (0.0, &[2.0, 1.0])]]);
        let bins = Bins::new(&data, 3);
        assert_eq!(bins.thresholds(0), [1.5, 2.5]);
        assert_eq!(bins.codes(0), [2, 0, 2, 1]);
        assert!(bins.thresholds(1).is_empty());
        assert_eq!(bins.codes(1), [0; 4]);
    }

    #[test]
    fn many_values_are_divided_evenly() {
        let values: Vec<f32> = (0..1000).map(|i| i as f32).collect();
        assert_eq!(cut(&values, 4), [249.5, 499.5, 749.5]);
        // A value that most documents share takes one bin, and the rest still divide among the others.
        let mostly_zero: Vec<f32> = (0..1000).map(|i| if i < 900 { 0.0 } else { i as f32 }).collect();
        assert_eq!(cut(&mostly_zero, 3), [450.0, 949.5]);
    }

    #[test]
    fn neighboring_floats_are_still_separated() {
        let low = 1.0f32;
        let high = f32::from_bits(low.to_bits() + 1);
        assert_eq!(cut(&[low, high], 2), [low]);
        assert_eq!(cut(&[-f32::MAX, f32::MAX], 2), [0.0]);
    }
}
