//! The values of the features of a dataset, in memory or in a file.

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
use crate::distributed::{OneProcess, Processes};
use crate::text::counted;

/// Number of columns that a thread gathers at a time: half a cache line of each row.
const COLUMNS: usize = 8;

/// Values of features, `[documents x features]`, row-major, in memory or in a file.
///
/// Learners and rankers read values in blocks, so a file larger than memory does not have to fit into it.
/// [`to_slice`](Self::to_slice), [`to_mut_slice`](Self::to_mut_slice) and [`to_mut`](Self::to_mut) take all values: they
/// read the whole file.
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
    /// The values of a file, in place of `own`.
    file: Option<InFile>,
    /// The parts that passes go through.
    parts: Parts,
}

impl Features {
    /// Returns all values. Values in memory are borrowed, as are those that a mapped file holds in one batch; others
    /// are copied into memory by the first call, and stay there.
    pub fn to_slice(&self) -> &[f32] {
        self.file.as_ref().map_or(&self.own, InFile::all)
    }

    /// Returns all values to be changed in place. Values of a file are copied into memory; the file does not change.
    pub fn to_mut_slice(&mut self) -> &mut [f32] {
        self.in_memory()
    }

    /// Returns all values as a vector, whose length the caller may change. Values of a file are copied into memory; the
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

    /// Whether the values of a file were copied into memory as a whole.
    #[cfg(all(test, feature = "columnar", feature = "learners"))]
    pub(crate) fn is_copied(&self) -> bool {
        self.file.as_ref().is_some_and(InFile::is_copied)
    }

    /// The values, if they are in a file.
    pub(super) fn in_file(&self) -> Option<&InFile> {
        self.file.as_ref()
    }

    /// Has passes go through these parts of the documents from now on.
    pub(super) fn cut(&mut self, parts: Parts) {
        if self.parts == parts {
            return;
        }
        if let Some(file) = &mut self.file {
            file.cut(parts.clone());
        }
        self.parts = parts;
    }

