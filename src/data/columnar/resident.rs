//! Which blocks of a mapped file are in memory, so that the ones used longest ago can be given back.

use std::collections::HashMap;

/// Size of a block in bytes.
pub(super) const BLOCK: usize = 2 << 20;

/// The blocks of a file that were used last.
pub(super) struct Resident {
    /// Largest number of blocks.
    most: usize,
    /// When each block was used last.
    used: HashMap<usize, u64>,
    clock: u64,
}

impl Default for Resident {
    /// As many blocks as the system keeps.
    fn default() -> Self {
        Self { most: usize::MAX, used: HashMap::new(), clock: 0 }
    }
}

impl Resident {
    /// Keeps at most so many bytes from now on, and at least one block.
    pub fn keep(&mut self, bytes: usize) {
        self.most = (bytes / BLOCK).max(1);
    }

    /// Returns whether blocks are given back at all.
    pub fn is_limited(&self) -> bool {
        self.most < usize::MAX
    }

    /// Notes that a block is used. Returns the block that is to be given back for it, if one is.
    pub fn use_block(&mut self, block: usize) -> Option<usize> {
        if !self.is_limited() {
            return None;
        }
        self.clock += 1;
        self.used.insert(block, self.clock);
        if self.used.len() <= self.most {
            return None;
        }
        let oldest = self.used.iter().min_by_key(|(_, used)| **used).map(|(block, _)| *block)?;
        self.used.remove(&oldest);
        Some(oldest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_used_longest_ago_goes() {
        let mut resident = Resident::default();
        assert_eq!(resident.use_block(9), None);
        resident.keep(2 * BLOCK);
        let gone: Vec<Option<usize>> = [1, 2, 1, 3, 2, 2].map(|block| resident.use_block(block)).into();
        assert_eq!(gone, [None, None, None, Some(2), Some(1), None]);
    }
}
