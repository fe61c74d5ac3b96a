//! Handles signals: the first one stops a run after the current round, and a second one stops it at once.

use std::io::{self, IsTerminal};
use std::sync::OnceLock;
use std::thread;

use burn_rank::learner::Interrupt;

use super::{Failure, Result, terminal};

/// The exit code of a command that a second Ctrl-C stopped at once.
const STOPPED_AT_ONCE: i32 = 130;

/// Returns an interrupt that signals trigger. The first signal requests a stop after the current round; a second one
/// ends the process. The signals are Ctrl-C, SIGTERM, and the hang-up of a terminal.
pub fn interrupt_on_signal() -> Result<Interrupt> {
    static INTERRUPT: OnceLock<Interrupt> = OnceLock::new();
    if let Some(interrupt) = INTERRUPT.get() {
        return Ok(interrupt.clone());
    }
    let interrupt = INTERRUPT.get_or_init(Interrupt::default).clone();
    if thread::Builder::new().spawn(|| ()).map(thread::JoinHandle::join).is_err() {
        terminal::say("warning: no thread can be started to listen for signals, so that a signal stops at once");
        return Ok(interrupt);
    }
    let shared = interrupt.clone();
    ctrlc::set_handler(move || stop(&shared, "press Ctrl-C again to stop at once", STOPPED_AT_ONCE))
        .map_err(|error| Failure::Work(error.into()))?;
    #[cfg(unix)]
    hear_the_end(interrupt.clone())?;
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

/// Stops on SIGTERM, and on the hang-up of a terminal that the run writes to. A run under `nohup` has no terminal and
/// continues.
#[cfg(unix)]
fn hear_the_end(interrupt: Interrupt) -> Result {
    use signal_hook::consts::{SIGHUP, SIGTERM};
    let terminals = [io::stdout().is_terminal(), io::stderr().is_terminal()];
    let hang_up = terminals[1].then_some(SIGHUP);
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM].into_iter().chain(hang_up))
        .map_err(|error| Failure::Work(error.into()))?;
    let listen = move || {
        for signal in signals.forever() {
            if signal == SIGHUP {
                let_go(terminals);
            }
            stop(&interrupt, "a second signal stops at once", 128 + signal);
        }
    };
    thread::Builder::new().name("signals".into()).spawn(listen).map_err(|error| Failure::Work(error.into()))?;
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
