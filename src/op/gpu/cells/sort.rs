//! Sorts the columns of each list by descending score. Columns with equal scores are sorted by index.
//!
//! Each cube sorts a tile of [`UNITS`] documents by counting how many documents come before each of them. Sorted runs
//! are then merged in pairs: each document finds its place in the other run by bisection. No two documents compare as
//! equal, so the order does not depend on the number of units or on padding. The sort needs no atomic operations and
//! gives the same result in every run.

use burn_cubecl::cubecl::{self, prelude::*};
use burn_cubecl::tensor::CubeTensor;

use super::choice::fast_columns;
use crate::op::gpu::launch::{Batch, start};
use crate::op::gpu::tile::UNITS;

/// Returns a whole number that is larger for lower scores; positive and negative zero have the same number.
#[cube]
fn key(score: f32) -> u32 {
    let bits = u32::reinterpret(score);
    let bits = select(bits == 0x8000_0000u32, 0u32, bits);
    select(bits < 0x8000_0000u32, 0x7fff_ffffu32 - bits, bits)
}

/// Returns whether a document comes before another in the sorted list, given the keys of their scores.
#[cube]
fn precedes(key: u32, document: u32, other_key: u32, other: u32) -> bool {
    key < other_key || (key == other_key && document < other)
}

/// Sorts the columns of each tile of [`UNITS`] documents. One cube per tile.
#[cube(launch)]
fn sort_tiles(
    x: &[f32],
    order: &[u32],
    counts: &[u32],
    keys: &mut [u32],
    sorted: &mut [u32],
    lists: usize,
    documents: usize,
) {
    let mut tile_keys = Shared::<[u32]>::new_slice(UNITS);
    let mut tile_documents = Shared::<[u32]>::new_slice(UNITS);
    let tiles = documents.div_ceil(UNITS);
    let list = min(CUBE_POS / tiles, lists - 1);
    let unit = UNIT_POS as usize;
    let first = (CUBE_POS % tiles) * UNITS;
    let count = fast_columns(counts, list);
    let length = min(max(count, first) - first, UNITS);
    // The columns follow the rows.
    let columns = (list * 2 + 1) * (documents + 1);
    if unit < length {
        let document = order[columns + first + unit];
        tile_keys[unit] = key(x[list * documents + document as usize]);
        tile_documents[unit] = document;
    }
    sync_cube();
    if unit < length {
        let mine = tile_keys[unit];
        let document = tile_documents[unit];
        let mut place = 0usize;
        for other in 0..length {
            let before = precedes(tile_keys[other], tile_documents[other], mine, document);
            place += select(before, 1usize, 0usize);
        }
        keys[list * documents + first + place] = mine;
        sorted[list * documents + first + place] = document;
    }
}

/// Merges pairs of neighboring sorted runs of `length` documents. One unit per place.
#[cube(launch)]
fn merge_runs(
    keys: &[u32],
    sorted: &[u32],
    counts: &[u32],
    to_keys: &mut [u32],
    to_sorted: &mut [u32],
    lists: usize,
    documents: usize,
    length: usize,
) {
    let cell = ABSOLUTE_POS;
    if cell < lists * documents {
        let list = cell / documents;
        let place = cell % documents;
        let count = fast_columns(counts, list);
        if place < count {
            let start = list * documents;
            let pair = place / (2 * length) * (2 * length);
            let middle = min(pair + length, count);
            let is_first = place < middle;
            // The place where the other run begins and ends.
            let begin = select(is_first, middle, pair);
            let mut low = begin;
            let mut high = select(is_first, min(pair + 2 * length, count), middle);
            let mine = keys[cell];
            let document = sorted[cell];
            while low < high {
                let half = (low + high) / 2;
                if precedes(keys[start + half], sorted[start + half], mine, document) {
                    low = half + 1;
                } else {
                    high = half;
                }
            }
            // The keys before it in its own run, and in the other.
            let own = place - select(is_first, pair, middle);
            let target = start + pair + own + (low - begin);
            to_keys[target] = mine;
            to_sorted[target] = document;
        }
    }
}

/// Returns the indices of the columns of each list by descending score. For each list, `counts` holds the number of
/// columns to sort, which come first in `order`. The remaining places are left uninitialized.
pub(in crate::op::gpu) fn sort(batch: &Batch, x: &CubeTensor, order: &CubeTensor, counts: &CubeTensor) -> CubeTensor {
    let [mut keys, mut sorted, mut to_keys, mut to_sorted] = [(); 4].map(|()| batch.indices(batch.documents));
    start!(
        batch.cubes_for(batch.lists * batch.documents.div_ceil(UNITS)),
        sort_tiles::launch,
        [x, order, counts],
        [&keys, &sorted]
    );
    let mut length = UNITS;
    while length < batch.documents {
        start!(
            batch.cubes_per_document(),
            merge_runs::launch,
            [&keys, &sorted, counts],
            [&to_keys, &to_sorted],
            length
        );
        std::mem::swap(&mut keys, &mut to_keys);
        std::mem::swap(&mut sorted, &mut to_sorted);
        length *= 2;
    }
    sorted
}
