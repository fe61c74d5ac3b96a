//! Tests of features in a file that holds them in any number of slices.

pub(crate) mod testing;

use proptest::prelude::*;

use super::*;
use crate::data::error::DataError;
use crate::data::fit_normalizer::{fill, with_indicators};
use crate::data::normalizer::{KINDS, NormalizerKind};
use crate::data::shards::CHUNK;
use crate::data::shards::own;
use crate::data::{RankingDataset, SynthConfig};
use crate::distributed::testing::in_processes;
use crate::workbench::testing::of_source;
use testing::counted_in_slices;

/// The same data with their features in slices that are cut after the given shares of the rows.
fn in_slices(data: &RankingDataset, cuts: &[usize], refuses_missing: bool) -> RankingDataset {
    counted_in_slices(data, cuts, refuses_missing).0
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

    /// Whatever the slices, streamed data have the normalizers, hashes, ranges and rows of the same data in memory.
    #[test]
    fn values_in_a_file_are_those_in_memory(
        cuts in prop::collection::vec(0usize..1000, 0..4), missing in prop::collection::vec(0usize..1000, 0..6),
        from in 0usize..100, count in 1usize..60,
    ) {
        let mut data = data();
        let values = data.features.len();
        missing.iter().for_each(|at| data.features.to_mut_slice()[at * 7 % values] = f32::NAN);
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
            prop_assert_eq!(bits(&copied), bits(&memory.features.to_slice()[rows.start * 5..rows.end * 5]));
            let queries = [3, 0, 17];
            let (some, same) = (file.select(&queries), memory.select(&queries));
            prop_assert_eq!(bits(some.features.to_slice()), bits(same.features.to_slice()));
            let all = data.documents();
            if cuts.iter().any(|cut| !(cut % (all + 1)).is_multiple_of(all)) || kind != NormalizerKind::None {
                prop_assert!(!file.features.is_copied());
            }
            prop_assert_eq!(bits(file.features.to_slice()), bits(memory.features.to_slice()));
            prop_assert_eq!(bits(&Vec::from(file.features)), bits(memory.features.to_slice()));
        }
        fingerprints.sort();
        fingerprints.dedup();
        // `auto` is one of the others.
        prop_assert_eq!(fingerprints.len(), KINDS.len() - 1);
    }
}

/// Streamed data whose missing values are filled are those in memory: normalizers, rows, hashes, ranges, by one process
/// and by several.
#[test]
fn filled_values_in_a_file_are_those_in_memory() {
    let mut data = data();
    (0..data.features.len()).step_by(13).for_each(|at| data.features.to_mut_slice()[at] = f32::NAN);
    // One feature is everywhere, and one nowhere.
    data.features
        .to_mut_slice()
        .iter_mut()
        .skip(1)
        .step_by(5)
        .for_each(|value| *value = if value.is_nan() { 0.5 } else { *value });
    data.features.to_mut_slice().iter_mut().skip(4).step_by(5).for_each(|value| *value = f32::NAN);
    let filled = |data: &RankingDataset, kind| {
        let normalizer = Normalizer::fit(data, kind);
        let mut normalized = data.clone();
        normalizer.apply(&mut normalized).unwrap();
        let normalizer = with_indicators(normalizer, &normalized);
        fill(&normalizer, &mut normalized);
        (normalizer, normalized)
    };
    for kind in KINDS {
        let (normalizer, memory) = filled(&data, kind);
        assert_eq!(normalizer.indicated(), [1, 3, 4]);
        assert!(memory.features.to_slice().iter().all(|value| value.is_finite()));
        for is_read in [false, true] {
            let mut file = in_slices(&data, &[100, 101], false);
            assert!(file.features.stream(if is_read { 1 } else { 1 << 20 }, 1 << 10));
            for count in 1..3 {
                let normalizers = in_processes(count, |group| {
                    let mut file = file.clone();
                    file.share_with(group);
                    filled(&file, kind).0
                });
                assert!(normalizers.iter().all(|other| *other == normalizer), "{kind:?}, {count} processes");
            }
            let (_, file) = filled(&file, kind);
            assert_eq!(file.data_hash(), memory.data_hash(), "{kind:?}");
            assert_eq!(file.feature_ranges(), memory.feature_ranges(), "{kind:?}");
            assert_eq!((file.first_missing(), file.statistics()), (None, memory.statistics()));
            #[cfg(feature = "learners")]
            assert!((0..8).all(|feature| !file.is_partly_missing(feature)));
            let columns = |data: &RankingDataset| data.features.own_columns(8, 0..8, ProcessGroup::ALONE);
            assert_eq!(columns(&file), columns(&memory));
            let mut copied = vec![0.0; 20 * 8];
            file.features.copy_rows(8, 17..37, &mut copied);
            assert_eq!(bits(&copied), bits(&memory.features.to_slice()[17 * 8..37 * 8]), "{kind:?}");
            assert!(!file.features.is_copied());
            assert_eq!(bits(file.features.to_slice()), bits(memory.features.to_slice()), "{kind:?}");
            // The training data are normalized and filled at once elsewhere.
            let mut at_once = in_slices(&data, &[7], false);
            assert!(at_once.features.stream(1 << 20, 1 << 10));
            normalizer.apply(&mut at_once).unwrap();
            assert_eq!(bits(at_once.features.to_slice()), bits(memory.features.to_slice()), "{kind:?}");
        }
    }
}

