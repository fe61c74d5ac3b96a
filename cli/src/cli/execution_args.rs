//! Command-line options that select CPU instructions, and the setup of a command's threads.

use std::num::NonZeroUsize;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::{io, thread};

use burn_rank::op::{Execution, Instructions};
use clap::Args;
use rayon::{ThreadBuilder, ThreadPoolBuilder};

use super::Result;

/// Options that determine how losses and other primitives are computed.
#[derive(Debug, Args)]
pub struct ExecutionArgs {
    /// CPU instructions that the fused kernels use, as listed by `burn-rank devices` [default: the best]
    #[arg(long, value_name = "SET", global = true)]
    instructions: Option<String>,
}

impl ExecutionArgs {
    /// Runs `f` with the CPU instructions that the user selected.
    pub fn scope<R>(&self, f: impl FnOnce() -> Result<R>) -> Result<R> {
        let Some(name) = &self.instructions else { return f() };
        Execution::current().with_instructions(name.parse::<Instructions>()?)?.scope(f)
    }
}

/// Makes the calling thread part of rayon's thread pool. Short parallel work starts at once on a thread of the pool,
/// instead of waiting for another thread to wake up. The pool then has one worker fewer for other threads, so commands
/// that start other threads must not call this function.
pub(super) fn work_on_this_thread() {
    start_threads(true);
}

/// Starts rayon's thread pool, which the calling thread may be part of. Where a limit of the system lets fewer threads
/// start than there are processors, the pool has these; where it lets none start, the calling thread does all the work.
pub(super) fn start_threads(with_this: bool) {
    let asked = std::env::var("RAYON_NUM_THREADS").ok().and_then(|text| text.parse().ok()).filter(|count| *count > 0);
    let wanted = asked.unwrap_or_else(|| thread::available_parallelism().map_or(1, NonZeroUsize::get));
    // Threads that are there before rayon hands them its work: its pool can be made only once.
    let (give, take) = channel::<ThreadBuilder>();
    let take = Arc::new(Mutex::new(take));
    let start = |_| {
        let take = take.clone();
        let work = move || {
            let given = take.lock().unwrap_or_else(PoisonError::into_inner).recv();
            given.into_iter().for_each(ThreadBuilder::run);
        };
        thread::Builder::new().spawn(work).ok()
    };
    let started = (usize::from(with_this)..wanted).map_while(start).count();
    let with_this = with_this || started == 0;
    let builder = ThreadPoolBuilder::new()
        .num_threads(started + usize::from(with_this))
        .spawn_handler(|thread| give.send(thread).map_err(|_| io::ErrorKind::BrokenPipe.into()));
    // An error means that the pool exists already, which is fine.
    let _ = if with_this { builder.use_current_thread() } else { builder }.build_global();
}
