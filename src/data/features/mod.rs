//! The values of a dataset's features, in memory or in a file.

mod in_file;
mod passes;
mod survey;

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

#[cfg(feature = "columnar")]
use arrow_buffer::ScalarBuffer;

use super::indicators::Indicators;
use super::normalizer::Normalizer;
use super::shards::Parts;
use crate::distributed::ProcessGroup;
use crate::text::counted;
use in_file::InFile;
pub use in_file::Source;
use passes::Hashed;
pub(super) use passes::hash_floats;
use survey::Survey;

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
    place: Place,
    /// The parts into which the values are divided. Each pass works through the parts in order.
    parts: Parts,
    /// The group that the dataset is shared with.
    group: ProcessGroup,
    /// The limits of streaming; `None` if features are not streamed.
    streaming: Option<Streaming>,
    /// The findings of earlier passes, which clones share.
    known: Arc<Known>,
}

/// The place of the values.
#[derive(Clone)]
enum Place {
    Memory(Vec<f32>),
    File(InFile),
}

impl Default for Place {
    fn default() -> Self {
        Self::Memory(Vec::new())
    }
}

/// The limits for streamed features, in bytes.
#[derive(Clone, Copy)]
struct Streaming {
    /// The largest part of the file that may be in memory.
    memory: usize,
    /// The size of the windows in which training shuffles queries.
    window: usize,
}

/// The findings of passes over the values, before they are normalized on the way.
#[derive(Default)]
struct Known {
    survey: OnceLock<Survey>,
    hashed: Mutex<Option<Hashed>>,
}

/// Rows of values, wherever they are. Only values in memory need to be told the number of values in a row, `width`.
trait Rows {
    fn len(&self) -> usize;

    /// Returns all values.
    fn all(&self) -> &[f32];

    /// Copies rows to `out`.
    fn copy(&self, width: usize, rows: Range<usize>, out: &mut [f32]);

    /// Calls `of_block` with consecutive blocks of the rows. The number of rows in a block is a multiple of `unit`,
    /// except in the last block.
    fn each_block(&self, width: usize, rows: Range<usize>, unit: usize, of_block: &mut dyn FnMut(&[f32]));
}

impl Rows for Vec<f32> {
    fn len(&self) -> usize {
        self.len()
    }

    fn all(&self) -> &[f32] {
        self
    }

    fn copy(&self, width: usize, rows: Range<usize>, out: &mut [f32]) {
        out.copy_from_slice(&self[rows.start * width..rows.end * width]);
    }

    fn each_block(&self, width: usize, rows: Range<usize>, _: usize, of_block: &mut dyn FnMut(&[f32])) {
        of_block(&self[rows.start * width..rows.end * width]);
    }
}

impl Features {
    /// Creates the features of a file with `width` values in each row, at least 1.
    pub(crate) fn in_file(source: Box<dyn Source>, width: usize) -> Self {
        Self { place: Place::File(InFile::new(source, width)), ..Self::default() }
    }

    /// Returns all values. Nothing is copied if the values are in memory, or if a mapped file holds them in one batch.
    /// Otherwise, the first call copies all values into memory, where they stay.
    pub fn to_slice(&self) -> &[f32] {
        self.rows().all()
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
        self.known = Arc::default();
        self.streaming = None;
        if let Place::File(file) = &mut self.place {
            self.place = Place::Memory(file.take_all());
        }
        match &mut self.place {
            Place::Memory(values) => values,
            Place::File(_) => unreachable!("the values were just copied into memory"),
        }
    }

    fn rows(&self) -> &dyn Rows {
        match &self.place {
            Place::Memory(values) => values,
            Place::File(file) => file,
        }
    }

    fn file(&self) -> Option<&InFile> {
        if let Place::File(file) = &self.place { Some(file) } else { None }
    }

