//! Features that stay in a file: rows are copied and normalized only when they are used.
//!
//! A caller that asks for all features as one slice needs them in memory at once. The slice is borrowed if the file
//! holds all features in one piece; otherwise the features are copied.

use std::ops::Range;
use std::sync::{Arc, OnceLock, mpsc};

use super::survey::Survey;
use crate::data::error::DataError;
use crate::data::indicators::Indicators;
use crate::data::normalizer::{Normalizer, NormalizerKind};
use crate::parallel;

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

/// The features in a file, `[rows x width]`.
#[derive(Clone)]
pub(super) struct InFile {
    file: Arc<Slices>,
    normalized: Option<Arc<Normalized>>,
    /// All values in memory, once a caller has asked for them as a slice.
    all: Arc<OnceLock<Vec<f32>>>,
}

/// The slices of a file.
struct Slices {
    source: Box<dyn Source>,
    width: usize,
    /// The first row of each slice, followed by the total number of rows.
    starts: Vec<usize>,
}

/// A normalizer that is applied to rows as they are copied.
struct Normalized {
    normalizer: Normalizer,
    /// The offsets of the queries.
    offsets: Vec<usize>,
}

impl InFile {
    /// Creates the features of a file; each document must have at least one feature.
    pub fn new(source: Box<dyn Source>, width: usize) -> Self {
        let mut starts = vec![0];
        for part in 0..source.parts() {
            starts.push(starts[part] + source.part(part).len() / width);
        }
        Self { file: Arc::new(Slices { source, width, starts }), normalized: None, all: Arc::default() }
    }

    /// Returns the number of values in a row after normalization and filling.
    fn width(&self) -> usize {
        self.normalized.as_ref().map_or(self.file.width, |normalized| normalized.normalizer.columns())
    }

    /// Returns the means and additional columns that are used to fill missing values; `None` if missing values are
    /// kept.
    fn filling(&self) -> Option<&Indicators> {
        self.normalizer()?.missing()
    }

    /// Returns the normalizer that is applied to values whenever they are copied.
    pub fn normalizer(&self) -> Option<&Normalizer> {
        self.normalized.as_ref().map(|normalized| &normalized.normalizer)
    }

    /// Returns the features as they are in the file, with the number of values in a row; `None` if they are not
    /// normalized.
    pub fn raw(&self) -> Option<(Self, usize)> {
        self.normalized.as_ref()?;
        Some((Self { normalized: None, ..self.clone() }, self.file.width))
    }

    /// Takes all values, or copies them.
    pub fn take_all(&mut self) -> Vec<f32> {
        Arc::get_mut(&mut self.all).and_then(OnceLock::take).unwrap_or_else(|| self.copied())
    }

    fn copied(&self) -> Vec<f32> {
        let mut all = vec![0.0; self.len()];
        self.copy(0..self.file.rows(), &mut all);
        all
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

    /// Keeps at most this many bytes of the file in memory.
    pub fn keep(&self, bytes: usize) {
        self.file.source.keep(bytes);
    }

    /// From now on, normalizes values and fills missing ones whenever rows are copied, as the normalizer prescribes.
    pub fn use_as(&mut self, normalizer: &Normalizer, offsets: &[usize]) {
        let normalized = Normalized { normalizer: normalizer.clone(), offsets: offsets.to_vec() };
        self.normalized = Some(Arc::new(normalized));
        self.all = Arc::default();
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

    /// Calls `of_block` with blocks of rows while another thread reads the next block.
    fn read_each(&self, blocks: impl Iterator<Item = Range<usize>> + Send, of_block: &mut dyn FnMut(&[f32])) {
        let width = self.file.width;
        let (filled, full) = mpsc::sync_channel::<Vec<f32>>(1);
        let (emptied, empty) = mpsc::channel::<Vec<f32>>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for rows in blocks {
                    let mut buffer = empty.try_recv().unwrap_or_default();
                    buffer.resize(rows.len() * width, 0.0);
                    let read = |part, values, piece: &mut [f32]| self.file.source.read(part, values, piece);
                    self.file.each_piece_of(rows, &mut buffer, read);
                    if filled.send(buffer).is_err() {
                        break;
                    }
                }
            });
            let mut filled_rows = Vec::new();
            for mut buffer in full {
                if let Some(normalized) = &self.normalized {
                    parallel::for_each(buffer.chunks_mut(ROWS * width), |rows| normalized.normalizer.apply_rows(rows));
                }
                match self.filling() {
                    None => of_block(&buffer),
                    Some(missing) => {
                        filled_rows.resize(buffer.len() / width * missing.width(), 0.0);
                        let rows = filled_rows.chunks_mut(ROWS * missing.width()).zip(buffer.chunks(ROWS * width));
                        parallel::for_each(rows, |(out, rows)| missing.fill_from(rows, out));
                        of_block(&filled_rows);
                    }
                }
                // The reader may have ended.
                let _ = emptied.send(buffer);
            }
        });
    }

    /// Rejects the first value that is infinite, or that is missing when missing values are not allowed. `survey` is
    /// that of the values in the file.
    pub fn check(&self, survey: &Survey) -> Result<(), DataError> {
        let Slices { source, width, .. } = &*self.file;
        let missing = survey.first_missing.filter(|_| source.refuses_missing()).map(|place| (place, f32::NAN));
        let first = survey.first_infinite.into_iter().chain(missing).min_by_key(|(place, _)| *place);
        first.map_or(Ok(()), |(place, value)| Err(source.unusable(place / width, place % width, value)))
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.file.rows() * self.width()
    }

    /// Returns all values. Unless the file holds them in one slice, they are copied into memory, where they stay.
    pub fn all(&self) -> &[f32] {
        if self.normalized.is_none() && self.file.source.parts() == 1 {
            return self.file.source.part(0);
        }
        self.all.get_or_init(|| self.copied())
    }

    /// Copies rows on several threads. If there is a normalizer, the copies are normalized and filled as it prescribes.
    pub fn copy(&self, rows: Range<usize>, out: &mut [f32]) {
        let width = self.width();
        parallel::for_each(out.chunks_mut(ROWS * width).enumerate(), |(chunk, out)| {
            let start = rows.start + chunk * ROWS;
            self.copy_few(start..start + out.len() / width, out);
        });
    }

    /// Calls `of_block` with consecutive blocks of some rows, of a multiple of `unit` rows each except the last.
    pub fn each_block(&self, rows: Range<usize>, unit: usize, of_block: &mut dyn FnMut(&[f32])) {
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
}

impl Slices {
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

    /// Returns rows without copying them, if they are in one slice. There must be at least one row.
    fn slice(&self, rows: Range<usize>) -> Option<&[f32]> {
        let part = self.starts.partition_point(|start| *start <= rows.start) - 1;
        let (first, end) = (self.starts[part], self.starts[part + 1]);
        let values = || (rows.start - first) * self.width..(rows.end - first) * self.width;
        (rows.end <= end).then(|| &self.source.part(part)[values()])
    }
}

impl Normalized {
    /// Returns whether normalized values depend on the other documents of the query.
    fn is_by_query(&self) -> bool {
        self.normalizer.kind() == NormalizerKind::QueryMinMax
    }

    /// Copies rows that are normalized by query. If only some rows of a query are requested, the whole query is
    /// normalized.
    fn copy_queries(&self, file: &Slices, rows: Range<usize>, out: &mut [f32]) {
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
