//! Features that stay in a file: rows are copied out of it where they are wanted, normalised on the way.
//!
//! Whoever takes them as one slice gets them all in memory: the file's own, where it holds the values as one slice.

mod survey;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use super::{DataError, Normalizer, NormalizerKind};
pub(super) use survey::Survey;

/// Number of rows that a thread copies at a time.
const ROWS: usize = 4096;

/// Number of values of a block of a pass: 16 MiB.
const PASS: usize = 4 << 20;

/// A file that holds rows of features, as one or more slices one after the other.
pub(super) trait Source: Send + Sync {
    /// Number of slices.
    fn parts(&self) -> usize;

    /// The values of a slice: whole rows.
    fn part(&self, part: usize) -> &[f32];

    /// The values as a buffer of Arrow, where they are one slice.
    #[cfg(feature = "columnar")]
    fn buffer(&self) -> Option<arrow_buffer::ScalarBuffer<f32>>;

    /// Keeps at most so many bytes of what was used in memory.
    fn keep(&self, bytes: usize);

    /// Notes that values of a slice were used.
    fn used(&self, part: usize, values: Range<usize>);

    /// Asks for values of a slice that are used soon.
    fn expect(&self, part: usize, values: Range<usize>);

    /// Whether a missing value is an error.
    fn refuses_missing(&self) -> bool;

    /// The error of a value that may not be: its row and feature, both from 0.
    fn unusable(&self, row: usize, feature: usize, value: f32) -> DataError;
}

/// The features of a file, `[rows x width]`. Clones share what is known of them.
#[derive(Clone)]
pub(super) struct InFile {
    file: Arc<Rows>,
    normalized: Option<Arc<Normalized>>,
    /// Bytes of the window in which training shuffles queries, for features that are to be streamed.
    window: Option<usize>,
    /// All values, once someone takes them as a slice.
    all: Arc<OnceLock<Vec<f32>>>,
}

struct Rows {
    source: Box<dyn Source>,
    width: usize,
    /// The first row of each part, and the number of all rows.
    starts: Vec<usize>,
    survey: OnceLock<Survey>,
}

/// A normaliser that is applied to rows as they are copied.
struct Normalized {
    normalizer: Normalizer,
    /// Of the queries.
    offsets: Vec<usize>,
}

