//! Draws progress lines at the bottom of the terminal, through standard error. Without a terminal, nothing is drawn. Warnings of the library,
//! such as a missing kernel for a device, go there too.

use std::io::{self, IsTerminal, Write};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use indicatif::{MultiProgress, ProgressDrawTarget, TermLike};
use log::{Level, LevelFilter, Log, Metadata, Record};

use super::terminal;

/// The largest number of redraws per second.
const RATE: u8 = 20;

/// All progress bars that are currently on the terminal.
pub(super) static DRAWN: LazyLock<MultiProgress> = LazyLock::new(|| {
    MultiProgress::with_draw_target(match io::stderr().is_terminal() {
        true => ProgressDrawTarget::term_like_with_hz(Box::new(Screen::default()), RATE),
        false => ProgressDrawTarget::hidden(),
    })
});

/// Writes to the terminal through standard error. If the terminal is gone, the output is lost and the run continues.
#[derive(Debug, Default)]
struct Screen(Mutex<Written>);

/// The text that waits to be written to the terminal, and the column where that text ends.
#[derive(Debug, Default)]
struct Written {
    text: String,
    column: usize,
}

impl Screen {
    fn written(&self) -> MutexGuard<'_, Written> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, text: impl AsRef<str>) -> io::Result<()> {
        self.written().text.push_str(text.as_ref());
        Ok(())
    }

    fn move_cursor(&self, by: usize, to: char) -> io::Result<()> {
        if by > 0 { self.add(format!("\x1b[{by}{to}")) } else { Ok(()) }
    }
}

impl TermLike for Screen {
    fn width(&self) -> u16 {
        columns() as u16
    }

    fn height(&self) -> u16 {
        size().1
    }

    fn move_cursor_up(&self, lines: usize) -> io::Result<()> {
        self.move_cursor(lines, 'A')
    }

    fn move_cursor_down(&self, lines: usize) -> io::Result<()> {
        self.move_cursor(lines, 'B')
    }

    fn move_cursor_right(&self, columns: usize) -> io::Result<()> {
        self.move_cursor(columns, 'C')
    }

    fn move_cursor_left(&self, columns: usize) -> io::Result<()> {
        self.move_cursor(columns, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write_str(text)?;
        self.written().column = 0;
        self.add("\n")
    }

    /// Breaks the line where a terminal of this width would wrap. indicatif relies on the wrap, because it pads lines
    /// with blanks instead of ending them.
    fn write_str(&self, text: &str) -> io::Result<()> {
        let mut written = self.written();
        if written.column >= columns() && !text.is_empty() {
            written.text.push('\n');
            written.column = 0;
        }
        written.text.push_str(text);
        written.column += text.chars().count();
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.written().column = 0;
        self.add("\r\x1b[2K")
    }

    fn flush(&self) -> io::Result<()> {
        let text = std::mem::take(&mut self.written().text);
        let _ = io::stderr().write_all(text.as_bytes());
        Ok(())
    }
}

/// Returns the numbers of columns and lines of the terminal.
fn size() -> (u16, u16) {
    #[cfg(unix)]
    let known = rustix::termios::tcgetwinsize(io::stderr()).ok().map(|size| (size.ws_col, size.ws_row));
    #[cfg(not(unix))]
    let known = None;
    known.filter(|(columns, lines)| *columns > 0 && *lines > 0).unwrap_or((80, 24))
}

/// Returns the number of columns for a progress line, slightly fewer than the terminal has. The remaining columns leave
/// room for the `^C` that a terminal echoes. If `^C` started a new line, the drawn lines would shift up.
pub(super) fn columns() -> usize {
    usize::from(size().0.saturating_sub(3).max(1))
}

/// Returns the number of columns for text that stays on the terminal.
pub(super) fn width() -> usize {
    usize::from(size().0)
}

/// Runs code that writes to the terminal above the drawn lines.
pub(super) fn above<T>(write: impl FnOnce() -> T) -> T {
    DRAWN.suspend(write)
}

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
pub(super) fn show_warnings() {
    // A program that embeds the command line may have another logger.
    if log::set_logger(&Warnings).is_ok() {
        log::set_max_level(LevelFilter::Warn);
    }
}
