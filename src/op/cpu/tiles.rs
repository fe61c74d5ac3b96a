//! Splits the pairs of a list: rows into tiles and stripes, and documents into blocks.

use std::ops::Range;

use super::real::Real;

/// The number of rows in a tile. A few arrays of this length fit into the first-level cache.
pub const TILE: usize = 128;

/// The number of documents in a block. The terms of each block are added up in a separate sum. With separate sums per
/// block, rounding errors grow only with the square root of the length of a list.
pub const BLOCK: usize = 128;

/// The largest number of stripes of a list. A stripe is a range of rows with its own partial sums.
const STRIPES: usize = 16;

/// The number of documents that are missing from each block, 0 in normal builds. The feature `_broken_kernel` sets this
/// number to 1, so that a test can check that `devices compare` finds a wrong kernel.
pub const LOST: usize = cfg!(feature = "_broken_kernel") as usize;

/// Splits the rows of a list into at most [`STRIPES`] ranges that consist of whole tiles.
pub fn stripes(rows: usize) -> Vec<Range<usize>> {
    let tiles = rows.div_ceil(TILE).div_ceil(STRIPES).max(1);
    (0..rows).step_by(tiles * TILE).map(|start| start..(start + tiles * TILE).min(rows)).collect()
}

/// Splits the documents of a list into blocks of at most [`BLOCK`].
#[inline(always)]
pub fn blocks(documents: usize) -> impl Iterator<Item = Range<usize>> {
    (0..documents).step_by(BLOCK).map(move |start| start..(start + BLOCK).min(documents) - LOST)
}

/// Adds the partial sums of a block to the sums of a tile.
#[inline(always)]
pub fn add<T: Real>(sums: &mut [T], partial: &[T]) {
    for (sum, &partial) in sums.iter_mut().zip(partial) {
        *sum = *sum + partial;
    }
}

/// Adds the partial sums of all stripes to `out`, in the order of the stripes.
pub fn reduce<T: Real>(out: &mut [T], partials: &[Vec<T>]) {
    for partial in partials {
        add(out, partial);
    }
}
