//! The values of a dataset's features, in memory or in a file.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

#[cfg(feature = "columnar")]
use arrow_buffer::ScalarBuffer;
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::error::DataError;
use super::hash::hash_floats;
use super::in_file::{InFile, Survey};
use super::indicators::Indicators;
use super::normalizer::Normalizer;
use super::parts::{CHUNK, Parts};
use crate::distributed::ProcessGroup;
use crate::text::counted;

/// The number of columns that a thread copies at a time; eight floats fill half a cache line of each row.
const COLUMNS: usize = 8;

/// The feature values of a dataset, `[documents x features]`, row-major, in memory or in a file.
///
/// Learners and rankers read values in blocks, so a file may be larger than memory. [`to_slice`](Self::to_slice),
/// [`to_mut_slice`](Self::to_mut_slice) and [`to_mut`](Self::to_mut) need all values, and read the whole file.
///
/// ```
/// use burn_rank::data::Features;
///
/// let mut features = Features::from(vec![1.0, 2.0, 3.0, 4.0]);
/// features.to_mut_slice()[3] = 5.0;
/// assert_eq!((features.len(), features.to_slice()), (4, &[1.0, 2.0, 3.0, 5.0][..]));
/// ```
#[derive(Clone, Default)]
pub struct Features {
    own: Vec<f32>,
    /// The features in a file; if they are present, `own` is not used.
    file: Option<InFile>,
    /// The parts into which the values are divided. Each pass works through the parts in order.
    parts: Parts,
    /// The group that the dataset is shared with.
    group: ProcessGroup,
}

impl Features {
    /// Returns all values. Nothing is copied if the values are in memory, or if a mapped file holds them in one batch.
    /// Otherwise, the first call copies all values into memory, where they stay.
    pub fn to_slice(&self) -> &[f32] {
        self.file.as_ref().map_or(&self.own, InFile::all)
    }

    /// Returns all values as a mutable slice. Values read from a file are copied into memory; the file itself is not
    /// modified.
    pub fn to_mut_slice(&mut self) -> &mut [f32] {
        self.in_memory()
    }

    /// Returns all values as a vector whose length the caller may change. Values of a file are copied into memory; the
    /// file does not change.
    pub fn to_mut(&mut self) -> &mut Vec<f32> {
        // Whoever has the vector may change the number of documents.
        self.parts = Parts::default();
        self.in_memory()
    }

