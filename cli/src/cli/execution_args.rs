//! Options for how a command runs, namely the instructions of the fused kernels and the threads.

use burn_rank::op::{Execution, Instructions};
use clap::Args;

use super::failure::Failure;

/// How primitives are computed.
#[derive(Debug, Args)]
pub struct ExecutionArgs {
    /// Instructions of the fused kernels on the CPU, as listed by `burn-rank devices` [default: the best]
    #[arg(long, value_name = "SET", global = true)]
    instructions: Option<String>,
}

impl ExecutionArgs {
    /// Runs `f` with the selected CPU instructions.
    pub fn scope<R>(&self, f: impl FnOnce() -> Result<R, Failure>) -> Result<R, Failure> {
        let Some(name) = &self.instructions else { return f() };
        Execution::current().with_instructions(name.parse::<Instructions>()?)?.scope(f)
    }
}

/// Makes the calling thread part of rayon's thread pool. Short parallel work starts at once on a thread of the pool,
/// instead of waiting for another thread to wake up. A command that starts other threads must not call this, because
/// those threads would have to share the remaining ones.
pub(super) fn work_on_this_thread() {
    // An error means that the pool exists already, which is fine.
    let _ = rayon::ThreadPoolBuilder::new().use_current_thread().build_global();
}
