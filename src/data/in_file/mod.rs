//! Features that stay in a file: rows are copied and normalized only when they are used.
//!
//! A caller that asks for all features as one slice needs them in memory at once. The slice is borrowed if the file
//! holds all features in one piece; otherwise the features are copied.

mod survey;
#[cfg(test)]
pub(crate) mod testing;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};

use rayon::prelude::*;
use sha2::digest::Output;
use sha2::digest::common::hazmat::{SerializableState, SerializedState};
use sha2::{Digest, Sha256};

use super::dataset::RankingDataset;
use super::error::DataError;
use super::hash::hash_floats;
use super::indicators::Indicators;
use super::normalizer::{Normalizer, NormalizerKind};
use super::parts::{CHUNK, Parts, numbers};
use crate::distributed::ProcessGroup;
pub(super) use survey::Survey;

/// The number of rows that a thread copies at a time.
const ROWS: usize = 4096;

/// The number of values that a pass over the file reads at a time; they take 16 MiB.
const PASS: usize = 4 << 20;

/// A file that holds rows of features in one or more consecutive slices.
pub trait Source: Send + Sync {
    /// Returns the number of slices.
    fn parts(&self) -> usize;

    /// Returns the values of a slice, which holds whole rows.
    fn part(&self, part: usize) -> &[f32];

    /// Returns the values as an Arrow buffer if they form one slice.
    #[cfg(feature = "columnar")]
    fn buffer(&self) -> Option<arrow_buffer::ScalarBuffer<f32>> {
        None
    }

    /// Keeps at most this many bytes in memory. After a call to `keep`, values are no longer mapped, but are read from
    /// the file at each use.
    fn keep(&self, bytes: usize);

    /// Returns whether values are read from the file at each use instead of mapped. If values are not mapped, a slice
    /// of all values would load the whole file into memory.
    fn is_read(&self) -> bool;

    /// Copies a range of values from a slice, and caches the values around them for later calls.
    fn copy(&self, part: usize, values: Range<usize>, out: &mut [f32]);

    /// Copies a range of values from a slice without caching them.
    fn read(&self, part: usize, values: Range<usize>, out: &mut [f32]);

    /// Loads a range of values from a slice into the cache, because they will be copied soon.
    fn expect(&self, part: usize, values: Range<usize>);

    /// Returns whether a missing value is an error.
    fn refuses_missing(&self) -> bool;

    /// Returns the error for a value that is not allowed; `row` and `feature` are numbered from 0.
    fn unusable(&self, row: usize, feature: usize, value: f32) -> DataError;
}

/// Returns the dataset with its features replaced by a file that holds the same values.
pub fn of_source(data: &RankingDataset, source: Box<dyn Source>) -> RankingDataset {
    RankingDataset { features: InFile::new(source, data.feature_count).into(), ..data.clone() }
}

/// The features in a file, `[rows x width]`. Clones share the survey and the hashes of the values.
#[derive(Clone)]
pub(super) struct InFile {
    file: Arc<Rows>,
    normalized: Option<Arc<Normalized>>,
    /// The limits of streaming; `None` if features are not streamed.
    streaming: Option<Streaming>,
    /// All values in memory, once a caller has asked for them as a slice.
    all: Arc<OnceLock<Vec<f32>>>,
}

/// The limits for streamed features.
#[derive(Clone, Copy)]
struct Streaming {
    /// The largest number of bytes of the file that may be in memory.
    memory: usize,
    /// The size in bytes of the windows in which training shuffles queries.
    window: usize,
}

struct Rows {
    source: Arc<dyn Source>,
    width: usize,
    /// The first row of each slice, followed by the total number of rows.
    starts: Vec<usize>,
    /// The parts into which passes over the values are divided.
    parts: Parts,
    survey: OnceLock<Survey>,
    hashed: Mutex<Option<Hashed>>,
}

/// The hash of all values, kept so that a later call need not read the file again.
#[derive(Clone)]
enum Hashed {
    /// A hash to which all values were added. `before` is the digest of the hash without the values, and `after` is the
    /// hash with them.
    Whole { before: Output<Sha256>, after: Sha256 },
    /// The hash of each part, if the rows are cut into parts.
    Parts(Vec<Vec<u8>>),
}

