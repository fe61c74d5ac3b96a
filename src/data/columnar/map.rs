//! Provides the bytes of an input: a file is mapped into memory, and other inputs are read.

#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytemuck::{Pod, Zeroable};
use bytes::Bytes;
use lru::LruCache;
use memmap2::Mmap;

use crate::data::error::DataError;
use crate::data::source::Input;

/// A mapped file. If only part of the file is allowed in memory, bytes are read instead of mapped. Reads bypass the
/// system's cache where the file system allows it, because the cache would read further bytes around each request.
/// Reading is twenty times as fast as a mapping whose pages are released one by one to respect a memory limit.
pub(super) struct FileMap {
    map: Mmap,
    file: File,
    blocks: Blocks,
}

impl FileMap {
    fn open(path: &Path) -> Result<Self, DataError> {
        let file = File::open(path).map_err(DataError::io(path))?;
        // SAFETY: the mapping is read-only. Whoever changes the file in place while it is mapped changes
        // floats under our hands or ends the process; the documentation of the formats says so. Every length and offset
        // in the file is compared with the mapping's length, which does not change.
        let map = unsafe { Mmap::map(&file) }.map_err(DataError::io(path))?;
        Ok(Self { map, file, blocks: Blocks::default() })
    }

    /// Returns the byte range of the values in the file, if they lie in the mapping.
    pub fn place_of(&self, values: &[f32]) -> Option<Range<usize>> {
        let start = (values.as_ptr() as usize).checked_sub(self.map.as_ptr() as usize)?;
        let end = start.checked_add(size_of_val(values))?;
        (end <= self.map.len()).then_some(start..end)
    }

    /// Keeps at most this many bytes of the file in memory from now on. A file that fits within the limit stays mapped.
    pub fn keep(&self, bytes: usize) {
        if bytes < self.map.len() {
            self.blocks.keep(bytes);
            pass_by_cache(&self.file);
        }
    }

    /// Returns whether bytes are read instead of mapped.
    pub fn is_read(&self) -> bool {
        self.blocks.is_limited()
    }

    /// Copies bytes of the file to `out`, and keeps the blocks that hold these bytes in memory for later calls.
    pub fn copy(&self, bytes: Range<usize>, out: &mut [u8]) {
        self.each_piece(bytes, out, |block, wanted, piece| {
            self.blocks.with(block, |pages| self.fill(block, pages), |held| piece.copy_from_slice(&held[wanted]));
        });
    }

    /// Loads the blocks that hold these bytes into memory, because they will be copied soon.
    pub fn expect(&self, bytes: Range<usize>) {
        blocks_of(&bytes).for_each(|block| self.blocks.with(block, |pages| self.fill(block, pages), |_| ()));
    }

    /// Copies bytes of the file to `out` without keeping their blocks in memory.
    pub fn read(&self, bytes: Range<usize>, out: &mut [u8]) {
        let mut pages = Vec::new();
        self.each_piece(bytes, out, |block, wanted, piece| {
            pages = self.fill(block, std::mem::take(&mut pages));
            piece.copy_from_slice(&bytemuck::cast_slice::<_, u8>(&pages)[wanted]);
        });
    }

    /// Calls `of_piece` with the number of each block that holds some of the bytes, with the range of these bytes in
    /// the block, and with the part of `out` that receives them.
    fn each_piece(
        &self,
        bytes: Range<usize>,
        mut out: &mut [u8],
        mut of_piece: impl FnMut(usize, Range<usize>, &mut [u8]),
    ) {
        for block in blocks_of(&bytes) {
            let whole = self.whole(block);
            let wanted = whole.start.max(bytes.start) - whole.start..whole.end.min(bytes.end) - whole.start;
            let (piece, rest) = std::mem::take(&mut out).split_at_mut(wanted.len());
            of_piece(block, wanted, piece);
            out = rest;
        }
    }

