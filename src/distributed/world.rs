//! The processes that `mpiexec` has started.

use mpi::Threading;
use mpi::datatype::PartitionMut;
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};

use super::Processes;

/// The largest number of bytes that all processes together exchange at once. MPI counts bytes in 32-bit integers.
const AT_ONCE: usize = 1 << 28;

/// The processes of an MPI program, or a single process if the program was not started by `mpiexec`.
///
/// Only the thread that called [`join`](Self::join) may exchange bytes.
pub struct World {
    /// The MPI environment; MPI is shut down when this value is dropped.
    _universe: Universe,
    rank: usize,
    count: usize,
}

impl World {
    /// Joins the other processes. Returns `None` if this process has joined before.
    pub fn join() -> Option<Self> {
        let (universe, _) = mpi::initialize_with_threading(Threading::Funneled)?;
        let world = universe.world();
        let (rank, count) = (world.rank() as usize, world.size() as usize);
        Some(Self { _universe: universe, rank, count })
    }

    /// Ends all processes with an exit code.
    pub fn abort(code: u8) -> ! {
        SimpleCommunicator::world().abort(code.into())
    }
}

impl Processes for World {
    fn rank(&self) -> usize {
        self.rank
    }

    fn count(&self) -> usize {
        self.count
    }

    fn gather(&self, own: Vec<u8>) -> Vec<Vec<u8>> {
        let world = SimpleCommunicator::world();
        let mut lengths = vec![0u64; self.count];
        world.all_gather_into(&(own.len() as u64), &mut lengths[..]);
        let mut all: Vec<Vec<u8>> = lengths.iter().map(|&length| Vec::with_capacity(length as usize)).collect();
        let (longest, piece) = (lengths.iter().max().map_or(0, |&length| length as usize), AT_ONCE / self.count);
        for start in (0..longest).step_by(piece.max(1)) {
            let of = |length: usize| start.min(length)..(start + piece).min(length);
            let counts: Vec<i32> = lengths.iter().map(|&length| of(length as usize).len() as i32).collect();
            let places: Vec<i32> =
                counts.iter().scan(0, |end, count| Some(std::mem::replace(end, *end + count))).collect();
            let mut bytes = vec![0u8; counts.iter().map(|&count| count as usize).sum()];
            let mut parts = PartitionMut::new(&mut bytes[..], counts.clone(), places.clone());
            world.all_gather_varcount_into(&own[of(own.len())], &mut parts);
            for ((all, &place), &count) in all.iter_mut().zip(&places).zip(&counts) {
                all.extend(&bytes[place as usize..(place + count) as usize]);
            }
        }
        all
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // The others would wait for ever for a process that is unwinding.
        if std::thread::panicking() {
            Self::abort(101);
        }
    }
}