/// A normalizer that is applied to rows as they are copied.
struct Normalized {
    normalizer: Normalizer,
    /// The offsets of the queries.
    offsets: Vec<usize>,
    /// For each column, the number of missing values that remain after the normalizer has filled them. This number is
    /// always 0. The list is empty if the normalizer fills no values.
    none_missing: Vec<usize>,
}

impl InFile {
    /// Creates the features of a file; each document must have at least one feature.
    #[cfg_attr(not(feature = "columnar"), allow(dead_code))]
    pub fn new(source: Box<dyn Source>, width: usize) -> Self {
        let mut starts = vec![0];
        for part in 0..source.parts() {
            starts.push(starts[part] + source.part(part).len() / width);
        }
        let file = Arc::new(Rows::new(source.into(), width, starts, Parts::default()));
        Self { file, normalized: None, streaming: None, all: Arc::default() }
    }

    /// Divides the rows into parts, which later passes process one after another. This discards the results of earlier
    /// passes.
    pub fn cut(&mut self, parts: Parts) {
        let Rows { source, width, starts, .. } = &*self.file;
        self.file = Arc::new(Rows::new(source.clone(), *width, starts.clone(), parts));
    }

    /// Returns the parts through which each pass over the values works one after another.
    pub fn parts(&self) -> &Parts {
        &self.file.parts
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.file.rows() * self.width()
    }

    /// Returns the number of values in a row after normalization and filling.
    fn width(&self) -> usize {
        self.normalized.as_ref().map_or(self.file.width, |normalized| normalized.normalizer.columns())
    }

    /// Returns the means and additional columns that are used to fill missing values; `None` if missing values are
    /// kept.
    fn filling(&self) -> Option<&Indicators> {
        self.normalized.as_ref()?.normalizer.missing()
    }

    /// Returns all values.
    pub fn all(&self) -> &[f32] {
        if self.normalized.is_none() && self.file.source.parts() == 1 {
            return self.file.source.part(0);
        }
        self.all.get_or_init(|| {
            let mut all = vec![0.0; self.len()];
            self.copy(0..self.file.rows(), &mut all);
            all
        })
    }

    /// Returns all values as a vector.
    pub fn into_vec(mut self) -> Vec<f32> {
        match Arc::get_mut(&mut self.all).and_then(OnceLock::take) {
            Some(all) => all,
            None => self.all().to_vec(),
        }
    }

    /// Returns the values as an Arrow buffer if the file holds them as one slice.
    #[cfg(feature = "columnar")]
    pub fn buffer(&self) -> Option<arrow_buffer::ScalarBuffer<f32>> {
        if self.normalized.is_some() { None } else { self.file.source.buffer() }
    }

    /// Returns whether all values were copied into memory.
    #[cfg(test)]
    pub fn is_copied(&self) -> bool {
        self.all.get().is_some()
    }

    /// Streams the values from now on. Training shuffles queries within windows of `window` bytes, and at most `memory`
    /// bytes of the file stay in memory.
    pub fn stream(&mut self, memory: usize, window: usize) {
        self.streaming = Some(Streaming { memory, window });
        self.file.source.keep(memory);
    }

    /// Keeps at most this many bytes of the file in memory.
    #[cfg(feature = "ranker")]
    pub fn keep(&self, bytes: usize) {
        self.file.source.keep(bytes);
    }

    /// Returns the size in bytes of the windows in which training shuffles queries; `None` if features are not
    /// streamed.
    pub fn window(&self) -> Option<usize> {
        self.streaming.map(|streaming| streaming.window)
    }

    /// Returns the memory limit for streamed features, in bytes; `None` if features are not streamed.
    pub fn memory(&self) -> Option<usize> {
        self.streaming.map(|streaming| streaming.memory)
    }

    /// From now on, normalizes values whenever they are copied. Returns false if the values are not streamed or already
    /// normalized.
    pub fn normalize(&mut self, normalizer: &Normalizer, offsets: &[usize]) -> bool {
        if self.streaming.is_none() || self.normalized.is_some() {
            return false;
        }
        self.use_as(normalizer, offsets);
        true
    }

