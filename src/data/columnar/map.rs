//! The bytes of an input: a file is mapped into memory, anything else is read.

#![allow(unsafe_code)]

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use memmap2::Mmap;

use super::resident::{BLOCK, Resident};
use crate::data::{DataError, Input};

/// A mapped file, of which no more than a number of bytes is kept in memory where one is asked for.
pub(super) struct FileMap {
    map: Mmap,
    resident: Mutex<Resident>,
}

impl FileMap {
    fn open(path: &Path) -> Result<Self, DataError> {
        let file = File::open(path).map_err(DataError::io(path))?;
        // SAFETY: the mapping is read-only. Whoever changes the file in place while it is mapped changes
        // floats under our hands or ends the process; the documentation of the formats says so. Every length and offset
        // in the file is compared with the mapping's length, which does not change.
        let map = unsafe { Mmap::map(&file) }.map_err(DataError::io(path))?;
        Ok(Self { map, resident: Mutex::default() })
    }

    /// Returns the bytes that values take in the file, if they lie in it.
    pub fn place_of(&self, values: &[f32]) -> Option<Range<usize>> {
        let start = (values.as_ptr() as usize).checked_sub(self.map.as_ptr() as usize)?;
        let end = start.checked_add(size_of_val(values))?;
        (end <= self.map.len()).then_some(start..end)
    }

    /// Keeps at most so many of the bytes that are [used](Self::used). The system reads no more than what is
    /// [expected](Self::expect): around each page that is not in memory it would else read megabytes, which may not fit.
    pub fn keep(&self, bytes: usize) {
        #[cfg(unix)]
        // A hint, as all advice.
        let _ = self.map.advise(memmap2::Advice::Random);
        self.resident.lock().unwrap_or_else(PoisonError::into_inner).keep(bytes);
    }

    /// Notes that bytes were used, and gives back those that were used longest ago.
    pub fn used(&self, bytes: Range<usize>) {
        let mut resident = self.resident.lock().unwrap_or_else(PoisonError::into_inner);
        for block in bytes.start / BLOCK..bytes.end.div_ceil(BLOCK) {
            if let Some(gone) = resident.use_block(block) {
                self.give_back(gone * BLOCK..((gone + 1) * BLOCK).min(self.map.len()));
            }
        }
    }

    /// Asks the system to read bytes that are used soon; where nothing limits what it keeps, it reads ahead by itself.
    pub fn expect(&self, bytes: Range<usize>) {
        if !self.resident.lock().unwrap_or_else(PoisonError::into_inner).is_limited() {
            return;
        }
        #[cfg(unix)]
        // A hint: without it they are read when they are used.
        let _ = self.map.advise_range(memmap2::Advice::WillNeed, bytes.start, bytes.len());
        #[cfg(not(unix))]
        let _ = bytes;
    }

    /// Takes bytes out of the memory of the process.
    fn give_back(&self, bytes: Range<usize>) {
        #[cfg(unix)]
        // SAFETY: the mapping is read-only and of a file, so that the same bytes are read again when they are used.
        let _ =
            unsafe { self.map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, bytes.start, bytes.len()) };
        #[cfg(not(unix))]
        let _ = bytes;
    }
}

/// The owner of the bytes of a mapped file.
struct Owner(Arc<FileMap>);

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        &self.0.map
    }
}

/// Returns the bytes of an input, and the map of a file; of a reader at most `most` bytes.
pub(super) fn bytes_of(input: Input, most: u64) -> Result<(Bytes, Option<Arc<FileMap>>), DataError> {
    let (path, reader) = input.into_parts();
    let Some(reader) = reader else {
        let map = Arc::new(FileMap::open(&path)?);
        return Ok((Bytes::from_owner(Owner(map.clone())), Some(map)));
    };
    let mut bytes = Vec::new();
    reader.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(DataError::io(&path))?;
    if bytes.len() as u64 > most {
        return Err(DataError::Limit {
            path,
            found: format!("more than {most} bytes"),
            limit: format!("{most} bytes"),
            option: "max_decompressed_bytes",
        });
    }
    Ok((Bytes::from(bytes), None))
}
