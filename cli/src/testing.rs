//! Processes that are threads, and files whose reads are counted: the library's, for tests here.

use burn_rank::data::{ByteSize, DataError, RankingDataset};
use burn_rank::distributed::Processes;
use burn_rank::workbench::testing::{Source, of_source};

#[path = "../../src/distributed/testing.rs"]
mod processes;
#[path = "../../src/data/in_file/testing.rs"]
mod slices;

pub(crate) use processes::in_processes;
pub(crate) use slices::Reads;

/// The same data streamed with a window of so many bytes from two slices, and how often each value was read.
pub(crate) fn streamed_and_counted(data: &RankingDataset, window: usize) -> (RankingDataset, Reads) {
    let (mut file, reads) = slices::counted_in_slices(data, &[data.documents() / 3], true);
    let [memory, window] = [2 * window, window].map(|bytes| format!("{bytes} B").parse::<ByteSize>().unwrap());
    file.stream(memory, window).unwrap();
    (file, reads)
}
