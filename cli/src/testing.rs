//! The library's test helpers: threads that act as processes, and files that count their reads.

use burn_rank::data::{DataError, RankingDataset};
use burn_rank::workbench::distributed::{ProcessGroup, Processes};
use burn_rank::workbench::testing::{Source, of_source};

#[path = "../../src/distributed/testing.rs"]
mod processes;
#[path = "../../src/data/features/tests/testing.rs"]
mod slices;

pub(crate) use processes::in_processes;
pub(crate) use slices::Reads;

/// Returns the same data, streamed from two slices with a window of `window` bytes. Also returns how often each value
/// was read.
pub(crate) fn streamed_and_counted(data: &RankingDataset, window: usize) -> (RankingDataset, Reads) {
    let (mut file, reads) = slices::counted_in_slices(data, &[data.documents() / 3], true);
    file.stream(2 * window, window).unwrap();
    (file, reads)
}
