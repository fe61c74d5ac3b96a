//! The values of a dataset's features, in memory or in a file.

mod in_file;
mod passes;
mod survey;

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

#[cfg(feature = "columnar")]
use arrow_buffer::ScalarBuffer;
use sha2::Sha256;
use sha2::digest::{Digest, Output};

use super::indicators::Indicators;
use super::normalizer::Normalizer;
use super::shards::Parts;
use crate::distributed::ProcessGroup;
use crate::text::counted;
use in_file::InFile;
pub use in_file::Source;
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
    /// The values in memory; empty if they are in a file.
    values: Vec<f32>,
    file: Option<InFile>,
    /// The parts into which the values are divided. Each pass works through the parts in order.
    parts: Parts,
    /// The group that the dataset is shared with.
    group: ProcessGroup,
    /// The limits of streaming; `None` if features are not streamed.
    streaming: Option<Streaming>,
    /// The findings of earlier passes, which clones share.
    known: Arc<Known>,
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

/// The hash of all values, kept so that a later call need not read them again.
#[derive(Clone)]
enum Hashed {
    /// A hash to which all values were added. `before` is the digest of the hash without the values, and `after` is the
    /// hash with them.
    Whole { before: Output<Sha256>, after: Sha256 },
    /// The hash of each part, if the rows are cut into parts.
    Parts(Vec<Vec<u8>>),
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

impl Features {
    /// Creates the features of a file with `width` values in each row, at least 1.
    pub(crate) fn in_file(source: Box<dyn Source>, width: usize) -> Self {
        Self { file: Some(InFile::new(source, width)), ..Self::default() }
    }

    /// Returns all values. Nothing is copied if the values are in memory, or if a mapped file holds them in one batch.
    /// Otherwise, the first call copies all values into memory, where they stay.
    pub fn to_slice(&self) -> &[f32] {
        self.file.as_ref().map_or(&self.values[..], InFile::all)
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
        if let Some(mut file) = self.file.take() {
            self.values = file.take_all();
        }
        &mut self.values
    }

    /// Returns whether the values stay in a file.
    pub(crate) fn is_in_file(&self) -> bool {
        self.file.is_some()
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.file.as_ref().map_or(self.values.len(), InFile::len)
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether all values of a file were copied into memory.
    #[cfg(test)]
    pub(crate) fn is_copied(&self) -> bool {
        self.file.as_ref().is_some_and(InFile::is_copied)
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
        if let Some(file) = &self.file {
            file.keep(bytes);
        }
    }

    /// Returns whether a normalizer is applied whenever values are used: they are streamed, and not yet normalized.
    pub(super) fn normalizes_on_use(&self) -> bool {
        self.streaming.is_some() && self.file.as_ref().is_some_and(|file| file.normalizer().is_none())
    }

    /// Normalizes values from now on, whenever they are used. Returns false if they are normalized in place instead.
    pub(super) fn normalize(&mut self, normalizer: &Normalizer, offsets: &[usize]) -> bool {
        let is_on_use = self.normalizes_on_use();
        if let Some(file) = self.file.as_mut().filter(|_| is_on_use) {
            file.use_as(normalizer, offsets);
        }
        is_on_use
    }

    /// Fills missing values and adds the columns that mark them. Streamed values are filled whenever they are used.
    pub(super) fn fill(&mut self, normalizer: &Normalizer, missing: &Indicators, offsets: &[usize]) {
        match &mut self.file {
            Some(file) if self.streaming.is_some() => file.use_as(normalizer, offsets),
            _ => missing.fill_in_place(self.in_memory()),
        }
    }

    /// Copies a range of rows, with `width` values each, to `out`.
    pub(crate) fn copy_rows(&self, width: usize, rows: Range<usize>, out: &mut [f32]) {
        match &self.file {
            Some(file) => file.copy(rows, out),
            None => out.copy_from_slice(&self.values[rows.start * width..rows.end * width]),
        }
    }

    /// Appends a range of rows, with `width` values each, to `out`.
    pub(super) fn append_to(&self, width: usize, rows: Range<usize>, out: &mut Vec<f32>) {
        let start = out.len();
        out.resize(start + rows.len() * width, 0.0);
        self.copy_rows(width, rows, &mut out[start..]);
    }

    /// If values are in a file, starts a thread that loads the given rows before they are needed.
    pub(crate) fn read_ahead(&self, rows: Vec<Range<usize>>) {
        if let Some(file) = self.file.clone().filter(InFile::is_read) {
            // The thread computes nothing: nobody has to wait for it, and it may be missing.
            let read = move || rows.into_iter().for_each(|rows| file.expect(rows));
            let _ = std::thread::Builder::new().spawn(read);
        }
    }
}

impl From<Vec<f32>> for Features {
    fn from(values: Vec<f32>) -> Self {
        Self { values, ..Self::default() }
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
