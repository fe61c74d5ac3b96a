//! What the execution of the calling thread means for a primitive: which path, and how many rows at once.

use crate::execution::{Execution, PrimitivePath};

/// Temporaries of `[batch, rows, documents]` that a chunk of rows keeps alive at once, at most.
const LIVE_TEMPORARIES: usize = 8;

/// Whether a primitive called now uses its tensor definition.
pub(super) fn uses_tensor_path() -> bool {
    Execution::current().path() == PrimitivePath::Tensor
}

/// Ranges of rows whose `[batch, rows, documents]` temporaries stay within the memory budget.
pub(super) fn row_chunks(batch: usize, documents: usize, element_bytes: usize) -> impl Iterator<Item = (usize, usize)> {
    let budget = Execution::current().memory_budget();
    chunks(budget, batch * documents * element_bytes * LIVE_TEMPORARIES, documents)
}

/// Ranges of rows of `row_bytes` each, as many to a range as the budget holds, at least one.
fn chunks(budget: usize, row_bytes: usize, documents: usize) -> impl Iterator<Item = (usize, usize)> {
    let rows = (budget / row_bytes.max(1)).clamp(1, documents.max(1));
    (0..documents).step_by(rows).map(move |start| (start, (start + rows).min(documents)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_every_row_once() {
        assert_eq!(chunks(100, 25, 10).collect::<Vec<_>>(), [(0, 4), (4, 8), (8, 10)]);
        assert_eq!(chunks(1000, 25, 10).collect::<Vec<_>>(), [(0, 10)]);
        assert_eq!(chunks(100, 25, 0).count(), 0);
    }

    #[test]
    fn a_row_beyond_the_budget_is_taken_alone() {
        assert_eq!(chunks(10, 25, 3).collect::<Vec<_>>(), [(0, 1), (1, 2), (2, 3)]);
    }

    #[test]
    fn the_budget_of_the_thread_cuts_the_rows() {
        let rows = |budget| Execution::current().with_memory_budget(budget).scope(|| row_chunks(2, 10, 4).count());
        assert_eq!((rows(1), rows(1280), rows(usize::MAX)), (10, 5, 1));
        assert_eq!(row_chunks(2, 10, 4).count(), 1);
    }
}
