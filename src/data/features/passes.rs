//! Passes over all values of the features: blocks, columns, the hash and the survey. They are the same for values in
//! memory and in a file, and give the same bits.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::PoisonError;

use sha2::digest::common::hazmat::{SerializableState, SerializedState};
use sha2::{Digest, Sha256};

use super::in_file::InFile;
use super::survey::{self, Survey};
use super::{Features, Hashed, Known};
use crate::data::error::DataError;
use crate::data::normalizer::{Normalizer, NormalizerKind};
use crate::data::shards::{CHUNK, numbers};
use crate::distributed::ProcessGroup;
use crate::parallel;

/// The number of columns that a thread copies at a time; eight floats fill half a cache line of each row.
const COLUMNS: usize = 8;

/// Every pass is told the number of values in a row, `width`.
impl Features {
    fn documents(&self, width: usize) -> usize {
        self.len() / width.max(1)
    }

    /// Calls `of_block` with consecutive blocks of some rows. The number of rows in a block is a multiple of `unit`,
    /// except in the last block.
    fn each_block(&self, width: usize, rows: Range<usize>, unit: usize, mut of_block: impl FnMut(&[f32])) {
        match &self.file {
            Some(file) => file.each_block(rows, unit, &mut of_block),
            None => of_block(&self.values[rows.start * width..rows.end * width]),
        }
    }

    /// Calls `of_block` with consecutive blocks of the rows that this process reads. The number of rows in a block is a
    /// multiple of `unit`, except in the last block.
    pub(crate) fn each_own_block(
        &self,
        width: usize,
        readers: &ProcessGroup,
        unit: usize,
        of_block: impl FnMut(&[f32]),
    ) {
        self.each_block(width, self.parts.own_rows(self.documents(width), readers), unit, of_block);
    }

    /// Applies `of_chunk` to each chunk of rows, and adds the results to `none` in the order of the chunks. If the
    /// documents are cut into parts, adds the results of each part to `none`, and then adds the parts, given as
    /// `to_numbers`. Each process reads some of the rows, but receives the result for all.
    pub(in crate::data) fn fold<T: Clone>(
        &self,
        width: usize,
        readers: &ProcessGroup,
        none: T,
        of_chunk: impl Fn(&[f32]) -> Vec<f64> + Sync,
        add: impl Fn(&mut T, &[f64]),
        to_numbers: impl Fn(&T) -> Vec<f64>,
    ) -> T {
        let of_chunks = |rows: &[f32]| parallel::map(rows.chunks(CHUNK * width.max(1)), &of_chunk);
        let mut all = none.clone();
        if self.parts.count() > 1 {
            let of_part = |part: usize| {
                let mut sum = none.clone();
                self.each_block(width, self.parts.rows(part, self.documents(width)), CHUNK, |rows| {
                    of_chunks(rows).iter().for_each(|chunk| add(&mut sum, chunk));
                });
                to_numbers(&sum)
            };
            self.parts.gather_numbers(readers, of_part).iter().for_each(|part| add(&mut all, part));
            return all;
        }
        let mut own = Vec::new();
        self.each_own_block(width, readers, CHUNK, |rows| match readers.count() {
            1 => of_chunks(rows).iter().for_each(|chunk| add(&mut all, chunk)),
            _ => {
                let to_bytes = |chunk: Vec<f64>| chunk.into_iter().flat_map(f64::to_le_bytes).collect();
                own.extend(of_chunks(rows).into_iter().map(to_bytes));
            }
        });
        if readers.count() > 1 {
            readers.gather_all(own).iter().for_each(|bytes| add(&mut all, &numbers(bytes)));
        }
        all
    }

    /// Returns the values in a range of columns, as one list per column, of the rows that this process reads. Reads a
    /// file only once.
    pub(crate) fn own_columns(&self, width: usize, columns: Range<usize>, readers: &ProcessGroup) -> Vec<Vec<f32>> {
        let rows = self.parts.most_rows(self.documents(width), readers);
        let mut values: Vec<Vec<f32>> = columns.clone().map(|_| Vec::with_capacity(rows)).collect();
        self.each_own_block(width, readers, 1, |rows| {
            parallel::for_each(values.chunks_mut(COLUMNS).enumerate(), |(chunk, values)| {
                let first = columns.start + chunk * COLUMNS;
                for row in rows.chunks_exact(width) {
                    values.iter_mut().zip(&row[first..]).for_each(|(column, &value)| column.push(value));
                }
            });
        });
        values
    }

    /// Returns the normalizer that is applied to the values of a file whenever they are used.
    fn normalizer(&self) -> Option<&Normalizer> {
        self.file.as_ref()?.normalizer()
    }

