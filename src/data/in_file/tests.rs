//! Tests of features in a file that holds them in any number of slices.

use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;

use super::*;
use crate::data::normalizer::KINDS;
use crate::data::{Features, RankingDataset, SynthConfig};

/// Slices of memory in place of a file.
struct Slices {
    parts: Vec<Vec<f32>>,
    is_read: AtomicBool,
    refuses_missing: bool,
}

impl Source for Slices {
    fn parts(&self) -> usize {
        self.parts.len()
    }

    fn part(&self, part: usize) -> &[f32] {
        &self.parts[part]
    }

    #[cfg(feature = "columnar")]
    fn buffer(&self) -> Option<arrow_buffer::ScalarBuffer<f32>> {
        None
    }

    fn keep(&self, _: usize) {
        self.is_read.store(true, Ordering::Relaxed);
    }

    fn is_read(&self) -> bool {
        self.is_read.load(Ordering::Relaxed)
    }

    fn copy(&self, part: usize, values: Range<usize>, out: &mut [f32]) {
        out.copy_from_slice(&self.parts[part][values]);
    }

    fn read(&self, part: usize, values: Range<usize>, out: &mut [f32]) {
        self.copy(part, values, out);
    }

    fn expect(&self, part: usize, values: Range<usize>) {
        assert!(values.end <= self.parts[part].len());
    }

    fn refuses_missing(&self) -> bool {
        self.refuses_missing
    }

    fn unusable(&self, row: usize, feature: usize, value: f32) -> DataError {
        DataError::Io {
            path: format!("row {row}, feature {feature}: {value}").into(),
            source: std::io::Error::other(""),
        }
    }
}

/// The same data with their features in slices that are cut after the given shares of the rows.
pub(in crate::data) fn in_slices(data: &RankingDataset, cuts: &[usize], refuses_missing: bool) -> RankingDataset {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (data.documents() + 1)).collect();
    ends.extend([0, data.documents()]);
    ends.sort_unstable();
    ends.dedup();
    let values: Vec<f32> = data.features.clone().into();
    let part = |ends: &[usize]| values[ends[0] * data.feature_count..ends[1] * data.feature_count].to_vec();
    let parts = ends.windows(2).map(part).collect();
    let file =
        InFile::new(Box::new(Slices { parts, is_read: AtomicBool::new(false), refuses_missing }), data.feature_count);
    RankingDataset { features: file.into(), ..data.clone() }
}

fn data() -> RankingDataset {
    let config = SynthConfig { queries: 30, features: 5, median_length: 9.0, max_length: 40, ..SynthConfig::default() };
    config.generate().unwrap()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whatever the slices, streamed data have the normalisers, hashes, ranges and rows of the same data in memory.
    #[test]
    fn values_in_a_file_are_those_in_memory(
        cuts in prop::collection::vec(0usize..1000, 0..4), missing in prop::collection::vec(0usize..1000, 0..6),
        from in 0usize..100, count in 1usize..60,
    ) {
        let mut data = data();
        let values = data.features.len();
        missing.iter().for_each(|at| data.features[at * 7 % values] = f32::NAN);
        let mut fingerprints = Vec::new();
        for kind in KINDS {
            let mut file = in_slices(&data, &cuts, false);
            prop_assert!(file.features.stream(1 << 20, 1 << 10));
            let mut memory = data.clone();
            let normalizer = Normalizer::fit(&memory, kind);
            prop_assert_eq!(&Normalizer::fit(&file, kind), &normalizer);
            normalizer.apply(&mut memory).unwrap();
            normalizer.apply(&mut file).unwrap();
            prop_assert_eq!(file.data_hash(), memory.data_hash());
            // Known by now.
            prop_assert_eq!(file.data_hash(), memory.data_hash());
            fingerprints.push(file.fingerprint());
            prop_assert_eq!(file.feature_ranges(), memory.feature_ranges());
            prop_assert_eq!(file.statistics(), memory.statistics());
            prop_assert_eq!(file.first_missing(), memory.first_missing());
            let rows = from.min(data.documents() - count)..from.min(data.documents() - count) + count;
            let mut copied = vec![0.0; count * 5];
            file.features.copy_rows(5, rows.clone(), &mut copied);
            prop_assert_eq!(bits(&copied), bits(&memory.features[rows.start * 5..rows.end * 5]));
            let queries = [3, 0, 17];
            let (some, same) = (file.select(&queries), memory.select(&queries));
            prop_assert_eq!(bits(&some.features), bits(&same.features));
            if file.features.in_file().unwrap().file.source.parts() > 1 || kind != NormalizerKind::None {
                prop_assert!(!file.features.in_file().unwrap().is_copied());
            }
            prop_assert_eq!(bits(&file.features), bits(&memory.features));
            prop_assert_eq!(bits(&Vec::from(file.features)), bits(&memory.features));
        }
        fingerprints.sort();
        fingerprints.dedup();
        prop_assert_eq!(fingerprints.len(), KINDS.len());
    }
}

#[test]
fn the_first_value_that_may_not_be_is_named() {
    let mut data = data();
    data.features[33] = f32::NAN;
    data.features[71] = f32::INFINITY;
    let message = |refuses_missing| in_slices(&data, &[9], refuses_missing).check_values().unwrap_err().to_string();
    assert!(message(true).contains("row 6, feature 3: NaN"), "{}", message(true));
    assert!(message(false).contains("row 14, feature 1: inf"), "{}", message(false));
    data.features[71] = 0.0;
    in_slices(&data, &[9], false).check_values().unwrap();
}

#[test]
fn what_is_changed_is_a_copy() {
    let data = data();
    let file = in_slices(&data, &[7, 40], true);
    let mut changed = file.clone();
    changed.features[0] = 9.0;
    assert_eq!(changed.features[1..], data.features[1..]);
    assert_eq!(bits(&file.features), bits(&data.features));
    assert_eq!(Features::from(vec![1.0]).len(), 1);
}
