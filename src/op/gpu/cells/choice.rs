//! Chooses, for each list of a batch, between the kernel over pairs and a method that is fast for long lists.
//!
//! The host knows only the width of the batch, since reading the lengths of the lists would make it wait for the
//! device. If a list could be long enough, the host launches both methods. On the device, one of the two methods
//! computes each list, depending on the list's number of columns without padding.

use burn::backend::TensorMetadata;
use burn_cubecl::cubecl::{self, prelude::*};
use burn_cubecl::tensor::CubeTensor;

use crate::execution::{Execution, SumPath};
use crate::op::gpu::diverged::is_finite;
use crate::op::gpu::launch::{Batch, compute, start};
use crate::op::gpu::members::{Counting, order};
use crate::op::gpu::tile::UNITS;

/// Returns the smallest number of columns for which a list uses the fast method. Normally this number is `pays`, but
/// the execution may force either method. The result is `None` if no list of the batch can have that many columns.
pub(in crate::op::gpu) fn least(batch_documents: usize, pays: usize) -> Option<usize> {
    match Execution::current().sums() {
        SumPath::Auto => (batch_documents >= pays).then_some(pays),
        SumPath::Pairs => None,
        SumPath::Fast => Some(1),
    }
}

/// Which scores the fast method accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::op::gpu) enum Scores {
    /// Only finite scores; lists with other scores are left to the kernel over pairs.
    Finite,
    Any,
}

/// Decides which lists use the fast method: those with at least `least` columns and with scores that are accepted. For
/// these lists, the kernel writes the numbers of columns and rows to `counts`. In `order`, the numbers of columns and
/// rows of these lists become 0, so that the kernel over pairs skips the lists. For all other lists, the kernel writes
/// 0 to `counts`. One cube per list.
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

/// Returns the numbers of columns and rows of each list that uses the fast method, and removes the list from `order`.
/// For lists that do not use the fast method, both numbers are 0.
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

/// Returns the number of columns of a list if it uses the fast method, else 0; `counts` is the output of [`divided`].
#[cube]
pub(in crate::op::gpu) fn fast_columns(counts: &[u32], list: usize) -> usize {
    counts[list * 2] as usize
}

/// Returns the number of rows of a list if it uses the fast method, else 0; `counts` is the output of [`divided`].
#[cube]
pub(in crate::op::gpu) fn fast_rows(counts: &[u32], list: usize) -> usize {
    counts[list * 2 + 1] as usize
}

/// The settings of a primitive that groups the documents of long lists into cells and sums all pairs of shorter lists.
pub(in crate::op::gpu) struct ByLength<'a> {
    pub primitive: &'a str,
    /// The suffix of the kernel's name, which identifies the variant of the primitive.
    pub form: &'a str,
    pub x: &'a CubeTensor,
    /// If a list has a score that is not finite, the results of the documents in this mask become NaN. Without a mask,
    /// all results of the list become NaN.
    pub mask: Option<&'a CubeTensor>,
    /// The number of buffers that the kernels over cells need, and the number that the kernels over pairs need.
    pub bindings: [u32; 2],
    /// The smallest number of columns of a list that is summed over cells, or `None` if the function cannot be summed
    /// over cells.
    pub pays: Option<usize>,
    pub counting: Counting<'a>,
}

impl ByLength<'_> {
    /// Returns the outputs of `pairs`, which receives the rows and columns to visit. The closure `cells` then
    /// overwrites the outputs of the lists that are summed over cells; it receives the output of [`divided`].
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
