//! Divides the values of each feature into at most 256 bins, so that learners try thresholds between bins instead of
//! between sorted values.
//!
//! If a feature has no more distinct values than bins, there is a threshold halfway between any two neighboring values.
//! No split is lost in this case. The values of other features are divided into bins with about the same number of
//! documents. Missing values (NaN) have a separate bin after all others.

use std::ops::Range;

use crate::data::RankingDataset;
use crate::data::shards::own;
use crate::distributed::ProcessGroup;
use crate::parallel;

/// The maximum number of bins of a feature.
pub(crate) const MAX_BINS: usize = 256;

/// The number of features that one pass over the rows reads. The eight values of a row take half a cache line.
const TOGETHER: usize = 8;

/// The bins of one feature.
pub(crate) struct Binned {
    /// The bin of every document's value.
    pub codes: Vec<u8>,
    /// The thresholds between bins in ascending order. There are none if the feature is constant. Bin `b` holds the
    /// values above threshold `b - 1` and up to threshold `b`.
    pub thresholds: Vec<f32>,
    /// Whether the last bin holds the missing values.
    pub has_missing: bool,
}

impl Binned {
    fn new(values: &[f32], bins: usize) -> Self {
        let mut present: Vec<f32> = values.iter().copied().filter(|value| !value.is_nan()).collect();
        let has_missing = present.len() < values.len();
        let thresholds = cut(&mut present, if has_missing { bins.min(MAX_BINS - 1) } else { bins });
        let missing = (thresholds.len() + 1) as u8;
        let code = |x: f32| if x.is_nan() { missing } else { thresholds.partition_point(|&t| t < x) as u8 };
        Self { codes: values.iter().map(|&x| code(x)).collect(), thresholds, has_missing }
    }

    /// Encodes the bins as bytes, in order to exchange them.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![u8::from(self.has_missing)];
        bytes.extend(&self.codes);
        bytes.extend(self.thresholds.iter().flat_map(|threshold| threshold.to_le_bytes()));
        bytes
    }

    /// Decodes the result of [`to_bytes`](Self::to_bytes) for `documents` documents.
    fn from_bytes(bytes: &[u8], documents: usize) -> Self {
        let (codes, thresholds) = bytes[1..].split_at(documents);
        Self { codes: codes.to_vec(), thresholds: floats(thresholds).collect(), has_missing: bytes[0] == 1 }
    }
}

/// Cuts each feature in a range into at most `bins` bins (2 to [`MAX_BINS`]). Missing values get a further bin, but the
/// total is at most [`MAX_BINS`]. The values of these features stay in memory until the last feature is cut.
pub(crate) fn bins_of(data: &RankingDataset, features: Range<usize>, bins: usize) -> impl Iterator<Item = Binned> {
    let columns = data.features.own_columns(data.feature_count, features, ProcessGroup::ALONE);
    columns.into_iter().map(move |values| Binned::new(&values, bins))
}

/// Cuts all features as [`bins_of`] does, and calls `of_feature` with the bins of each feature in turn. Each pass over
/// the data file reads as many columns as fit into `memory`, but at least [`TOGETHER`].
///
/// If a group shares the reading, each process reads some of the rows. For a few columns at a time, the readers
/// exchange their rows, and each process bins some of these columns.
pub(crate) fn bins_in_passes(
    data: &RankingDataset,
    bins: usize,
    memory: usize,
    mut of_feature: impl FnMut(usize, Binned),
) {
    let width = data.feature_count;
    let readers = data.features.readers();
    // Several readers each need memory twice: for columns of the rows that they read, and for whole columns.
    let halves = readers.count().min(2);
    let held = |rows: usize| memory / halves / (size_of::<f32>() * rows.max(1));
    let in_a_pass = held(data.features.parts().most_rows(data.documents(), readers));
    let in_a_pass = (in_a_pass / TOGETHER * TOGETHER).max(TOGETHER);
    for first in (0..width).step_by(in_a_pass) {
        let features = first..width.min(first + in_a_pass);
        let columns = data.features.own_columns(width, features.clone(), readers);
        if readers.count() == 1 {
            let binned = |values: Vec<f32>| Binned::new(&values, bins);
            features.zip(parallel::map(columns, binned)).for_each(|(feature, binned)| of_feature(feature, binned));
            continue;
        }
        let mut features = features;
        for columns in columns.chunks(held(data.documents()).max(1)) {
            let binned = shared_bins(columns, data.documents(), bins, readers);
            features.by_ref().zip(binned).for_each(|(feature, binned)| of_feature(feature, binned));
        }
    }
}

/// Returns the bins of columns whose rows are spread over the readers. Each process receives all rows of the columns,
/// and bins some of the columns.
fn shared_bins(columns: &[Vec<f32>], documents: usize, bins: usize, readers: &ProcessGroup) -> Vec<Binned> {
    let bytes = columns.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
    let rows = readers.gather(bytes);
    let binned = |column: usize| {
        let of_process = |bytes: &Vec<u8>| {
            let length = bytes.len() / columns.len();
            floats(&bytes[column * length..(column + 1) * length]).collect::<Vec<f32>>()
        };
        Binned::new(&rows.iter().flat_map(of_process).collect::<Vec<f32>>(), bins).to_bytes()
    };
    let own = own(columns.len(), readers);
    readers.gather_all(parallel::map(own, binned)).iter().map(|bytes| Binned::from_bytes(bytes, documents)).collect()
}