#[test]
fn the_first_value_that_may_not_be_is_named() {
    let mut data = data();
    data.features.to_mut_slice()[33] = f32::NAN;
    data.features.to_mut_slice()[71] = f32::INFINITY;
    let message = |refuses_missing| in_slices(&data, &[9], refuses_missing).check_values().unwrap_err().to_string();
    assert!(message(true).contains("row 6, feature 3: NaN"), "{}", message(true));
    assert!(message(false).contains("row 14, feature 1: inf"), "{}", message(false));
    data.features.to_mut_slice()[71] = 0.0;
    in_slices(&data, &[9], false).check_values().unwrap();
}

#[test]
fn what_is_changed_is_a_copy() {
    let data = data();
    let file = in_slices(&data, &[7, 40], true);
    let mut changed = file.clone();
    changed.features.to_mut_slice()[0] = 9.0;
    assert!(!file.features.is_copied(), "there is one copy");
    assert_eq!(changed.features.to_slice()[1..], data.features.to_slice()[1..]);
    assert_eq!(bits(file.features.to_slice()), bits(data.features.to_slice()));
    assert_eq!(Features::from(vec![1.0]).len(), 1);
}

#[test]
fn processes_read_their_parts_and_find_the_same_as_one_and_as_memory() {
    let mut data = data();
    data.features.to_mut_slice()[77] = f32::NAN;
    let found_in = |data: &RankingDataset, kind| {
        let (normalizer, normalized) = normalized(data, kind);
        let ranges = normalized.feature_ranges();
        (normalizer, ranges, data.data_hash(), data.statistics(), data.first_missing())
    };
    for kind in KINDS {
        // Looking through, the hash and the first sums; the squares; ranges by query; counts of three lengths.
        let passes = match kind {
            NormalizerKind::None | NormalizerKind::Log1p => 1,
            NormalizerKind::QueryMinMax | NormalizerKind::ZScore | NormalizerKind::ClippedZScore => 2,
            NormalizerKind::Quantile | NormalizerKind::Gauss => 4,
            NormalizerKind::Auto => 5,
        };
        let mut in_memory = data.clone();
        in_memory.cut(7);
        let expected = found_in(&in_memory, kind);
        assert_ne!(expected.2, data.data_hash());
        for count in 1..4 {
            let found = in_processes(count, |group| {
                let (mut file, reads) = counted_in_slices(&data, &[100, 101], false);
                assert!(file.features.stream(1 << 20, 1 << 10));
                file.cut(7);
                file.share_with(group);
                let found = found_in(&file, kind);
                let own = own(7, group);
                let (first, last) =
                    (file.features.parts().rows(own.start, 0), file.features.parts().rows(own.end - 1, 0));
                let own = 5 * first.start..5 * last.end;
                let expected: Vec<usize> =
                    (0..data.features.len()).map(|at| passes * usize::from(own.contains(&at))).collect();
                assert_eq!(*reads.lock().unwrap(), expected, "{kind:?}, {count} processes");
                found
            });
            assert!(found.iter().all(|found| *found == expected), "{kind:?}, {count} processes");
        }
    }
}

