//! Tiling of the pairs of a list: rows into tiles and stripes, documents into blocks.

use std::ops::Range;

use super::real::Real;

/// Rows of a tile: a few arrays of this length stay in the first-level cache.
pub const TILE: usize = 128;

/// Documents whose terms are summed apart, so that rounding grows with the square root of a long list.
pub const BLOCK: usize = 128;

/// Most stripes of rows with separate partial sums in one list.
const STRIPES: usize = 16;

/// Documents that a block leaves out: none. The feature `_broken_kernel` loses one, so that a test can see that
/// `devices compare` finds a wrong kernel.
pub const LOST: usize = cfg!(feature = "_broken_kernel") as usize;

/// The rows of a list in at most [`STRIPES`] ranges of whole tiles.
pub fn stripes(rows: usize) -> Vec<Range<usize>> {
    let tiles = rows.div_ceil(TILE).div_ceil(STRIPES).max(1);
    (0..rows).step_by(tiles * TILE).map(|start| start..(start + tiles * TILE).min(rows)).collect()
}

/// The documents in blocks of at most [`BLOCK`].
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

/// Adds `partial` sums of each stripe over its rows into `out`, in order.
pub fn reduce<T: Real>(out: &mut [T], partials: &[Vec<T>]) {
    for partial in partials {
        add(out, partial);
    }
}
