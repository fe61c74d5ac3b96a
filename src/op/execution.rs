//! How a primitive is computed: fused or by tensor operations, and in how much memory.

use std::{
    cell::Cell,
    sync::atomic::{AtomicUsize, Ordering},
};

/// Budget a process starts with: 256 MiB.
const DEFAULT_MEMORY_BUDGET: usize = 256 << 20;

/// Temporaries of `[batch, rows, documents]` that a chunk of rows keeps alive at once, at most.
const LIVE_TEMPORARIES: usize = 8;

static MEMORY_BUDGET: AtomicUsize = AtomicUsize::new(DEFAULT_MEMORY_BUDGET);

thread_local! {
    static TENSOR_PATH_HERE: Cell<bool> = const { Cell::new(false) };
}

/// Sets how many bytes the temporaries of one primitive may take when it is computed by tensor operations, for the
/// whole process; 256 MiB at the start. A list whose single row of pairs exceeds the budget is still computed, one row
/// at a time.
pub fn set_memory_budget(bytes: usize) {
    MEMORY_BUDGET.store(bytes, Ordering::Relaxed);
}

/// The budget in bytes; see [`set_memory_budget`].
pub fn memory_budget() -> usize {
    MEMORY_BUDGET.load(Ordering::Relaxed)
}

/// Runs `f` with every primitive that this thread calls computed, and differentiated, by its tensor definition.
pub fn with_tensor_path<R>(f: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            TENSOR_PATH_HERE.set(self.0);
        }
    }
    let _restore = Restore(TENSOR_PATH_HERE.replace(true));
    f()
}

/// Whether a primitive called now uses its tensor definition.
pub(super) fn uses_tensor_path() -> bool {
    TENSOR_PATH_HERE.get()
}

/// Ranges of rows whose `[batch, rows, documents]` temporaries stay within the memory budget.
pub(super) fn row_chunks(batch: usize, documents: usize, element_bytes: usize) -> impl Iterator<Item = (usize, usize)> {
    chunks(memory_budget(), batch * documents * element_bytes * LIVE_TEMPORARIES, documents)
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
    fn the_tensor_path_ends_with_its_scope() {
        assert!(with_tensor_path(|| with_tensor_path(uses_tensor_path) && uses_tensor_path()));
        assert!(std::panic::catch_unwind(|| with_tensor_path(|| panic!("unwinds"))).is_err());
        assert!(!uses_tensor_path());
    }
}