    fn in_memory(&mut self) -> &mut Vec<f32> {
        if let Some(file) = self.file.take() {
            self.own = file.into_vec();
        }
        &mut self.own
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.file.as_ref().map_or(self.own.len(), InFile::len)
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether all values of a file were copied into memory.
    #[cfg(all(test, feature = "columnar", feature = "learners"))]
    pub(crate) fn is_copied(&self) -> bool {
        self.file.as_ref().is_some_and(InFile::is_copied)
    }

    /// Returns the features in a file; `None` if the features are in memory.
    pub(super) fn in_file(&self) -> Option<&InFile> {
        self.file.as_ref()
    }

    /// Divides the documents into parts, which later passes process one after another.
    pub(super) fn cut(&mut self, parts: Parts) {
        if self.parts == parts {
            return;
        }
        if let Some(file) = &mut self.file {
            file.cut(parts.clone());
        }
        self.parts = parts;
    }

    /// Returns the parts into which the values are divided. Each pass works through the parts in order.
    pub(crate) fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Shares the dataset with a group.
    pub(super) fn share_with(&mut self, group: &ProcessGroup) {
        self.group = group.clone();
    }

    /// Returns the group that the dataset is shared with.
    pub(super) fn group(&self) -> &ProcessGroup {
        &self.group
    }

    /// Returns who shares the reading: the whole group if features are streamed, otherwise only the current process.
    pub(crate) fn readers(&self) -> &ProcessGroup {
        if self.window().is_some() { &self.group } else { ProcessGroup::ALONE }
    }

    /// Streams the values of a file: from now on, each use reads them again ([`InFile::stream`]). Returns false if the
    /// values are in memory.
    pub(super) fn stream(&mut self, memory: usize, window: usize) -> bool {
        self.file.as_mut().map(|file| file.stream(memory, window)).is_some()
    }

    /// Returns the memory limit for streamed values, in bytes; `None` if values are not streamed.
    #[cfg_attr(not(feature = "learners"), allow(dead_code))]
    pub(crate) fn memory(&self) -> Option<usize> {
        self.file.as_ref()?.memory()
    }

    /// Returns the size in bytes of the windows in which training shuffles streamed queries; `None` if values are not
    /// streamed.
    pub(crate) fn window(&self) -> Option<usize> {
        self.file.as_ref()?.window()
    }

    /// Normalizes streamed values from now on, whenever they are used. Returns false if values are not streamed.
    pub(super) fn normalize(&mut self, normalizer: &Normalizer, offsets: &[usize]) -> bool {
        self.file.as_mut().is_some_and(|file| file.normalize(normalizer, offsets))
    }

    /// Fills missing values and adds the columns that mark them. Streamed values are filled whenever they are used.
    pub(super) fn fill(&mut self, normalizer: &Normalizer, missing: &Indicators, offsets: &[usize]) {
        if !self.file.as_mut().is_some_and(|file| file.fill(normalizer, offsets)) {
            missing.fill_in_place(self.in_memory());
        }
    }

    /// Copies a range of rows, with `width` values each, to `out`.
    pub(crate) fn copy_rows(&self, width: usize, rows: Range<usize>, out: &mut [f32]) {
        match &self.file {
            Some(file) => file.copy(rows, out),
            None => out.copy_from_slice(&self.own[rows.start * width..rows.end * width]),
        }
    }

    /// Appends a range of rows, with `width` values each, to `out`.
    pub(super) fn append_to(&self, width: usize, rows: Range<usize>, out: &mut Vec<f32>) {
        match &self.file {
            Some(file) => {
                let start = out.len();
                out.resize(start + rows.len() * width, 0.0);
                file.copy(rows, &mut out[start..]);
            }
            None => out.extend_from_slice(&self.own[rows.start * width..rows.end * width]),
        }
    }

    /// If values are in a file, starts a thread that loads the given rows before they are needed.
    #[cfg_attr(not(feature = "ranker"), allow(dead_code))]
    pub(crate) fn read_ahead(&self, rows: Vec<Range<usize>>) {
        if let Some(file) = self.file.clone().filter(InFile::is_read) {
            // The thread computes nothing: nobody has to wait for it, and it may be missing.
            let read = move || rows.into_iter().for_each(|rows| file.expect(rows));
            let _ = std::thread::Builder::new().spawn(read);
        }
    }

    /// Calls `of_block` with consecutive blocks of the rows in a part. The number of rows in a block is a multiple of
    /// `unit`, except in the last block.
    pub(super) fn each_block_of_part(&self, part: usize, unit: usize, mut of_block: impl FnMut(&[f32])) {
        match &self.file {
            Some(file) => file.each_block_of_part(part, unit, of_block),
            None => of_block(self.part_in_memory(part)),
        }
    }

    /// Calls `of_block` with consecutive blocks of the rows that this process reads, with sizes as in
    /// [`each_block_of_part`](Self::each_block_of_part). If values are in memory, every process reads all rows.
    pub(crate) fn each_own_block(&self, readers: &ProcessGroup, unit: usize, mut of_block: impl FnMut(&[f32])) {
        match &self.file {
            Some(file) => file.each_own_block(readers, unit, of_block),
            None => of_block(&self.own),
        }
    }

    /// Returns how many rows, out of `all`, are read by the process that reads the most.
    #[cfg_attr(not(feature = "learners"), allow(dead_code))]
    pub(crate) fn most_own_rows(&self, all: usize, readers: &ProcessGroup) -> usize {
        self.parts.most_rows(all, readers)
    }

    /// Applies `of_chunk` to each chunk of rows (`width` values per row), and passes the results to `then` in the order
    /// of the chunks. Each process reads some of the chunks, but receives the results for all chunks. The documents
    /// must not have been cut into parts.
    pub(super) fn each_chunk(
        &self,
        width: usize,
        of_chunk: impl Fn(&[f32]) -> Vec<f64> + Sync,
        mut then: impl FnMut(&[f64]),
    ) {
        match &self.file {
            Some(file) => file.each_chunk(self.readers(), of_chunk, then),
            None => {
                let chunks: Vec<Vec<f64>> = self.own.par_chunks(CHUNK * width.max(1)).map(&of_chunk).collect();
                chunks.iter().for_each(|numbers| then(numbers));
            }
        }
    }

    fn part_in_memory(&self, part: usize) -> &[f32] {
        let last = self.parts.count() - 1;
        let documents = self.parts.rows(last, self.own.len()).end;
        let width = self.own.len() / documents.max(1);
        let rows = self.parts.rows(part, documents);
        &self.own[rows.start * width..rows.end * width]
    }

    /// Returns the survey of all features: their ranges, sums, and missing or infinite values.
    pub(super) fn survey(&self, width: usize) -> Cow<'_, Survey> {
        if let Some(file) = &self.file {
            return file.survey_by(self.readers());
        }
        let of_part = |part| {
            let mut survey = Survey::new(width);
            survey.add(self.part_in_memory(part));
            survey.to_numbers()
        };
        Cow::Owned(Survey::of_parts(&self.parts.gather_numbers(ProcessGroup::ALONE, of_part)))
    }

