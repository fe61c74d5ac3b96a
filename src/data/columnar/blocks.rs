//! Blocks of a file that are held in memory, the ones used last.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytemuck::{Pod, Zeroable};
use lru::LruCache;

/// Size of a block in bytes.
pub(super) const BLOCK: usize = 512 << 10;

/// Memory into which a disk may write directly, without the system's cache. Its address and size are multiples of the
/// block size of any disk. Pages are only allocated on the heap (`bytemuck::zeroed_vec`): with one on the stack, an
/// optimized build was seen to return through a frame that it had not set up (LLVM 22).
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(4096))]
pub(super) struct Page([u8; 4096]);

/// At most so many blocks of a file.
pub(super) struct Blocks {
    is_limited: AtomicBool,
    held: Mutex<LruCache<usize, Pages>>,
}

/// Filled by the first thread that wants them, while others wait.
type Pages = Arc<OnceLock<Vec<Page>>>;

impl Default for Blocks {
    fn default() -> Self {
        Self { is_limited: AtomicBool::new(false), held: Mutex::new(LruCache::unbounded()) }
    }
}

impl Blocks {
    /// Holds at most so many bytes from now on, and at least one block.
    pub fn keep(&self, bytes: usize) {
        let most = NonZeroUsize::new(bytes / BLOCK).unwrap_or(NonZeroUsize::MIN);
        self.held.lock().unwrap_or_else(PoisonError::into_inner).resize(most);
        self.is_limited.store(true, Ordering::Relaxed);
    }

    /// Returns whether there is a largest number of blocks.
    pub fn is_limited(&self) -> bool {
        self.is_limited.load(Ordering::Relaxed)
    }

    /// Calls `of_bytes` with the bytes of a block. If they are not held, the least recently used block is dropped.
    /// `read` fills its pages, or other pages if somebody still uses them.
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
