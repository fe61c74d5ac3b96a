//! Prints warnings of the library, such as one about a device without a kernel, on standard error.

use log::{Level, LevelFilter, Log, Metadata, Record};

struct Warnings;

impl Log for Warnings {
    fn enabled(&self, metadata: &Metadata) -> bool {
        metadata.level() <= Level::Warn && metadata.target().starts_with("burn_rank")
    }

    fn log(&self, record: &Record) {
        if self.enabled(record.metadata()) {
            eprintln!("warning: {}", record.args());
        }
    }

    fn flush(&self) {}
}

/// Shows the warnings of this crate in this process, but not those of other crates.
pub(super) fn show() {
    // A program that embeds the command line may have a logger of its own.
    if log::set_logger(&Warnings).is_ok() {
        log::set_max_level(LevelFilter::Warn);
    }
}
