//! Chooses the lists that are computed by a fast method.
//!
//! The host knows the width of a batch and reads nothing back. If a list can be long enough, the host starts both
//! methods. The device then chooses the method for each list by the number of columns that count, so padding changes
//! nothing.

use burn::backend::TensorMetadata;
use burn_cubecl::cubecl::{self, prelude::*};
use burn_cubecl::tensor::CubeTensor;

use crate::execution::{Execution, SumPath};
use crate::op::gpu::diverged::is_finite;
use crate::op::gpu::launch::{Batch, compute, start};
use crate::op::gpu::members::{Counting, order};
use crate::op::gpu::tile::UNITS;

/// Returns the smallest number of columns for the fast method. The smallest number is `pays`, unless the execution
/// decides otherwise. The result is `None` if no list of the batch has that many columns.
pub(in crate::op::gpu) fn least(batch_documents: usize, pays: usize) -> Option<usize> {
    match Execution::current().sums() {
        SumPath::Auto => (batch_documents >= pays).then_some(pays),
        SumPath::Pairs => None,
        SumPath::Fast => Some(1),
    }
}

/// The scores with which a list may be computed by the fast method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::op::gpu) enum Scores {
    /// Accepts only finite scores; for other scores, the kernels over pairs determine the result.
    Finite,
    Any,
}

/// Selects the lists that have at least `least` columns and scores that `scores` accepts. The kernel writes the numbers
/// of columns and rows of selected lists, and sets both to 0 in `order`, so kernels over pairs skip them. For all other
/// lists, the kernel writes 0. One cube per list.
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
    // A device may start cubes beyond the last list, which write nothing.
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

/// Returns the numbers of columns and rows of each list for the fast method, and removes these lists from `order`.
/// Other lists have 0.
pub(in crate::op::gpu) fn divided(
    batch: &Batch,
    x: &CubeTensor,
    order: &CubeTensor,
    least: usize,
    scores: Scores,
) -> CubeTensor {
    let counts = batch.indices(2);
    start!(batch.cubes_for(batch.lists), divide::launch, [x], [order, &counts], least, scores);
    counts
}

/// Returns the number of columns of a list that are computed by the fast method, from the output of [`divided`].
#[cube]
pub(in crate::op::gpu) fn fast_columns(counts: &[u32], list: usize) -> usize {
    counts[list * 2] as usize
}

/// Returns the number of rows of a list that are computed by the fast method, from the output of [`divided`].
#[cube]
pub(in crate::op::gpu) fn fast_rows(counts: &[u32], list: usize) -> usize {
    counts[list * 2 + 1] as usize
}

/// A sum over pairs that is computed in cells for long lists.
pub(in crate::op::gpu) struct ByLength<'a> {
    pub primitive: &'a str,
    /// The part of the name that distinguishes kernels of one function.
    pub form: &'a str,
    pub x: &'a CubeTensor,
    /// The documents that become NaN in lists that have diverged; `None` for all documents.
    pub mask: Option<&'a CubeTensor>,
    /// The numbers of buffers that the kernels in cells and the kernels over pairs need.
    pub bindings: [u32; 2],
    /// The number of columns from which a list is summed in cells, or `None` if it cannot be.
    pub pays: Option<usize>,
    pub counting: Counting<'a>,
}

impl ByLength<'_> {
    /// Returns the outputs of `pairs` for the rows and columns of an order. The closure `cells` overwrites the outputs
    /// of lists that are computed in cells, from the counts of [`divided`].
    pub fn compute<const K: usize>(
        self,
        pairs: impl Fn(&Batch, &CubeTensor) -> [CubeTensor; K],
        cells: impl Fn(&Batch, &CubeTensor, CubeTensor, &[CubeTensor; K]),
    ) -> Option<[CubeTensor; K]> {
        let Self { primitive, form, x, mask, bindings: [in_cells, over_pairs], pays, counting } = self;
        let least = pays.and_then(|pays| least(x.shape().dims::<2>()[1], pays));
        let fast = least.and_then(|least| {
            compute(&format!("{primitive} in cells{form}"), x, mask, in_cells, |batch| {
                let order = order(batch, counting);
                let counts = divided(batch, x, &order, least, Scores::Finite);
                let outputs = pairs(batch, &order);
                cells(batch, &order, counts, &outputs);
                outputs
            })
        });
        let name = format!("{primitive}{form}");
        fast.or_else(|| compute(&name, x, mask, over_pairs, |batch| pairs(batch, &order(batch, counting))))
    }
}
