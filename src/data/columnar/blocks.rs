//! Keeps recently used blocks of a file in memory.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytemuck::{Pod, Zeroable};
use lru::LruCache;

/// The size of a block in bytes.
pub(super) const BLOCK: usize = 512 << 10;

/// A piece of memory into which a disk may write directly, without the system's cache. The address and the size of a
/// page are multiples of the block size of any disk. Pages are allocated only on the heap (`bytemuck::zeroed_vec`).
/// When a page was on the stack, code optimized by LLVM 22 returned through a stack frame that was never set up.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(4096))]
pub(super) struct Page([u8; 4096]);

/// The most recently used blocks of a file, up to a limit.
pub(super) struct Blocks {
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
