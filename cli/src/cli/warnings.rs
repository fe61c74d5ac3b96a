//! Prints warnings of the library, such as a missing kernel for a device, on standard error.

use log::{Level, LevelFilter, Log, Metadata, Record};

use super::terminal;

struct Warnings;

impl Log for Warnings {
    fn enabled(&self, metadata: &Metadata) -> bool {
        metadata.level() <= Level::Warn && metadata.target().starts_with("burn_rank")
    }

    fn log(&self, record: &Record) {
        if self.enabled(record.metadata()) {
            terminal::say(format_args!("warning: {}", record.args()));
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
