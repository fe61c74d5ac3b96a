//! Prints warnings of the library, such as a missing kernel for a device, on standard error.

use log::{Level, LevelFilter, Log, Metadata, Record};

use super::{signals, terminal};

struct Warnings;

/// The message that burn's dashboard logs before it panics, when the user ends the program with its keys `q` and `k`.
const KILLED: (&str, &str) = ("burn_train::renderer", "Training killed by user.");

impl Log for Warnings {
    fn enabled(&self, metadata: &Metadata) -> bool {
        metadata.level() <= Level::Warn && metadata.target().starts_with("burn_rank")
    }

    fn log(&self, record: &Record) {
        if self.enabled(record.metadata()) {
            terminal::say(format_args!("warning: {}", record.args()));
        } else if record.target().starts_with(KILLED.0) && record.args().to_string() == KILLED.1 {
            // The dashboard has already left the terminal.
            terminal::show_cursor();
            terminal::say("stopped at once; --resume continues from what was saved last");
            std::process::exit(signals::STOPPED_AT_ONCE);
        }
    }

    fn flush(&self) {}
}

/// Shows the warnings of this crate in this process. Warnings of other crates are not shown.
pub(super) fn show() {
    // A program that embeds the command line may have another logger.
    if log::set_logger(&Warnings).is_ok() {
        log::set_max_level(LevelFilter::Warn);
    }
}
