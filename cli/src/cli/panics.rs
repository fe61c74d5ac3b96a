//! The panic hook of the command. If a panic is caused by a missing driver or a damaged file, its message is not
//! printed, since the resulting error says the same.

use std::cell::Cell;
use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use burn_rank::workbench::is_guarded;
use burn_rank::workbench::text::harmless_lines;

use super::terminal;

/// Name prefixes of the threads of a GPU backend (cubecl's device services), which load drivers.
const BACKEND_THREADS: [&str; 2] = ["DSU-", "DSD-"];

/// The number of threads whose panics are currently not reported.
static QUIET_THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Installs the hook, once per process. It reports panics, except under [`quietly`] and in decoders of damaged tables.
pub(super) fn install() {
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