    /// Returns the values before they are normalized on the way, with the number of them in a row.
    fn raw(&self, width: usize) -> (Cow<'_, Self>, usize) {
        match self.file.as_ref().and_then(InFile::raw) {
            Some((raw, width)) => (Cow::Owned(Self { file: Some(raw), ..self.clone() }), width),
            None => (Cow::Borrowed(self), width),
        }
    }

    /// Adds the raw values to a hash; if values are normalized on the way, also adds the normalizer.
    pub(in crate::data) fn fingerprint_into(&self, width: usize, hash: &mut Sha256) {
        let (raw, width) = self.raw(width);
        raw.hash_into(width, hash, ProcessGroup::ALONE);
        if let Some(normalizer) = self.normalizer() {
            hash.update(serde_json::to_vec(normalizer).unwrap_or_default());
        }
    }

    /// Adds the values of a file to a hash as they are before normalization, in a pass that the readers share.
    pub(in crate::data) fn hash_raw_into(&self, width: usize, hash: &mut Sha256) {
        let (raw, width) = self.raw(width);
        raw.hash_into(width, hash, self.readers());
    }

    /// Adds all values to a hash, or the hash of each part if the documents are cut into parts. The readers share the
    /// pass. If values are not normalized on the way, the result is kept, and the next call with the same hash reads
    /// nothing. Values are surveyed in the same pass.
    pub(in crate::data) fn hash_into(&self, width: usize, hash: &mut Sha256, readers: &ProcessGroup) {
        let begun = if self.parts.count() == 1 { hash.clone() } else { Sha256::new() };
        if self.normalizer().is_some() {
            return self.hashed(width, begun, readers).0.go_on(hash);
        }
        let Known { survey, hashed } = &*self.known;
        let before = begun.clone().finalize();
        let known = hashed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let known = known.filter(|known| known.began_with(&before)).unwrap_or_else(|| {
            let (now, found) = self.hashed(width, begun, readers);
            // It may be known.
            let _ = survey.set(found);
            *hashed.lock().unwrap_or_else(PoisonError::into_inner) = Some(now.clone());
            now
        });
        known.go_on(hash);
    }

    /// Adds all values to the hash `begun`, or hashes each part, and surveys the values in the same pass.
    fn hashed(&self, width: usize, begun: Sha256, readers: &ProcessGroup) -> (Hashed, Survey) {
        if self.parts.count() == 1 {
            let (after, survey) = self.hashed_in_turns(width, begun.clone(), readers);
            return (Hashed::Whole { before: begun.finalize(), after }, survey);
        }
        let found = self.parts.gather(readers, |part| {
            let (mut hash, mut survey) = (begun.clone(), Survey::new(width));
            self.each_block(width, self.parts.rows(part, self.documents(width)), survey::ROWS, |rows| {
                rayon::join(|| survey.add(rows), || hash_floats(rows, &mut hash));
            });
            hash.finalize().into_iter().chain(survey.to_numbers().into_iter().flat_map(f64::to_le_bytes)).collect()
        });
        let of_parts = found.iter().map(|bytes| bytes.split_at(Sha256::output_size()));
        let (hashes, surveys): (Vec<_>, Vec<_>) = of_parts.map(|(hash, rest)| (hash.to_vec(), numbers(rest))).unzip();
        (Hashed::Parts(hashes), Survey::of_parts(&surveys))
    }

    /// Adds all values to a hash, and surveys them. Values are hashed in order, so each process adds the values that it
    /// reads, then passes the hash to the next process.
    fn hashed_in_turns(&self, width: usize, mut hash: Sha256, readers: &ProcessGroup) -> (Sha256, Survey) {
        let mut survey = Survey::new(width);
        for turn in 0..readers.count() {
            let is_mine = turn == readers.rank();
            if is_mine {
                self.each_own_block(width, readers, survey::ROWS, |rows| {
                    rayon::join(|| survey.add(rows), || hash_floats(rows, &mut hash));
                });
            }
            if readers.count() > 1 {
                let found = || {
                    let numbers = survey.to_numbers().into_iter().flat_map(f64::to_le_bytes);
                    hash.serialize().into_iter().chain(numbers).collect()
                };
                let handed = readers.gather(if is_mine { found() } else { Vec::new() }).swap_remove(turn);
                let (state, rest) = handed.split_at(hash.serialize().len());
                let state = SerializedState::<Sha256>::try_from(state).expect("as many bytes as were handed on");
                hash = Sha256::deserialize(&state).expect("the state of a hash");
                survey = Survey::from_numbers(&numbers(rest));
            }
        }
        (hash, survey)
    }

