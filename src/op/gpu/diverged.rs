//! Sets the results of a list to NaN if one of its scores is not finite. Every document of such a list gets NaN as its
//! result, so that a diverged training run is noticed.
//!
//! The kernels themselves do not ensure this, because `min` and `max` on a device ignore NaN, and skipped pairs are
//! never read. A separate kernel therefore checks the bits of all scores after the others have run.

use burn_cubecl::cubecl::{self, prelude::*};
use burn_cubecl::tensor::CubeTensor;

use super::launch::{Batch, start};
use super::members::is_counted;
use super::tile::UNITS;

/// The bits of an `f32` that hold the exponent; they are all 1 in infinity and NaN. `NAN` holds the bits of NaN.
const EXPONENT: u32 = 0x7f80_0000;
const NAN: u32 = 0x7fc0_0000;

/// Returns whether a number is finite.
#[cube]
pub(super) fn is_finite(value: f32) -> bool {
    (u32::reinterpret(value) & comptime!(EXPONENT)) != comptime!(EXPONENT)
}

/// Returns whether the kernel checks the score of a document and may set its result to NaN.
#[cube]
fn counts(mask: &[f32], cell: usize, #[comptime] masked: bool) -> bool {
    if comptime!(masked) { is_counted(mask[cell]) } else { true.runtime() }
}

/// Writes NaN to all results of a list in which a score is not finite. With a mask, only the documents where it is
/// nonzero are checked and overwritten. One cube per list.
#[cube(launch)]
fn spread(x: &[f32], mask: &[f32], out: &mut [f32], lists: usize, documents: usize, #[comptime] masked: bool) {
    let mut found = Shared::<[u32]>::new_slice(UNITS);
    let first = min(CUBE_POS, lists - 1) * documents;
    let unit = UNIT_POS as usize;
    let mut own = 0u32;
    for document in range_stepped(unit, documents, UNITS) {
        let cell = first + document;
        if counts(mask, cell, masked) && !is_finite(x[cell]) {
            own = 1u32;
        }
    }
    found[unit] = own;
    sync_cube();
    let mut any = 0u32;
    for other in 0..UNITS {
        any += found[other];
    }
    // A device may start cubes beyond the last list, which write the same as the last one.
    if any != 0u32 {
        for document in range_stepped(unit, documents, UNITS) {
            let cell = first + document;
            if counts(mask, cell, masked) {
                out[cell] = f32::reinterpret(comptime!(NAN).runtime());
            }
        }
    }
}

/// Launches [`spread`] for the documents of `mask`, or for all documents without a mask.
pub(super) fn mark_diverged(batch: &Batch, x: &CubeTensor, mask: Option<&CubeTensor>, out: &CubeTensor) {
    start!(batch.cubes_for(batch.lists), spread::launch, [x, mask.unwrap_or(x)], [out], mask.is_some());
}