    /// Returns whether the values stay in a file.
    pub(crate) fn is_in_file(&self) -> bool {
        self.file().is_some()
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.rows().len()
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether all values of a file were copied into memory.
    #[cfg(test)]
    pub(crate) fn is_copied(&self) -> bool {
        self.file().is_some_and(InFile::is_copied)
    }

    /// Divides the documents into parts, which later passes process one after another. The findings of earlier passes
    /// are discarded.
    pub(super) fn cut(&mut self, parts: Parts) {
        if self.parts != parts {
            self.parts = parts;
            self.known = Arc::default();
        }
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
        if self.streaming.is_some() { &self.group } else { ProcessGroup::ALONE }
    }

    /// Streams the values of a file: from now on, each use reads them again. Training shuffles queries within windows
    /// of `window` bytes, and at most `memory` bytes of the file stay in memory. Returns false if the values are in
    /// memory.
    pub(super) fn stream(&mut self, memory: usize, window: usize) -> bool {
        self.keep(memory);
        self.streaming = self.is_in_file().then_some(Streaming { memory, window });
        self.streaming.is_some()
    }

    /// Returns the memory limit for streamed values, in bytes; `None` if values are not streamed.
    pub(crate) fn memory(&self) -> Option<usize> {
        self.streaming.map(|streaming| streaming.memory)
    }

    /// Returns the size in bytes of the windows in which training shuffles streamed queries; `None` if values are not
    /// streamed.
    pub(crate) fn window(&self) -> Option<usize> {
        self.streaming.map(|streaming| streaming.window)
    }

    /// Keeps at most this many bytes of a file in memory.
    pub(super) fn keep(&self, bytes: usize) {
        if let Some(file) = self.file() {
            file.keep(bytes);
        }
    }

    /// Normalizes streamed values from now on, whenever they are used. Returns false if the values are not streamed or
    /// already normalized.
    pub(super) fn normalize(&mut self, normalizer: &Normalizer, offsets: &[usize]) -> bool {
        match &mut self.place {
            Place::File(file) if self.streaming.is_some() && file.normalizer().is_none() => {
                file.use_as(normalizer, offsets);
                true
            }
            _ => false,
        }
    }

    /// Fills missing values and adds the columns that mark them. Streamed values are filled whenever they are used.
    pub(super) fn fill(&mut self, normalizer: &Normalizer, missing: &Indicators, offsets: &[usize]) {
        match &mut self.place {
            Place::File(file) if self.streaming.is_some() => file.use_as(normalizer, offsets),
            _ => missing.fill_in_place(self.in_memory()),
        }
    }

    /// Copies a range of rows, with `width` values each, to `out`.
    pub(crate) fn copy_rows(&self, width: usize, rows: Range<usize>, out: &mut [f32]) {
        self.rows().copy(width, rows, out);
    }

    /// Appends a range of rows, with `width` values each, to `out`.
    pub(super) fn append_to(&self, width: usize, rows: Range<usize>, out: &mut Vec<f32>) {
        let start = out.len();
        out.resize(start + rows.len() * width, 0.0);
        self.copy_rows(width, rows, &mut out[start..]);
    }

    /// If values are in a file, starts a thread that loads the given rows before they are needed.
    pub(crate) fn read_ahead(&self, rows: Vec<Range<usize>>) {
        if let Some(file) = self.file().filter(|file| file.is_read()).cloned() {
            // The thread computes nothing: nobody has to wait for it, and it may be missing.
            let read = move || rows.into_iter().for_each(|rows| file.expect(rows));
            let _ = std::thread::Builder::new().spawn(read);
        }
    }
}

impl From<Vec<f32>> for Features {
    fn from(values: Vec<f32>) -> Self {
        Self { place: Place::Memory(values), ..Self::default() }
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
        match values.file().and_then(InFile::buffer) {
            Some(buffer) => buffer,
            None => std::mem::take(values.to_mut()).into(),
        }
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
        match self.is_in_file() {
            true => write!(formatter, "[{} in a file]", counted(self.len(), "value")),
            false => self.to_slice().fmt(formatter),
        }
    }
}

impl PartialEq for Features {
    fn eq(&self, other: &Self) -> bool {
        self.to_slice() == other.to_slice()
    }
}

#[cfg(test)]
mod tests;