    /// Reads a block of the file into pages.
    fn fill(&self, block: usize, mut pages: Vec<Page>) -> Vec<Page> {
        let whole = self.whole(block);
        if pages.is_empty() {
            pages = bytemuck::zeroed_vec(BLOCK / size_of::<Page>());
        }
        let bytes = bytemuck::cast_slice_mut(&mut pages);
        // The mapping is the last resort, for the system then says what is wrong with the disk.
        if read_at(&self.file, whole.clone(), bytes).is_err() {
            bytes[..whole.len()].copy_from_slice(&self.map[whole.clone()]);
        }
        // Else the system would keep them too, if it has them in its cache.
        forget(&self.file, whole);
        pages
    }

    fn whole(&self, block: usize) -> Range<usize> {
        block * BLOCK..((block + 1) * BLOCK).min(self.map.len())
    }
}

fn blocks_of(bytes: &Range<usize>) -> Range<usize> {
    bytes.start / BLOCK..bytes.end.div_ceil(BLOCK)
}

/// Reads bytes of a file to the beginning of `out`. `out` has room for whole pages, because reads that bypass the cache
/// need whole pages.
#[cfg(unix)]
fn read_at(file: &File, bytes: Range<usize>, out: &mut [u8]) -> io::Result<()> {
    use std::os::unix::fs::FileExt;

    let mut read = 0;
    while read < bytes.len() {
        match file.read_at(&mut out[read..], (bytes.start + read) as u64) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn read_at(_: &File, _: Range<usize>, _: &mut [u8]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Makes reads of the file bypass the system's cache. If the file system does not support that, the cache is told to
/// read nothing beyond a request.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn pass_by_cache(file: &File) {
    use rustix::fs::{Advice, OFlags, fadvise, fcntl_getfl, fcntl_setfl};

    let Ok(flags) = fcntl_getfl(file) else { return };
    let mut page: Vec<Page> = bytemuck::zeroed_vec(1);
    let can = fcntl_setfl(file, flags | OFlags::DIRECT).is_ok()
        && read_at(file, 0..1, bytemuck::cast_slice_mut(&mut page)).is_ok();
    if !can {
        // Both are best efforts: reading works without.
        let _ = fcntl_setfl(file, flags);
        let _ = fadvise(file, 0, None, Advice::Random);
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn pass_by_cache(_: &File) {}

/// Removes bytes of the file from the system's cache.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn forget(file: &File, bytes: Range<usize>) {
    let length = std::num::NonZeroU64::new(bytes.len() as u64);
    // A hint, as all advice.
    let _ = rustix::fs::fadvise(file, bytes.start as u64, length, rustix::fs::Advice::DontNeed);
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn forget(_: &File, _: Range<usize>) {}

/// Keeps a file mapped as long as its bytes are in use.
struct Owner(Arc<FileMap>);

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        &self.0.map
    }
}

/// Returns the bytes of an input and, if the input is a file, its mapping. A reader may provide at most `most` bytes.
pub(super) fn bytes_of(input: Input, most: u64) -> Result<(Bytes, Option<Arc<FileMap>>), DataError> {
    let Input { name: path, reader } = input;
    let Some(reader) = reader else {
        let map = Arc::new(FileMap::open(&path)?);
        return Ok((Bytes::from_owner(Owner(map.clone())), Some(map)));
    };
    let mut bytes = Vec::new();
    reader.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(DataError::io(&path))?;
    if bytes.len() as u64 > most {
        let (found, limit) = (format!("more than {most} bytes"), format!("{most} bytes"));
        return Err(DataError::limit(&path, found, limit, "max_decompressed_bytes"));
    }
    Ok((Bytes::from(bytes), None))
}

/// The size of a block in bytes.
const BLOCK: usize = 512 << 10;

/// A piece of memory into which a disk may write directly, without the system's cache. The address and the size of a
/// page are multiples of the block size of any disk. Pages are allocated only on the heap (`bytemuck::zeroed_vec`).
/// When a page was on the stack, code optimized by LLVM 22 returned through a stack frame that was never set up.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(4096))]
struct Page([u8; 4096]);

/// The most recently used blocks of a file, up to a limit.
struct Blocks {
    is_limited: AtomicBool,
    held: Mutex<LruCache<usize, Pages>>,
}

/// The pages that hold the bytes of a block. The first thread that needs the pages fills them, while other threads
/// wait.
type Pages = Arc<OnceLock<Vec<Page>>>;

impl Default for Blocks {
    fn default() -> Self {
        Self { is_limited: AtomicBool::new(false), held: Mutex::new(LruCache::unbounded()) }
    }
}

impl Blocks {
    /// Limits the blocks in memory to this many bytes, but to no less than one block.
    pub fn keep(&self, bytes: usize) {
        let most = NonZeroUsize::new(bytes / BLOCK).unwrap_or(NonZeroUsize::MIN);
        self.held.lock().unwrap_or_else(PoisonError::into_inner).resize(most);
        self.is_limited.store(true, Ordering::Relaxed);
    }

    /// Returns whether the number of blocks is limited.
    pub fn is_limited(&self) -> bool {
        self.is_limited.load(Ordering::Relaxed)
    }

    /// Calls `of_bytes` with the bytes of a block. A block that is not yet in memory is read first; if the limit is
    /// reached, it replaces the least recently used block. `read` fills the pages of the replaced block, or new pages
    /// if another thread still uses the replaced ones.
    pub fn with<T>(
        &self,
        block: usize,
        read: impl FnOnce(Vec<Page>) -> Vec<Page>,
        of_bytes: impl FnOnce(&[u8]) -> T,
    ) -> T {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let (pages, gone) = match held.get(&block) {
            Some(pages) => (pages.clone(), None),
            None => {
                let pages = Pages::default();
                let gone = held.push(block, pages.clone());
                (pages, gone)
            }
        };
        drop(held);
        let spare = gone.and_then(|(_, pages)| Arc::into_inner(pages)?.into_inner());
        of_bytes(bytemuck::cast_slice(pages.get_or_init(|| read(spare.unwrap_or_default()))))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn bytes_that_are_read_are_those_of_the_mapping() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bytes");
        let bytes: Vec<u8> = (0..3 * BLOCK + 77).map(|at| (at * 31 % 251) as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        let map = FileMap::open(&path).unwrap();
        map.keep(bytes.len());
        assert!(!map.is_read(), "a file that fits stays mapped");
        map.keep(BLOCK);
        assert!(map.is_read());
        map.expect(0..bytes.len());
        for range in [0..1, 5..BLOCK, BLOCK - 1..BLOCK + 1, 17..bytes.len(), 3 * BLOCK..bytes.len(), 9..9] {
            let mut out = vec![0; range.len()];
            map.copy(range.clone(), &mut out);
            assert_eq!(out, bytes[range.clone()], "{range:?}");
            out.fill(0);
            map.read(range.clone(), &mut out);
            assert_eq!(out, bytes[range.clone()], "{range:?}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_is_taken_from_the_mapping() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bytes");
        std::fs::write(&path, [7; 100]).unwrap();
        let mut map = FileMap::open(&path).unwrap();
        // Opened only for writing.
        map.file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        let mut out = [0; 60];
        map.read(30..90, &mut out);
        assert_eq!(out, [7; 60]);
    }

    #[test]
    fn the_block_used_longest_ago_is_read_again() {
        let blocks = Blocks::default();
        assert!(!blocks.is_limited());
        blocks.keep(2 * BLOCK);
        assert!(blocks.is_limited());
        let mut read = Vec::new();
        for block in [1, 2, 1, 3, 2, 2, 1] {
            let filled = |mut pages: Vec<Page>| {
                read.push(block);
                pages.resize(1, Page::zeroed());
                bytemuck::cast_slice_mut(&mut pages).fill(block as u8);
                pages
            };
            blocks.with(block, filled, |bytes| assert_eq!(bytes, [block as u8; 4096]));
        }
        assert_eq!(read, [1, 2, 3, 2, 1]);
    }

    #[test]
    fn a_block_is_read_once_for_all_threads() {
        let (blocks, reads) = (Blocks::default(), AtomicUsize::new(0));
        blocks.keep(BLOCK);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let filled = |_| {
                        reads.fetch_add(1, Ordering::Relaxed);
                        vec![Page([9; 4096])]
                    };
                    blocks.with(5, filled, |bytes| assert_eq!(bytes, [9; 4096]));
                });
            }
        });
        assert_eq!(reads.into_inner(), 1);
    }
}
