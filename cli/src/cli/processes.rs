//! Runs commands in several processes together, as in `mpiexec -n N burn-rank train`; this needs the feature `mpi`.

use burn_rank::distributed::{OneProcess, Processes};

use super::failure::Failure;

/// Runs a command jointly in the processes that were started together. An error in any process ends all of them with
/// its exit code.
pub fn together(run: impl FnOnce(&dyn Processes) -> Result<(), Failure>) -> Result<(), Failure> {
    #[cfg(feature = "mpi")]
    if let Some(world) = burn_rank::distributed::World::join()
        && world.count() > 1
    {
        return run(&world).or_else(|failure| end(&world, failure));
    }
    run(&OneProcess)
}

/// Reports an error and ends all processes.
#[cfg(feature = "mpi")]
fn end(world: &burn_rank::distributed::World, failure: Failure) -> Result<(), Failure> {
    let (rank, count) = (world.rank(), world.count());
    let (error, code) = match failure.context(format!("process {rank} of {count}, from 0")) {
        Failure::Input(error) => (error, 2),
        Failure::Work(error) => (error, 1),
        Failure::ClosedPipe => return Err(Failure::ClosedPipe),
    };
    // Waits first, so an error that the first process finds too is printed only once.
    if !world.leads() {
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
    super::report(&error, code);
    // If mpiexec notices the end of a process first, it may drop output that it has not read yet.
    std::thread::sleep(std::time::Duration::from_millis(300));
    burn_rank::distributed::World::abort(code)
}