    /// Returns the values in a range of columns, as one list per column, with a single pass over a file.
    #[cfg_attr(not(feature = "learners"), allow(dead_code))]
    pub(crate) fn columns(&self, width: usize, columns: Range<usize>) -> Vec<Vec<f32>> {
        self.own_columns(width, columns, ProcessGroup::ALONE)
    }

    /// Returns the values in a range of columns, as one list per column, for the rows that this process reads.
    #[cfg_attr(not(feature = "learners"), allow(dead_code))]
    pub(crate) fn own_columns(&self, width: usize, columns: Range<usize>, readers: &ProcessGroup) -> Vec<Vec<f32>> {
        let rows = self.most_own_rows(self.len() / width.max(1), readers);
        let mut values: Vec<Vec<f32>> = columns.clone().map(|_| Vec::with_capacity(rows)).collect();
        self.each_own_block(readers, 1, |rows| {
            values.par_chunks_mut(COLUMNS).enumerate().for_each(|(chunk, values)| {
                let first = columns.start + chunk * COLUMNS;
                for row in rows.chunks_exact(width) {
                    values.iter_mut().zip(&row[first..]).for_each(|(column, &value)| column.push(value));
                }
            });
        });
        values
    }

    /// Adds all values to a hash, or the hash of each part if the documents are cut into parts.
    pub(super) fn hash_into(&self, hash: &mut Sha256) {
        match &self.file {
            Some(file) => file.hash_into(hash, ProcessGroup::ALONE),
            None if self.parts.count() == 1 => hash_floats(&self.own, hash),
            None => (0..self.parts.count()).for_each(|part| {
                let mut of_part = Sha256::new();
                hash_floats(self.part_in_memory(part), &mut of_part);
                hash.update(of_part.finalize());
            }),
        }
    }

    /// Adds the values to a hash as they are in the file, before normalization, and checks them.
    pub(super) fn hash_raw_into(&self, hash: &mut Sha256) {
        match &self.file {
            Some(file) => file.raw().hash_into(hash, self.readers()),
            None => self.hash_into(hash),
        }
    }

    /// Adds all values to a hash; for normalized values in a file, adds the raw values and the normalizer
    /// ([`InFile::fingerprint_into`]).
    #[cfg(any(feature = "learners", test))]
    pub(super) fn fingerprint_into(&self, hash: &mut Sha256) {
        match &self.file {
            Some(file) => file.fingerprint_into(hash),
            None => self.hash_into(hash),
        }
    }

    /// Keeps at most this many bytes of a file in memory.
    #[cfg(feature = "ranker")]
    pub(super) fn keep(&self, bytes: usize) {
        if let Some(file) = &self.file {
            file.keep(bytes);
        }
    }

    /// Returns the error for the first disallowed value, if the file has one.
    pub(super) fn check(&self) -> Result<(), DataError> {
        self.file.as_ref().map_or(Ok(()), InFile::check)
    }
}

impl From<Vec<f32>> for Features {
    fn from(own: Vec<f32>) -> Self {
        Self { own, ..Self::default() }
    }
}

impl From<Features> for Vec<f32> {
    fn from(mut values: Features) -> Self {
        std::mem::take(values.to_mut())
    }
}

#[cfg(feature = "columnar")]
impl From<Features> for ScalarBuffer<f32> {
    fn from(mut values: Features) -> Self {
        match values.file.as_ref().and_then(InFile::buffer) {
            Some(buffer) => buffer,
            None => std::mem::take(values.to_mut()).into(),
        }
    }
}

impl From<InFile> for Features {
    fn from(file: InFile) -> Self {
        Self { file: Some(file), ..Self::default() }
    }
}

impl FromIterator<f32> for Features {
    fn from_iter<I: IntoIterator<Item = f32>>(values: I) -> Self {
        values.into_iter().collect::<Vec<f32>>().into()
    }
}

/// Prints the values if they are in memory, otherwise their number.
impl fmt::Debug for Features {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match &self.file {
            Some(file) => write!(formatter, "[{} in a file]", counted(file.len(), "value")),
            None => self.own.fmt(formatter),
        }
    }
}

impl PartialEq for Features {
    fn eq(&self, other: &Self) -> bool {
        self.to_slice() == other.to_slice()
    }
}