    /// Returns the survey of all values: their ranges, sums, and missing or infinite values.
    pub(in crate::data) fn survey(&self, width: usize) -> Cow<'_, Survey> {
        match self.normalizer() {
            Some(_) => Cow::Owned(self.surveyed(width, self.readers())),
            None => self.raw_survey(width),
        }
    }

    /// Returns the survey of the values before they are normalized on the way, which is made only once.
    fn raw_survey(&self, width: usize) -> Cow<'_, Survey> {
        let survey = self.known.survey.get_or_init(|| {
            let (raw, width) = self.raw(width);
            raw.surveyed(width, ProcessGroup::ALONE)
        });
        match self.is_in_file() || survey.width() == width {
            true => Cow::Borrowed(survey),
            // Whoever holds the dataset may have changed its number of features since.
            false => Cow::Owned(self.surveyed(width, ProcessGroup::ALONE)),
        }
    }

    fn surveyed(&self, width: usize, readers: &ProcessGroup) -> Survey {
        let of_chunk = |rows: &[f32]| Survey::of(rows, width).to_numbers();
        let add = |all: &mut Survey, numbers: &[f64]| all.join(&Survey::from_numbers(numbers));
        self.fold(width, readers, Survey::new(width), of_chunk, add, Survey::to_numbers)
    }

    /// Returns whether the values were surveyed before.
    pub(in crate::data) fn is_known(&self) -> bool {
        self.known.survey.get().is_some()
    }

    /// Checks values that stay in a file: rejects the first one that is infinite, or that is missing when missing
    /// values are not allowed. Values in memory were checked during reading.
    pub(in crate::data) fn check(&self, width: usize) -> Result<(), DataError> {
        self.file.as_ref().map_or(Ok(()), |file| file.check(&self.raw_survey(width)))
    }

    /// Returns the index and the value of the first infinite value.
    pub(in crate::data) fn first_infinite(&self, width: usize) -> Option<(usize, f32)> {
        self.raw_survey(width).first_infinite
    }

    fn fills_missing(&self) -> bool {
        self.normalizer().is_some_and(Normalizer::fills_missing)
    }

    /// Returns the index of the first missing value; `None` if missing values are filled, or if there are none.
    pub(in crate::data) fn first_missing(&self, width: usize) -> Option<usize> {
        if self.fills_missing() { None } else { self.raw_survey(width).first_missing }
    }

    /// Returns the number of missing values of a feature, or 0 if missing values are filled.
    pub(in crate::data) fn missing_of(&self, width: usize, feature: usize) -> usize {
        if self.fills_missing() { 0 } else { self.raw_survey(width).missing_of[feature] }
    }

    /// Returns the smallest and the largest value of each feature, ignoring missing values. A feature without values
    /// gets (0, 0).
    pub(in crate::data) fn ranges(&self, width: usize) -> Vec<(f32, f32)> {
        let Some(normalizer) = self.normalizer() else { return self.survey(width).ranges() };
        if normalizer.kind() == NormalizerKind::QueryMinMax {
            return self.surveyed(width, self.readers()).ranges();
        }
        // No other normalizer changes the order of values.
        let survey = self.raw_survey(width);
        let (mut lows, mut highs): (Vec<f32>, Vec<f32>) = survey.ranges().into_iter().unzip();
        normalizer.apply_rows(&mut lows);
        normalizer.apply_rows(&mut highs);
        let rows = self.documents(width);
        let ranges = lows.into_iter().zip(highs).zip(&survey.missing_of);
        let ranges = ranges.map(|(range, missing)| if *missing < rows { range } else { (0.0, 0.0) });
        let Some(filling) = normalizer.missing() else { return ranges.collect() };
        let with_mean = |((range, mean), &missing): (((f32, f32), &f32), &usize)| match missing {
            0 => range,
            all if all == rows => (*mean, *mean),
            _ => (range.0.min(*mean), range.1.max(*mean)),
        };
        let features = ranges.zip(&filling.means).zip(&survey.missing_of).map(with_mean);
        let of_column = |&feature: &usize| {
            let missing = survey.missing_of[feature - 1];
            (f32::from(u8::from(missing == rows)), f32::from(u8::from(missing > 0)))
        };
        features.chain(filling.columns.iter().map(of_column)).collect()
    }
}

/// Adds values to a hash as little-endian bytes.
pub(in crate::data) fn hash_floats(values: &[f32], hash: &mut Sha256) {
    let mut buffer = [0u8; 4096];
    for chunk in values.chunks(buffer.len() / 4) {
        for (slot, value) in buffer.chunks_exact_mut(4).zip(chunk) {
            slot.copy_from_slice(&value.to_le_bytes());
        }
        hash.update(&buffer[..4 * chunk.len()]);
    }
}