/// Converts bytes to floats.
fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes))
}

/// Divides features into bins as [`bins_of`] does, with several threads.
pub(crate) fn bins_of_all(data: &RankingDataset, features: Range<usize>, bins: usize) -> Vec<Binned> {
    let of_some =
        |first: usize| -> Vec<Binned> { bins_of(data, first..(first + TOGETHER).min(features.end), bins).collect() };
    parallel::map(features.clone().step_by(TOGETHER), of_some).into_iter().flatten().collect()
}

/// Returns the thresholds between at most `bins` bins. The values are sorted in place.
fn cut(values: &mut [f32], bins: usize) -> Vec<f32> {
    values.sort_unstable_by(f32::total_cmp);
    let groups: Vec<(f32, usize)> = values.chunk_by(|a, b| a == b).map(|group| (group[0], group.len())).collect();
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

/// Returns a number `t` with `low <= t < high`, halfway between them if possible.
fn between(low: f32, high: f32) -> f32 {
    let middle = ((f64::from(low) + f64::from(high)) / 2.0) as f32;
    if middle < high { middle } else { low }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distributed::testing::in_processes;
    use crate::learner::testing::dataset;

    #[test]
    fn few_values_get_a_threshold_between_each_pair() {
        let data = dataset(2, &[&[(0.0, &[3.0, 1.0]), (0.0, &[1.0, 1.0]), (0.0, &[3.0, 1.0]), (0.0, &[2.0, 1.0])]]);
        let bins = bins_of_all(&data, 0..2, 3);
        assert_eq!((&bins[0].thresholds[..], &bins[0].codes[..]), (&[1.5, 2.5][..], &[2, 0, 2, 1][..]));
        assert_eq!((&bins[1].thresholds[..], &bins[1].codes[..]), (&[][..], &[0; 4][..]));
    }

    #[test]
    fn many_values_are_divided_evenly() {
        let mut values: Vec<f32> = (0..1000).map(|i| i as f32).collect();
        assert_eq!(cut(&mut values, 4), [249.5, 499.5, 749.5]);
        // A value that most documents share takes one bin, and the other values are divided among the other bins.
        let mut mostly_zero: Vec<f32> = (0..1000).map(|i| if i < 900 { 0.0 } else { i as f32 }).collect();
        assert_eq!(cut(&mut mostly_zero, 3), [450.0, 949.5]);
    }

    #[test]
    fn missing_values_have_the_last_bin() {
        let missing = f32::NAN;
        let data = dataset(2, &[&[(0.0, &[3.0, missing]), (0.0, &[missing, missing]), (0.0, &[1.0, missing])]]);
        let bins = bins_of_all(&data, 0..2, 2);
        let of = |feature: usize| (&bins[feature].thresholds[..], &bins[feature].codes[..], bins[feature].has_missing);
        assert_eq!(of(0), (&[2.0][..], &[1, 2, 0][..], true));
        assert_eq!(of(1), (&[][..], &[1; 3][..], true));
        // No code is beyond a byte.
        let values: Vec<f32> = (0..600).map(|i| if i == 7 { missing } else { i as f32 }).collect();
        let binned = Binned::new(&values, MAX_BINS);
        assert_eq!((binned.thresholds.len(), binned.codes[7]), (MAX_BINS - 2, 255));
    }

    #[test]
    fn processes_that_hold_some_rows_each_get_the_bins_of_all() {
        let columns: Vec<Vec<f32>> = (3..8).map(|step| (0..90).map(|i| (i * step % 17) as f32).collect()).collect();
        let mut columns = [columns, vec![vec![f32::NAN; 90]]].concat();
        columns[1][44] = f32::NAN;
        let bytes = |binned: &[Binned]| binned.iter().map(Binned::to_bytes).collect::<Vec<_>>();
        let expected: Vec<Binned> = columns.iter().map(|values| Binned::new(values, 9)).collect();
        for count in 2..5 {
            let made = in_processes(count, |group| {
                let rows = own(90, group);
                let own: Vec<Vec<f32>> = columns.iter().map(|values| values[rows.clone()].to_vec()).collect();
                bytes(&shared_bins(&own, 90, 9, group))
            });
            assert!(made.iter().all(|made| *made == bytes(&expected)), "{count} processes");
        }
    }

    #[test]
    fn neighboring_floats_are_still_separated() {
        let low = 1.0f32;
        let high = f32::from_bits(low.to_bits() + 1);
        assert_eq!(cut(&mut [low, high], 2), [low]);
        assert_eq!(cut(&mut [f32::MAX, -f32::MAX], 2), [0.0]);
    }
}