    /// Returns the parts that passes go through.
    pub(crate) fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Returns the processes that share the reading: the given ones if features are streamed.
    pub(crate) fn readers<'a>(&self, processes: &'a dyn Processes) -> &'a dyn Processes {
        self.file.as_ref().map_or(&OneProcess, |file| file.readers(processes))
    }

    /// Streams the values of a file from now on ([`InFile::stream`]); returns false for values in memory.
    pub(super) fn stream(&mut self, memory: usize, window: usize) -> bool {
        self.file.as_mut().map(|file| file.stream(memory, window)).is_some()
    }

    /// Returns at most how many bytes of a file are to be in memory, for values that are streamed.
    #[cfg_attr(not(feature = "learners"), allow(dead_code))]
    pub(crate) fn memory(&self) -> Option<usize> {
        self.file.as_ref()?.memory()
    }

    /// Returns the bytes of the window in which training shuffles queries, for values that are streamed.
    #[cfg_attr(not(feature = "learners"), allow(dead_code))]
    pub(crate) fn window(&self) -> Option<usize> {
        self.file.as_ref()?.window()
    }

    /// From now on normalizes streamed values where they are used. Returns false for other values.
    pub(super) fn normalize(&mut self, normalizer: &Normalizer, offsets: &[usize]) -> bool {
        self.file.as_mut().is_some_and(|file| file.normalize(normalizer, offsets))
    }

    /// Fills missing values and adds the columns that say so: where values are streamed, wherever they are used.
    pub(super) fn fill(&mut self, normalizer: &Normalizer, missing: &Indicators, offsets: &[usize]) {
        if !self.file.as_mut().is_some_and(|file| file.fill(normalizer, offsets)) {
            missing.fill_in_place(self.in_memory());
        }
    }

    /// Copies rows of `width` values.
    pub(crate) fn copy_rows(&self, width: usize, rows: Range<usize>, out: &mut [f32]) {
        match &self.file {
            Some(file) => file.copy(rows, out),
            None => out.copy_from_slice(&self.own[rows.start * width..rows.end * width]),
        }
    }

    /// Appends rows of `width` values to `out`.
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

    /// Lets another thread read rows that are needed soon, if they are read from a file.
    #[cfg_attr(not(feature = "ranker"), allow(dead_code))]
    pub(crate) fn read_ahead(&self, rows: Vec<Range<usize>>) {
        if let Some(file) = self.file.clone().filter(InFile::is_read) {
            // The thread computes nothing: nobody has to wait for it.
            std::thread::spawn(move || rows.into_iter().for_each(|rows| file.expect(rows)));
        }
    }

    /// Calls `of_block` with the values of a part, in order, in blocks of a multiple of `unit` rows each, except the
    /// last.
    pub(super) fn each_block_of_part(&self, part: usize, unit: usize, mut of_block: impl FnMut(&[f32])) {
        match &self.file {
            Some(file) => file.each_block_of_part(part, unit, of_block),
            None => of_block(self.part_in_memory(part)),
        }
    }

    /// [`each_block_of_part`](Self::each_block_of_part) of the rows that fall to this process: all, of values in
    /// memory.
    pub(crate) fn each_own_block(&self, processes: &dyn Processes, unit: usize, mut of_block: impl FnMut(&[f32])) {
        match &self.file {
            Some(file) => file.each_own_block(processes, unit, of_block),
            None => of_block(&self.own),
        }
    }

    /// The most rows, of `all`, that fall to one of the processes.
    #[cfg_attr(not(feature = "learners"), allow(dead_code))]
    pub(crate) fn most_own_rows(&self, all: usize, processes: &dyn Processes) -> usize {
        self.parts.most_rows(all, self.readers(processes))
    }

    /// Calls `then` with what `of_chunk` makes of every chunk of rows of `width` values, in their order; the chunks of
    /// other processes are gathered. Only of features that are not cut.
    pub(super) fn each_chunk(
        &self,
        width: usize,
        processes: &dyn Processes,
        of_chunk: impl Fn(&[f32]) -> Vec<f64> + Sync,
        mut then: impl FnMut(&[f64]),
    ) {
        match &self.file {
            Some(file) => file.each_chunk(processes, of_chunk, then),
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

    /// Returns the survey of a pass over values in rows of `width`.
    pub(super) fn survey(&self, width: usize, processes: &dyn Processes) -> Cow<'_, Survey> {
        if let Some(file) = &self.file {
            return file.survey_in(processes);
        }
        let of_part = |part| {
            let mut survey = Survey::new(width);
            survey.add(self.part_in_memory(part));
            survey.to_numbers()
        };
        Cow::Owned(Survey::of_parts(&self.parts.gather_numbers(&OneProcess, of_part)))
    }

    /// Returns columns of rows of `width` values, by one pass over a file.
    #[cfg_attr(not(feature = "learners"), allow(dead_code))]
    pub(crate) fn columns(&self, width: usize, columns: Range<usize>) -> Vec<Vec<f32>> {
        self.own_columns(width, columns, &OneProcess)
    }

    /// [`columns`](Self::columns) of the rows that fall to this process.
    #[cfg_attr(not(feature = "learners"), allow(dead_code))]
    pub(crate) fn own_columns(&self, width: usize, columns: Range<usize>, processes: &dyn Processes) -> Vec<Vec<f32>> {
        let rows = self.most_own_rows(self.len() / width.max(1), processes);
        let mut values: Vec<Vec<f32>> = columns.clone().map(|_| Vec::with_capacity(rows)).collect();
        self.each_own_block(processes, 1, |rows| {
            values.par_chunks_mut(COLUMNS).enumerate().for_each(|(chunk, values)| {
                let first = columns.start + chunk * COLUMNS;
                for row in rows.chunks_exact(width) {
                    values.iter_mut().zip(&row[first..]).for_each(|(column, &value)| column.push(value));
                }
            });
        });
        values
    }

    /// Adds all values to a hash: if there are several parts, the hashes of the parts.
    pub(super) fn hash_into(&self, hash: &mut Sha256, processes: &dyn Processes) {
        match &self.file {
            Some(file) => file.hash_into(hash, processes),
            None if self.parts.count() == 1 => hash_floats(&self.own, hash),
            None => (0..self.parts.count()).for_each(|part| {
                let mut of_part = Sha256::new();
                hash_floats(self.part_in_memory(part), &mut of_part);
                hash.update(of_part.finalize());
            }),
        }
    }

    /// [`hash_into`](Self::hash_into) for values as they are in a file. It also checks them.
    pub(super) fn hash_raw_into(&self, hash: &mut Sha256, processes: &dyn Processes) {
        match &self.file {
            Some(file) => file.raw().hash_into(hash, processes),
            None => self.hash_into(hash, processes),
        }
    }

    /// Adds all values to a hash, or their source and normalizer ([`InFile::fingerprint_into`]).
    #[cfg(any(feature = "learners", test))]
    pub(super) fn fingerprint_into(&self, hash: &mut Sha256) {
        match &self.file {
            Some(file) => file.fingerprint_into(hash),
            None => self.hash_into(hash, &OneProcess),
        }
    }

    /// Keeps at most so many bytes of a file in memory.
    #[cfg(feature = "ranker")]
    pub(super) fn keep(&self, bytes: usize) {
        if let Some(file) = &self.file {
            file.keep(bytes);
        }
    }

    /// Refuses the first value of a file that may not be.
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

/// The values, if they are in memory; else their number.
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
