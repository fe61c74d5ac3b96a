//! The processes, on one or several machines, that work together on one fit. With the feature `mpi`, they communicate
//! through MPI.
//!
//! Every process runs the whole command. Data are cut into shards (`learner.shards`), and a process works on some of
//! the shards. The results of all shards are gathered, and every process adds them in the order of the shards. All
//! processes therefore take the same steps, and results are identical, byte for byte, for any number of processes. A
//! process reads streamed features only for its shards or, without shards, for its share of the documents. Only the
//! first process writes files, shows progress, and makes decisions that depend on time.
//!
//! A fit is shared by the [`ProcessGroup`] with which its datasets are
//! [shared](crate::data::RankingDataset::share_with).

#[cfg(test)]
pub(crate) mod testing;
#[cfg(feature = "mpi")]
mod world;

use std::ops::Deref;
use std::sync::Arc;

#[cfg(feature = "mpi")]
pub use world::World;

/// The processes that work together on one fit.
///
/// All processes must exchange bytes at the same points of their work. If one process fails, all must end, because the
/// others would wait for it.
pub trait Processes: Send + Sync {
    /// Returns the number of this process, from 0.
    fn rank(&self) -> usize;

    /// Returns the number of processes.
    fn count(&self) -> usize;

    /// Sends the bytes of each process to all processes, in the order of the processes.
    fn gather(&self, own: Vec<u8>) -> Vec<Vec<u8>>;

    /// Returns whether this is the first process, which writes files and shows progress.
    fn leads(&self) -> bool {
        self.rank() == 0
    }

    /// Waits until all processes have called this function.
    fn wait(&self) {
        self.gather(Vec::new());
    }

    /// Sends the bytes of the first process to all processes.
    fn broadcast(&self, own: Vec<u8>) -> Vec<u8> {
        if self.count() == 1 {
            return own;
        }
        self.gather(if self.leads() { own } else { Vec::new() }).swap_remove(0)
    }

    /// Sends the decision of the first process to all processes.
    fn agree(&self, own: bool) -> bool {
        self.broadcast(vec![u8::from(own)]) == [1]
    }

    /// Returns whether `own` is true in at least one process.
    fn any(&self, own: bool) -> bool {
        self.gather(vec![u8::from(own)]).concat().contains(&1)
    }

    /// Sends the numbers of each process to all processes, in the order of the processes.
    fn gather_numbers(&self, own: Vec<f64>) -> Vec<f64> {
        if self.count() == 1 {
            return own;
        }
        let all = self.gather(own.into_iter().flat_map(f64::to_le_bytes).collect()).concat();
        all.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect()
    }

    /// Sends the message of each process to all processes, in the order of the processes.
    fn gather_all(&self, own: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        if self.count() == 1 {
            return own;
        }
        let mut framed = Vec::with_capacity(own.iter().map(|message| 8 + message.len()).sum());
        for message in &own {
            framed.extend((message.len() as u64).to_le_bytes());
            framed.extend(message);
        }
        let mut messages = Vec::new();
        for bytes in self.gather(framed) {
            let mut rest = &bytes[..];
            while let Some((length, after)) = rest.split_first_chunk() {
                let (message, after) = after.split_at(u64::from_le_bytes(*length) as usize);
                messages.push(message.to_vec());
                rest = after;
            }
        }
        messages
    }
}

/// The single process of a command without MPI.
struct OneProcess;

impl Processes for OneProcess {
    fn rank(&self) -> usize {
        0
    }

    fn count(&self) -> usize {
        1
    }

    fn gather(&self, own: Vec<u8>) -> Vec<Vec<u8>> {
        vec![own]
    }
}

/// The processes that a dataset is shared with: by default, only the current process.
#[derive(Clone, Default)]
pub struct ProcessGroup(Option<Arc<dyn Processes>>);

impl ProcessGroup {
    /// The group that contains only the current process.
    pub(crate) const ALONE: &Self = &Self(None);

    /// Creates a group of the given processes.
    pub fn new(processes: impl Processes + 'static) -> Self {
        Self(Some(Arc::new(processes)))
    }
}

impl Deref for ProcessGroup {
    type Target = dyn Processes;

    fn deref(&self) -> &Self::Target {
        self.0.as_deref().unwrap_or(&OneProcess)
    }
}

#[cfg(test)]
mod tests {
    use super::testing::in_processes;

    #[test]
    fn messages_arrive_in_the_order_of_the_processes() {
        for count in 1..4 {
            let all = in_processes(count, |processes| {
                let rank = processes.rank() as u8;
                let messages = processes.gather_all((0..rank + 1).map(|length| vec![rank; length.into()]).collect());
                assert_eq!(processes.gather_numbers(vec![0.5; rank.into()]), vec![0.5; count * (count - 1) / 2]);
                assert!(processes.any(usize::from(rank) + 1 == count) && !processes.any(false));
                (messages, processes.broadcast(vec![rank, 7]), processes.agree(rank == 0), processes.agree(rank > 0))
            });
            let expected = (0..count as u8).flat_map(|rank| (0..rank + 1).map(move |length| vec![rank; length.into()]));
            let expected: Vec<Vec<u8>> = expected.collect();
            for (messages, first, yes, no) in all {
                assert_eq!((messages, first, yes, no), (expected.clone(), vec![0, 7], true, false));
            }
        }
    }
}
