//! Splits the pairs of a list into tiles and stripes of rows, and blocks of documents.

use std::ops::Range;

use super::real::Real;

/// The number of rows in a tile; a few arrays of this length fit in the first-level cache.
pub const TILE: usize = 128;

/// The number of documents whose terms are summed separately. Separate sums let rounding errors grow only with the
/// square root of the length of a list.
pub const BLOCK: usize = 128;

/// The largest number of stripes, ranges of rows with separate partial sums, in one list.
const STRIPES: usize = 16;

/// The number of documents that a block leaves out, normally none. The feature `_broken_kernel` drops one, which lets a
/// test check that `devices compare` finds a wrong kernel.
pub const LOST: usize = cfg!(feature = "_broken_kernel") as usize;

/// Splits the rows of a list into at most [`STRIPES`] ranges of whole tiles.
pub fn stripes(rows: usize) -> Vec<Range<usize>> {
    let tiles = rows.div_ceil(TILE).div_ceil(STRIPES).max(1);
    (0..rows).step_by(tiles * TILE).map(|start| start..(start + tiles * TILE).min(rows)).collect()
}

/// Splits the documents into blocks of at most [`BLOCK`].
#[inline(always)]
pub fn blocks(documents: usize) -> impl Iterator<Item = Range<usize>> {
    (0..documents).step_by(BLOCK).map(move |start| start..(start + BLOCK).min(documents) - LOST)
}

/// Adds the sums of a block to the sums of its tile.
#[inline(always)]
pub fn add<T: Real>(sums: &mut [T], partial: &[T]) {
    for (sum, &partial) in sums.iter_mut().zip(partial) {
        *sum = *sum + partial;
    }
}

/// Adds the partial sums of all stripes to `out`, in order.
pub fn reduce<T: Real>(out: &mut [T], partials: &[Vec<T>]) {
    for partial in partials {
        add(out, partial);
    }
}
