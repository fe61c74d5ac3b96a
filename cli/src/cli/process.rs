//! Handles signals and panics of a command, and runs it in several processes together.
//!
//! The first signal stops a run after the current round, and a second one stops it at once. If a panic is caused by a
//! missing driver or a damaged file, its message is not printed, since the resulting error says the same. Several
//! processes run a command together as in `mpiexec -n N burn-rank train`; this needs the feature `mpi`.

use std::cell::Cell;
#[cfg(unix)]
use std::io::{self, IsTerminal};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{panic, thread};

use burn_rank::learner::Interrupt;
use burn_rank::workbench::distributed::ProcessGroup;
use burn_rank::workbench::is_guarded;
use burn_rank::workbench::text::harmless_lines;

use super::{Result, terminal};

/// The message of a first Ctrl-C.
const AGAIN: &str = "press Ctrl-C again to stop at once";

/// Returns an interrupt that signals trigger. The first signal requests a stop after the current round; a second one
/// ends the process. The signals are Ctrl-C, SIGTERM, and the hang-up of a terminal.
pub fn interrupt_on_signal() -> Result<Interrupt> {
    static INTERRUPT: OnceLock<Interrupt> = OnceLock::new();
    if let Some(interrupt) = INTERRUPT.get() {
        return Ok(interrupt.clone());
    }
    let interrupt = INTERRUPT.get_or_init(Interrupt::default).clone();
    if thread::Builder::new().spawn(|| ()).map(thread::JoinHandle::join).is_err() {
        terminal::say("warning: no thread can be started to listen for signals, so a signal stops the command at once");
        return Ok(interrupt);
    }
    hear(interrupt.clone())?;
    Ok(interrupt)
}

/// Requests a stop after the current round. If a stop was requested before, ends the process.
fn stop(interrupt: &Interrupt, again: &str, code: i32) {
    if interrupt.requested() {
        std::process::exit(code);
    }
    interrupt.request();
    terminal::say(format_args!("stopping after this round; {again}"));
}

/// Stops on Ctrl-C, which is the only signal here.
#[cfg(not(unix))]
fn hear(interrupt: Interrupt) -> Result {
    ctrlc::set_handler(move || stop(&interrupt, AGAIN, 130)).map_err(super::Failure::work)
}

/// Stops on Ctrl-C, on SIGTERM, and on the hang-up of a terminal that the run writes to. A run under `nohup` has no
/// terminal and continues.
#[cfg(unix)]
fn hear(interrupt: Interrupt) -> Result {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let terminals = [io::stdout().is_terminal(), io::stderr().is_terminal()];
    let hang_up = terminals[1].then_some(SIGHUP);
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM].into_iter().chain(hang_up))?;
    let listen = move || {
        for signal in signals.forever() {
            if signal == SIGHUP {
                let_go(terminals);
            }
            let again = if signal == SIGINT { AGAIN } else { "a second signal stops at once" };
            stop(&interrupt, again, 128 + signal);
        }
    };
    thread::Builder::new().name("signals".into()).spawn(listen)?;
    Ok(())
}

/// Redirects output away from a terminal that is gone. Otherwise the result, which cannot be written, would
/// end the run with an error.
#[cfg(unix)]
fn let_go([output, error]: [bool; 2]) {
    let Ok(nowhere) = std::fs::File::options().write(true).open("/dev/null") else { return };
    if output && !io::stdout().is_terminal() {
        let _ = rustix::stdio::dup2_stdout(&nowhere);
    }
    if error && !io::stderr().is_terminal() {
        let _ = rustix::stdio::dup2_stderr(&nowhere);
    }
}

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
fn end(group: &ProcessGroup, failure: super::Failure) -> Result {
    use super::Failure::{ClosedPipe, Input, Work};
    let (rank, count) = (group.rank(), group.count());
    let (error, code) = match failure.context(format!("process {rank} of {count}, from 0")) {
        Input(error) => (error, 2),
        Work(error) => (error, 1),
        ClosedPipe => return Err(ClosedPipe),
    };
    // Waits first, so an error that the first process finds too is printed only once.
    if !group.leads() {
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
    terminal::report(&error, code);
    // If mpiexec notices the end of a process first, it may drop output that it has not read yet.
    std::thread::sleep(std::time::Duration::from_millis(300));
    burn_rank::workbench::distributed::World::abort(code)
}

/// Name prefixes of the threads of a GPU backend (cubecl's device services), which load drivers.
const BACKEND_THREADS: [&str; 2] = ["DSU-", "DSD-"];

/// The number of threads whose panics are currently not reported.
static QUIET_THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Installs the hook, once per process. It reports panics, except under [`quietly`] and in decoders of damaged tables.
pub(super) fn install_panic_hook() {
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if is_quiet(thread::current().name()) {
            return;
        }
        // A message may quote a name.
        match panic.payload_as_str() {
            Some(message) if harmless_lines(message) != message => {
                let place = panic.location().map(ToString::to_string).unwrap_or_default();
                terminal::say(format_args!("panicked at {place}: {message}"));
            }
            _ => report(panic),
        }
    }));
}

/// Runs `f` without reporting panics of this thread or of the threads of GPU backends. Panics of other threads are
/// reported as usual.
pub(super) fn quietly<R>(f: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            IS_QUIET.set(self.0);
            QUIET_THREADS.fetch_sub(1, Ordering::SeqCst);
        }
    }
    QUIET_THREADS.fetch_add(1, Ordering::SeqCst);
    let _restore = Restore(IS_QUIET.replace(true));
    f()
}

/// Returns whether to suppress the message of a panic in the current thread, whose name is `name`.
fn is_quiet(name: Option<&str>) -> bool {
    let of_backend = || BACKEND_THREADS.iter().any(|prefix| name.is_some_and(|name| name.starts_with(prefix)));
    IS_QUIET.get() || is_guarded() || (QUIET_THREADS.load(Ordering::SeqCst) > 0 && of_backend())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_thread_that_asks_and_gpu_backends_are_quiet() {
        let on_another_thread = |name: Option<&'static str>| thread::spawn(move || is_quiet(name)).join().unwrap();
        quietly(|| {
            assert!(quietly(|| is_quiet(None)) && is_quiet(None));
            assert!(on_another_thread(Some("DSU-0-0")));
            assert!(!on_another_thread(None) && !on_another_thread(Some("main")));
        });
        assert!(panic::catch_unwind(|| quietly(|| panic::resume_unwind(Box::new(())))).is_err());
        assert!(!is_quiet(None));
    }
}