    /// From now on, fills missing values of normalized features whenever rows are copied. Returns false if the values
    /// are not streamed.
    pub fn fill(&mut self, normalizer: &Normalizer, offsets: &[usize]) -> bool {
        if self.streaming.is_none() {
            return false;
        }
        self.use_as(normalizer, offsets);
        true
    }

    fn use_as(&mut self, normalizer: &Normalizer, offsets: &[usize]) {
        let none_missing = if normalizer.fills_missing() { vec![0; normalizer.columns()] } else { Vec::new() };
        let normalized = Normalized { normalizer: normalizer.clone(), offsets: offsets.to_vec(), none_missing };
        self.normalized = Some(Arc::new(normalized));
        self.all = Arc::default();
    }

    /// Copies rows on several threads. If there is a normalizer, the copies are normalized and filled as it prescribes.
    pub fn copy(&self, rows: Range<usize>, out: &mut [f32]) {
        let width = self.width();
        out.par_chunks_mut(ROWS * width).enumerate().for_each(|(chunk, out)| {
            let start = rows.start + chunk * ROWS;
            self.copy_few(start..start + out.len() / width, out);
        });
    }

    /// Copies rows on the calling thread.
    fn copy_few(&self, rows: Range<usize>, out: &mut [f32]) {
        let Some(missing) = self.filling() else { return self.copy_normalized(rows, out) };
        let mut normalized = vec![0.0; rows.len() * self.file.width];
        self.copy_normalized(rows, &mut normalized);
        missing.fill_from(&normalized, out);
    }

    /// Copies rows without filling their missing values.
    fn copy_normalized(&self, rows: Range<usize>, out: &mut [f32]) {
        match &self.normalized {
            Some(normalized) if normalized.is_by_query() => normalized.copy_queries(&self.file, rows, out),
            Some(normalized) => {
                self.file.copy(rows, out);
                normalized.normalizer.apply_rows(out);
            }
            None => self.file.copy(rows, out),
        }
    }

    /// Returns whether rows are read from the file at each use.
    pub fn is_read(&self) -> bool {
        self.file.source.is_read()
    }

    /// Loads rows into the cache of the file, because they will be copied soon.
    pub fn expect(&self, rows: Range<usize>) {
        self.file.each_piece(rows, |part, values| self.file.source.expect(part, values));
    }

    /// Calls `of_block` with consecutive blocks of the rows in a part. The number of rows in a block is a multiple of
    /// `unit`, except in the last block.
    pub fn each_block_of_part(&self, part: usize, unit: usize, of_block: impl FnMut(&[f32])) {
        self.each_block_of(self.file.part(part), unit, of_block);
    }

    /// Calls `of_block` with consecutive blocks of the rows that this process reads, with sizes as in
    /// [`each_block_of_part`](Self::each_block_of_part).
    pub fn each_own_block(&self, readers: &ProcessGroup, unit: usize, of_block: impl FnMut(&[f32])) {
        self.each_block_of(self.parts().own_rows(self.file.rows(), readers), unit, of_block);
    }

    fn each_block_of(&self, rows: Range<usize>, unit: usize, mut of_block: impl FnMut(&[f32])) {
        let width = self.width();
        let step = (PASS / width / unit).max(1) * unit;
        let blocks = rows.clone().step_by(step).map(|start| start..rows.end.min(start + step));
        let by_query = self.normalized.as_ref().is_some_and(|normalized| normalized.is_by_query());
        if self.file.source.is_read() && !by_query {
            return self.read_each(blocks, of_block);
        }
        let mut buffer = Vec::new();
        for rows in blocks {
            match self.file.slice(rows.clone()).filter(|_| self.normalized.is_none()) {
                Some(block) => of_block(block),
                None => {
                    buffer.resize(rows.len() * width, 0.0);
                    self.copy(rows, &mut buffer);
                    of_block(&buffer);
                }
            }
        }
    }

