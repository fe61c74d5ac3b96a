//! Features cut into at most 256 bins, which threshold learners scan instead of sorted values.
//!
//! A feature with no more distinct values than bins loses nothing: every pair of neighbouring values has a threshold
//! half-way between them. Others are cut where the documents divide most evenly. Missing values (NaN) have a bin of
//! their own, after all others.

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
    /// Whether each feature has a bin of missing values, the one after the last.
    missing: Vec<bool>,
}

impl Bins {
    /// Cuts every feature into at most `bins` bins (2 to [`MAX_BINS`]). The bin of missing values comes on top, as long as
    /// all are at most [`MAX_BINS`].
    pub(crate) fn new(data: &RankingDataset, bins: usize) -> Self {
        let binned: Vec<Binned> = (0..data.feature_count)
            .into_par_iter()
            .map(Execution::current().bind(|feature| {
                Binned::new(&(0..data.documents()).map(|d| data.row(d)[feature]).collect::<Vec<f32>>(), bins)
            }))
            .collect();
        let mut all = Self { documents: data.documents(), codes: vec![], thresholds: vec![], missing: vec![] };
        all.codes.reserve_exact(data.features.len());
        for Binned { codes, thresholds, has_missing } in binned {
            all.codes.extend(codes);
            all.thresholds.push(thresholds);
            all.missing.push(has_missing);
        }
        all
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

    /// Whether a feature has a bin of missing values, the one after the last.
    pub(crate) fn has_missing(&self, feature: usize) -> bool {
        self.missing[feature]
    }
}

/// The bins of one feature.
struct Binned {
    codes: Vec<u8>,
    thresholds: Vec<f32>,
    has_missing: bool,
}

impl Binned {
    fn new(values: &[f32], bins: usize) -> Self {
        let present: Vec<f32> = values.iter().copied().filter(|value| !value.is_nan()).collect();
        let has_missing = present.len() < values.len();
        let thresholds = cut(&present, if has_missing { bins.min(MAX_BINS - 1) } else { bins });
        let missing = (thresholds.len() + 1) as u8;
        let code = |x: f32| if x.is_nan() { missing } else { thresholds.partition_point(|&t| t < x) as u8 };
        Self { codes: values.iter().map(|&x| code(x)).collect(), thresholds, has_missing }
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
    fn missing_values_have_the_last_bin() {
        let missing = f32::NAN;
        let data = dataset(2, &[&[(0.0, &[3.0, missing]), (0.0, &[missing, missing]), (0.0, &[1.0, missing])]]);
        let bins = Bins::new(&data, 2);
        assert_eq!((bins.thresholds(0), bins.codes(0), bins.has_missing(0)), (&[2.0][..], &[1, 2, 0][..], true));
        assert_eq!((bins.thresholds(1), bins.codes(1), bins.has_missing(1)), (&[][..], &[1; 3][..], true));
        // No code is beyond a byte.
        let values: Vec<f32> = (0..600).map(|i| if i == 7 { missing } else { i as f32 }).collect();
        let binned = Binned::new(&values, MAX_BINS);
        assert_eq!((binned.thresholds.len(), binned.codes[7]), (MAX_BINS - 2, 255));
    }

    #[test]
    fn neighboring_floats_are_still_separated() {
        let low = 1.0f32;
        let high = f32::from_bits(low.to_bits() + 1);
        assert_eq!(cut(&[low, high], 2), [low]);
        assert_eq!(cut(&[-f32::MAX, f32::MAX], 2), [0.0]);
    }
}
