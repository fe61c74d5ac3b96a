//! Command-line options that select CPU instructions, and the setup of a command's threads.

use burn_rank::op::{Execution, Instructions};
use clap::Args;

use super::failure::Failure;

/// Options that determine how losses and other primitives are computed.
#[derive(Debug, Args)]
pub struct ExecutionArgs {
    /// CPU instructions that the fused kernels use, as listed by `burn-rank devices` [default: the best]
    #[arg(long, value_name = "SET", global = true)]
    instructions: Option<String>,
}

impl ExecutionArgs {
    /// Runs `f` with the CPU instructions that the user selected.
    pub fn scope<R>(&self, f: impl FnOnce() -> Result<R, Failure>) -> Result<R, Failure> {
        let Some(name) = &self.instructions else { return f() };
        Execution::current().with_instructions(name.parse::<Instructions>()?)?.scope(f)
    }
}

/// Makes the calling thread part of rayon's thread pool. Short parallel work starts at once on a thread of the pool,
/// instead of waiting for another thread to wake up. The pool then has one worker fewer for other threads, so commands
/// that start other threads must not call this function.
pub(super) fn work_on_this_thread() {
    // An error means that the pool exists already, which is fine.
    let _ = rayon::ThreadPoolBuilder::new().use_current_thread().build_global();
}