/// Checks the data, and returns a fitted normalizer with the data that it has normalized.
fn normalized(data: &RankingDataset, kind: NormalizerKind) -> (Normalizer, RankingDataset) {
    data.check_values().unwrap();
    let normalizer = Normalizer::fit(data, kind);
    let mut normalized = data.clone();
    normalizer.apply(&mut normalized).unwrap();
    (normalizer, normalized)
}

#[test]
fn processes_share_data_that_are_not_cut_to_the_bits_of_one() {
    let config =
        SynthConfig { queries: 1500, features: 3, median_length: 9.0, max_length: 40, ..SynthConfig::default() };
    let mut data = config.generate().unwrap();
    assert!(data.documents() > 3 * CHUNK);
    data.features.to_mut_slice()[3 * CHUNK + 77] = f32::NAN;
    let found_in = |data: &RankingDataset, kind| {
        let (normalizer, normalized) = normalized(data, kind);
        let ranges = normalized.feature_ranges();
        let readers = normalized.features.readers();
        let columns = normalized.features.own_columns(3, 1..3, readers);
        let columns = columns.into_iter().map(|own| {
            let all = readers.gather_numbers(own.into_iter().map(f64::from).collect());
            all.into_iter().map(f64::to_bits).collect::<Vec<u64>>()
        });
        (normalizer, ranges, columns.collect::<Vec<_>>(), data.data_hash(), data.statistics(), data.first_missing())
    };
    for kind in KINDS {
        // One more than where processes have parts: the columns.
        let passes = match kind {
            NormalizerKind::None | NormalizerKind::Log1p => 2,
            NormalizerKind::QueryMinMax | NormalizerKind::ZScore | NormalizerKind::ClippedZScore => 3,
            NormalizerKind::Quantile | NormalizerKind::Gauss => 5,
            NormalizerKind::Auto => 6,
        };
        let expected = found_in(&data, kind);
        for count in 1..4 {
            let found = in_processes(count, |group| {
                let (mut file, reads) = counted_in_slices(&data, &[5000, 9001], false);
                assert!(file.features.stream(1 << 20, 1 << 10));
                file.share_with(group);
                let found = found_in(&file, kind);
                let own = file.features.parts().own_rows(data.documents(), group);
                assert_eq!(own.start % CHUNK, 0);
                for (row, reads) in reads.lock().unwrap().chunks(3).enumerate() {
                    // Queries at the ends of a chunk are normalized as a whole.
                    let is_far = (40..CHUNK - 40).contains(&(row % CHUNK));
                    if is_far || ![NormalizerKind::QueryMinMax, NormalizerKind::Auto].contains(&kind) {
                        assert_eq!(
                            *reads,
                            [passes * usize::from(own.contains(&row)); 3],
                            "{kind:?}, {count} processes"
                        );
                    }
                }
                found
            });
            assert!(found.iter().all(|found| *found == expected), "{kind:?}, {count} processes");
        }
    }
}

#[test]
fn an_error_in_the_part_of_one_process_is_that_of_all() {
    let mut data = data();
    data.features.to_mut_slice()[33] = f32::NAN;
    data.features.to_mut_slice()[71] = f32::INFINITY;
    for (refuses_missing, message) in [(true, "row 6, feature 3: NaN"), (false, "row 14, feature 1: inf")] {
        let found = in_processes(3, |group| {
            let mut file = in_slices(&data, &[9], refuses_missing);
            assert!(file.features.stream(1 << 20, 1 << 10));
            file.cut(9);
            file.share_with(group);
            file.check_values().unwrap_err().to_string()
        });
        assert!(found.iter().all(|found| found.contains(message)), "{found:?}");
    }
}