impl InFile {
    /// Takes the features of a file, of which there is at least one per document.
    #[cfg_attr(not(feature = "columnar"), allow(dead_code))]
    pub fn new(source: Box<dyn Source>, width: usize) -> Self {
        let mut starts = vec![0];
        for part in 0..source.parts() {
            starts.push(starts[part] + source.part(part).len() / width);
        }
        let file = Arc::new(Rows { source, width, starts, survey: OnceLock::new() });
        Self { file, normalized: None, window: None, all: Arc::default() }
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.file.rows() * self.file.width
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

    /// Returns all values as a vector of its own.
    pub fn into_vec(mut self) -> Vec<f32> {
        match Arc::get_mut(&mut self.all).and_then(OnceLock::take) {
            Some(all) => all,
            None => self.all().to_vec(),
        }
    }

    /// The values as a buffer of Arrow, where the file holds them as one slice.
    #[cfg(feature = "columnar")]
    pub fn buffer(&self) -> Option<arrow_buffer::ScalarBuffer<f32>> {
        if self.normalized.is_some() { None } else { self.file.source.buffer() }
    }

    /// Whether someone has taken all values as a slice that is not the file's own.
    #[cfg(test)]
    pub fn is_copied(&self) -> bool {
        self.all.get().is_some()
    }

    /// Streams the values from now on: training shuffles within windows of so many bytes, and at most `memory` bytes
    /// of the file stay in memory.
    pub fn stream(&mut self, memory: usize, window: usize) {
        self.window = Some(window);
        self.file.source.keep(memory);
    }

    /// Keeps at most so many bytes of the file in memory.
    #[cfg(feature = "ranker")]
    pub fn keep(&self, bytes: usize) {
        self.file.source.keep(bytes);
    }

    /// Returns the bytes of the window in which training shuffles queries, of features that are streamed.
    pub fn window(&self) -> Option<usize> {
        self.window
    }

    /// Normalises the values where they are copied from now on, if they are streamed and not normalised yet.
    pub fn normalize(&mut self, normalizer: &Normalizer, offsets: &[usize]) -> bool {
        if self.window.is_none() || self.normalized.is_some() {
            return false;
        }
        self.normalized = Some(Arc::new(Normalized { normalizer: normalizer.clone(), offsets: offsets.to_vec() }));
        self.all = Arc::default();
        true
    }

    /// Copies rows.
    pub fn copy(&self, rows: Range<usize>, out: &mut [f32]) {
        let width = self.file.width;
        out.par_chunks_mut(ROWS * width).enumerate().for_each(|(chunk, out)| {
            let start = rows.start + chunk * ROWS;
            self.copy_few(start..start + out.len() / width, out);
        });
    }

    /// Copies rows on the calling thread.
    pub fn copy_few(&self, rows: Range<usize>, out: &mut [f32]) {
        match &self.normalized {
            None => self.file.copy(rows, out),
            Some(normalized) if normalized.normalizer.kind() == NormalizerKind::QueryMinMax => {
                normalized.copy_queries(&self.file, rows, out);
            }
            Some(normalized) => {
                self.file.copy(rows, out);
                normalized.normalizer.apply_rows(out);
            }
        }
    }

    /// Asks the system for rows that are used soon.
    pub fn expect(&self, rows: Range<usize>) {
        self.file.each_piece(rows, |part, values| self.file.source.expect(part, values));
    }

    /// Calls `of_block` with all values, blocks of whole rows one after the other. Each but the last has a multiple of
    /// `unit` rows.
    pub fn each_block(&self, unit: usize, mut of_block: impl FnMut(&[f32])) {
        let (rows, width) = (self.file.rows(), self.file.width);
        let step = (PASS / width / unit).max(1) * unit;
        let mut buffer = Vec::new();
        self.expect(0..rows.min(step));
        for start in (0..rows).step_by(step) {
            let end = rows.min(start + step);
            self.expect(end..rows.min(end + step));
            match self.file.slice(start..end).filter(|_| self.normalized.is_none()) {
                Some(block) => {
                    of_block(block);
                    self.file.used(start..end);
                }
                None => {
                    buffer.resize((end - start) * width, 0.0);
                    self.copy(start..end, &mut buffer);
                    of_block(&buffer);
                }
            }
        }
    }

    /// What a pass over the file finds; the pass is made once. Normalisers leave missing values where they are.
    fn survey(&self) -> &Survey {
        self.file.survey.get_or_init(|| {
            let mut survey = Survey::new(self.file.width);
            let raw = Self { normalized: None, ..self.clone() };
            raw.each_block(1, |rows| survey.add(rows));
            survey
        })
    }

    /// Refuses the first value that is infinite, or missing where that is an error.
    pub fn check(&self) -> Result<(), DataError> {
        let survey = self.survey();
        let missing = survey.first_missing.filter(|_| self.file.source.refuses_missing());
        let Some(at) = survey.first_infinite.into_iter().chain(missing).min() else { return Ok(()) };
        let (row, feature) = (at / self.file.width, at % self.file.width);
        let mut values = vec![0.0; self.file.width];
        self.file.copy(row..row + 1, &mut values);
        Err(self.file.source.unusable(row, feature, values[feature]))
    }

    /// Returns the place of the first missing value.
    pub fn first_missing(&self) -> Option<usize> {
        self.survey().first_missing
    }

    /// Returns the number of missing values of each feature.
    pub fn missing_of(&self) -> &[usize] {
        &self.survey().missing_of
    }

    /// Returns the smallest and largest value of each feature, missing ones aside; (0, 0) where there are none.
    pub fn ranges(&self) -> Vec<(f32, f32)> {
        let Some(normalized) = &self.normalized else { return self.survey().ranges() };
        if normalized.normalizer.kind() == NormalizerKind::QueryMinMax {
            let mut survey = Survey::new(self.file.width);
            self.each_block(1, |rows| survey.add(rows));
            return survey.ranges();
        }
        // No other normaliser changes the order of values.
        let survey = self.survey();
        let (mut lows, mut highs): (Vec<f32>, Vec<f32>) = survey.ranges().into_iter().unzip();
        normalized.normalizer.apply_rows(&mut lows);
        normalized.normalizer.apply_rows(&mut highs);
        let has_values = survey.missing_of.iter().map(|missing| *missing < self.file.rows());
        lows.into_iter().zip(highs).zip(has_values).map(|(range, has)| if has { range } else { (0.0, 0.0) }).collect()
    }
}

impl Rows {
    fn rows(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Calls `of_piece` with the part of each piece of rows, and the places of its values in the part.
    fn each_piece(&self, rows: Range<usize>, mut of_piece: impl FnMut(usize, Range<usize>)) {
        let mut row = rows.start;
        while row < rows.end {
            let part = self.starts.partition_point(|start| *start <= row) - 1;
            let (first, end) = (self.starts[part], self.starts[part + 1].min(rows.end));
            of_piece(part, (row - first) * self.width..(end - first) * self.width);
            row = end;
        }
    }

    fn copy(&self, rows: Range<usize>, mut out: &mut [f32]) {
        self.each_piece(rows, |part, values| {
            let (piece, rest) = std::mem::take(&mut out).split_at_mut(values.len());
            self.source.expect(part, values.clone());
            piece.copy_from_slice(&self.source.part(part)[values.clone()]);
            self.source.used(part, values);
            out = rest;
        });
    }

    /// Returns rows where they lie, if that is one slice.
    fn slice(&self, rows: Range<usize>) -> Option<&[f32]> {
        let mut pieces = Vec::new();
        self.each_piece(rows, |part, values| pieces.push((part, values)));
        match &pieces[..] {
            [(part, values)] => Some(&self.source.part(*part)[values.clone()]),
            _ => None,
        }
    }

    fn used(&self, rows: Range<usize>) {
        self.each_piece(rows, |part, values| self.source.used(part, values));
    }
}

impl Normalized {
    /// Copies rows that are normalised by query: a query of which only some rows are asked for is normalised as a whole.
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
pub(super) mod tests;
