//! A file for tests that counts how often its values are read.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::{DataError, RankingDataset, Source, of_source};

/// The number of times that each value was read.
pub(crate) type Reads = Arc<Mutex<Vec<usize>>>;

/// Slices of memory that stand in for a file.
struct Slices {
    parts: Vec<Vec<f32>>,
    is_read: AtomicBool,
    refuses_missing: bool,
    reads: Reads,
}

impl Slices {
    fn count(&self, part: usize, values: &Range<usize>) {
        let before: usize = self.parts[..part].iter().map(Vec::len).sum();
        let values = before + values.start..before + values.end;
        self.reads.lock().unwrap()[values].iter_mut().for_each(|reads| *reads += 1);
    }
}

impl Source for Slices {
    fn parts(&self) -> usize {
        self.parts.len()
    }

    fn part(&self, part: usize) -> &[f32] {
        &self.parts[part]
    }

    fn keep(&self, _: usize) {
        self.is_read.store(true, Ordering::Relaxed);
    }

    fn is_read(&self) -> bool {
        self.is_read.load(Ordering::Relaxed)
    }

    fn copy(&self, part: usize, values: Range<usize>, out: &mut [f32]) {
        self.count(part, &values);
        out.copy_from_slice(&self.parts[part][values]);
    }

    fn read(&self, part: usize, values: Range<usize>, out: &mut [f32]) {
        self.copy(part, values, out);
    }

    fn expect(&self, part: usize, values: Range<usize>) {
        self.count(part, &values);
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

/// Returns the dataset with its features in slices, which are cut after the given rows. The second result counts how
/// often each value was read.
pub(crate) fn counted_in_slices(
    data: &RankingDataset,
    cuts: &[usize],
    refuses_missing: bool,
) -> (RankingDataset, Reads) {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (data.documents() + 1)).collect();
    ends.extend([0, data.documents()]);
    ends.sort_unstable();
    ends.dedup();
    let values: Vec<f32> = data.features.clone().into();
    let part = |ends: &[usize]| values[ends[0] * data.feature_count..ends[1] * data.feature_count].to_vec();
    let parts = ends.windows(2).map(part).collect();
    let reads = Reads::new(Mutex::new(vec![0; values.len()]));
    let slices = Slices { parts, is_read: AtomicBool::new(false), refuses_missing, reads: reads.clone() };
    (of_source(data, Box::new(slices)), reads)
}
