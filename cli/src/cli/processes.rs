//! Runs commands in several processes together, as in `mpiexec -n N burn-rank train`; this needs the feature `mpi`.

use burn_rank::workbench::distributed::ProcessGroup;

#[cfg(feature = "mpi")]
use super::Failure;
use super::Result;

/// Runs a command jointly in the processes that were started together. An error in any process ends all of them with
/// its exit code.
pub fn together(run: impl FnOnce(&ProcessGroup) -> Result) -> Result {
    #[cfg(feature = "mpi")]
    if let Some(group) = burn_rank::workbench::distributed::World::join().map(ProcessGroup::new)
        && group.count() > 1
    {
        return run(&group).or_else(|failure| end(&group, failure));
    }
    run(&ProcessGroup::default())
}

/// Reports an error and ends all processes.
#[cfg(feature = "mpi")]
fn end(group: &ProcessGroup, failure: Failure) -> Result {
    let (rank, count) = (group.rank(), group.count());
    let (error, code) = match failure.context(format!("process {rank} of {count}, from 0")) {
        Failure::Input(error) => (error, 2),
        Failure::Work(error) => (error, 1),
        Failure::ClosedPipe => return Err(Failure::ClosedPipe),
    };
    // Waits first, so an error that the first process finds too is printed only once.
    if !group.leads() {
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
    super::report(&error, code);
    // If mpiexec notices the end of a process first, it may drop output that it has not read yet.
    std::thread::sleep(std::time::Duration::from_millis(300));
    burn_rank::workbench::distributed::World::abort(code)
}