    /// Calls `of_block` with blocks of rows while another thread reads the next block.
    fn read_each(&self, blocks: impl Iterator<Item = Range<usize>> + Send, mut of_block: impl FnMut(&[f32])) {
        let width = self.file.width;
        let (filled, full) = mpsc::sync_channel::<Vec<f32>>(1);
        let (emptied, empty) = mpsc::channel::<Vec<f32>>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for rows in blocks {
                    let mut buffer = empty.try_recv().unwrap_or_default();
                    buffer.resize(rows.len() * width, 0.0);
                    self.file.read(rows, &mut buffer);
                    if filled.send(buffer).is_err() {
                        break;
                    }
                }
            });
            let mut filled_rows = Vec::new();
            for mut buffer in full {
                if let Some(normalized) = &self.normalized {
                    buffer.par_chunks_mut(ROWS * width).for_each(|rows| normalized.normalizer.apply_rows(rows));
                }
                match self.filling() {
                    None => of_block(&buffer),
                    Some(missing) => {
                        filled_rows.resize(buffer.len() / width * missing.width(), 0.0);
                        let rows = filled_rows.par_chunks_mut(ROWS * missing.width());
                        rows.zip(buffer.par_chunks(ROWS * width)).for_each(|(out, rows)| missing.fill_from(rows, out));
                        of_block(&filled_rows);
                    }
                }
                // The reader may have ended.
                let _ = emptied.send(buffer);
            }
        });
    }

    /// Adds all values to a hash, or the hash of each part if the rows are cut into parts. If values are not
    /// normalized, the result is kept, and the next call with the same hash reads nothing. Values are surveyed in the
    /// same pass over the file.
    pub fn hash_into(&self, hash: &mut Sha256, readers: &ProcessGroup) {
        let begun = if self.parts().count() == 1 { hash.clone() } else { Sha256::new() };
        if self.normalized.is_some() {
            return self.hashed(begun, readers).0.go_on(hash);
        }
        let before = begun.clone().finalize();
        let known = self.file.hashed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let hashed = known.filter(|known| known.began_with(&before)).unwrap_or_else(|| {
            let (hashed, survey) = self.hashed(begun, readers);
            // It may be known.
            let _ = self.file.survey.set(survey);
            *self.file.hashed.lock().unwrap_or_else(PoisonError::into_inner) = Some(hashed.clone());
            hashed
        });
        hashed.go_on(hash);
    }

    /// Adds all values to the hash `begun`, or hashes each part, and surveys the values in the same pass.
    fn hashed(&self, begun: Sha256, readers: &ProcessGroup) -> (Hashed, Survey) {
        if self.parts().count() == 1 {
            let (after, survey) = self.hashed_in_turns(begun.clone(), readers);
            return (Hashed::Whole { before: begun.finalize(), after }, survey);
        }
        let found = self.parts().gather(readers, |part| {
            let (mut hash, mut survey) = (begun.clone(), Survey::new(self.width()));
            self.each_block_of_part(part, survey::ROWS, |rows| {
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
    fn hashed_in_turns(&self, mut hash: Sha256, readers: &ProcessGroup) -> (Sha256, Survey) {
        let mut survey = Survey::new(self.width());
        for turn in 0..readers.count() {
            let is_mine = turn == readers.rank();
            if is_mine {
                self.each_own_block(readers, survey::ROWS, |rows| {
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

    /// Applies `of_chunk` to each chunk of rows, and passes the results to `then` in the order of the chunks. Each
    /// process reads some of the chunks, but receives the results for all chunks. The documents must not have been cut
    /// into parts.
    pub fn each_chunk(
        &self,
        readers: &ProcessGroup,
        of_chunk: impl Fn(&[f32]) -> Vec<f64> + Sync,
        mut then: impl FnMut(&[f64]),
    ) {
        let mut own = Vec::new();
        self.each_own_block(readers, CHUNK, |rows| {
            let chunks: Vec<Vec<f64>> = rows.par_chunks(CHUNK * self.width()).map(&of_chunk).collect();
            match readers.count() {
                1 => chunks.iter().for_each(|numbers| then(numbers)),
                _ => own.extend(
                    chunks.into_iter().map(|of_chunk| of_chunk.into_iter().flat_map(f64::to_le_bytes).collect()),
                ),
            }
        });
        if readers.count() > 1 {
            readers.gather_all(own).iter().for_each(|bytes| then(&numbers(bytes)));
        }
    }

    /// Adds the raw values in the file and the normalizer to a hash.
    #[cfg(any(feature = "learners", test))]
    pub fn fingerprint_into(&self, hash: &mut Sha256) {
        self.raw().hash_into(hash, ProcessGroup::ALONE);
        if let Some(normalized) = &self.normalized {
            hash.update(serde_json::to_vec(&normalized.normalizer).unwrap_or_default());
        }
    }

    /// Returns the features as they are in the file, without normalization.
    pub fn raw(&self) -> Self {
        Self { normalized: None, ..self.clone() }
    }

    /// Returns whether the values in the file have been surveyed.
    pub fn is_known(&self) -> bool {
        self.file.survey.get().is_some()
    }

    /// Returns the survey of the values in the file, which is made only once.
    fn survey(&self) -> &Survey {
        self.file.survey.get_or_init(|| self.raw().surveyed(ProcessGroup::ALONE))
    }

    fn surveyed(&self, readers: &ProcessGroup) -> Survey {
        if self.parts().count() == 1 {
            let mut all = Survey::new(self.width());
            let of_chunk = |rows: &[f32]| {
                let mut survey = Survey::new(self.width());
                survey.add(rows);
                survey.to_numbers()
            };
            self.each_chunk(readers, of_chunk, |numbers| all.join(&Survey::from_numbers(numbers)));
            return all;
        }
        let of_part = |part: usize| {
            let mut survey = Survey::new(self.width());
            self.each_block_of_part(part, survey::ROWS, |rows| survey.add(rows));
            survey.to_numbers()
        };
        Survey::of_parts(&self.parts().gather_numbers(readers, of_part))
    }

    /// Returns the survey of the values, after normalization if the features are normalized.
    pub fn survey_by(&self, readers: &ProcessGroup) -> Cow<'_, Survey> {
        match self.normalized {
            None => Cow::Borrowed(self.survey()),
            Some(_) => Cow::Owned(self.surveyed(readers)),
        }
    }

    /// Rejects the first value that is infinite, or that is missing when missing values are not allowed.
    pub fn check(&self) -> Result<(), DataError> {
        let survey = self.survey();
        let missing = survey.first_missing.filter(|_| self.file.source.refuses_missing());
        let missing = missing.map(|place| (place, f32::NAN));
        let first = survey.first_infinite.into_iter().chain(missing).min_by_key(|(place, _)| *place);
        let Some((place, value)) = first else { return Ok(()) };
        Err(self.file.source.unusable(place / self.file.width, place % self.file.width, value))
    }

    /// Returns the index of the first missing value; `None` if missing values are filled, or if there are none.
    pub fn first_missing(&self) -> Option<usize> {
        if self.filling().is_some() { None } else { self.survey().first_missing }
    }

    /// Returns the number of missing values of each feature, or 0 if missing values are filled.
    pub fn missing_of(&self) -> &[usize] {
        match &self.normalized {
            Some(normalized) if normalized.normalizer.fills_missing() => &normalized.none_missing,
            _ => &self.survey().missing_of,
        }
    }

    /// Returns the smallest and the largest value of each feature, ignoring missing values. A feature without values
    /// gets (0, 0).
    pub fn ranges(&self, readers: &ProcessGroup) -> Vec<(f32, f32)> {
        let Some(normalized) = &self.normalized else { return self.survey().ranges() };
        if normalized.is_by_query() {
            return self.surveyed(readers).ranges();
        }
        // No other normalizer changes the order of values.
        let survey = self.survey();
        let (mut lows, mut highs): (Vec<f32>, Vec<f32>) = survey.ranges().into_iter().unzip();
        normalized.normalizer.apply_rows(&mut lows);
        normalized.normalizer.apply_rows(&mut highs);
        let rows = self.file.rows();
        let ranges = lows.into_iter().zip(highs).zip(&survey.missing_of);
        let ranges = ranges.map(|(range, missing)| if *missing < rows { range } else { (0.0, 0.0) });
        let Some(filling) = self.filling() else { return ranges.collect() };
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

impl Hashed {
    /// Returns whether this result was computed from a hash in the state `start`, so it can be used again.
    fn began_with(&self, start: &Output<Sha256>) -> bool {
        match self {
            Self::Whole { before, .. } => before == start,
            Self::Parts(_) => true,
        }
    }

    /// Adds the hashed values to `hash`. If the values were hashed as a whole, `hash` is replaced with the state after
    /// them. Otherwise, the hash of each part is added.
    fn go_on(self, hash: &mut Sha256) {
        match self {
            Self::Whole { after, .. } => *hash = after,
            Self::Parts(hashes) => hashes.iter().for_each(|of_part| hash.update(of_part)),
        }
    }
}

impl Rows {
    fn new(source: Arc<dyn Source>, width: usize, starts: Vec<usize>, parts: Parts) -> Self {
        Self { source, width, starts, parts, survey: OnceLock::new(), hashed: Mutex::default() }
    }

    /// Returns the rows of a part.
    fn part(&self, part: usize) -> Range<usize> {
        self.parts.rows(part, self.rows())
    }

    fn rows(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Cuts a range of rows into pieces, each within one slice. For each piece, calls `of_piece` with the number of its
    /// slice and the range of its values in the slice.
    fn each_piece(&self, rows: Range<usize>, mut of_piece: impl FnMut(usize, Range<usize>)) {
        let mut row = rows.start;
        while row < rows.end {
            let part = self.starts.partition_point(|start| *start <= row) - 1;
            let (first, end) = (self.starts[part], self.starts[part + 1].min(rows.end));
            of_piece(part, (row - first) * self.width..(end - first) * self.width);
            row = end;
        }
    }

    /// Copies rows to `out`, and caches the rows around them for later calls.
    fn copy(&self, rows: Range<usize>, out: &mut [f32]) {
        self.each_piece_of(rows, out, |part, values, piece| self.source.copy(part, values, piece));
    }

    /// Copies rows to `out` without caching them.
    fn read(&self, rows: Range<usize>, out: &mut [f32]) {
        self.each_piece_of(rows, out, |part, values, piece| self.source.read(part, values, piece));
    }

    /// Cuts a range of rows into pieces, each within one slice. For each piece, calls `of_piece` with the number of its
    /// slice, the range of its values in the slice, and the part of `out` that receives them.
    fn each_piece_of(
        &self,
        rows: Range<usize>,
        mut out: &mut [f32],
        of_piece: impl Fn(usize, Range<usize>, &mut [f32]),
    ) {
        self.each_piece(rows, |part, values| {
            let (piece, rest) = std::mem::take(&mut out).split_at_mut(values.len());
            of_piece(part, values, piece);
            out = rest;
        });
    }

    /// Returns rows without copying them, if they are in one slice.
    fn slice(&self, rows: Range<usize>) -> Option<&[f32]> {
        let mut pieces = Vec::new();
        self.each_piece(rows, |part, values| pieces.push((part, values)));
        match &pieces[..] {
            [(part, values)] => Some(&self.source.part(*part)[values.clone()]),
            _ => None,
        }
    }
}

impl Normalized {
    /// Returns whether normalized values depend on the other documents of the query.
    fn is_by_query(&self) -> bool {
        self.normalizer.kind() == NormalizerKind::QueryMinMax
    }

    /// Copies rows that are normalized by query. If only some rows of a query are requested, the whole query is
    /// normalized.
    fn copy_queries(&self, file: &Rows, rows: Range<usize>, out: &mut [f32]) {
        let width = file.width;
        let mut row = rows.start;
        let mut whole = Vec::new();
        while row < rows.end {
            let query = self.offsets.partition_point(|offset| *offset <= row) - 1;
            let (first, end) = (self.offsets[query], self.offsets[query + 1]);
            let until = end.min(rows.end);
            let wanted = &mut out[(row - rows.start) * width..(until - rows.start) * width];
            if row == first && until == end {
                file.copy(first..end, wanted);
                self.normalizer.apply_rows(wanted);
            } else {
                whole.resize((end - first) * width, 0.0);
                file.copy(first..end, &mut whole);
                self.normalizer.apply_rows(&mut whole);
                wanted.copy_from_slice(&whole[(row - first) * width..(until - first) * width]);
            }
            row = until;
        }
    }
}

#[cfg(test)]
mod tests;
