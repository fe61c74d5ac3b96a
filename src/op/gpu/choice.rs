//! Which lists take a fast way.
//!
//! The host knows the width of a batch and reads nothing back: where a list can be long enough, both ways are started,
//! and the device says of each list, by the columns that count, which of them has work there. Padding changes nothing.

use burn_cubecl::cubecl::{self, prelude::*};
use burn_cubecl::tensor::CubeTensor;

use super::diverged::is_finite;
use super::launch::{Batch, read, write};
use super::tile::UNITS;
use crate::execution::{Execution, SumPath};

/// The least number of columns of a list that takes the fast way, `pays` unless the execution decides; `None` if no list
/// of the batch can.
pub(super) fn least(batch_documents: usize, pays: usize) -> Option<usize> {
    match Execution::current().sums() {
        SumPath::Auto => (batch_documents >= pays).then_some(pays),
        SumPath::Pairs => None,
        SumPath::Fast => Some(1),
    }
}

/// Scores of a list that may take the fast way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Scores {
    /// What another makes of a sum is for the kernels over pairs to say.
    Finite,
    Any,
}

/// For each list that has at least `least` columns, with scores that `scores` takes: their number, and that of the rows,
/// which become 0 in `order`, so that kernels over pairs have no work there. For the others 0. One cube per list.
#[cube(launch)]
fn divide(
    x: &[f32],
    order: &mut [u32],
    counts: &mut [u32],
    lists: usize,
    documents: usize,
    least: usize,
    #[comptime] scores: Scores,
) {
    let mut unfit = Shared::<[u32]>::new_slice(UNITS);
    let list = min(CUBE_POS, lists - 1);
    let unit = UNIT_POS as usize;
    let rows = list * 2 * (documents + 1);
    let columns = rows + documents + 1;
    let row_count = order[rows + documents];
    let column_count = order[columns + documents];
    let mut found = 0u32;
    for column in range_stepped(unit, column_count as usize, UNITS) {
        let score = x[list * documents + order[columns + column] as usize];
        let fits = comptime!(scores == Scores::Any) || is_finite(score);
        found = select(fits, found, 1u32);
    }
    unfit[unit] = found;
    sync_cube();
    // Cubes beyond the last list, which a device may start, write nothing.
    if unit == 0 && CUBE_POS < lists {
        for other in 0..UNITS {
            found += unfit[other];
        }
        let fast = found == 0u32 && column_count as usize >= least;
        counts[list * 2] = select(fast, column_count, 0u32);
        counts[list * 2 + 1] = select(fast, row_count, 0u32);
        if fast {
            order[rows + documents] = 0u32;
            order[columns + documents] = 0u32;
        }
    }
}

/// Columns and rows of each list that takes the fast way, taken out of `order`; 0 for the others.
pub(super) fn divided(batch: &Batch, x: &CubeTensor, order: &CubeTensor, least: usize, scores: Scores) -> CubeTensor {
    let counts = batch.indices(2);
    divide::launch(
        &batch.client,
        batch.cubes_for(batch.lists),
        batch.units(),
        read(x),
        write(order),
        write(&counts),
        batch.lists,
        batch.documents,
        least,
        scores,
    );
    counts
}

/// Documents of list `list` that take the fast way, of what [`divided`] made.
#[cube]
pub(super) fn fast_columns(counts: &[u32], list: usize) -> usize {
    counts[list * 2] as usize
}

/// Rows of list `list`, of what [`divided`] made.
#[cube]
pub(super) fn fast_rows(counts: &[u32], list: usize) -> usize {
    counts[list * 2 + 1] as usize
}
